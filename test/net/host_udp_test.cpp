#include "net/network.hpp"
#include "net/wire/checksum.hpp"

namespace millrace::net {
namespace {

using namespace test;
using stats::drop_reason;

byte_list numbered(std::size_t size) {
  byte_list out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::uint8_t>(i * 7 + (i >> 8));
  return out;
}

struct pair : testing::Test {
  network net;
  station& a = net.join(config_of(1));
  station& b = net.join(config_of(2));
  pair() { b->open_port(5500); }
  ~pair() override { net.check_balance(); }
};
using host_udp = pair;

TEST_F(host_udp, resolves_a_neighbour_and_delivers_what_waited_for_it) {
  const tx_answer answer = a.send(flow_of("198.18.0.1", "198.18.0.2"), numbered(28), net.now);
  EXPECT_EQ(answer.what, tx_what::kept);
  EXPECT_EQ(a->frames_held(), 1u);
  net.run(10 * ms);
  ASSERT_EQ(b.inbox.size(), 1u);
  EXPECT_EQ(b.inbox[0].payload, numbered(28));
  EXPECT_EQ(b.inbox[0].remote, (base::endpoint{ip("198.18.0.1"), 1000}));
  EXPECT_EQ(b.inbox[0].local, (base::endpoint{ip("198.18.0.2"), 5500}));
  EXPECT_EQ(a->frames_held(), 0u);
  EXPECT_EQ(a->figures().sent_late.get(), 1u);

  EXPECT_EQ(a.send(flow_of("198.18.0.1", "198.18.0.2"), numbered(29), net.now).what, tx_what::ready);
  net.settle();
  EXPECT_EQ(b.inbox.size(), 2u);
  EXPECT_EQ(b->figures().arp_replies_sent.get(), 1u);
}

TEST_F(host_udp, does_the_same_over_ipv6) {
  EXPECT_EQ(a.send(flow_of("2001:db8:18::1", "2001:db8:18::2"), numbered(28), net.now).what, tx_what::kept);
  net.run(10 * ms);
  ASSERT_EQ(b.inbox.size(), 1u);
  EXPECT_EQ(b.inbox[0].payload, numbered(28));
  EXPECT_EQ(a.send(flow_of("2001:db8:18::1", "2001:db8:18::2"), {}, net.now).what, tx_what::ready);
  net.settle();
  ASSERT_EQ(b.inbox.size(), 2u);
  EXPECT_TRUE(b.inbox[1].payload.empty());
}

TEST_F(host_udp, answers_without_asking_who_asked_it) {
  a.send(flow_of("198.18.0.1", "198.18.0.2"), numbered(3), net.now);
  net.run(10 * ms);
  a->open_port(1000);
  EXPECT_EQ(b.send(flow_of("198.18.0.2", "198.18.0.1", 5500, 1000), numbered(4), net.now).what, tx_what::ready);
  net.settle();
  EXPECT_EQ(a.inbox.size(), 1u);
  EXPECT_EQ(b->figures().arp_requests_sent.get(), 0u);
}

TEST_F(host_udp, carries_every_size_in_fragments_where_it_must) {
  for (const auto& flow : {flow_of("198.18.0.1", "198.18.0.2"), flow_of("2001:db8:18::1", "2001:db8:18::2")}) {
    a.send(flow, {}, net.now);
    net.run(10 * ms);
    for (const std::size_t size :
         {0u, 1u, 18u, 1400u, 1452u, 1453u, 1472u, 1473u, 2953u, 9000u, 65507u, 65508u, 65527u}) {
      if (flow.local.address.family == base::ip_family::v4 && size > 65507)
        continue;  // its length has the header in it
      b.inbox.clear();
      const tx_answer answer = a.send(flow, numbered(size), net.now);
      EXPECT_EQ(answer.what, size > a->max_udp_payload(flow.remote.address, net.now) ? tx_what::kept : tx_what::ready);
      net.settle();
      ASSERT_EQ(b.inbox.size(), 1u) << size;
      EXPECT_EQ(b.inbox[0].payload, numbered(size));
      EXPECT_EQ(b.inbox[0].reassembled, answer.what == tx_what::kept);
    }
  }
  EXPECT_EQ(b->fragments().in_use(), 0u);
  EXPECT_EQ(b->fragments().blocks_in_use(), 0u);
}

TEST_F(host_udp, does_not_cut_what_may_not_be_cut) {
  udp_flow flow = flow_of("198.18.0.1", "198.18.0.2");
  a.send(flow, {}, net.now);
  net.run(10 * ms);
  flow.may_fragment = false;
  EXPECT_EQ(a.send(flow, numbered(1472), net.now).what, tx_what::ready);
  const tx_answer answer = a.send(flow, numbered(1473), net.now);
  EXPECT_EQ(answer.what, tx_what::dropped);
  EXPECT_EQ(answer.why, drop_reason::ip_too_big);
}

TEST_F(host_udp, refuses_what_no_ip_packet_holds) {
  a.send(flow_of("198.18.0.1", "198.18.0.2"), {}, net.now);
  net.run(10 * ms);
  EXPECT_EQ(a.send(flow_of("198.18.0.1", "198.18.0.2"), numbered(65508), net.now).why, drop_reason::ip_too_big);
  EXPECT_EQ(a->figures().udp_dropped.get(), 1u);
  a.send(flow_of("2001:db8:18::1", "2001:db8:18::2"), {}, net.now);
  net.run(10 * ms);
  EXPECT_EQ(a.send(flow_of("2001:db8:18::1", "2001:db8:18::2"), numbered(65528), net.now).why, drop_reason::ip_too_big);
}

TEST_F(host_udp, has_no_way_beyond_its_link_without_a_gateway) {
  EXPECT_EQ(a.send(flow_of("198.18.0.1", "203.0.113.9"), {}, net.now).why, drop_reason::no_route);
  EXPECT_EQ(a.send(flow_of("2001:db8:18::1", "2001:db8:99::9"), {}, net.now).why, drop_reason::no_route);
  EXPECT_EQ(a.send(flow_of("198.18.0.1", "198.18.0.255"), {}, net.now).why, drop_reason::no_route);
  EXPECT_EQ(a.send(flow_of("198.18.0.1", "2001:db8:18::2"), {}, net.now).why, drop_reason::no_route);
  EXPECT_EQ(a.send(flow_of("198.18.0.1", "198.18.0.1"), {}, net.now).why, drop_reason::no_route) << "to itself";
}

TEST_F(host_udp, gives_up_on_a_neighbour_that_never_answers) {
  a.send(flow_of("198.18.0.1", "198.18.0.77"), numbered(5), net.now);
  net.run(2900 * ms);
  EXPECT_EQ(a->frames_held(), 1u);
  net.run(200 * ms);
  EXPECT_EQ(a->frames_held(), 0u);
  EXPECT_EQ(a->held_drops().get(drop_reason::neighbour_unreachable), 1u);
  EXPECT_EQ(a->figures().arp_requests_sent.get(), 3u);
  EXPECT_EQ(a->neighbours().find(ip("198.18.0.77")), nullptr);
}

TEST_F(host_udp, keeps_the_newest_frames_of_too_many) {
  for (std::uint8_t i = 0; i < 12; ++i) {
    const byte_list one = {i};
    EXPECT_EQ(a.send(flow_of("198.18.0.1", "198.18.0.2"), one, net.now).what, tx_what::kept);
  }
  EXPECT_EQ(a->frames_held(), 8u);
  EXPECT_EQ(a->held_drops().get(drop_reason::neighbour_queue_full), 4u);
  net.run(10 * ms);
  ASSERT_EQ(b.inbox.size(), 8u);
  EXPECT_EQ(b.inbox[0].payload[0], 4);
  EXPECT_EQ(b.inbox[7].payload[0], 11);
}

TEST_F(host_udp, survives_a_pool_that_runs_dry_in_the_middle_of_a_flush) {
  for (std::uint8_t i = 0; i < 5; ++i) {
    const byte_list one = {i};
    a.send(flow_of("198.18.0.1", "198.18.0.2"), one, net.now);
  }
  a->on_time(net.now, a.out);
  const byte_list request = a.out.pop();
  b.receive(request, net.now);
  a.out.room = 2;
  a.receive(b.out.pop(), net.now);
  EXPECT_EQ(a.out.frames.size(), 2u);
  EXPECT_EQ(a->held_drops().get(drop_reason::mempool_empty), 3u);
  EXPECT_EQ(a->frames_held(), 0u);
  a.out.room = SIZE_MAX;
  net.settle();
  EXPECT_EQ(b.inbox.size(), 2u);
}

TEST_F(host_udp, stops_in_the_middle_of_a_datagram_when_packets_run_out) {
  a.send(flow_of("198.18.0.1", "198.18.0.2"), {}, net.now);
  net.run(10 * ms);
  a.out.room = 3;
  const tx_answer answer = a.send(flow_of("198.18.0.1", "198.18.0.2"), numbered(9000), net.now);
  EXPECT_EQ(answer.why, drop_reason::mempool_empty);
  EXPECT_EQ(a->figures().udp_dropped.get(), 1u);
  a.out.room = SIZE_MAX;
  net.settle();
  EXPECT_EQ(b->fragments().in_use(), 1u);
  net.run(61 * sec);
  EXPECT_EQ(b->fragments().in_use(), 0u);
  EXPECT_EQ(b->figures().reassembly_timeouts.get(), 1u);
  EXPECT_EQ(b->figures().errors_sent.get(), 1u) << "the first fragment came, so its sender is told";
  EXPECT_EQ(a->figures().errors_received.get(), 1u);
}

TEST(host_start, takes_nothing_before_it) {
  station a(config_of(1));
  station b(config_of(2));
  b->open_port(5500);
  a->start(sec);
  EXPECT_TRUE(a->neighbours().add_fixed(ip("198.18.0.2"), mac(2)));
  ASSERT_EQ(a.send(flow_of("198.18.0.1", "198.18.0.2"), {}, sec).what, tx_what::ready);
  const byte_list frame = a.out.pop();
  EXPECT_EQ(b.refuse(frame, sec), drop_reason::ip_not_for_us);
  EXPECT_EQ(b->due_ns(), neighbour_cache::never);
  b->start(sec);
  EXPECT_EQ(b.receive(frame, sec).what, rx_what::deliver);
}

TEST(host_network, delivers_all_or_nothing_under_loss_and_duplication) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    network net(seed);
    net.loss_percent = 20;
    net.twice_percent = 10;
    station& a = net.join(config_of(1));
    station& b = net.join(config_of(2));
    b->open_port(5500);
    seeded dice(seed);
    for (int i = 0; i < 100; ++i) {
      const bool v6 = dice.below(2) != 0;
      const auto flow = v6 ? flow_of("2001:db8:18::1", "2001:db8:18::2") : flow_of("198.18.0.1", "198.18.0.2");
      a.send(flow, numbered(dice.below(6000)), net.now);
      net.run(dice.below(400) * ms);
    }
    EXPECT_GT(b.inbox.size(), 20u);
    for (const heard& h : b.inbox) EXPECT_EQ(h.payload, numbered(h.payload.size()));
    net.run(200 * sec);
    EXPECT_EQ(a->frames_held(), 0u);
    EXPECT_EQ(b->fragments().in_use(), 0u);
    EXPECT_EQ(b->fragments().blocks_in_use(), 0u);
    net.check_balance();
  }
}

