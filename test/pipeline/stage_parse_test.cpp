#include "pipeline/stage_parse.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "net/wire/checksum.hpp"
#include "support/frames.hpp"
#include "support/packets.hpp"

namespace millrace::pipeline {
namespace {

using stats::drop_reason;
using test::byte_list;
using test::checked_pool;
using test::frame_of;
using test::packet_of;
using test::udp_frame;

constexpr std::size_t l3 = 14;
constexpr std::size_t l4 = l3 + 20;

drop_reason judge_frame(const byte_list& frame, verify_level verify = verify_level::full,
                        buf::checksum_verdict hardware = {}) {
  net::wire::decoded headers;
  return judge(frame, hardware, verify, headers);
}

byte_list changed(byte_list frame, std::size_t at, std::uint8_t value) {
  frame[at] = value;
  return frame;
}

TEST(judge, finds_sound_frames_sound) {
  for (const bool ipv6 : {false, true})
    for (const bool tcp : {false, true})
      for (const bool tagged : {false, true})
        for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{37}, std::size_t{1200}})
          EXPECT_EQ(judge_frame(frame_of({.ipv6 = ipv6, .tcp = tcp, .tagged = tagged}, byte_list(size, 0x5A))),
                    drop_reason::none);
  byte_list padded = udp_frame(1);
  padded.resize(60);  // Ethernet pads behind the IP length
  EXPECT_EQ(judge_frame(padded), drop_reason::none);
}

TEST(judge, names_what_is_malformed) {
  const byte_list sound = udp_frame();
  const auto none = verify_level::none;
  EXPECT_EQ(judge_frame({}), drop_reason::l2_truncated);
  EXPECT_EQ(judge_frame(byte_list(13, 0)), drop_reason::l2_truncated);
  EXPECT_EQ(judge_frame(byte_list(sound.begin(), sound.begin() + l3 + 10)), drop_reason::ip_truncated);
  EXPECT_EQ(judge_frame(changed(sound, l3, 0x55), none), drop_reason::ip_bad_version);
  EXPECT_EQ(judge_frame(changed(sound, l3, 0x44), none), drop_reason::ip_bad_header_length);
  EXPECT_EQ(judge_frame(changed(sound, l3 + 2, 0xFF), none), drop_reason::ip_bad_total_length);
  EXPECT_EQ(judge_frame(changed(sound, l4 + 5, 0xFF), none), drop_reason::udp_bad_length);
  EXPECT_EQ(judge_frame(changed(sound, l4 + 5, 7), none), drop_reason::udp_bad_length);
  const byte_list tcp = frame_of({.tcp = true}, byte_list(10, 1));
  EXPECT_EQ(judge_frame(changed(tcp, l4 + 12, 0x40), none), drop_reason::tcp_bad_offset);
}

TEST(judge, drops_a_frame_cut_short_on_the_wire) {
  byte_list cut = udp_frame();
  cut.pop_back();
  EXPECT_EQ(judge_frame(cut, verify_level::none), drop_reason::ip_bad_total_length);
}

TEST(judge, verifies_as_far_as_asked) {
  const byte_list bad_ip = changed(udp_frame(), l3 + 8, 63);  // TTL changed, checksum not
  EXPECT_EQ(judge_frame(bad_ip, verify_level::full), drop_reason::ip_bad_checksum);
  EXPECT_EQ(judge_frame(bad_ip, verify_level::ip), drop_reason::ip_bad_checksum);
  EXPECT_EQ(judge_frame(bad_ip, verify_level::none), drop_reason::none);
  byte_list bad_udp = udp_frame();
  bad_udp.back() ^= 1;
  EXPECT_EQ(judge_frame(bad_udp, verify_level::full), drop_reason::udp_bad_checksum);
  EXPECT_EQ(judge_frame(bad_udp, verify_level::ip), drop_reason::none);
  byte_list bad_tcp = frame_of({.ipv6 = true, .tcp = true}, byte_list(20, 3));
  bad_tcp.back() ^= 1;
  EXPECT_EQ(judge_frame(bad_tcp), drop_reason::tcp_bad_checksum);
}

TEST(judge, verifies_a_header_with_options_as_well) {
  byte_list frame = udp_frame();
  const byte_list options = {1, 1, 1, 0};
  frame.insert(frame.begin() + l4, options.begin(), options.end());
  frame[l3] = 0x46;
  base::store_be16(frame.data() + l3 + 2, static_cast<std::uint16_t>(frame.size() - l3));
  EXPECT_EQ(judge_frame(frame), drop_reason::ip_bad_checksum);
  base::store_be16(frame.data() + l3 + 10, 0);
  base::store_be16(frame.data() + l3 + 10, net::wire::internet_checksum(base::byte_view(frame).subspan(l3, 24)));
  EXPECT_EQ(judge_frame(frame), drop_reason::none);
}

TEST(judge, believes_hardware_that_has_judged) {
  using buf::verdict;
  const byte_list sound = udp_frame();
  const byte_list bad_ip = changed(sound, l3 + 8, 63);
  EXPECT_EQ(judge_frame(bad_ip, verify_level::full, {.ip = verdict::good}), drop_reason::none);
  EXPECT_EQ(judge_frame(sound, verify_level::full, {.ip = verdict::bad}), drop_reason::ip_bad_checksum);
  EXPECT_EQ(judge_frame(sound, verify_level::full, {.transport = verdict::bad}), drop_reason::udp_bad_checksum);
  byte_list bad_udp = sound;
  bad_udp.back() ^= 1;
  EXPECT_EQ(judge_frame(bad_udp, verify_level::full, {.transport = verdict::good}), drop_reason::none);
}

