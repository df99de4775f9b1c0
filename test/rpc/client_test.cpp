#include "rpc/client.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "rpc/builtin.hpp"
#include "rpc/service.hpp"
#include "rpc/vectors.hpp"
#include "srmp/datagram_sink.hpp"

namespace millrace::rpc {
namespace {

namespace vectors = test_vectors;
using srmp::test_support::kept_datagrams;
using vectors::from_hex;

const base::endpoint peer{base::ip_address::parse("198.18.0.1").value(), 5500};

struct read_frame {
  std::vector<std::uint8_t> bytes;
  reply got;
};

read_frame read(const char* text) {
  read_frame out{from_hex(text), {}};
  srmp::wire::datagram_frames frames(out.bytes);
  srmp::wire::frame f;
  EXPECT_EQ(frames.next(f), base::progress::done);
  out.got = reply_of(f);
  return out;
}

TEST(rpc_client, reads_the_replies_of_the_sheet) {
  const read_frame r4 = read(vectors::r4);
  EXPECT_EQ(r4.got.outcome, reply_outcome::success);
  EXPECT_EQ(base::as_text(r4.got.data), "3");
  EXPECT_FALSE(read(vectors::r5).got.has_data);
  const read_frame r7 = read(vectors::r7);
  EXPECT_EQ(r7.got.outcome, reply_outcome::error);
  EXPECT_EQ(r7.got.code, 500);
  EXPECT_EQ(base::as_text(r7.got.data), "boom");
  EXPECT_EQ(read(vectors::r8).got.code, 401);
  EXPECT_EQ(read(vectors::r19).got.outcome, reply_outcome::malformed);
  EXPECT_EQ(read("81 01 00 00").got.outcome, reply_outcome::malformed);
}

TEST(rpc_client, goes_by_the_code_of_an_error_reply) {
  EXPECT_EQ(read("C1 01 08 00 03 41 2F 42 C8 00 00 00").got.outcome, reply_outcome::success);
  EXPECT_EQ(read("C1 01 08 00 03 41 2F 42 00 00 00 00").got.outcome, reply_outcome::success);
  EXPECT_EQ(read("C1 01 08 00 03 41 2F 42 FF FF FF FF").got.code, -1);
}

TEST(rpc_client, writes_calls_as_the_reference_does) {
  kept_datagrams sink(1472);
  srmp::datagram_client client(peer, {});
  {
    srmp::frame_batch out(sink, 0, {});
    ASSERT_TRUE(call_method(client, out, {.cookie = 1}, "api/all", {}));
    ASSERT_TRUE(call_method(client, out, {.cookie = 2}, "My/Add", base::as_bytes(R"({"x":1,"y":2})")));
    EXPECT_FALSE(call_method(client, out, {}, "", {}));
    EXPECT_FALSE(call_method(client, out, {}, std::string(128, 'n'), {}));
    EXPECT_FALSE(call_method(client, out, {}, "n", std::vector<std::uint8_t>(1472)));
  }
  ASSERT_EQ(sink.sent.size(), 2u);
  EXPECT_EQ(sink.sent[0], from_hex(vectors::r1));
  std::vector<std::uint8_t> r3 = from_hex(vectors::r3);
  r3[1] = 2;
  EXPECT_EQ(sink.sent[1], r3);
  EXPECT_EQ(client.in_flight(), 2u);
}

struct results {
  std::vector<std::string> lines;
  bool on_reply(const srmp::pending_request& asked, const srmp::wire::frame& f) noexcept {
    const reply got = reply_of(f);
    lines.push_back(std::to_string(asked.cookie) + (got.outcome == reply_outcome::success ? "=" : "!") +
                    std::string(base::as_text(got.data)));
    return got.outcome != reply_outcome::success || !got.has_data || got.name != "Count";  // of a stream: more to come
  }
  void on_push(const srmp::wire::frame&) noexcept {}
  void on_goodbye() noexcept {}
};

TEST(rpc_client, and_service_hold_a_conversation) {
  const std::unique_ptr<method_table> table = method_table::make();
  const server_facts about;
  ASSERT_EQ(add_builtins(*table, about), add_errc::ok);
  const auto count_up = [](void*, call& c) noexcept {
    for (const char* one : {"one", "two", "three"})
      if (!c.item(base::as_bytes(one))) return;
  };
  ASSERT_EQ(table->add("Count", count_up, nullptr), add_errc::ok);
  const std::unique_ptr<service> rpc = service::make(*table);
  kept_datagrams asked(1472);
  kept_datagrams answered(1472);
  std::array<std::uint8_t, 1472> spill;
  srmp::datagram_client client(peer, {});
  {
    srmp::frame_batch out(asked, 1472, {});
    ASSERT_TRUE(call_method(client, out, {.cookie = 1}, "Echo", base::as_bytes("[1,2]")));
    ASSERT_TRUE(call_method(client, out, {.cookie = 2}, "Count", {}));
    ASSERT_TRUE(call_method(client, out, {.cookie = 3}, "Nobody", {}));
  }
  ASSERT_EQ(asked.sent.size(), 1u);
  srmp::server_counters count;
  {
    srmp::frame_batch out(answered, 1472, spill);
    srmp::serve_datagram(asked.sent[0], *rpc, out, {}, count);
  }
  results got;
  for (const auto& datagram : answered.sent) client.on_datagram(peer, datagram, got);
  ASSERT_EQ(got.lines.size(), 6u);
  EXPECT_EQ(got.lines[0], "1=[1,2]");
  EXPECT_EQ(got.lines[1], "2=one");
  EXPECT_EQ(got.lines[3], "2=three");
  EXPECT_EQ(got.lines[4], "2=");
  EXPECT_TRUE(got.lines[5].starts_with("3!"));
  EXPECT_EQ(client.in_flight(), 0u);
}

}  // namespace
}  // namespace millrace::rpc
