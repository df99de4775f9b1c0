#include "loadgen/traffic.hpp"

#include <gtest/gtest.h>

namespace millrace::loadgen {
namespace {

TEST(traffic, reads_kinds_in_their_order_and_weight) {
  const auto kinds = parse_traffic_kinds("tcp,quic,quic");
  ASSERT_TRUE(kinds);
  ASSERT_EQ(kinds.value().size(), 3u);
  EXPECT_EQ(kinds.value()[0], traffic_kind::tcp);
  EXPECT_EQ(kinds.value()[2], traffic_kind::quic);
  for (const char* name : {"quic", "srmp", "udp", "tcp"}) {
    const auto one = parse_traffic_kinds(name);
    ASSERT_TRUE(one);
    EXPECT_EQ(to_string(one.value()[0]), name);
  }
}

TEST(traffic, names_the_word_it_does_not_know) {
  for (const char* text : {"sctp", "quic,sctp", "quic,,udp", "", "quic,", "QUIC", "quic, udp"}) {
    const auto kinds = parse_traffic_kinds(text);
    ASSERT_FALSE(kinds) << text;
    EXPECT_TRUE(kinds.error().unusable);
    EXPECT_NE(kinds.error().what.find(std::string("--traffic ") + text), std::string::npos);
    EXPECT_NE(kinds.error().hint.find("srmp"), std::string::npos);
  }
  EXPECT_NE(parse_traffic_kinds("quic,sctp").error().what.find("'sctp'"), std::string::npos);
  std::string many = "udp";
  for (int i = 0; i < 16; ++i) many += ",udp";
  EXPECT_FALSE(parse_traffic_kinds(many));
}

frame_options with_size(std::uint32_t size, const char* kinds = "quic,srmp,udp,tcp") {
  frame_options o;
  o.frame_size = size;
  o.kinds = parse_traffic_kinds(kinds).value();
  return o;
}

TEST(traffic, refuses_a_size_that_a_kind_cannot_have) {
  EXPECT_TRUE(check(with_size(0)));
  EXPECT_TRUE(check(with_size(91)));
  EXPECT_TRUE(check(with_size(9216)));
  EXPECT_TRUE(check(with_size(64, "udp")));
  const auto small = check(with_size(90));
  ASSERT_FALSE(small);
  EXPECT_TRUE(small.error().unusable);
  EXPECT_EQ(small.error().what, "--size 90: the smallest quic frame over IPv6 has 91 bytes");
  EXPECT_NE(small.error().hint.find("--size 91"), std::string::npos);
  EXPECT_FALSE(check(with_size(59, "udp")));
  EXPECT_FALSE(check(with_size(9217)));
  EXPECT_FALSE(check(with_size(73, "tcp")));
  EXPECT_TRUE(check(with_size(74, "tcp")));
  frame_options v4 = with_size(71);
  v4.ipv6 = false;
  EXPECT_TRUE(check(v4));
  frame_options all = with_size(90);
  all.kinds.clear();
  EXPECT_FALSE(check(all)) << "no kind named means all of them";
}

TEST(traffic, refuses_options_that_cannot_be) {
  frame_options o;
  o.flows = 0;
  EXPECT_FALSE(check(o));
  o.flows = max_flows + 1;
  EXPECT_FALSE(check(o));
  o = {};
  o.ipv4 = o.ipv6 = false;
  EXPECT_FALSE(check(o));
  o = {};
  o.domain = "";
  EXPECT_FALSE(check(o));
  o.domain = std::string(201, 'a');
  EXPECT_FALSE(check(o));
}

}  // namespace
}  // namespace millrace::loadgen
