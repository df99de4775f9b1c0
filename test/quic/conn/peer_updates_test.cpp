#include "quic/conn/peer_updates.hpp"

#include <gtest/gtest.h>

namespace millrace::test {

namespace {

using quic::conn::peer_updates;
using verdict = peer_updates::verdict;

constexpr std::uint64_t pto_ns = 100;

}  // namespace

TEST(quic_peer_updates, takes_one_every_three_ptos_for_ever) {
  peer_updates u(true);
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    u.on_ack_sent();
    EXPECT_EQ(u.on_update(i * 3 * pto_ns, pto_ns), verdict::fine) << i;
  }
}

TEST(quic_peer_updates, takes_none_from_a_client_before_it_was_told_anything) {
  peer_updates u(true);
  EXPECT_EQ(u.on_update(5, pto_ns), verdict::fault);
}

TEST(quic_peer_updates, takes_a_servers_first_at_once) {
  peer_updates u(false);
  EXPECT_EQ(u.on_update(5, pto_ns), verdict::fine);
}

TEST(quic_peer_updates, takes_no_second_one_without_an_acknowledgement_between) {
  peer_updates u(true);
  u.on_ack_sent();
  EXPECT_EQ(u.on_update(1000, pto_ns), verdict::fine);
  EXPECT_EQ(u.on_update(2000, pto_ns), verdict::fault);
}

TEST(quic_peer_updates, takes_none_after_ours_without_an_acknowledgement_under_the_new_keys) {
  peer_updates u(true);
  u.on_ack_sent();
  u.on_answer();
  EXPECT_EQ(u.on_update(2000, pto_ns), verdict::fault);
}

TEST(quic_peer_updates, ends_a_run_of_hasty_ones) {
  peer_updates u(true);
  u.on_ack_sent();
  EXPECT_EQ(u.on_update(1000, pto_ns), verdict::fine);
  std::uint64_t now = 1000;
  for (unsigned i = 0; i < peer_updates::most_hasty; ++i) {
    u.on_ack_sent();
    EXPECT_EQ(u.on_update(now += 3 * pto_ns - 1, pto_ns), verdict::hasty) << i;
  }
  u.on_ack_sent();
  EXPECT_EQ(u.on_update(now + 3 * pto_ns - 1, pto_ns), verdict::fault);
}

TEST(quic_peer_updates, forgives_a_hasty_one_for_each_that_was_not) {
  peer_updates u(true);
  std::uint64_t now = 1000;
  for (unsigned i = 0; i < 100; ++i) {
    u.on_ack_sent();
    EXPECT_NE(u.on_update(now += i % 2 == 0 ? 3 * pto_ns : pto_ns, pto_ns), verdict::fault) << i;
  }
}

}  // namespace millrace::test
