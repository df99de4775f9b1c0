// Every frame a host takes, cut everywhere and changed everywhere: nothing read behind its end, one answer each, and
// the host goes on.

#include "net/network.hpp"
#include "net/wire/arp.hpp"
#include "support/hostile.hpp"

namespace millrace::net {
namespace {

using namespace test;
using millrace::test::for_every_byte_change;
using millrace::test::for_every_truncation;

// Frames of all kinds, as hosts send them to each other: recorded from a network.
std::vector<byte_list> conversation() {
  network net;
  host_config ca = config_of(1);
  ca.dad_transmits = 1;
  ca.announce = true;
  station& a = net.join(ca);
  std::vector<byte_list> out;
  // Whatever a says on the way, and what it says to b once it knows it.
  const auto record = [&] {
    for (const byte_list& frame : a.out.frames) out.push_back(frame);
    a.out.frames.clear();
  };
  for (int i = 0; i < 4; ++i) {
    a->on_time(net.now, a.out);
    record();
    net.now += sec;
  }
  EXPECT_TRUE(a->neighbours().add_fixed(ip("198.18.0.2"), mac(2)));
  EXPECT_TRUE(a->neighbours().add_fixed(ip("2001:db8:18::2"), mac(2)));
  static_cast<void>(a.send(flow_of("198.18.0.1", "198.18.0.77"), {}, net.now));
  static_cast<void>(a.send(flow_of("2001:db8:18::1", "2001:db8:18::77"), {}, net.now));
  a->on_time(net.now, a.out);
  static_cast<void>(a.send(flow_of("198.18.0.1", "198.18.0.2"), byte_list(40, 'x'), net.now));
  static_cast<void>(a.send(flow_of("2001:db8:18::1", "2001:db8:18::2"), byte_list(40, 'x'), net.now));
  static_cast<void>(a.send(flow_of("198.18.0.1", "198.18.0.2"), byte_list(1500, 'x'), net.now));
  static_cast<void>(a.send(flow_of("2001:db8:18::1", "2001:db8:18::2"), byte_list(1500, 'x'), net.now));
  record();
  return out;
}

TEST(host_hostile, survives_every_cut_and_every_change) {
  const std::vector<byte_list> frames = conversation();
  ASSERT_GT(frames.size(), 12u);
  host_config config = config_of(2);
  config.limits.neighbours = 16;
  config.limits.reassembly_datagrams = 4;
  config.limits.reassembly_bytes = 65536;
  station b(config);
  std::uint64_t now = 100 * sec;
  b->start(now);
  b->open_port(5500);
  const auto give = [&](base::byte_view frame) {
    const rx_answer answer = b.receive(frame, now);
    if (answer.what == rx_what::deliver && !b.inbox.back().reassembled) {
      EXPECT_LE(b.inbox.back().payload.size(), frame.size());
    }
    b.inbox.clear();
    b.out.frames.clear();
    ++now;
  };
  for (const byte_list& frame : frames) {
    SCOPED_TRACE(millrace::test::to_hex(base::byte_view(frame).first(std::min<std::size_t>(frame.size(), 80))));
    for_every_truncation(frame, give);
    for_every_byte_change(frame, give, frame.size() > 200 ? 37 : 1);
    b->on_time(now, b.out);
    b.out.frames.clear();
  }
  b->on_time(now + 120 * sec, b.out);
  EXPECT_EQ(b->fragments().in_use(), 0u);
  EXPECT_EQ(b->fragments().blocks_in_use(), 0u);
  b.check_balance();
  // And it still works.
  station c(config_of(3));
  c->start(now);
  EXPECT_TRUE(c->neighbours().add_fixed(ip("198.18.0.2"), mac(2)));
  ASSERT_EQ(c.send(flow_of("198.18.0.3", "198.18.0.2"), byte_list(5, 'y'), now).what, tx_what::ready);
  EXPECT_EQ(b.receive(c.out.pop(), now).what, rx_what::deliver);
}

TEST(host_hostile, takes_the_straight_line_and_the_long_way_to_the_same_end) {
  // The straight line believes good hardware; the long way is forced by options that mean nothing.
  station b(config_of(2));
  b->start(0);
  b->open_port(5500);
  seeded dice(7);
  station a(config_of(1));
  a->start(0);
  EXPECT_TRUE(a->neighbours().add_fixed(ip("2001:db8:18::2"), mac(2)));
  for (int i = 0; i < 200; ++i) {
    const byte_list payload = dice.bytes(dice.below(300));
    ASSERT_EQ(a.send(flow_of("2001:db8:18::1", "2001:db8:18::2"), payload, 0).what, tx_what::ready);
    const byte_list plain = a.out.pop();
    byte_list longer(plain.begin(), plain.begin() + 54);
    longer[20] = wire::ip_protocol::destination_options;
    base::store_be16(longer.data() + 18, static_cast<std::uint16_t>(base::load_be16(plain.data() + 18) + 8));
    longer = join({longer, from_hex("1100 0104 00000000"), base::byte_view(plain).subspan(54)});
    ASSERT_EQ(b.receive(plain, 0).what, rx_what::deliver);
    ASSERT_EQ(b.receive(longer, 0).what, rx_what::deliver);
    const heard& one = b.inbox[b.inbox.size() - 2];
    const heard& two = b.inbox.back();
    EXPECT_EQ(one.payload, payload);
    EXPECT_EQ(two.payload, payload);
    EXPECT_EQ(one.remote, two.remote);
    EXPECT_EQ(one.local, two.local);
  }
}

TEST(host_hostile, survives_garbage) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    seeded dice(seed);
    station b(config_of(2));
    std::uint64_t now = sec;
    b->start(now);
    b->open_port(5500);
    for (int i = 0; i < 20000; ++i) {
      byte_list frame = dice.bytes(dice.below(120));
      if (frame.size() > 14) {
        std::copy_n(mac(2).octets.begin(), 6, frame.begin());
        frame[6] &= 0xFE;
        constexpr std::uint16_t types[] = {0x0800, 0x86DD, 0x0806, 0x8100};
        base::store_be16(frame.data() + 12, types[dice.below(4)]);
        frame[14] = dice.below(2) != 0 ? 0x45 : 0x60;
      }
      static_cast<void>(b.receive(frame, now));
      b.out.frames.clear();
      now += dice.below(50) * ms;
      b->on_time(now, b.out);
    }
    b.check_balance();
  }
}

}  // namespace
}  // namespace millrace::net
