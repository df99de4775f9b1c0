// Streams that take more than they were given: credit at three levels, sizes that change, wrong directions, fragments,
// resets. Memory stays within the windows that were announced, whatever the peer does with them.
#include "quic/sim/crafted.hpp"

namespace millrace::test {
namespace {

using quic::conn::event;
using quic::stream::piece_account;
using quic::stream::reassembly;
using quic::wire::transport_error;

constexpr std::uint64_t window = 256u << 10;           // of a stream, at first
constexpr std::uint64_t connection_window = 1u << 20;  // of all
constexpr std::uint64_t number_of(transport_error e) { return static_cast<std::uint64_t>(e); }

// After take_over() the client has used stream 0.
constexpr std::uint64_t bidi(std::uint64_t index) { return 4 * index; }
constexpr std::uint64_t uni(std::uint64_t index) { return 4 * index + 2; }
constexpr std::uint64_t bidi_of_server = 1, uni_of_server = 3;

struct attack {
  const char* name;
  std::vector<frames> what;
  transport_error code;
};

frames of(std::initializer_list<std::uint64_t> values) { return frames().numbers(values); }

void expect_all_to_end(const std::vector<attack>& attacks) {
  for (const attack& a : attacks) {
    hijack h(victim::server);
    ASSERT_TRUE(h.take_over());
    for (const frames& f : a.what) {
      ASSERT_FALSE(h.said.code.has_value()) << a.name << ": too early";
      h.send(f);
    }
    EXPECT_EQ(h.said.code, number_of(a.code)) << a.name;
    EXPECT_EQ(h.event(event::closed_for_fault), 1u) << a.name;
    EXPECT_LE(h.held().buffers, 8u) << a.name;
    h.settle(5 * second);
    EXPECT_EQ(h.held(), holdings{}) << a.name;
  }
}

TEST(quic_attack_streams, that_go_beyond_their_credit_end_the_connection) {
  expect_all_to_end({
      {"a stream's credit", {frames().stream(bidi(1), window - 1, 2)}, transport_error::flow_control_error},
      {"far beyond it", {frames().stream(bidi(1), base::varint_max - 10, 10)}, transport_error::flow_control_error},
      {"by its size alone",
       {frames().add(quic::wire::reset_stream_frame{.stream_id = bidi(1), .final_size = window + 1})},
       transport_error::flow_control_error},
      {"the connection's",
       {frames().stream(bidi(1), window - 1, 1), frames().stream(bidi(2), window - 1, 1),
        frames().stream(bidi(3), window - 1, 1), frames().stream(bidi(4), window - 1, 1)},
       transport_error::flow_control_error},
      {"the connection's, by sizes",
       {frames().add(quic::wire::reset_stream_frame{.stream_id = bidi(1), .final_size = window}),
        frames().stream(uni(0), window - 1, 1), frames().stream(uni(1), window - 1, 1),
        frames().stream(uni(2), window - 1, 1)},
       transport_error::flow_control_error},
      {"streams", {frames().stream(bidi(200), 0, 1)}, transport_error::stream_limit_error},
      {"streams one way", {frames().stream(uni(16), 0, 1)}, transport_error::stream_limit_error},
      {"streams that cannot be counted",
       {frames().stream(base::varint_max - 3, 0, 1)},
       transport_error::stream_limit_error},
      {"streams by STOP_SENDING", {of({0x05, bidi(200), 0})}, transport_error::stream_limit_error},
      {"streams by MAX_STREAM_DATA", {of({0x11, bidi(200), 9})}, transport_error::stream_limit_error},
      {"streams by STREAM_DATA_BLOCKED", {of({0x15, uni(16), 9})}, transport_error::stream_limit_error},
      {"streams by RESET_STREAM", {of({0x04, uni(16), 0, 0})}, transport_error::stream_limit_error},
  });
}

TEST(quic_attack_streams, whose_size_changes_end_the_connection) {
  const auto fin_at_10 = frames().stream(bidi(1), 4, 6, true);  // with a hole, so that it stays open
  expect_all_to_end({
      {"data behind the end", {fin_at_10, frames().stream(bidi(1), 10, 1)}, transport_error::final_size_error},
      {"another end", {fin_at_10, frames().stream(bidi(1), 5, 6, true)}, transport_error::final_size_error},
      {"an end before what came",
       {frames().stream(bidi(1), 4, 6), frames().stream(bidi(1), 0, 2, true)},
       transport_error::final_size_error},
      {"a reset with another size", {fin_at_10, of({0x04, bidi(1), 0, 11})}, transport_error::final_size_error},
      {"a reset below what came",
       {frames().stream(bidi(1), 4, 6), of({0x04, bidi(1), 0, 3})},
       transport_error::final_size_error},
  });
}

TEST(quic_attack_streams, in_the_wrong_direction_end_the_connection) {
  const auto code = transport_error::stream_state_error;
  expect_all_to_end({
      {"STREAM where only the server sends", {frames().stream(uni_of_server, 0, 1)}, code},
      {"RESET_STREAM there", {of({0x04, uni_of_server, 0, 0})}, code},
      {"STREAM_DATA_BLOCKED there", {of({0x15, uni_of_server, 0})}, code},
      {"STOP_SENDING where only the client sends", {of({0x05, uni(0), 0})}, code},
      {"STOP_SENDING there once it is open", {frames().stream(uni(0), 0, 1), of({0x05, uni(0), 0})}, code},
      {"MAX_STREAM_DATA there", {of({0x11, uni(0), 100})}, code},
      {"STREAM of the server's that it never opened", {frames().stream(bidi_of_server, 0, 1)}, code},
      {"STOP_SENDING for it", {of({0x05, bidi_of_server, 0})}, code},
      {"MAX_STREAM_DATA for it", {of({0x11, bidi_of_server, 100})}, code},
      {"RESET_STREAM for it", {of({0x04, bidi_of_server, 0, 0})}, code},
      {"MAX_STREAM_DATA of the server's way one", {of({0x11, uni_of_server, 100})}, code},
  });
}

TEST(quic_attack_streams, that_are_closed_may_be_spoken_of_without_effect) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  const holdings before = h.held();
  for (unsigned i = 0; i < 200; ++i)
    h.send(frames().stream(0, i * 100, 100).numbers({0x04, 0, 0, 5, 0x05, 0, 0, 0x11, 0, 9, 0x15, 0, 9}));
  EXPECT_FALSE(h.said.code.has_value());
  EXPECT_EQ(h.held(), before);
  EXPECT_EQ(h.event(event::streams_opened), 1u);
}

// Bytes with holes between them: what they pin is bounded by a count of pieces, not by their number.
TEST(quic_attack_streams, of_crumbs_with_holes_hold_few_buffers) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  const holdings before = h.held();
  for (std::uint64_t s = 1; s <= 100; ++s) {
    std::vector<byte_vector> burst;
    for (unsigned p = 0; p < 4; ++p) {
      frames f;
      for (unsigned i = 0; i < 64; ++i) f.stream(bidi(s), 2 + 2 * (p * 64 + i), 1);
      burst.push_back(h.seal({.payload = f.get()}));
    }
    h.inject(burst);
  }
  EXPECT_FALSE(h.said.code.has_value()) << "ours to be short of";
  EXPECT_GT(h.event(event::stream_no_memory), 0u);
  EXPECT_LE(h.held().pieces, 100 * reassembly::most_runs);
  EXPECT_LE(h.held().pieces, piece_account::most_for(24u << 20));
  EXPECT_LE(h.held().buffers - before.buffers, 4u) << "single bytes lie side by side";
  h.settle(40 * second);
  EXPECT_EQ(h.held(), holdings{});
}