TEST(host_vlan, speaks_on_its_own_vlan_only) {
  network net;
  host_config ca = config_of(1);
  host_config cb = config_of(2);
  ca.vlan = cb.vlan = 7;
  station& a = net.join(ca);
  station& b = net.join(cb);
  host_config cc = config_of(3);
  station& c = net.join(cc);
  b->open_port(5500);
  a.send(flow_of("198.18.0.1", "198.18.0.2"), numbered(100), net.now);
  net.run(10 * ms);
  EXPECT_EQ(b.inbox.size(), 1u);
  a.send(flow_of("198.18.0.1", "198.18.0.2"), numbered(100), net.now);
  ASSERT_EQ(a.out.frames.size(), 1u);
  EXPECT_EQ(base::load_be16(a.out.frames[0].data() + 12), 0x8100);
  EXPECT_EQ(base::load_be16(a.out.frames[0].data() + 14), 7);
  net.settle();
  EXPECT_EQ(b.inbox.size(), 2u);
  EXPECT_GT(c.drops.get(drop_reason::l2_wrong_vlan), 0u) << "the broadcast";
  EXPECT_EQ(c.drops.get(drop_reason::l2_wrong_vlan) + c.drops.get(drop_reason::l2_not_for_us), c.drops.total());
  net.check_balance();
}

