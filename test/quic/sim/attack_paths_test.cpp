// Connection IDs, challenges and addresses without end: a few of each are kept, and who wants more is refused.
#include "quic/sim/crafted.hpp"

namespace millrace::test {
namespace {

using quic::conn::event;
using quic::wire::transport_error;

constexpr std::uint64_t number_of(transport_error e) { return static_cast<std::uint64_t>(e); }

frames new_id(std::uint64_t sequence, std::uint64_t retire_prior_to, std::uint8_t variant = 0) {
  byte_vector cid(8);
  byte_vector token(16);
  for (std::size_t i = 0; i < 8; ++i) cid[i] = token[i] = static_cast<std::uint8_t>(sequence >> (8 * i));
  cid[7] = variant;
  return frames().add(quic::wire::new_connection_id_frame{
      .sequence = sequence, .retire_prior_to = retire_prior_to, .cid = cid, .stateless_reset_token = token});
}

// CVE-2024-22189, CVE-2024-1410, CVE-2023-50247.
TEST(quic_attack_paths, retiring_ids_without_end_ends_the_connection) {
  for (const victim against : {victim::server, victim::client}) {
    hijack h(against);
    ASSERT_TRUE(h.take_over());
    const holdings before = h.held();
    std::uint64_t sent = 0;
    for (std::uint64_t n = 100; n < 1'100 && !h.said.code; ++n, ++sent) h.send(new_id(n, n));
    EXPECT_EQ(h.said.code, number_of(transport_error::connection_id_limit_error));
    EXPECT_EQ(h.event(event::closed_for_fault), 1u);
    EXPECT_LE(sent, 8u * 4 + 4) << "eight times the limit, and those that were there";
    EXPECT_LE(h.said.retired, 8u * 4 + 8);
    EXPECT_EQ(h.held().buffers, before.buffers);
    EXPECT_LE(h.held().sent_blocks, before.sent_blocks + 4);
  }
}

// CVE-2025-7054: however large the numbers are and however far apart.
TEST(quic_attack_paths, ids_of_huge_numbers_cost_no_more_than_small_ones) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  h.send(new_id(base::varint_max, base::varint_max));
  EXPECT_FALSE(h.said.code.has_value());
  EXPECT_LE(h.said.retired, 8u);
  EXPECT_EQ(h.connection()->remote_cids().find(base::varint_max)->sequence, base::varint_max);
}

TEST(quic_attack_paths, more_ids_than_were_asked_for_end_the_connection) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  frames f;
  for (std::uint64_t n = 50; n < 60; ++n) f.raw(new_id(n, 0).get());
  EXPECT_EQ(h.code_after(f), number_of(transport_error::connection_id_limit_error));
  EXPECT_EQ(h.event(event::closed_for_fault), 1u);
}

TEST(quic_attack_paths, one_number_for_two_ids_ends_the_connection) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  h.send(new_id(100, 100, 1));
  EXPECT_FALSE(h.said.code.has_value());
  EXPECT_EQ(h.code_after(new_id(100, 100, 2)), number_of(transport_error::protocol_violation));
  EXPECT_EQ(h.event(event::closed_for_fault), 1u);
}

TEST(quic_attack_paths, retiring_what_was_never_given_ends_the_connection) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  EXPECT_EQ(h.code_after(frames().numbers({0x19, 77})), number_of(transport_error::protocol_violation));
  EXPECT_EQ(h.connection()->local_cids().counters().refused, 1u);
}

TEST(quic_attack_paths, retiring_the_id_of_the_very_packet_ends_the_connection) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  const auto own = h.connection()->local_cids().sequence_of(h.server_id);
  ASSERT_TRUE(own.has_value());
  EXPECT_EQ(h.code_after(frames().numbers({0x19, *own})), number_of(transport_error::protocol_violation));
}

TEST(quic_attack_paths, asking_for_new_ids_without_end_never_gives_more_than_eight) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  const holdings before = h.held();
  for (unsigned i = 0; i < 300; ++i) {
    const auto serving = h.connection()->local_cids().serving();
    std::uint64_t other = 0;
    for (const auto& id : serving)
      if (!id.cid.is(h.server_id)) other = std::max(other, id.sequence);
    h.send(frames().numbers({0x19, other}));
    if (h.said.code) break;  // one it did not know of yet: not sent for want of room in the window
    EXPECT_LE(h.held().ids, before.ids + quic::path::max_local_cids);
  }
  EXPECT_EQ(h.held().buffers, before.buffers);
  EXPECT_LE(h.connection()->local_cids().serving().size(), quic::path::max_local_cids);
}