TEST(quic_attack_streams, of_halves_of_packets_hold_no_more_buffers_than_their_window) {
  sim_options o;
  o.server.transport.connection_window_most = connection_window;
  hijack h(victim::server, o);
  ASSERT_TRUE(h.take_over());
  // Pieces of 512 bytes pin a packet each; every second one is there.
  for (std::uint64_t s = 1; s <= 100; ++s)
    for (unsigned i = 0; i < 10; ++i) h.send(frames().stream(bidi(s), 600 + 1024 * i, 512));
  EXPECT_LE(h.held().pieces, piece_account::most_for(connection_window));
  EXPECT_LE(h.held().buffers, piece_account::most_for(connection_window));
  h.settle(40 * second);
  EXPECT_EQ(h.held(), holdings{});
}

// CVE-2026-42772: 10^5 fragments of one stream, backwards, so that each finds all others above it.
TEST(quic_attack_streams, of_a_hundred_thousand_fragments_cost_a_bounded_list) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  std::uint64_t offset = 200'010;
  while (offset > 20) {
    std::vector<byte_vector> burst;
    for (unsigned p = 0; p < 32 && offset > 20; ++p) {
      frames f;
      for (unsigned i = 0; i < 120 && offset > 20; ++i) f.stream(bidi(1), offset -= 2, 1);
      burst.push_back(h.seal({.payload = f.get()}));
    }
    h.inject(burst);
  }
  EXPECT_LE(h.held().pieces, reassembly::most_runs + 1u);
  EXPECT_GT(h.event(event::stream_no_memory), 500u) << "refused packet by packet";
  EXPECT_FALSE(h.said.code.has_value());
}