TEST(host_routes, sends_through_the_gateway_of_the_longest_prefix) {
  network net;
  host_config ca = config_of(1);
  ca.routes = {{ip("0.0.0.0"), 0, ip("198.18.0.254")},
               {ip("203.0.113.0"), 24, ip("198.18.0.253")},
               {ip("::"), 0, ip("fe80::fe")}};
  ca.neighbours = {{ip("198.18.0.254"), mac(0xFE)}, {ip("198.18.0.253"), mac(0xFD)}, {ip("fe80::fe"), mac(0xFC)}};
  station& a = net.join(ca);
  const auto to = [&](std::string_view from, std::string_view dst) {
    EXPECT_EQ(a.send(flow_of(from, dst), {}, net.now).what, tx_what::ready);
    return a.out.pop()[5];
  };
  EXPECT_EQ(to("198.18.0.1", "192.0.2.1"), 0xFE);
  EXPECT_EQ(to("198.18.0.1", "203.0.113.77"), 0xFD);
  EXPECT_EQ(to("2001:db8:18::1", "2001:db8:ffff::1"), 0xFC);
}

// --- checksums ---

struct arriving : pair {
  // A sound frame from a to b, as a would send it.
  byte_list frame(bool v6, base::byte_view payload) {
    const auto flow = v6 ? flow_of("2001:db8:18::1", "2001:db8:18::2") : flow_of("198.18.0.1", "198.18.0.2");
    if (a.send(flow, payload, net.now).what != tx_what::ready) {
      net.run(10 * ms);
      EXPECT_EQ(a.send(flow, payload, net.now).what, tx_what::ready);
    }
    return a.out.pop();
  }
};
using host_checksums = arriving;

