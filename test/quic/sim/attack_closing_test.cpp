// The end of a connection, and its keys: who is told how often, what is kept meanwhile, what forged and late packets
// do.
#include "quic/sim/crafted.hpp"

namespace millrace::test {
namespace {

using quic::conn::event;
using stats::drop_reason;

frames ping() { return frames().numbers({1}).pad(8); }

// RFC 9000 10.2.1: for the 1st, 2nd, 4th ... packet.
TEST(quic_attack_closing, a_closing_connection_answers_ever_more_seldom) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  h.send(frames().numbers({0x21}));
  ASSERT_TRUE(h.said.code.has_value());
  const holdings before = h.held();
  EXPECT_EQ(before.streams, 0u) << "streams go at once";
  const unsigned closes = h.said.closes;
  for (unsigned i = 0; i < 1'000; ++i) h.send(ping());
  EXPECT_GE(h.said.closes - closes, 5u);
  EXPECT_LE(h.said.closes - closes, 11u) << "the logarithm of what came";
  EXPECT_EQ(h.held(), before);
  h.settle(3 * second);
  EXPECT_EQ(h.held(), holdings{}) << "three PTOs later nothing is left";
}

TEST(quic_attack_closing, a_storm_of_connection_close_gets_no_answer) {
  for (const std::uint64_t type : {std::uint64_t{0x1c}, std::uint64_t{0x1d}}) {
    hijack h(victim::server);
    ASSERT_TRUE(h.take_over());
    const frames close = type == 0x1c ? frames().numbers({type, 7, 0, 3}).bytes({'a', 'b', 'c'})
                                      : frames().numbers({type, 7, 3}).bytes({'a', 'b', 'c'});
    h.send(close);
    EXPECT_EQ(h.event(event::closed_by_peer), 1u);
    EXPECT_TRUE(h.app().closed);
    const unsigned said = h.said.datagrams;
    const holdings before = h.held();
    for (unsigned i = 0; i < 1'000; ++i) h.send(close);
    EXPECT_EQ(h.said.datagrams, said) << "draining is silent";
    EXPECT_EQ(h.event(event::closed_by_peer), 1u);
    EXPECT_EQ(h.held(), before);
    h.settle(3 * second);
    EXPECT_EQ(h.held(), holdings{});
  }
}

TEST(quic_attack_closing, a_long_reason_is_nobodys_memory) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  const std::string reason(1'100, 'r');
  h.send(frames().add(quic::wire::connection_close_frame{.error_code = 0xfff, .reason = base::as_bytes(reason)}));
  EXPECT_EQ(h.app().end.code, 0xfffu);
  EXPECT_EQ(h.held().buffers, 0u);
  EXPECT_EQ(h.event(event::closed_by_peer), 1u);
}

TEST(quic_attack_closing, forged_packets_leave_no_trace_but_counters) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  const holdings before = h.held();
  const std::uint64_t received = h.event(event::packets_received);
  for (unsigned i = 0; i < 100; ++i) {
    std::vector<byte_vector> burst;
    for (unsigned n = 0; n < 20; ++n) {
      burst.push_back(h.seal({.payload = ping().get()}));
      burst.back()[burst.back().size() - 1 - n % 16] ^= 0x40;
    }
    h.inject(burst);
    byte_vector alone = h.seal({.payload = ping().get()});
    alone.back() ^= 1;
    h.inject({alone});
  }
  EXPECT_EQ(h.event(event::auth_failed), 2'100u);
  EXPECT_EQ(h.dropped(drop_reason::quic_decrypt_failed), 2'100u);
  EXPECT_EQ(h.event(event::packets_received), received);
  EXPECT_EQ(h.said.datagrams, 0u);
  EXPECT_EQ(h.held(), before);
  h.send(frames().stream(4, 0, 10));
  EXPECT_GT(h.said.datagrams, 0u) << "and the connection is as good as before";
}

// They do not keep it alive, either.
TEST(quic_attack_closing, forged_packets_do_not_hold_a_connection_open) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  for (unsigned i = 0; i < 80; ++i) {
    byte_vector forged = h.seal({.payload = ping().get()});
    forged.back() ^= 1;
    h.inject({forged});
    h.settle(500 * ms);
  }
  EXPECT_EQ(h.held(), holdings{});
  EXPECT_EQ(h.event(event::idle_timeout), 1u);
}

TEST(quic_attack_closing, repeated_packets_are_dropped_and_counted) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  const byte_vector packet = h.seal({.payload = frames().stream(4, 0, 100).get()});
  h.inject({packet});
  const holdings before = h.held();
  for (unsigned i = 0; i < 500; ++i) h.inject({packet, packet});
  EXPECT_EQ(h.event(event::duplicates), 1'000u);
  EXPECT_EQ(h.dropped(drop_reason::quic_duplicate), 1'000u);
  EXPECT_EQ(h.held(), before);
}

TEST(quic_attack_closing, packets_of_levels_that_are_over_are_not_read) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  const holdings before = h.held();
  const std::uint64_t received = h.event(event::packets_received);
  for (unsigned i = 0; i < 200; ++i) {
    h.send(frames().crypto(0, 1'000), level::initial);
    h.send(frames().crypto(0, 1'000), level::handshake);
  }
  EXPECT_EQ(h.event(event::packets_received), received);
  EXPECT_EQ(h.held(), before);
  EXPECT_EQ(h.said.datagrams, 0u);
}

TEST(quic_attack_closing, a_key_update_is_followed_and_old_keys_are_forgotten) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  h.inject({h.seal({.payload = ping().get(), .phase = 1})});
  EXPECT_EQ(h.event(event::key_updates), 1u);
  EXPECT_FALSE(h.said.code.has_value());
  h.settle(5 * second);  // more than three PTOs
  const std::uint64_t received = h.event(event::packets_received);
  h.inject({h.seal({.payload = ping().get(), .number = h.next_number(level::one_rtt) - 500})});
  EXPECT_EQ(h.event(event::packets_received), received) << "late, and under keys that are gone";
  EXPECT_GE(h.event(event::auth_failed), 1u);
  EXPECT_EQ(h.event(event::key_updates), 1u);
}

// RFC 9001 6.1, 6.5: no key update before the last one was acknowledged and three PTOs are over.
TEST(quic_attack_closing, key_updates_one_after_the_other_end_the_connection) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  unsigned phase = 0;
  while (!h.said.code && phase < 1'000) h.inject({h.seal({.payload = ping().get(), .phase = ++phase})});
  EXPECT_EQ(h.said.code, static_cast<std::uint64_t>(quic::wire::transport_error::key_update_error));
  EXPECT_LT(phase, 100u);
  EXPECT_GE(h.event(event::key_updates_hasty), 1u);
  EXPECT_EQ(h.event(event::closed_for_fault) + h.event(event::closed_by_us), 1u);
}

// CVE-2024-1765: CRYPTO after the handshake.
TEST(quic_attack_closing, crypto_without_end_after_the_handshake_is_ignored) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  ASSERT_EQ(h.connection()->handshake(), nullptr) << "its tickets are acknowledged";
  const holdings before = h.held();
  for (std::uint64_t i = 0; i < 500; ++i) h.send(frames().crypto(2 * i * 1000, 1000));
  EXPECT_EQ(h.event(event::crypto_ignored), 500u);
  EXPECT_EQ(h.held(), before);
  EXPECT_FALSE(h.said.code.has_value());
}

}  // namespace
}  // namespace millrace::test
