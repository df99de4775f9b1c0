// Packets that wait for their keys: in what order they are given out, and how many may wait.
#include "quic/conn/early_packets.hpp"

#include <gtest/gtest.h>

#include "support/plain_pool.hpp"

namespace millrace::quic::conn {
namespace {

using wire::packet_type;

struct waiting_room {
  test::plain_pool pool{64, 256};
  std::uint32_t of_all = 0;
  early_packets held;

  ~waiting_room() {
    held.clear(of_all);
    EXPECT_EQ(of_all, 0u);
    EXPECT_EQ(pool.in_use(), 0u);
  }
  // A packet of one byte, which is freed at once by who brought it.
  bool hold(std::uint8_t byte, packet_type type, bool is_proven = true) {
    buf::packet whole{pool.alloc()};
    const base::byte_span room = whole.append(1);
    room[0] = byte;
    datagram_in d;
    d.whole = &whole;
    d.bytes = room;
    d.interface = byte;
    return held.hold(of_all, d, room, type, is_proven);
  }
  int take(packet_type type) {
    early_packets::held_packet out;
    if (!held.take(of_all, [&](packet_type t) { return t == type; }, out)) return -1;
    EXPECT_EQ(out.interface, out.bytes[0]);
    EXPECT_EQ(out.type, type);
    return out.bytes[0];
  }
};

TEST(early_packets, gives_out_the_oldest_that_can_be_read) {
  waiting_room w;
  EXPECT_TRUE(w.held.empty());
  EXPECT_EQ(w.take(packet_type::one_rtt), -1);
  EXPECT_TRUE(w.hold(1, packet_type::one_rtt) && w.hold(2, packet_type::handshake) && w.hold(3, packet_type::one_rtt) &&
              w.hold(4, packet_type::handshake));
  EXPECT_EQ(w.pool.in_use(), 4u);
  EXPECT_EQ(w.take(packet_type::handshake), 2);
  EXPECT_EQ(w.take(packet_type::one_rtt), 1);
  EXPECT_EQ(w.take(packet_type::zero_rtt), -1);
  EXPECT_EQ(w.pool.in_use(), 2u) << "what was taken went with its taker";
  EXPECT_EQ(w.of_all, 2u);
  EXPECT_EQ(w.take(packet_type::one_rtt), 3);
  EXPECT_EQ(w.take(packet_type::one_rtt), -1);
  EXPECT_EQ(w.take(packet_type::handshake), 4);
  EXPECT_TRUE(w.held.empty());
}

TEST(early_packets, holds_few_of_a_connection_and_fewer_of_one_whose_address_is_not_proven) {
  waiting_room w;
  for (std::uint8_t i = 0; i < 20; ++i)
    EXPECT_EQ(w.hold(i, packet_type::one_rtt, false), i < early_packets::most_unproven);
  for (std::uint8_t i = 2; i < 20; ++i) EXPECT_EQ(w.hold(i, packet_type::one_rtt), i < early_packets::most) << int{i};
  EXPECT_EQ(w.pool.in_use(), early_packets::most);
  for (std::uint8_t i = 0; i < early_packets::most; ++i) EXPECT_EQ(w.take(packet_type::one_rtt), i);
}

TEST(early_packets, holds_no_more_than_the_lcore_has_room_for) {
  waiting_room w;
  w.of_all = early_packets::most_of_all - 1;
  EXPECT_TRUE(w.hold(1, packet_type::one_rtt));
  EXPECT_FALSE(w.hold(2, packet_type::one_rtt));
  EXPECT_EQ(w.take(packet_type::one_rtt), 1);
  EXPECT_TRUE(w.hold(2, packet_type::one_rtt));
  w.held.clear(w.of_all);
  EXPECT_EQ(w.of_all, early_packets::most_of_all - 1);
  w.of_all = 0;
}

TEST(early_packets, keeps_nothing_of_a_chain) {
  waiting_room w;
  buf::packet whole{w.pool.alloc()};
  buf::packet tail{w.pool.alloc()};
  const base::byte_span room = whole.append(4);
  static_cast<void>(tail.append(4));
  ASSERT_TRUE(whole.append_chain(tail));
  datagram_in d;
  d.whole = &whole;
  d.bytes = room;
  EXPECT_FALSE(w.held.hold(w.of_all, d, room, packet_type::one_rtt, true));
  EXPECT_EQ(w.of_all, 0u);
}

TEST(early_packets, keeps_nothing_that_does_not_lie_in_its_packet) {
  waiting_room w;
  buf::packet whole{w.pool.alloc()};
  static_cast<void>(whole.append(4));
  std::array<std::uint8_t, 4> elsewhere{};
  datagram_in d;
  d.whole = &whole;
  d.bytes = elsewhere;
  EXPECT_FALSE(w.held.hold(w.of_all, d, elsewhere, packet_type::one_rtt, true));
  EXPECT_EQ(w.of_all, 0u);
}

}  // namespace
}  // namespace millrace::quic::conn