TEST_F(host_checksums, are_judged_in_software_where_the_driver_says_nothing) {
  for (const bool v6 : {false, true}) {
    byte_list good = frame(v6, numbered(33));
    EXPECT_EQ(b.receive(good, net.now).what, rx_what::deliver);
    for (std::size_t at = v6 ? 54 : 34; at < good.size(); ++at) {
      byte_list bad = good;
      bad[at] ^= 0x10;
      EXPECT_NE(b.receive(bad, net.now).what, rx_what::deliver) << at;
    }
    good.back() ^= 1;
    EXPECT_EQ(b.refuse(good, net.now), drop_reason::udp_bad_checksum);
  }
}

TEST_F(host_checksums, are_the_drivers_to_judge_where_it_does) {
  using buf::verdict;
  byte_list wrong = frame(false, numbered(33));
  wrong.back() ^= 1;
  EXPECT_EQ(b.receive(wrong, net.now, {.ip = verdict::good, .transport = verdict::good}).what, rx_what::deliver);
  const byte_list good = frame(false, numbered(33));
  EXPECT_EQ(b.refuse(good, net.now, {.ip = verdict::good, .transport = verdict::bad}), drop_reason::udp_bad_checksum);
  EXPECT_EQ(b.refuse(good, net.now, {.ip = verdict::bad, .transport = verdict::good}), drop_reason::ip_bad_checksum);
  EXPECT_EQ(b.receive(good, net.now, {.ip = verdict::good, .transport = verdict::unknown}).what, rx_what::deliver);
}

TEST_F(host_checksums, may_be_absent_in_ipv4_and_not_in_ipv6) {
  byte_list v4 = frame(false, numbered(12));
  base::store_be16(v4.data() + 40, 0);
  EXPECT_EQ(b.receive(v4, net.now).what, rx_what::deliver);
  byte_list v6 = frame(true, numbered(12));
  base::store_be16(v6.data() + 60, 0);
  EXPECT_EQ(b.refuse(v6, net.now), drop_reason::udp_zero_checksum);
}

TEST_F(host_checksums, are_never_sent_as_zero) {
  a.send(flow_of("198.18.0.1", "198.18.0.2"), {}, net.now);
  net.run(10 * ms);
  for (unsigned i = 0; i < 65536; ++i) {  // some payload sums to zero
    const byte_list two = {static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i)};
    ASSERT_EQ(a.send(flow_of("198.18.0.1", "198.18.0.2"), two, net.now).what, tx_what::ready);
    const byte_list sent = a.out.pop();
    ASSERT_NE(base::load_be16(sent.data() + 40), 0);
    const base::byte_view udp = base::byte_view(sent).subspan(34);
    ASSERT_TRUE(wire::is_udp_sound(ip("198.18.0.1"), ip("198.18.0.2"), base::segments({&udp, 1}))) << i;
  }
}

TEST(host_offload, leaves_the_pseudo_header_to_the_port) {
  network net;
  host_config c = config_of(1);
  c.offload = {.tx_ipv4 = true, .tx_udp = true};
  c.neighbours = {{ip("198.18.0.2"), mac(2)}};
  station& a = net.join(c);
  ASSERT_EQ(a.send(flow_of("198.18.0.1", "198.18.0.2"), byte_list(9, 'x'), net.now).what, tx_what::ready);
  const byte_list sent = a.out.pop();
  EXPECT_EQ(base::load_be16(sent.data() + 24), 0) << "the IPv4 header's";
  wire::internet_sum pseudo;
  pseudo.add_pseudo_header(ip("198.18.0.1"), ip("198.18.0.2"), 17, 17);
  EXPECT_EQ(base::load_be16(sent.data() + 40), static_cast<std::uint16_t>(~pseudo.checksum()));
}

TEST_F(host_udp, takes_payload_in_pieces) {
  a.send(flow_of("198.18.0.1", "198.18.0.2"), {}, net.now);
  net.run(10 * ms);
  const byte_list whole = numbered(101);
  for (const std::size_t cut : {0u, 1u, 50u, 101u}) {
    const base::byte_view parts[] = {base::byte_view(whole).first(cut), base::byte_view(whole).subspan(cut)};
    byte_list frame(a->headers_size(base::ip_family::v4));
    const auto flow = flow_of("198.18.0.1", "198.18.0.2");
    ASSERT_EQ(a->send_udp(flow, frame, base::segments(parts), net.now, a.out).what, tx_what::ready);
    frame.insert(frame.end(), whole.begin(), whole.end());
    EXPECT_EQ(b.receive(frame, net.now).what, rx_what::deliver);
    EXPECT_EQ(b.inbox.back().payload, whole);
  }
}

}  // namespace
}  // namespace millrace::net
