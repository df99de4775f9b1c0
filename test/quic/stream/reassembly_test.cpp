// Received pieces in any order, and the receiving part of a stream on top of them.
#include <gtest/gtest.h>

#include <optional>

#include "quic/stream/recv_stream.hpp"
#include "support/plain_pool.hpp"
#include "support/seeded.hpp"

namespace {

using namespace millrace;
using namespace millrace::quic;
using namespace millrace::quic::stream;

// What byte `at` of the stream is.
std::uint8_t byte_at(std::uint64_t at) { return static_cast<std::uint8_t>(at * 31 + (at >> 8) * 7); }

struct memory {
  test::plain_pool packets;
  mem::object_pool<piece> pieces;
  piece_store store;
  piece_account account;
  explicit memory(std::size_t mbufs = 4000, std::uint32_t piece_count = 4000, std::uint32_t most = 4000)
      : packets(mbufs, 2048),
        pieces(std::move(mem::object_pool<piece>::make("pieces", piece_count).value())),
        store(pieces, packets),
        account(store, most) {}

  // A packet that carries [offset, offset + size) of the stream.
  buf::packet carry(std::uint64_t offset, std::size_t size) {
    buf::packet p{packets.alloc()};
    const base::byte_span room = p.append(static_cast<std::uint16_t>(size));
    for (std::size_t i = 0; i < room.size(); ++i) room[i] = byte_at(offset + i);
    return p;
  }
};

struct reassembly_of_a_stream : testing::Test {
  memory m;
  reassembly r;
  ~reassembly_of_a_stream() override { r.clear(m.account, 0); }

