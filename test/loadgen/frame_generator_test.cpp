#include "loadgen/frame_generator.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "loadgen/frames.hpp"
#include "net/wire/checksum.hpp"
#include "quic/wire/header.hpp"
#include "srmp/wire/datagram.hpp"
#include "support/guard_page.hpp"

namespace millrace::loadgen {
namespace {

using test_support::for_each_frame;
using test_support::frame_bytes;
using test_support::generator;
using test_support::make_frame;
using test_support::payload_of;
using test_support::some;

constexpr std::uint32_t sizes[] = {0, 91, 128, 594, 1261, 1262, 1514, 9216};

TEST(frame_generator, decodes_as_planned_at_every_size) {
  for (const std::uint32_t size : sizes) {
    auto from = generator(some(32, size));
    for_each_frame(from, [&](base::byte_view frame, const frame_plan& p, const net::wire::decoded& seen) {
      EXPECT_EQ(frame.size(), p.frame_size);
      EXPECT_TRUE(size == 0 || frame.size() == size);
      EXPECT_LE(frame.size(), from.largest_frame());
      EXPECT_EQ(seen.l4, p.kind == traffic_kind::tcp ? net::wire::transport::tcp : net::wire::transport::udp);
      EXPECT_EQ(seen.payload_length, p.payload_size);
      EXPECT_EQ(seen.payload_offset + seen.payload_length, frame.size()) << "no byte is left over";
      EXPECT_FALSE(seen.payload_truncated || seen.fragment);
      const flow f = from.flow_of(p.flow);
      const base::endpoint src{seen.src, seen.src_port};
      const base::endpoint dst{seen.dst, seen.dst_port};
      EXPECT_EQ(src, p.from_client ? f.client : f.server);
      EXPECT_EQ(dst, p.from_client ? f.server : f.client);
      EXPECT_EQ(seen.src.family, p.family);
      EXPECT_EQ(frame[0] & 3, 2) << "locally administered, unicast";
      EXPECT_EQ(frame[6] & 3, 2);
    });
  }
}

TEST(frame_generator, has_right_checksums_everywhere) {
  for (const std::uint32_t size : {0u, 91u, 1514u}) {
    auto from = generator(some(16, size));
    for_each_frame(from, [&](base::byte_view frame, const frame_plan& p, const net::wire::decoded& seen) {
      if (p.family == base::ip_family::v4) {
        EXPECT_EQ(net::wire::internet_checksum(frame.subspan(14, 20)), 0);
      }
      const base::byte_view part = frame.subspan(seen.l4_offset);
      const base::segments packet(std::span<const base::byte_view>(&part, 1));
      EXPECT_TRUE(p.kind == traffic_kind::tcp ? net::wire::is_tcp_sound(seen.src, seen.dst, packet)
                                              : net::wire::is_udp_sound(seen.src, seen.dst, packet));
    });
  }
}

TEST(frame_generator, is_classified_as_what_it_is) {
  using quic::wire::datagram_kind;
  for (const std::uint32_t size : sizes) {
    auto from = generator(some(64, size));
    for_each_frame(from, [&](base::byte_view frame, const frame_plan& p, const net::wire::decoded& seen) {
      const base::byte_view payload = payload_of(frame, seen);
      const datagram_kind quic = quic::wire::classify(payload);
      switch (p.role) {
        case packet_role::quic_initial:
        case packet_role::quic_handshake:
          EXPECT_EQ(quic, datagram_kind::long_form);
          break;
        case packet_role::quic_one_rtt:
          EXPECT_EQ(quic, datagram_kind::short_form);
          break;
        case packet_role::srmp:
          EXPECT_TRUE(seen.src_port == 5500 || seen.dst_port == 5500);
          EXPECT_TRUE(srmp::wire::fills_exactly(payload));
          break;
        default:
          EXPECT_EQ(quic, datagram_kind::not_quic);
          EXPECT_TRUE(seen.src_port != 5500 && seen.dst_port != 5500);
      }
    });
  }
}

TEST(frame_generator, packs_one_to_three_srmp_frames_and_answers_them_with_their_numbers) {
  for (const std::uint32_t size : {0u, 66u, 80u, 1514u}) {
    frame_options o = some(32, size, "srmp");
    o.order = frame_order::life;
    auto from = generator(o);
    std::set<unsigned> counts;
    for_each_frame(from, [&](base::byte_view frame, const frame_plan& p, const net::wire::decoded& seen) {
      srmp::wire::datagram_frames frames(payload_of(frame, seen));
      unsigned count = 0;
      for (srmp::wire::frame f; frames.next(f) == base::progress::done; ++count) {
        EXPECT_EQ(f.header.kind(), p.from_client ? srmp::wire::frame_kind::request : srmp::wire::frame_kind::reply);
        EXPECT_EQ(f.header.data(), 1);
        EXPECT_EQ(f.header.seq, p.step / 2 * 3 + count + 1);
        if (f.payload.size() <= 9) continue;
        EXPECT_EQ(base::as_text(f.payload.subspan(1, 4)), "Echo");
        EXPECT_EQ(f.payload[0], 4);
        EXPECT_EQ(base::load_le32(f.payload.data() + 5), f.payload.size() - 9);
      }
      EXPECT_TRUE(frames.at_end());
      counts.insert(count);
    });
    EXPECT_TRUE(counts.contains(1));
    EXPECT_LE(*counts.rbegin(), 3u);
    if (size == 0 || size > 128) {
      EXPECT_TRUE(counts.contains(2) && counts.contains(3));
    }
  }
}

TEST(frame_generator, numbers_tcp_segments_so_that_they_add_up) {
  using namespace net::wire;
  struct side {
    std::uint32_t next = 0;
    bool known = false;
  };
  for (const std::uint32_t size : {0u, 74u, 78u, 86u, 1514u}) {
    frame_options o = some(8, size, "tcp");
    o.order = frame_order::life;
    auto from = generator(o);
    std::map<std::uint32_t, std::array<side, 2>> flows;
    std::map<unsigned, unsigned> seen_flags;
    for_each_frame(from, [&](base::byte_view frame, const frame_plan& p, const decoded& seen) {
      auto& ends = flows[p.flow];
      side& own = ends[p.from_client ? 0 : 1];
      const std::uint8_t* tcp = frame.data() + seen.l4_offset;
      const std::uint32_t sequence = base::load_be32(tcp + 4);
      ++seen_flags[seen.tcp_flags];
      EXPECT_EQ(own.known, (seen.tcp_flags & tcp_flag::syn) == 0) << "SYN opens, and only SYN";
      if (own.known) {
        EXPECT_EQ(sequence, own.next) << p.step;
      }
      if ((seen.tcp_flags & tcp_flag::ack) != 0) {
        EXPECT_EQ(base::load_be32(tcp + 8), ends[p.from_client ? 1 : 0].next);
      }
      const bool counts = (seen.tcp_flags & (tcp_flag::syn | tcp_flag::fin)) != 0;
      own = {sequence + seen.payload_length + (counts ? 1 : 0), true};
    });
    EXPECT_EQ(seen_flags[tcp_flag::syn], 8u);
    EXPECT_EQ(seen_flags[tcp_flag::syn | tcp_flag::ack], 8u);
    EXPECT_EQ(seen_flags[tcp_flag::fin | tcp_flag::ack], 16u);
    EXPECT_EQ(seen_flags[tcp_flag::psh | tcp_flag::ack], 8u * 11);
  }
}

TEST(frame_generator, has_as_many_flows_as_asked) {
  for (const std::uint32_t flows : {1u, 2u, 7u, 64u, 300u}) {
    auto from = generator(some(flows, 128));
    std::set<std::pair<base::endpoint, base::endpoint>> pairs;
    std::map<traffic_kind, unsigned> kinds;
    for_each_frame(from, [&](base::byte_view, const frame_plan& p, const net::wire::decoded& seen) {
      const base::endpoint a{seen.src, seen.src_port};
      const base::endpoint b{seen.dst, seen.dst_port};
      pairs.insert(a < b ? std::pair(a, b) : std::pair(b, a));
      if (p.step == 0) ++kinds[p.kind];
    });
    EXPECT_EQ(pairs.size(), flows);
    for (const auto& [kind, count] : kinds) EXPECT_LE(count, flows / 4 + 1) << to_string(kind);
  }
}

TEST(frame_generator, gives_a_million_flows_addresses_of_their_own) {
  auto from = generator(some(1'000'000, 128));
  std::set<base::endpoint> clients;
  for (std::uint32_t i = 0; i < 1'000'000; i += 7) {
    const flow f = from.flow_of(i);
    EXPECT_GE(f.client.port, 1024);
    ASSERT_TRUE(clients.insert(f.client).second) << i;
    const auto& octets = f.client.address.octets;
    ASSERT_TRUE(f.family == base::ip_family::v4 ? octets[0] == 198 && octets[1] == 18
                                                : base::load_be32(octets.data()) == 0x2001'0DB8)
        << i;
  }
}

TEST(frame_generator, uses_one_family_when_only_one_is_wanted) {
  for (const bool v6 : {false, true}) {
    frame_options o = some(16, 128);
    o.ipv4 = !v6;
    o.ipv6 = v6;
    auto from = generator(o);
    for (std::uint64_t i = 0; i < from.cycle_frames(); ++i)
      EXPECT_EQ(from.plan(i).family, v6 ? base::ip_family::v6 : base::ip_family::v4);
  }
}

TEST(frame_generator, repeats_itself_by_seed_and_by_cycle) {
  auto one = generator(some(32));
  auto same = generator(some(32));
  frame_options o = some(32);
  o.seed = 2;
  auto other = generator(o);
  unsigned different = 0;
  for (std::uint64_t i = one.cycle_frames(); i-- > 0;) {
    const frame_bytes frame = make_frame(one, i);
    EXPECT_EQ(frame, make_frame(same, i));
    EXPECT_EQ(frame, make_frame(one, i + one.cycle_frames()));
    different += frame != make_frame(other, i) ? 1 : 0;
  }
  EXPECT_GT(different, one.cycle_frames() * 9 / 10);
}

TEST(frame_generator, makes_each_frame_of_a_cycle_once) {
  for (const frame_order order : {frame_order::life, frame_order::staggered}) {
    frame_options o = some(24);
    o.order = order;
    auto from = generator(o);
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
    for (std::uint64_t i = 0; i < from.cycle_frames(); ++i) seen.insert({from.plan(i).flow, from.plan(i).step});
    EXPECT_EQ(seen.size(), from.cycle_frames());
    for (std::uint64_t i = 0; order == frame_order::life && i < 24; ++i) EXPECT_EQ(from.plan(i).step, 0u);
  }
}

TEST(frame_generator, mixes_all_steps_into_the_first_frames_when_staggered) {
  auto from = generator(some(1024, 1514));
  std::map<std::uint32_t, unsigned> steps;
  for (std::uint64_t i = 0; i < 1024; ++i) ++steps[from.plan(i).step];
  EXPECT_EQ(steps.size(), 16u);
  for (const auto& [step, count] : steps) EXPECT_GT(count, 1024u / 16 / 2) << step;
}

TEST(frame_generator, answers_nothing_when_the_room_is_too_small) {
  auto from = generator(some(8, 200));
  test::guard_page guard(200);
  for (std::uint64_t i = 0; i < from.cycle_frames(); ++i) {
    for (const std::size_t size : {0u, 1u, 60u, 199u}) EXPECT_EQ(from.fill(i, guard.room(size)), 0u);
    EXPECT_EQ(from.fill(i, guard.room(200)), 200u);
  }
}

TEST(frame_generator, leaves_the_rest_of_the_room_alone) {
  auto from = generator(some(8));
  frame_bytes room(4096);
  for (std::uint64_t i = 0; i < from.cycle_frames(); ++i) {
    std::fill(room.begin(), room.end(), std::uint8_t{0xEE});
    const std::size_t size = from.fill(i, room);
    for (std::size_t at = size; at < room.size(); ++at) ASSERT_EQ(room[at], 0xEE) << i;
  }
}

TEST(frame_generator, refuses_options_that_cannot_be) {
  EXPECT_FALSE(frame_generator::make(some(0), test_support::engine()));
  EXPECT_FALSE(frame_generator::make(some(8, 64), test_support::engine()));
}

}  // namespace
}  // namespace millrace::loadgen