// CVE-2023-6193, CVE-2026-34183.
TEST(quic_attack_paths, challenges_without_end_are_answered_one_a_datagram) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  const holdings before = h.held();
  std::uint8_t tag = 0;
  std::uint64_t asked = 0;
  for (unsigned round = 0; round < 20; ++round) {
    std::vector<byte_vector> burst;
    for (unsigned p = 0; p < 10; ++p) {
      frames f;
      for (unsigned i = 0; i < 100; ++i, ++asked)
        f.add(quic::wire::path_challenge_frame{.data = {tag, static_cast<std::uint8_t>(i), 3, 4, 5, 6, 7, 8}});
      ++tag;
      burst.push_back(h.seal({.payload = f.get()}));
    }
    h.inject(burst);
  }
  EXPECT_LE(h.said.path_responses, 20u * quic::path::max_path_responses);
  EXPECT_GE(h.said.path_responses, 20u);
  EXPECT_GE(h.said.datagrams, h.said.path_responses);
  EXPECT_EQ(h.event(event::path_challenges_dropped), asked - h.said.path_responses);
  EXPECT_EQ(h.held().buffers, before.buffers);
  EXPECT_LE(h.held().sent_blocks, before.sent_blocks + 4);
  EXPECT_FALSE(h.said.code.has_value());
}

TEST(quic_attack_paths, answers_to_nothing_are_counted_and_forgotten) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  const holdings before = h.held();
  for (unsigned i = 0; i < 100; ++i)
    h.send(frames().add(quic::wire::path_response_frame{.data = {1, 2, 3, 4, 5, 6, 7, static_cast<std::uint8_t>(i)}}));
  EXPECT_EQ(h.event(event::unsolicited_path_responses), 100u);
  EXPECT_EQ(h.held().buffers, before.buffers);
  EXPECT_FALSE(h.said.code.has_value());
}

// Packets of one client from hundreds of addresses: few are followed, and none is sent more than three times what came
// from it.
TEST(quic_attack_paths, a_storm_of_addresses_is_followed_a_few_times_a_second) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  const holdings before = h.held();
  const std::string request = "GET 10000000";
  h.send(frames().add(quic::wire::stream_frame{.stream_id = 4, .data = base::as_bytes(request), .fin = true}));
  const quic::conn::connection* c = h.connection();
  for (unsigned i = 0; i < 500; ++i) {
    const auto address = h.from(static_cast<std::uint8_t>(10 + i % 200), static_cast<std::uint16_t>(5'000 + i));
    const byte_vector packet = h.seal({.payload = frames().numbers({1}).pad(100).get()});
    h.inject({packet}, address);
    h.settle(1 * ms);
  }
  EXPECT_LE(h.event(event::migrations), 10u);
  EXPECT_GE(h.event(event::migrations_refused), 480u);
  EXPECT_EQ(c->paths().counters().refused, h.event(event::migrations_refused));
  EXPECT_LE(h.held().buffers, before.buffers + 1);
  EXPECT_FALSE(h.said.code.has_value());
  h.settle(60 * second);
  EXPECT_EQ(h.held(), holdings{});
}

TEST(quic_attack_paths, an_address_that_did_not_answer_gets_three_times_what_came_from_it) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  const std::string request = "GET 10000000";
  const auto address = h.from(77, 7'777);
  std::uint64_t to_it = 0;
  h.pair.net.other_client = address.remote;  // so that what goes there is seen
  h.on_heard = [&](const seen_datagram& d) {
    if (d.address.local == address.remote) to_it += d.bytes.size();
  };
  const byte_vector packet = h.seal(
      {.payload =
           frames().add(quic::wire::stream_frame{.stream_id = 4, .data = base::as_bytes(request), .fin = true}).get()});
  h.inject({packet}, address);
  h.settle(200 * ms);
  EXPECT_EQ(h.event(event::migrations), 1u);
  EXPECT_LE(to_it, 3 * packet.size());
  h.settle(5 * second);
  EXPECT_LE(to_it, 3 * packet.size());
  EXPECT_GE(h.event(event::path_failed), 1u);
}

}  // namespace
}  // namespace millrace::test