TEST(judge, lets_pass_what_is_only_unknown) {
  EXPECT_EQ(judge_frame(changed(udp_frame(), 12, 0x12)), drop_reason::none);  // ethertype 0x1200
  const byte_list arp =
      test::from_hex("ffffffffffff 020000000001 0806 0001 0800 06 04 0001 020000000001 c6120001 000000000000 c6120002");
  EXPECT_EQ(judge_frame(arp), drop_reason::none);
}

TEST(judge, answers_for_every_cut_and_every_changed_byte) {
  for (const bool ipv6 : {false, true}) {
    const byte_list whole = frame_of({.ipv6 = ipv6, .dst_port = 443}, test::quic_initial());
    for (std::size_t size = 0; size < whole.size(); ++size)
      EXPECT_NE(judge_frame({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}), drop_reason::none)
          << size;
    for (std::size_t at = l3; at < whole.size(); ++at) {
      byte_list frame = whole;
      frame[at] ^= 0x41;
      net::wire::decoded headers;
      const drop_reason why = judge(frame, {}, verify_level::full, headers);
      const bool unsummed = ipv6 && (at < l3 + 4 || at == l3 + 7);  // no checksum covers these of IPv6
      if (!unsummed) {
        EXPECT_TRUE(why != drop_reason::none || headers.l4 != net::wire::transport::udp) << at;
      }
    }
  }
}

class parse_burst_test : public testing::Test {
 protected:
  checked_pool pool_;
  lcore_counters counters_;
  std::unique_ptr<parse_work> work_ = std::make_unique<parse_work>();
  std::uint64_t received_ = 0;

  std::uint64_t parse(buf::burst& packets) { return parse_burst(packets, *work_, received_, counters_); }
  [[nodiscard]] std::uint64_t of(traffic_class c) const { return counters_.classes[static_cast<std::size_t>(c)].get(); }
};

TEST_F(parse_burst_test, classifies_the_sound_and_drops_the_rest_by_reason) {
  buf::burst packets;
  const byte_list quic = frame_of({.dst_port = 443}, test::quic_initial());
  const byte_list srmp = frame_of({.dst_port = 5500}, test::srmp_payload());
  const byte_list bad = changed(udp_frame(), l3, 0x44);
  byte_list cut = udp_frame();
  cut.resize(l3 + 5);
  std::uint64_t all = 0;
  for (int round = 0; round < 8; ++round)
    for (const byte_list& frame : {quic, bad, srmp, udp_frame(), cut, frame_of({.tcp = true}, {})}) {
      ASSERT_TRUE(packets.push(packet_of(*pool_, frame)));
      all += frame.size();
    }
  const std::uint64_t left = parse(packets);
  EXPECT_EQ(received_, all);
  EXPECT_EQ(left, all - 8 * (bad.size() + cut.size()));
  EXPECT_EQ(left, packets.bytes());
  EXPECT_EQ(packets.size(), 32u);
  EXPECT_EQ(of(traffic_class::quic_initial), 8u);
  EXPECT_EQ(of(traffic_class::srmp), 8u);
  EXPECT_EQ(of(traffic_class::udp), 8u);
  EXPECT_EQ(of(traffic_class::tcp), 8u);
  EXPECT_EQ(counters_.drops.get(drop_reason::ip_bad_header_length), 8u);
  EXPECT_EQ(counters_.drops.get(drop_reason::ip_truncated), 8u);
  EXPECT_EQ(counters_.drops.total(), 16u);
  EXPECT_EQ(read(counters_)[count::quic_pkts], 8u);
}

TEST_F(parse_burst_test, reads_a_chain_as_one_packet) {
  const byte_list whole = frame_of({.dst_port = 443}, test::join({test::quic_initial(), test::quic_initial(500)}));
  for (const std::size_t cut_at :
       {std::size_t{1}, std::size_t{14}, std::size_t{40}, std::size_t{60}, std::size_t{300}}) {
    buf::packet head = packet_of(*pool_, base::byte_view(whole).first(cut_at));
    buf::packet tail = packet_of(*pool_, base::byte_view(whole).subspan(cut_at));
    ASSERT_TRUE(head.append_chain(tail));
    buf::burst packets;
    ASSERT_TRUE(packets.push(std::move(head)));
    EXPECT_EQ(parse(packets), whole.size());
  }
  EXPECT_EQ(of(traffic_class::quic_initial), 5u);
  EXPECT_EQ(read(counters_)[count::quic_pkts], 10u);
  EXPECT_EQ(counters_.drops.total(), 0u);
}

TEST_F(parse_burst_test, drops_a_chain_that_no_buffer_of_ours_holds) {
  buf::packet head = packet_of(*pool_, udp_frame());
  while (head.length() <= scratch_bytes) {
    buf::packet tail = packet_of(*pool_, byte_list(2000, 0));
    ASSERT_TRUE(head.append_chain(tail));
  }
  buf::burst packets;
  ASSERT_TRUE(packets.push(std::move(head)));
  EXPECT_EQ(parse(packets), 0u);
  EXPECT_TRUE(packets.empty());
  EXPECT_EQ(counters_.drops.get(drop_reason::l2_oversized), 1u);
}

}  // namespace
}  // namespace millrace::pipeline