// CVE-2026-44433.
TEST(quic_attack_streams, win_no_credit_by_a_byte_at_the_top_of_the_window) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  h.send(frames().stream(bidi(1), window - 1, 1));
  h.send(frames().stream(bidi(2), window - 1, 1));
  h.settle(1 * second);
  EXPECT_EQ(h.said.max_stream_data, 0u);
  EXPECT_EQ(h.said.max_data, 0u);
  EXPECT_FALSE(h.said.code.has_value());
}

TEST(quic_attack_streams, win_no_credit_while_nobody_reads) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  h.pair.server_app.reads = false;
  for (std::uint64_t at = 0; at + 1000 <= window; at += 1000) h.send(frames().stream(bidi(1), at, 1000));
  h.settle(1 * second);
  EXPECT_EQ(h.said.max_stream_data, 0u);
  EXPECT_EQ(h.said.max_data, 0u);
  EXPECT_LE(h.held().buffers, window / 512);
  EXPECT_EQ(h.code_after(frames().stream(bidi(1), window, 1)), number_of(transport_error::flow_control_error));
}

// CVE-2023-44487: credit for streams comes back when the work for one is over, so there are never more than were
// allowed, however fast they come and go.
TEST(quic_attack_streams, that_come_and_go_at_once_are_never_more_than_allowed) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  const std::uint64_t before = h.event(event::streams_reset);
  std::uint64_t next = 1;
  for (unsigned round = 0; round < 4; ++round) {
    for (unsigned i = 0; i < 20; ++i, ++next)
      h.send(frames().stream(bidi(next), 0, 5).numbers({0x04, bidi(next), 1, 5, 0x05, bidi(next), 1}));
    EXPECT_LE(h.held().streams, 128u);
    // Their RESET_STREAM is acknowledged, which is what ends them.
    h.settle(100 * ms);
  }
  EXPECT_EQ(h.event(event::streams_reset) - before, 2u * 80) << "resets and stops, both counted";
  EXPECT_LE(h.held().buffers, 4u);
  h.settle(40 * second);
  EXPECT_EQ(h.held(), holdings{});
}

TEST(quic_attack_streams, that_are_stopped_over_and_over_are_reset_once) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  const std::string request = "GET 10000000";
  h.send(frames().add(quic::wire::stream_frame{.stream_id = bidi(1), .data = base::as_bytes(request), .fin = true}));
  const std::uint64_t before = h.event(event::streams_reset);
  for (unsigned i = 0; i < 300; ++i) h.send(of({0x05, bidi(1), i}));
  EXPECT_EQ(h.event(event::streams_reset) - before, 1u);
  EXPECT_FALSE(h.said.code.has_value());
}

// Frames that carry nothing to keep.
TEST(quic_attack_streams, and_limits_told_without_end_leave_nothing_behind) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  h.send(of({0x15, bidi(127), 1}));  // all that are allowed
  const holdings before = h.held();
  EXPECT_EQ(before.streams, 127u);
  for (unsigned i = 0; i < 500; ++i)
    h.send(
        frames().numbers({0x14, i, 0x15, bidi(5), i, 0x16, i, 0x17, i, 0x10, i, 0x12, i, 0x13, i, 0x11, bidi(7), i}));
  EXPECT_EQ(h.held(), before);
  EXPECT_FALSE(h.said.code.has_value());
}

TEST(quic_attack_streams, a_flood_of_datagram_frames_is_told_and_forgotten) {
  hijack h(victim::server);
  ASSERT_TRUE(h.take_over());
  const holdings before = h.held();
  const byte_vector data(20, 'd');
  for (unsigned i = 0; i < 50; ++i) {
    frames f;
    for (unsigned n = 0; n < 50; ++n) f.add(quic::wire::datagram_frame{.data = data});
    h.send(f);
  }
  EXPECT_EQ(h.event(event::datagram_frames), 2500u);
  EXPECT_EQ(h.held(), before);
}

}  // namespace
}  // namespace millrace::test
