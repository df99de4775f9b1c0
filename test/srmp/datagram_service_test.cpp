#include "srmp/datagram_service.hpp"

#include <gtest/gtest.h>

#include "mem/heap_counter.hpp"
#include "srmp/datagram_sink.hpp"
#include "srmp/from_hex.hpp"

namespace millrace::srmp {
namespace {

using test_support::from_hex;
using test_support::kept_datagrams;

conversation with(std::uint16_t port, std::string_view local = "198.18.0.1") {
  return {.remote = {base::ip_address::parse("198.18.0.9").value(), port},
          .local = {base::ip_address::parse(local).value(), 5500}};
}

// Datagrams, each with the conversation it was aimed at when it was opened.
struct aimed : kept_datagrams {
  conversation now;
  std::vector<conversation> targets;
  explicit aimed(std::size_t room) : kept_datagrams(room) {}
  void aim(const conversation& between) noexcept {
    EXPECT_TRUE(opened.empty()) << "what is open was meant for somebody else";
    now = between;
  }
  void close(std::size_t size) noexcept {
    kept_datagrams::close(size);
    if (size != 0) targets.push_back(now);
  }
};

TEST(srmp_service, gathers_the_replies_of_datagrams_that_follow_each_other) {
  aimed sink(1472);
  echo_handler handler;
  datagram_service server(sink, handler, {});
  const auto a = from_hex("01 01 01 00 41");
  const auto b = from_hex("01 02 01 00 42");
  EXPECT_EQ(server.on_datagram(with(1), a), datagram_end::whole);
  EXPECT_EQ(server.on_datagram(with(1), b), datagram_end::whole);
  EXPECT_TRUE(sink.sent.empty());
  server.flush();
  ASSERT_EQ(sink.sent.size(), 1u);
  EXPECT_EQ(sink.sent[0], from_hex("81 01 01 00 41 81 02 01 00 42"));
  server.flush();
  EXPECT_EQ(sink.sent.size(), 1u);
}

TEST(srmp_service, answers_each_caller_from_the_address_that_was_called) {
  aimed sink(1472);
  echo_handler handler;
  datagram_service server(sink, handler, {});
  const auto a = from_hex("01 01 01 00 41");
  const std::vector<conversation> callers = {with(1), with(2), with(2, "198.18.0.2"), with(2, "2001:db8::1"), with(1)};
  for (const conversation& one : callers) server.on_datagram(one, a);
  server.flush();
  EXPECT_EQ(sink.sent.size(), 5u);
  EXPECT_EQ(sink.targets, callers);
}

TEST(srmp_service, sends_one_reply_a_datagram_to_the_first_generation) {
  aimed sink(1472);
  echo_handler handler;
  datagram_service server(sink, handler, {.peers = compatibility::first_generation()});
  server.on_datagram(with(1), from_hex("01 01 01 00 41 01 02 01 00 42"));
  EXPECT_EQ(sink.sent.size(), 2u);
}

TEST(srmp_service, lays_pushes_into_the_same_batch) {
  aimed sink(1472);
  echo_handler handler;
  datagram_service server(sink, handler, {});
  server.on_datagram(with(1), from_hex("01 01 01 00 41"));
  for (const std::uint16_t port : {std::uint16_t{1}, std::uint16_t{2}}) {
    auto& batch = server.batch_to(with(port));
    ASSERT_FALSE(batch.claim(1).empty());
    EXPECT_TRUE(batch.commit(0x41, 7, 1));
  }
  server.flush();
  ASSERT_EQ(sink.sent.size(), 2u);
  EXPECT_EQ(sink.sent[0].size(), 10u);
  EXPECT_EQ(sink.sent[1].size(), 5u);
  EXPECT_EQ(sink.targets[1], with(2));
}

struct beginner : echo_handler {
  std::vector<std::uint16_t> begun;
  void begin(const conversation& between) noexcept { begun.push_back(between.remote.port); }
};

TEST(srmp_service, tells_its_handler_whose_datagrams_come_next) {
  aimed sink(1472);
  beginner handler;
  datagram_service server(sink, handler, {});
  const auto a = from_hex("01 01 01 00 41");
  for (const int port : {1, 1, 2, 1}) server.on_datagram(with(static_cast<std::uint16_t>(port)), a);
  server.flush();
  server.on_datagram(with(1), a);
  server.flush();
  EXPECT_EQ(handler.begun, (std::vector<std::uint16_t>{1, 2, 1, 1}));
}

TEST(srmp_service, counts_what_it_drops_and_keeps_nothing) {
  aimed sink(1472);
  echo_handler handler;
  datagram_service server(sink, handler, {});
  EXPECT_EQ(server.on_datagram(with(1), from_hex("01 01 04 00 41")), datagram_end::truncated);
  EXPECT_EQ(server.on_datagram(with(1), from_hex("01 01 FF FF FF FF FF FF")), datagram_end::malformed);
  EXPECT_EQ(server.on_datagram(with(1), {}), datagram_end::closed);
  server.flush();
  EXPECT_TRUE(sink.sent.empty());
  EXPECT_EQ(server.counters().datagrams.get(), 3u);
}

struct silent_sink {
  std::array<std::uint8_t, 1472> room;
  std::size_t bytes = 0;
  base::byte_span open() noexcept { return room; }
  void close(std::size_t size) noexcept { bytes += size; }
  void aim(const conversation&) noexcept {}
};

TEST(srmp_service, calls_no_heap) {
  if (!mem::heap_counter_present()) GTEST_SKIP() << "this build's sanitizer brings its own heap";
  silent_sink sink;
  echo_handler handler;
  datagram_service server(sink, handler, {});
  const auto in = from_hex("01 01 01 00 41 01 02 01 00 42 43 2A 02 00 7B 7D 01 03");
  mem::heap_tally tally;
  {
    mem::heap_watch watch(tally);
    for (std::uint16_t round = 0; round < 1000; ++round) {
      server.on_datagram(with(static_cast<std::uint16_t>(round / 3)), in);
      if (round % 32 == 0) server.flush();
    }
    server.flush();
  }
  EXPECT_EQ(tally.calls.get(), 0u);
  EXPECT_EQ(sink.bytes, 10'000u);
}

}  // namespace
}  // namespace millrace::srmp
