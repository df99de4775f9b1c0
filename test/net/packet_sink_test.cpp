// Hosts on real packets: bursts in, bursts out, pools whole at the end.

#include "net/packet_sink.hpp"

#include "net/network.hpp"
#include "support/eal_main.hpp"
#include "support/packets.hpp"

namespace millrace::net {
namespace {

using namespace test;
using millrace::test::checked_pool;
using millrace::test::packet_of;
using stats::drop_reason;

// What a worker does with one burst: receive, echo what is delivered, send the rest of what the host says.
struct worker {
  std::unique_ptr<host> stack;
  checked_pool& pool;
  buf::burst out;
  packet_sink sink;
  stats::drop_counters drops;
  std::uint64_t received = 0;
  std::uint64_t consumed = 0;
  std::uint64_t echoed = 0;
  std::uint64_t undelivered = 0;  // replies for which no packet was free, or that could not go

  worker(const host_config& config, checked_pool& from) : stack(must_make(config)), pool(from), sink(*from, out) {
    stack->start(sec);
    stack->open_port(5500);
  }
  void work(buf::burst& in, std::uint64_t now) {
    for (unsigned i = 0; i < in.size(); ++i) {
      ++received;
      udp_delivery d;
      const rx_answer answer = stack->receive(in.first(i), in.checksums(i), now, sink, d);
      if (answer.what == rx_what::drop) {
        in.drop(i, answer.why, drops);
        continue;
      }
      if (answer.what == rx_what::deliver) reply(d, now);
      ++consumed;
      static_cast<void>(in.take(i));
    }
    in.compact();
    stack->on_time(now, sink);
  }
  void reply(const udp_delivery& d, std::uint64_t now) {
    buf::packet one = buf::packet::alloc(*pool);
    const std::size_t headers = stack->headers_size(d.local.address.family);
    const base::byte_span room =
        one ? one.append(static_cast<std::uint16_t>(headers + d.payload.size())) : base::byte_span{};
    if (room.empty()) {
      ++undelivered;
      return;
    }
    std::copy(d.payload.begin(), d.payload.end(), room.begin() + static_cast<std::ptrdiff_t>(headers));
    const tx_answer answer = stack->send_udp({.local = d.local, .remote = d.remote}, room, now, sink);
    if (answer.what == tx_what::ready && out.push(std::move(one))) {
      ++echoed;
    } else if (answer.what == tx_what::dropped) {
      drops.add(answer.why);
      ++undelivered;
    }
  }
};

TEST(packet_sink, gives_room_in_packets_of_its_pool_and_refuses_beyond_it) {
  checked_pool pool(63);
  buf::burst out;
  packet_sink sink(*pool, out);
  EXPECT_EQ(sink.take(60).size(), 60u);
  EXPECT_TRUE(sink.take(60000).empty());
  while (!sink.take(2048).empty()) {
  }
  EXPECT_EQ(out.size(), sink.originated());
  EXPECT_EQ(out.length(0), 60u);
  EXPECT_EQ(pool->in_use(), out.size());
}

TEST(packet_sink, carries_a_conversation_and_leaves_pools_whole) {
  checked_pool pool(255);
  host_config config = config_of(2);
  worker b(config, pool);
  station a(config_of(1));
  a->start(sec);
  std::uint64_t now = sec;
  std::uint64_t sent = 0;
  for (int round = 0; round < 50; ++round) {
    buf::burst in;
    for (int i = 0; i < 8; ++i) {
      const auto flow = i % 2 == 0 ? flow_of("198.18.0.1", "198.18.0.2") : flow_of("2001:db8:18::1", "2001:db8:18::2");
      static_cast<void>(a.send(flow, byte_list(static_cast<std::size_t>(i) * 200, 'x'), now));
    }
    a->on_time(now, a.out);
    while (!a.out.frames.empty() && in.size() < 64) {
      ASSERT_TRUE(in.push(packet_of(*pool, a.out.pop())));
      ++sent;
    }
    b.work(in, now);
    EXPECT_TRUE(in.empty());
    for (unsigned i = 0; i < b.out.size(); ++i) static_cast<void>(a.receive(b.out.first(i), now));
    b.out.free_all();
    now += ms;
  }
  EXPECT_GT(b.echoed, 300u);
  EXPECT_EQ(b.received, sent);
  EXPECT_EQ(b.received, b.consumed + b.drops.total());
  EXPECT_EQ(b.undelivered, 0u);
  a.check_balance();
}

TEST(packet_sink, survives_an_empty_pool_in_the_middle_of_a_burst) {
  checked_pool pool(127);
  worker b(config_of(2), pool);
  ASSERT_TRUE(b.stack->neighbours().add_fixed(ip("198.18.0.1"), mac(1)));
  station a(config_of(1));
  a->start(sec);
  ASSERT_TRUE(a->neighbours().add_fixed(ip("198.18.0.2"), mac(2)));
  buf::burst in;
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(a.send(flow_of("198.18.0.1", "198.18.0.2", 1000, i % 4 == 3 ? 7 : 5500), byte_list(32, 'x'), sec).what,
              tx_what::ready);
    ASSERT_TRUE(in.push(packet_of(*pool, a.out.pop())));
  }
  buf::burst elsewhere;  // all that is left of the pool
  ASSERT_TRUE(elsewhere.fill(*pool, pool->size() - pool->in_use()));
  b.work(in, sec);
  EXPECT_EQ(b.received, 100u);
  EXPECT_EQ(b.received, b.consumed + b.drops.total());
  EXPECT_EQ(b.drops.get(drop_reason::no_service), 25u);
  EXPECT_EQ(b.consumed, b.echoed + b.undelivered);
  EXPECT_EQ(b.echoed + b.sink.originated(), b.out.size());
  EXPECT_GT(b.undelivered + b.stack->figures().no_packet.get(), 0u) << "the pool did run dry";
  b.out.free_all();
  elsewhere.free_all();
  // Packets are back: it goes on.
  ASSERT_EQ(a.send(flow_of("198.18.0.1", "198.18.0.2"), byte_list(32, 'x'), sec).what, tx_what::ready);
  ASSERT_TRUE(in.push(packet_of(*pool, a.out.pop())));
  const std::uint64_t before = b.echoed;
  b.work(in, sec);
  EXPECT_EQ(b.echoed, before + 1);
  b.out.free_all();
}

}  // namespace
}  // namespace millrace::net

MILLRACE_EAL_TEST_MAIN("-l", "0", "-m", "64")
