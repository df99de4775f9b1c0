// Acknowledgements that lie, that flood, and packets that want none: what is kept for them is bounded, and a lie ends
// the connection.
#include "quic/sim/crafted.hpp"

namespace millrace::test {
namespace {

using quic::conn::event;
using quic::wire::transport_error;

constexpr std::uint64_t number_of(transport_error e) { return static_cast<std::uint64_t>(e); }

frames ack(std::uint64_t largest, std::uint64_t first_range) {
  return frames().numbers({0x02, largest, 0, 0, first_range});
}

TEST(quic_attack_acks, of_packets_that_were_never_sent_end_the_connection) {
  for (const victim against : {victim::server, victim::client}) {
    hijack h(against);
    ASSERT_TRUE(h.take_over());
    EXPECT_EQ(h.code_after(ack(1'000'000, 0)), number_of(transport_error::protocol_violation));
    EXPECT_EQ(h.event(event::ack_of_unsent), 1u);
    EXPECT_EQ(h.event(event::closed_for_fault), 1u);
  }
}

TEST(quic_attack_acks, of_packets_that_were_never_sent_end_a_handshake) {
  hijack h(victim::server);
  h.passing = [](const seen_datagram& d) { return d.from_client; };
  ASSERT_NE(h.pair.connect(), nullptr);
  h.settle(50 * ms);
  h.cut();
  EXPECT_EQ(h.code_after(ack(5'000, 0), level::initial), number_of(transport_error::protocol_violation));
  EXPECT_EQ(h.event(event::ack_of_unsent), 1u);
}

// CVE-2025-4820: who acknowledges what it never got cannot know which numbers were left out.
TEST(quic_attack_acks, sent_ahead_of_the_packets_meet_a_number_that_was_left_out) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  const std::string request = "GET 100000000";
  h.send(frames().add(quic::wire::stream_frame{.stream_id = 4, .data = base::as_bytes(request), .fin = true}));
  for (unsigned i = 0; i < 2000 && !h.said.code; ++i) {
    h.settle(5 * ms);
    const std::uint64_t largest = h.largest_read();
    h.send(ack(largest, std::min<std::uint64_t>(largest, 100)));
  }
  EXPECT_EQ(h.said.code, number_of(transport_error::protocol_violation));
  EXPECT_EQ(h.event(event::ack_of_unsent), 1u);
  EXPECT_LT(h.said.bytes, 20'000'000u) << "before it won much";
  h.settle(5 * second);
  EXPECT_EQ(h.held(), holdings{});
}

// CVE-2025-4821, -54873: an ACK of many ranges costs its own bytes, whatever it covers.
TEST(quic_attack_acks, of_hundreds_of_ranges_are_worked_on_within_bounds) {
  hijack h(victim::server);
  ASSERT_TRUE(h.pair.fetch({800'000}));
  h.settle(3 * second);
  h.cut();
  const std::uint64_t largest = h.largest_read();
  ASSERT_GT(largest, 500u);
  const holdings before = h.held();
  frames f;
  for (unsigned i = 0; i < 200; ++i) {  // ranges of one, as far down as there are numbers
    frames::value_list list{0x02, largest, 0, (largest - 4) / 2, 0};
    for (std::uint64_t r = 0; r < (largest - 4) / 2; ++r) list.insert(list.end(), {0, 0});
    f = frames().list(list);
    if (f.get().size() > 1200) break;
    h.send(f);
    if (h.said.code) break;  // one of them was a number that was left out
  }
  EXPECT_LE(h.held().buffers, before.buffers + 1);
  EXPECT_LE(h.held().sent_blocks, before.sent_blocks + 2);
  EXPECT_EQ(h.said.code.value_or(number_of(transport_error::protocol_violation)),
            number_of(transport_error::protocol_violation));
}

// ... and when all places for many ranges are lent.
TEST(quic_attack_acks, of_ours_name_fewer_ranges_yet_when_no_memory_is_left) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  auto& ranges = h.target().endpoint->shared().ranges;
  std::vector<quic::conn::many_ranges*> taken;
  while (quic::conn::many_ranges* const one = ranges.get()) taken.push_back(one);
  const std::uint64_t first = h.next_number(level::one_rtt);
  for (std::uint64_t i = 0; i < 100; ++i)
    h.inject({h.seal({.payload = frames().numbers({1}).pad(8).get(), .number = first + 2 * i})});
  h.settle(100 * ms);
  EXPECT_FALSE(h.said.code.has_value());
  EXPECT_EQ(h.said.largest_acked, first + 198);
  EXPECT_LE(h.said.ack_ranges, quic::conn::few_ack_ranges);
  EXPECT_GT(h.event(event::ack_ranges_no_memory), 80u);
  for (quic::conn::many_ranges* const one : taken) ranges.give(one);
}

// What we remember of a peer that leaves out every second number.
TEST(quic_attack_acks, of_ours_name_few_ranges_however_many_holes_there_are) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  const holdings before = h.held();
  const std::uint64_t first = h.next_number(level::one_rtt);
  for (std::uint64_t i = 0; i < 3'000; ++i)
    h.inject({h.seal({.payload = frames().numbers({1}).pad(8).get(), .number = first + 2 * i})});
  h.settle(100 * ms);
  EXPECT_FALSE(h.said.code.has_value());
  EXPECT_GT(h.said.acks, 0u);
  EXPECT_LE(h.said.ack_ranges, quic::conn::application_ack_ranges);
  EXPECT_EQ(h.held().buffers, before.buffers);
  EXPECT_LE(h.held().sent_blocks, before.sent_blocks + 1);
  // What fell below is too old to tell, and is not worked on again.
  const std::uint64_t received = h.event(event::packets_received);
  h.inject({h.seal({.payload = frames().stream(4, 0, 10).get(), .number = first + 1})});
  EXPECT_EQ(h.event(event::packets_received), received);
  EXPECT_EQ(h.event(event::duplicates), 1u);
  EXPECT_EQ(h.dropped(stats::drop_reason::quic_duplicate), 1u);
}

// CVE-2026-63075: packets of ours that want no acknowledgement are not kept until one comes.
TEST(quic_attack_acks, of_ours_are_not_kept_until_they_are_acknowledged_themselves) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  const holdings before = h.held();
  for (unsigned i = 0; i < 5'000; ++i) h.send(frames().numbers({1}).pad(8));
  EXPECT_GT(h.said.acks, 100u);
  EXPECT_LE(h.held().sent_blocks, before.sent_blocks + 2) << "28 packets a block";
  EXPECT_EQ(h.held().buffers, before.buffers);
}

TEST(quic_attack_acks, with_counts_of_marks_that_cannot_be_do_no_harm) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  const std::uint64_t largest = h.largest_read();
  for (const std::uint64_t n : {std::uint64_t{0}, std::uint64_t{1} << 40, base::varint_max, std::uint64_t{3}})
    h.send(frames().numbers({0x03, largest, 0, 0, 0, n, n, n}));
  EXPECT_FALSE(h.said.code.has_value());
  const std::string request = "GET 5000";
  h.send(frames().add(quic::wire::stream_frame{.stream_id = 4, .data = base::as_bytes(request), .fin = true}));
  EXPECT_GT(h.said.bytes, 5000u) << "it still sends";
}

TEST(quic_attack_acks, with_a_delay_without_end_do_no_harm) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  h.send(frames().numbers({0x02, h.largest_read(), base::varint_max, 0, 0}));
  EXPECT_FALSE(h.said.code.has_value());
  EXPECT_LT(h.connection()->losses().round_trip().smoothed_ns(), 1 * second);
}

}  // namespace
}  // namespace millrace::test