  add_status add(std::uint64_t offset, std::size_t size) {
    const buf::packet p = m.carry(offset, size);
    return r.add(m.account, p, p.first(), offset);
  }
  // Reads all there is and holds it against the stream; answers how much.
  std::uint64_t read_all() {
    const std::uint64_t from = r.read();
    for (base::byte_view next = r.front(); !next.empty(); next = r.front()) {
      for (std::size_t i = 0; i < next.size(); ++i) EXPECT_EQ(next[i], byte_at(r.read() + i));
      r.consume(m.account, next.size());
    }
    return r.read() - from;
  }
};

TEST_F(reassembly_of_a_stream, hands_on_what_comes_in_order_without_a_copy) {
  const buf::packet p = m.carry(0, 1200);
  EXPECT_EQ(r.add(m.account, p, p.first(), 0), add_status::added);
  EXPECT_EQ(r.front().data(), p.first().data());
  EXPECT_EQ(r.readable(), 1200u);
  r.consume(m.account, 200);
  EXPECT_EQ(r.front().data(), p.first().data() + 200);
  EXPECT_EQ(read_all(), 1000u);
  EXPECT_EQ(r.pieces(), 0u);
}

TEST_F(reassembly_of_a_stream, waits_for_the_hole_and_joins_the_runs) {
  EXPECT_EQ(add(1200, 1200), add_status::added);
  EXPECT_EQ(add(3600, 1200), add_status::added);
  EXPECT_EQ(r.readable(), 0u);
  EXPECT_EQ(r.runs(), 2u);
  EXPECT_EQ(add(2400, 1200), add_status::added);
  EXPECT_EQ(r.runs(), 1u);
  EXPECT_EQ(add(0, 1200), add_status::added);
  EXPECT_EQ(r.readable(), 4800u);
  EXPECT_EQ(read_all(), 4800u);
}

// Pitfall: a retransmission cut otherwise than the first time.
TEST_F(reassembly_of_a_stream, takes_what_begins_below_the_read_point_and_reaches_beyond) {
  EXPECT_EQ(add(0, 1000), add_status::added);
  EXPECT_EQ(read_all(), 1000u);
  EXPECT_EQ(add(2000, 700), add_status::added);
  EXPECT_EQ(add(500, 1800), add_status::added);
  EXPECT_EQ(r.readable(), 1700u);
  EXPECT_EQ(read_all(), 1700u);
}

TEST_F(reassembly_of_a_stream, fills_several_holes_with_one_frame) {
  for (const std::uint64_t at : {100u, 300u, 500u, 700u}) EXPECT_EQ(add(at, 50), add_status::added);
  EXPECT_EQ(r.runs(), 4u);
  EXPECT_EQ(add(0, 1000), add_status::added);
  EXPECT_EQ(r.runs(), 1u);
  EXPECT_EQ(read_all(), 1000u);
}

TEST_F(reassembly_of_a_stream, copies_small_pieces_out_so_that_they_pin_no_buffer) {
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(add(2 * i + 1, 1), add_status::added);  // every other byte
  EXPECT_EQ(r.runs(), 100u);
  EXPECT_EQ(m.packets.in_use(), 1u);  // one packet for all of them
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(add(2 * i, 1), add_status::added);
  EXPECT_EQ(r.runs(), 1u);
  EXPECT_EQ(m.packets.in_use(), 1u);
  EXPECT_EQ(read_all(), 200u);
}

TEST_F(reassembly_of_a_stream, joins_small_pieces_in_order_into_one) {
  for (std::uint64_t i = 0; i < 1000; ++i) EXPECT_EQ(add(i, 1), add_status::added);
  EXPECT_EQ(r.pieces(), 1u);
  EXPECT_EQ(m.packets.in_use(), 1u);
  EXPECT_EQ(read_all(), 1000u);
}

TEST_F(reassembly_of_a_stream, refuses_more_holes_than_its_limit_and_goes_on) {
  for (std::uint64_t i = 0; i < reassembly::most_runs; ++i) EXPECT_EQ(add(10 * i + 5, 1), add_status::added);
  EXPECT_EQ(add(100'000, 1), add_status::too_fragmented);
  EXPECT_EQ(r.runs(), reassembly::most_runs);
  EXPECT_EQ(add(6, 1), add_status::added);  // what touches a run needs no more of them
  EXPECT_EQ(add(0, 1400), add_status::added);
  EXPECT_EQ(read_all(), 1400u);
}

TEST_F(reassembly_of_a_stream, keeps_what_came_first) {
  EXPECT_EQ(add(100, 600), add_status::added);
  buf::packet other = m.carry(0, 1000);
  for (std::uint8_t& b : other.writable_first()) b = 0xEE;
  EXPECT_EQ(r.add(m.account, other, other.first(), 0), add_status::added);
  std::vector<std::uint8_t> got;
  for (base::byte_view next = r.front(); !next.empty(); next = r.front()) {
    got.insert(got.end(), next.begin(), next.end());
    r.consume(m.account, next.size());
  }
  ASSERT_EQ(got.size(), 1000u);
  EXPECT_EQ(got[99], 0xEE);
  EXPECT_EQ(got[100], byte_at(100));
  EXPECT_EQ(got[699], byte_at(699));
  EXPECT_EQ(got[700], 0xEE);
}

TEST_F(reassembly_of_a_stream, hands_out_slices_that_outlive_it) {
  EXPECT_EQ(add(0, 1200), add_status::added);
  r.consume(m.account, 100);
  buf::slice s = r.take(m.account);
  EXPECT_EQ(s.size(), 1100u);
  EXPECT_EQ(r.pieces(), 0u);
  EXPECT_EQ(s.bytes()[0], byte_at(100));
  EXPECT_TRUE(r.take(m.account).empty());
}

// What lies where reading stopped may open a hole behind it beyond the limit: else nothing would ever make room.
TEST_F(reassembly_of_a_stream, takes_what_is_read_next_whatever_its_limits_say) {
  for (std::uint64_t i = 0; i < reassembly::most_runs; ++i) EXPECT_EQ(add(10 * i + 5, 1), add_status::added);
  m.account.set_most(m.account.used());
  EXPECT_EQ(add(1, 1), add_status::too_fragmented);
  EXPECT_EQ(add(6, 600), add_status::no_memory);
  for (std::uint64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(add(i, 1), add_status::added);
    EXPECT_GE(read_all(), 1u);
  }
  EXPECT_EQ(r.read(), 6u);  // the first run, too
}

// Each piece may pin a packet, so a connection's pieces are counted, not its bytes.
TEST_F(reassembly_of_a_stream, single_bytes_hold_no_more_pieces_than_the_connections_account) {
  m.account.set_most(300);
  reassembly other;
  const auto add_to_other = [&](std::uint64_t offset) {
    const buf::packet p = m.carry(offset, 1);
    return other.add(m.account, p, p.first(), offset);
  };
  unsigned refused = 0;
  for (std::uint64_t i = 1000; i-- > 1;) {  // downwards: nothing can be grown in place
    refused += add(i, 1) != add_status::added;
    refused += add_to_other(i) != add_status::added;
  }
  EXPECT_EQ(m.account.used(), 300u);
  EXPECT_EQ(r.pieces() + other.pieces(), 300u);
  EXPECT_EQ(refused, 2 * 999 - 300u);
  EXPECT_LE(m.packets.in_use(), 2u);
  other.clear(m.account, 0);
  EXPECT_EQ(m.account.used(), r.pieces());
  EXPECT_EQ(add(0, 1000), add_status::added);
  EXPECT_EQ(read_all(), 1000u);
  EXPECT_EQ(m.account.used(), 0u);
}

TEST(reassembly, an_account_has_a_piece_for_each_half_kilobyte_of_window_and_some_more) {
  EXPECT_EQ(piece_account::most_for(0), 256u);
  EXPECT_EQ(piece_account::most_for(1 << 20), 256u + 2048u);
  EXPECT_EQ(piece_account::most_for(UINT64_MAX), 256u + UINT32_MAX / 2);
}

// A hundred thousand fragments that cannot be put in order as they come; each is repeated until it was taken. Work and
// memory a fragment are bounded by the runs, so this ends soon; a list over all fragments would take 10^10 steps.
TEST(reassembly, a_hundred_thousand_fragments_in_the_worst_order_cost_no_more_than_their_number) {
  constexpr std::uint64_t fragments = 100'000;
  for (const unsigned order : {0u, 1u, 2u}) {
    SCOPED_TRACE(order);
    memory m(64, 1000, 400);
    reassembly r;
    test::seeded random(order);
    std::uint64_t refused = 0;
    for (std::uint64_t i = 0; i < fragments; ++i) {
      const std::uint64_t at = order == 0 ? 2 * (fragments - i) : order == 1 ? 2 * i + 1 : 1 + random.below(fragments);
      const buf::packet p = m.carry(at, 1);
      refused += r.add(m.account, p, p.first(), at) != add_status::added;
      ASSERT_LE(r.runs(), reassembly::most_runs);
      ASSERT_LE(r.pieces(), m.account.most());
    }
    EXPECT_GT(refused, fragments / 2);
    std::uint64_t read = 0;  // and in order it goes on
    for (std::uint64_t at = 0; at < fragments; ++at) {
      const buf::packet p = m.carry(at, 1);
      ASSERT_EQ(r.add(m.account, p, p.first(), at), add_status::added);
      for (base::byte_view next = r.front(); !next.empty(); next = r.front()) {
        for (std::size_t i = 0; i < next.size(); ++i) ASSERT_EQ(next[i], byte_at(read + i));
        read += next.size();
        r.consume(m.account, next.size());
      }
    }
    EXPECT_GE(read, fragments);
    r.clear(m.account, 0);
    EXPECT_EQ(m.account.used(), 0u);
    EXPECT_EQ(m.pieces.in_use(), 0u);
  }
}

TEST(reassembly, says_when_memory_is_out_and_recovers) {
  memory m(8, 3);
  reassembly r;
  const auto add = [&](std::uint64_t offset, std::size_t size) {
    const buf::packet p = m.carry(offset, size);
    return r.add(m.account, p, p.first(), offset);
  };
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(add(2000 * i, 1000), add_status::added);
  EXPECT_EQ(add(7000, 1000), add_status::no_memory);
  EXPECT_EQ(r.held_bytes(), 3000u);
  r.consume(m.account, 1000);
  EXPECT_EQ(add(7000, 1000), add_status::added);
  r.clear(m.account, 0);
  EXPECT_EQ(m.pieces.in_use(), 0u);
  EXPECT_EQ(m.packets.in_use(), 0u);
}

TEST(reassembly, agrees_with_a_map_of_bytes) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    test::seeded random(seed);
    memory m;
    reassembly r;
    std::vector<bool> have(20'000, false);
    std::uint64_t read = 0;
    for (int step = 0; step < 400; ++step) {
      const std::size_t size = 1 + random.below(random.below(3) == 0 ? 1400 : 40);
      const std::uint64_t from = read + random.below(3000);
      const std::uint64_t offset = from > 500 ? from - 500 : 0;
      if (offset + size > have.size()) break;
      const buf::packet p = m.carry(offset, size);
      if (r.add(m.account, p, p.first(), offset) == add_status::added)
        for (std::uint64_t b = offset; b < offset + size; ++b) have[b] = true;
      else
        ASSERT_GE(r.runs(), reassembly::most_runs);
      std::uint64_t ready = read;
      while (ready < have.size() && have[ready]) ++ready;
      if (r.runs() < reassembly::most_runs) {
        ASSERT_EQ(r.readable(), ready - read);
      }
      while (r.readable() != 0 && random.below(3) != 0) {
        const base::byte_view next = r.front();
        const std::size_t some = 1 + random.below(next.size());
        for (std::size_t i = 0; i < some; ++i) ASSERT_EQ(next[i], byte_at(read + i));
        r.consume(m.account, some);
        read += some;
      }
      ASSERT_EQ(r.read(), read);
    }
    r.clear(m.account, 0);
    ASSERT_EQ(m.pieces.in_use(), 0u);
  }
}

// --- the receiving part of a stream ---

struct receiving : testing::Test {
  memory m;
  receive_window connection{100'000, 100'000};
  recv_stream s{10'000, 10'000};
  ~receiving() override { s.release(m.account, connection); }

  recv_errc frame(std::uint64_t offset, std::size_t size, bool fin = false) {
    const buf::packet p = m.carry(offset, size);
    return s.on_frame(m.account, connection, p, {.offset = offset, .data = p.first(), .fin = fin});
  }
  void read_all() { s.consume(m.account, connection, s.readable()); }
};
using recv_stream_of_a_connection = receiving;

TEST_F(recv_stream_of_a_connection, goes_from_recv_to_data_read) {
  EXPECT_EQ(frame(0, 1000), recv_errc::ok);
  EXPECT_EQ(s.state(), recv_state::recv);
  EXPECT_EQ(frame(2000, 1000, true), recv_errc::ok);
  EXPECT_EQ(s.state(), recv_state::size_known);
  EXPECT_EQ(frame(1000, 1000), recv_errc::ok);
  EXPECT_EQ(s.state(), recv_state::data_recvd);
  read_all();
  EXPECT_TRUE(s.is_at_end());
  EXPECT_EQ(connection.received(), 3000u);
  EXPECT_EQ(connection.consumed(), 3000u);
}

// Pitfall: final size 0.
TEST_F(recv_stream_of_a_connection, an_empty_stream_ends) {
  EXPECT_EQ(frame(0, 0, true), recv_errc::ok);
  EXPECT_TRUE(s.is_at_end());
}

TEST_F(recv_stream_of_a_connection, counts_highest_offsets_and_nothing_twice) {
  EXPECT_EQ(frame(5000, 1000), recv_errc::ok);
  EXPECT_EQ(connection.received(), 6000u);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(frame(5000, 1000), recv_errc::ok);
  EXPECT_EQ(frame(0, 1000), recv_errc::ok);
  EXPECT_EQ(connection.received(), 6000u);
}

TEST_F(recv_stream_of_a_connection, refuses_more_than_either_window) {
  EXPECT_EQ(frame(9001, 1000), recv_errc::flow_control);
  EXPECT_EQ(connection.received(), 0u);
  EXPECT_EQ(frame(9000, 1000), recv_errc::ok);
  receive_window small{500, 500};
  recv_stream other{10'000, 10'000};
  const buf::packet p = m.carry(0, 501);
  EXPECT_EQ(other.on_frame(m.account, small, p, {.data = p.first()}), recv_errc::flow_control);
  EXPECT_EQ(small.received(), 0u);
}

// RFC 9000 4.5
TEST_F(recv_stream_of_a_connection, refuses_final_sizes_that_change_or_lie_below_data) {
  EXPECT_EQ(frame(0, 1000), recv_errc::ok);
  EXPECT_EQ(frame(500, 100, true), recv_errc::final_size);
  EXPECT_EQ(frame(1000, 500, true), recv_errc::ok);
  EXPECT_EQ(frame(1000, 400, true), recv_errc::final_size);
  EXPECT_EQ(frame(1400, 101), recv_errc::final_size);
  EXPECT_EQ(frame(1000, 500, true), recv_errc::ok);  // again
  EXPECT_EQ(s.on_reset(m.account, connection, 1, 1499), recv_errc::final_size);
  read_all();
  EXPECT_EQ(frame(1500, 1), recv_errc::final_size);  // also when it is over
  EXPECT_EQ(frame(0, 1000), recv_errc::ok);          // pitfall: data that comes late for a stream that is over
  EXPECT_TRUE(s.is_at_end());
}

TEST_F(recv_stream_of_a_connection, a_reset_settles_the_account_and_drops_what_is_there) {
  EXPECT_EQ(frame(1000, 1000), recv_errc::ok);
  EXPECT_EQ(s.on_reset(m.account, connection, 77, 5000), recv_errc::ok);
  EXPECT_TRUE(s.is_reset());
  EXPECT_EQ(s.reset_code(), 77u);
  EXPECT_EQ(connection.received(), 5000u);
  EXPECT_EQ(connection.consumed(), 5000u);
  EXPECT_EQ(m.pieces.in_use(), 0u);
  EXPECT_EQ(s.on_reset(m.account, connection, 78, 5000), recv_errc::ok);
  EXPECT_EQ(s.reset_code(), 77u);
  EXPECT_EQ(s.on_reset(m.account, connection, 78, 5001), recv_errc::final_size);
  EXPECT_EQ(frame(4000, 1000), recv_errc::ok);
  EXPECT_EQ(m.pieces.in_use(), 0u);
  s.on_reset_read();
  EXPECT_TRUE(s.is_over());
}

TEST_F(recv_stream_of_a_connection, a_reset_beyond_the_window_is_an_error) {
  EXPECT_EQ(s.on_reset(m.account, connection, 0, 10'001), recv_errc::flow_control);
  EXPECT_EQ(connection.received(), 0u);
}

TEST_F(recv_stream_of_a_connection, a_reset_after_all_data_is_ignored) {
  EXPECT_EQ(frame(0, 1000, true), recv_errc::ok);
  EXPECT_EQ(s.on_reset(m.account, connection, 5, 1000), recv_errc::ok);
  EXPECT_EQ(s.state(), recv_state::data_recvd);
  EXPECT_EQ(s.readable(), 1000u);
}

TEST_F(recv_stream_of_a_connection, once_stopped_drops_what_comes_and_gives_its_credit_back) {
  EXPECT_EQ(frame(0, 1000), recv_errc::ok);
  EXPECT_TRUE(s.stop(m.account, connection));
  EXPECT_FALSE(s.stop(m.account, connection));
  EXPECT_EQ(frame(2000, 1000), recv_errc::ok);
  EXPECT_EQ(m.pieces.in_use(), 0u);
  EXPECT_EQ(connection.consumed(), 3000u);
  EXPECT_FALSE(s.should_update_limit());
  EXPECT_EQ(frame(3000, 0, true), recv_errc::ok);
  EXPECT_TRUE(s.is_over());
}

TEST_F(recv_stream_of_a_connection, a_reset_of_a_stopped_stream_needs_nobody_to_be_told) {
  EXPECT_TRUE(s.stop(m.account, connection));
  EXPECT_EQ(s.on_reset(m.account, connection, 3, 2000), recv_errc::ok);
  EXPECT_TRUE(s.is_over());
  EXPECT_EQ(connection.consumed(), 2000u);
}

// The packet is dropped and comes again: nothing of the stream is lost, and no credit is taken twice.
TEST_F(recv_stream_of_a_connection, a_frame_refused_for_want_of_pieces_can_come_again) {
  m.account.set_most(1);
  EXPECT_EQ(frame(1000, 1000), recv_errc::ok);
  EXPECT_EQ(frame(2000, 1000, true), recv_errc::no_memory);
  EXPECT_FALSE(is_fault(recv_errc::no_memory));
  EXPECT_EQ(frame(0, 1000), recv_errc::ok);
  read_all();
  EXPECT_FALSE(s.is_over());
  EXPECT_EQ(frame(2000, 1000, true), recv_errc::ok);
  read_all();
  EXPECT_TRUE(s.is_at_end());
  EXPECT_EQ(connection.received(), 3000u);
  EXPECT_EQ(connection.consumed(), 3000u);
}

TEST_F(recv_stream_of_a_connection, its_window_grows_by_what_is_read) {
  EXPECT_EQ(frame(0, 1000), recv_errc::ok);
  EXPECT_FALSE(s.should_update_limit());
  for (std::uint64_t i = 1; i < 6; ++i) EXPECT_EQ(frame(1000 * i, 1000), recv_errc::ok);
  EXPECT_FALSE(s.should_update_limit());  // received, not consumed
  read_all();
  EXPECT_TRUE(s.should_update_limit());
  EXPECT_EQ(s.window().update(1, 0), 16'000u);
}

TEST(recv_stream, is_small) {
  EXPECT_LE(sizeof(recv_stream), 112u);
  EXPECT_LE(sizeof(receive_window), 48u);
}

TEST(recv_stream, maps_its_errors_to_those_of_the_rfc) {
  EXPECT_EQ(transport_error_of(recv_errc::flow_control), wire::transport_error::flow_control_error);
  EXPECT_EQ(transport_error_of(recv_errc::final_size), wire::transport_error::final_size_error);
  EXPECT_EQ(transport_error_of(recv_errc::ok), wire::transport_error::no_error);
  EXPECT_EQ(transport_error_of(recv_errc::too_fragmented), wire::transport_error::internal_error);
}

}  // namespace
