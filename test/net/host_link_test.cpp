// ARP and neighbour discovery as a stranger on the link sees them, and as an attacker would like them.

#include "net/network.hpp"
#include "net/wire/arp.hpp"

namespace millrace::net {
namespace {

using namespace test;
using stats::drop_reason;

struct arp_wish {
  wire::arp_operation operation = wire::arp_operation::request;
  std::string_view sender = "198.18.0.9";
  std::string_view target = "198.18.0.1";
  wire::mac_address from = mac(9);
  wire::mac_address to = wire::broadcast_mac;
  wire::mac_address claimed = mac(9);
};

byte_list arp_frame(const arp_wish& wish) {
  byte_list out(60);
  base::byte_writer writer(out);
  EXPECT_TRUE(emit(wire::ethernet_header{wish.to, wish.from, wire::ethertype::arp}, writer));
  EXPECT_TRUE(emit(wire::arp_packet{.operation = wish.operation,
                                    .sender_mac = wish.claimed,
                                    .target_mac = {},
                                    .sender = ip(wish.sender),
                                    .target = ip(wish.target)},
                   writer));
  return out;
}

struct ndp_wish {
  std::uint8_t type = wire::icmp6::neighbour_solicitation;
  std::string_view src = "2001:db8:18::9";
  std::string_view dst = "2001:db8:18::1";
  std::string_view target = "2001:db8:18::1";
  std::uint32_t flags = 0;
  bool with_mac = true;
  wire::mac_address claimed = mac(9);
  std::uint8_t hop_limit = 255;
  byte_list more{};  // behind the options
};

byte_list ndp_frame(const ndp_wish& wish) {
  byte_list body(wire::max_neighbour_body_size);
  base::byte_writer body_writer(body);
  wire::neighbour_message m{.flags = wish.flags, .target = ip(wish.target)};
  if (wish.type == wire::icmp6::neighbour_solicitation) {
    m.has_source_mac = wish.with_mac;
    m.source_mac = wish.claimed;
  } else {
    m.has_target_mac = wish.with_mac;
    m.target_mac = wish.claimed;
  }
  EXPECT_TRUE(emit_body(m, body_writer));
  body.resize(body_writer.size());
  body.insert(body.end(), wish.more.begin(), wish.more.end());
  byte_list out(14 + 40 + 8 + body.size());
  base::byte_writer writer(out);
  const auto dst = ip(wish.dst);
  const auto to = wire::is_multicast(dst) ? wire::multicast_mac(dst) : mac(1);
  const base::byte_view view = body;
  EXPECT_TRUE(emit(wire::ethernet_header{to, mac(9), wire::ethertype::ipv6}, writer));
  EXPECT_TRUE(emit(wire::ipv6_header{.src = ip(wish.src),
                                     .dst = dst,
                                     .payload_size = 8 + body.size(),
                                     .next_header = wire::ip_protocol::icmpv6,
                                     .hop_limit = wish.hop_limit},
                   writer));
  EXPECT_TRUE(emit(wire::icmp_header{.type = wish.type, .word = m.flags}, ip(wish.src), dst, base::segments({&view, 1}),
                   writer));
  EXPECT_TRUE(writer.bytes(body));
  return out;
}

struct link_test : testing::Test {
  host_config config = config_of(1);
  std::unique_ptr<station> made;
  std::uint64_t now = 10 * sec;
  station& a() {
    if (!made) {
      made = std::make_unique<station>(config);
      made->stack->start(now);
    }
    return *made;
  }
  neighbour_state state_of(std::string_view who) {
    const neighbour* n = a()->neighbours().find(ip(who));
    return n == nullptr ? neighbour_state::unused : n->state;
  }
  wire::mac_address mac_of(std::string_view who) { return a()->neighbours().find(ip(who))->mac; }
  ~link_test() override { a().check_balance(); }
};
using host_arp = link_test;
using host_ndp = link_test;

TEST_F(host_arp, answers_for_its_addresses_to_the_asker_alone) {
  EXPECT_EQ(a().receive(arp_frame({}), now).what, rx_what::consumed);
  const byte_list reply = a().out.pop();
  EXPECT_EQ(base::byte_view(reply).size(), 60u);
  EXPECT_TRUE(std::equal(reply.begin(), reply.begin() + 6, mac(9).octets.begin()));
  wire::arp_packet arp;
  ASSERT_TRUE(parse(base::byte_view(reply).subspan(14), arp));
  EXPECT_EQ(arp.operation, wire::arp_operation::reply);
  EXPECT_EQ(arp.sender, ip("198.18.0.1"));
  EXPECT_EQ(arp.sender_mac, mac(1));
  EXPECT_EQ(arp.target, ip("198.18.0.9"));
  EXPECT_EQ(arp.target_mac, mac(9));
  EXPECT_EQ(state_of("198.18.0.9"), neighbour_state::stale) << "the asker is known now, and not trusted yet";
}

TEST_F(host_arp, answers_a_probe_and_learns_nothing_from_it) {
  EXPECT_EQ(a().receive(arp_frame({.sender = "0.0.0.0"}), now).what, rx_what::consumed);
  EXPECT_EQ(a().out.frames.size(), 1u);
  EXPECT_EQ(a()->neighbours().in_use(), 0u);
}

TEST_F(host_arp, leaves_others_alone) {
  EXPECT_EQ(a().refuse(arp_frame({.target = "198.18.0.77"}), now), drop_reason::arp_not_for_us);
  EXPECT_EQ(a().refuse(arp_frame({.sender = "198.18.0.9", .target = "198.18.0.9"}), now),
            drop_reason::neighbour_unsolicited);
  EXPECT_EQ(a()->neighbours().in_use(), 0u);
  EXPECT_TRUE(a().out.frames.empty());
}

TEST_F(host_arp, refuses_senders_that_cannot_be) {
  for (const std::string_view sender : {"127.0.0.1", "224.0.0.1", "255.255.255.255", "203.0.113.5", "198.18.0.255"})
    EXPECT_EQ(a().refuse(arp_frame({.sender = sender}), now), drop_reason::arp_spoofed) << sender;
  EXPECT_EQ(a().refuse(arp_frame({.claimed = mac(8)}), now), drop_reason::arp_spoofed) << "not the frame's own MAC";
  EXPECT_EQ(a()->neighbours().in_use(), 0u);
  EXPECT_TRUE(a().out.frames.empty());
}

TEST_F(host_arp, refuses_what_is_no_arp_for_ipv4_on_ethernet) {
  const byte_list good = arp_frame({});
  for (std::size_t at : {14u, 16u, 18u, 19u, 20u}) {
    byte_list bad = good;
    bad[at] ^= 0x40;
    EXPECT_EQ(a().refuse(bad, now), drop_reason::arp_malformed) << at;
  }
  for (std::size_t size = 14; size < 42; ++size)
    EXPECT_EQ(a().refuse(base::byte_view(good).first(size), now), drop_reason::arp_malformed);
}

TEST_F(host_arp, defends_its_address_once_in_a_while) {
  EXPECT_EQ(a().refuse(arp_frame({.sender = "198.18.0.1", .target = "198.18.0.1"}), now), drop_reason::arp_spoofed);
  EXPECT_EQ(a().out.frames.size(), 1u) << "an announcement of our own";
  EXPECT_EQ(a().refuse(arp_frame({.sender = "198.18.0.1"}), now + sec), drop_reason::arp_spoofed);
  EXPECT_EQ(a().out.frames.size(), 1u) << "RFC 5227 2.4: not more than one in 10 s";
  EXPECT_EQ(a().refuse(arp_frame({.sender = "198.18.0.1"}), now + 11 * sec), drop_reason::arp_spoofed);
  EXPECT_EQ(a().out.frames.size(), 2u);
  EXPECT_EQ(a()->figures().address_conflicts.get(), 3u);
}

TEST_F(host_arp, never_lets_a_static_neighbour_be_overwritten) {
  config.neighbours = {{ip("198.18.0.9"), mac(0x99)}};
  EXPECT_EQ(a().refuse(arp_frame({}), now), drop_reason::neighbour_fixed);
  arp_wish reply{.operation = wire::arp_operation::reply, .to = mac(1)};
  EXPECT_EQ(a().refuse(arp_frame(reply), now), drop_reason::neighbour_fixed);
  reply.to = wire::broadcast_mac;
  reply.target = reply.sender;
  EXPECT_EQ(a().refuse(arp_frame(reply), now), drop_reason::neighbour_fixed);
  EXPECT_EQ(mac_of("198.18.0.9"), mac(0x99));
  EXPECT_TRUE(a().out.frames.empty());
}

// Resolves 198.18.0.9 to mac(9).
void resolve(station& a, std::uint64_t now) {
  EXPECT_EQ(a.send(flow_of("198.18.0.1", "198.18.0.9"), {}, now).what, tx_what::kept);
  a->on_time(now, a.out);
  a.out.frames.clear();
  EXPECT_EQ(a.receive(arp_frame({.operation = wire::arp_operation::reply, .to = mac(1)}), now).what, rx_what::consumed);
  a.out.frames.clear();
}

TEST_F(host_arp, asks_everybody_when_somebody_claims_a_known_address) {
  resolve(a(), now);
  for (const bool reply : {true, false}) {
    arp_wish lie{.from = mac(0x66), .to = reply ? mac(1) : wire::broadcast_mac, .claimed = mac(0x66)};
    if (reply) lie.operation = wire::arp_operation::reply;
    static_cast<void>(a().receive(arp_frame(lie), now));
    EXPECT_EQ(mac_of("198.18.0.9"), mac(9)) << "not taken over";
    EXPECT_EQ(state_of("198.18.0.9"), neighbour_state::probe);
    a().out.frames.clear();
    a()->on_time(now, a().out);
    ASSERT_EQ(a().out.frames.size(), 1u);
    EXPECT_EQ(a().out.pop()[0], 0xFF) << "everybody is asked";
    static_cast<void>(a().receive(arp_frame({.operation = wire::arp_operation::reply, .to = mac(1)}), now));
    EXPECT_EQ(state_of("198.18.0.9"), neighbour_state::reachable);
    EXPECT_EQ(mac_of("198.18.0.9"), mac(9));
  }
  EXPECT_EQ(a()->figures().neighbour_conflicts.get(), 2u);
}

TEST_F(host_arp, follows_an_address_that_moved_once_it_answers) {
  resolve(a(), now);
  arp_wish moved{
      .operation = wire::arp_operation::request, .target = "198.18.0.9", .from = mac(0x77), .claimed = mac(0x77)};
  EXPECT_EQ(a().refuse(arp_frame(moved), now), drop_reason::neighbour_unsolicited);
  a()->on_time(now, a().out);
  a().out.frames.clear();
  moved.operation = wire::arp_operation::reply;
  moved.target = "198.18.0.1";
  moved.to = mac(1);
  EXPECT_EQ(a().receive(arp_frame(moved), now).what, rx_what::consumed);
  EXPECT_EQ(mac_of("198.18.0.9"), mac(0x77));
}

TEST_F(host_arp, ignores_answers_that_nobody_asked_for) {
  EXPECT_EQ(a().refuse(arp_frame({.operation = wire::arp_operation::reply, .to = mac(1)}), now),
            drop_reason::neighbour_unsolicited);
  EXPECT_EQ(a()->neighbours().in_use(), 0u);
}

TEST_F(host_arp, probes_a_neighbour_that_it_uses_after_a_while_and_forgets_it_when_gone) {
  resolve(a(), now);
  now += 31 * sec;
  EXPECT_EQ(a().send(flow_of("198.18.0.1", "198.18.0.9"), {}, now).what, tx_what::ready);
  a().out.frames.clear();
  EXPECT_EQ(state_of("198.18.0.9"), neighbour_state::delay);
  a()->on_time(now + 4 * sec, a().out);
  EXPECT_TRUE(a().out.frames.empty());
  a()->on_time(now + 5 * sec, a().out);
  ASSERT_EQ(a().out.frames.size(), 1u);
  EXPECT_EQ(a().out.pop()[5], 9) << "to itself first";
  a()->on_time(now + 6 * sec, a().out);
  a()->on_time(now + 7 * sec, a().out);
  EXPECT_EQ(a().out.frames.size(), 2u);
  EXPECT_EQ(state_of("198.18.0.9"), neighbour_state::probe);
  a()->on_time(now + 8 * sec, a().out);
  EXPECT_EQ(state_of("198.18.0.9"), neighbour_state::unused);
}

TEST_F(host_arp, spares_the_probe_when_the_peer_is_heard_of) {
  resolve(a(), now);
  now += 31 * sec;
  EXPECT_EQ(a().send(flow_of("198.18.0.1", "198.18.0.9"), {}, now).what, tx_what::ready);
  a()->confirm(ip("198.18.0.9"), now);
  EXPECT_EQ(state_of("198.18.0.9"), neighbour_state::reachable);
}

TEST_F(host_arp, survives_a_flood_of_askers_and_keeps_who_it_talks_to) {
  config.limits.neighbours = 64;
  resolve(a(), now);
  for (unsigned i = 0; i < 5000; ++i) {
    const std::string sender = "198.18.0." + std::to_string(10 + i % 200);
    const wire::mac_address from{{0x06, 0, 0, 1, static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i)}};
    static_cast<void>(a().receive(arp_frame({.sender = sender, .from = from, .claimed = from}), now));
    a().out.frames.clear();
    now += ms;
  }
  EXPECT_LE(a()->neighbours().in_use(), 64u);
  EXPECT_EQ(mac_of("198.18.0.9"), mac(9));
  EXPECT_EQ(a().send(flow_of("198.18.0.1", "198.18.0.9"), {}, now).what, tx_what::ready);
}

TEST_F(host_arp, answers_no_more_than_its_rate) {
  config.limits.neighbour_answers = {10, 5};
  unsigned answered = 0;
  for (int i = 0; i < 100; ++i) answered += a().receive(arp_frame({}), now).what == rx_what::consumed;
  EXPECT_EQ(answered, 5u);
  EXPECT_EQ(a().drops.get(drop_reason::neighbour_rate_limited), 95u);
  EXPECT_EQ(a().receive(arp_frame({}), now + 100 * ms).what, rx_what::consumed);
}

TEST_F(host_arp, announces_its_addresses_at_start) {
  config.announce = true;
  config.addresses = {{ip("198.18.0.1"), 24}, {ip("198.18.0.2"), 24}};
  a()->on_time(now, a().out);
  EXPECT_EQ(a().out.frames.size(), 2u);
  a()->on_time(now + 2 * sec, a().out);
  EXPECT_EQ(a().out.frames.size(), 4u);
  a()->on_time(now + 60 * sec, a().out);
  EXPECT_EQ(a().out.frames.size(), 4u);
  wire::arp_packet arp;
  const byte_list first = a().out.pop();
  ASSERT_TRUE(parse(base::byte_view(first).subspan(14), arp));
  EXPECT_EQ(arp.sender, arp.target);
}

TEST_F(host_arp, counts_an_answer_for_which_no_packet_was_free) {
  a().out.room = 0;
  EXPECT_EQ(a().refuse(arp_frame({}), now), drop_reason::mempool_empty);
  EXPECT_EQ(a()->figures().no_packet.get(), 1u);
}

// --- the frame itself ---

TEST_F(link_test, refuses_frames_that_are_not_for_it) {
  byte_list frame = arp_frame({});
  for (std::size_t size = 0; size < 14; ++size)
    EXPECT_EQ(a().refuse(base::byte_view(frame).first(size)), drop_reason::l2_truncated);
  frame[0] = 0x02;
  EXPECT_EQ(a().refuse(frame), drop_reason::l2_not_for_us);
  frame = arp_frame({.from = {{1, 0, 0, 0, 0, 9}}});
  EXPECT_EQ(a().refuse(frame), drop_reason::l2_bad_source);
  EXPECT_EQ(a().refuse(arp_frame({.from = {}})), drop_reason::l2_bad_source);
  EXPECT_EQ(a().refuse(arp_frame({.from = mac(1)})), drop_reason::l2_bad_source) << "our own, come round";
  frame = arp_frame({});
  base::store_be16(frame.data() + 12, 0x88B5);
  EXPECT_EQ(a().refuse(frame), drop_reason::l2_unknown_ethertype);
  base::store_be16(frame.data() + 12, 0x8100);
  EXPECT_EQ(a().refuse(base::byte_view(frame).first(17)), drop_reason::l2_truncated);
  base::store_be16(frame.data() + 14, 0x2005);
  EXPECT_EQ(a().refuse(frame), drop_reason::l2_wrong_vlan);
}

TEST_F(link_test, takes_a_priority_tag_for_no_tag) {
  const byte_list plain = arp_frame({});
  const byte_list tagged =
      join({base::byte_view(plain).first(12), from_hex("8100e000"), base::byte_view(plain).subspan(12)});
  EXPECT_EQ(a().receive(tagged, now).what, rx_what::consumed);
  EXPECT_EQ(base::load_be16(a().out.pop().data() + 12), wire::ethertype::arp);
}

// --- neighbour discovery ---

TEST_F(host_ndp, answers_a_solicitation_to_its_group_and_to_itself) {
  for (const std::string_view dst : {"ff02::1:ff00:1", "2001:db8:18::1"}) {
    EXPECT_EQ(a().receive(ndp_frame({.dst = dst}), now).what, rx_what::consumed);
    const byte_list reply = a().out.pop();
    const base::byte_view packet = base::byte_view(reply).subspan(14);
    EXPECT_EQ(reply[5], 9);
    EXPECT_EQ(packet[7], 255);
    EXPECT_EQ(base::ip_address::v6(packet.subspan(8, 16)), ip("2001:db8:18::1"));
    EXPECT_EQ(base::ip_address::v6(packet.subspan(24, 16)), ip("2001:db8:18::9"));
    wire::neighbour_message m;
    ASSERT_TRUE(parse(packet.subspan(40), m));
    EXPECT_EQ(m.flags, wire::ndp_flag::solicited | wire::ndp_flag::override_cache);
    EXPECT_EQ(m.target_mac, mac(1));
    EXPECT_TRUE(wire::is_icmp_sound(ip("2001:db8:18::1"), ip("2001:db8:18::9"), packet.subspan(40)));
  }
  EXPECT_EQ(state_of("2001:db8:18::9"), neighbour_state::stale);
}

TEST_F(host_ndp, tells_all_who_want_its_address) {
  EXPECT_EQ(a().receive(ndp_frame({.src = "::", .dst = "ff02::1:ff00:1", .with_mac = false}), now).what,
            rx_what::consumed);
  const byte_list reply = a().out.pop();
  EXPECT_EQ(base::ip_address::v6(base::byte_view(reply).subspan(38, 16)), wire::all_nodes());
  EXPECT_EQ(base::load_be32(reply.data() + 58), wire::ndp_flag::override_cache);
}

TEST_F(host_ndp, refuses_what_crossed_a_router_or_cannot_be) {
  EXPECT_EQ(a().refuse(ndp_frame({.hop_limit = 254}), now), drop_reason::ndp_hop_limit);
  EXPECT_EQ(a().refuse(ndp_frame({.src = "::", .dst = "2001:db8:18::1", .with_mac = false}), now),
            drop_reason::ndp_malformed);
  EXPECT_EQ(a().refuse(ndp_frame({.src = "::", .dst = "ff02::1:ff00:1"}), now), drop_reason::ndp_malformed);
  EXPECT_EQ(a().refuse(ndp_frame({.target = "ff02::1"}), now), drop_reason::ndp_malformed);
  EXPECT_EQ(a().refuse(ndp_frame({.more = from_hex("0e00")}), now), drop_reason::ndp_malformed) << "length 0";
  EXPECT_EQ(a().refuse(ndp_frame({.more = from_hex("0e02 000000000000")}), now), drop_reason::ndp_malformed);
  byte_list many;
  for (int i = 0; i < 40; ++i) many = join({many, from_hex("0e01 000000000000")});
  EXPECT_EQ(a().refuse(ndp_frame({.more = many}), now), drop_reason::ndp_malformed) << "more options than we look at";
  EXPECT_EQ(a().refuse(ndp_frame({.src = "2001:db8:77::9"}), now), drop_reason::ip_martian_source)
      << "not of this link";
  EXPECT_EQ(a().refuse(ndp_frame({.src = "2001:db8:18::1", .dst = "ff02::1:ff00:1"}), now),
            drop_reason::ip_spoofed_source);
  EXPECT_EQ(a().refuse(ndp_frame({.type = wire::icmp6::neighbour_advertisement,
                                  .src = "2001:db8:18::1",
                                  .target = "2001:db8:18::9"}),
                       now),
            drop_reason::ip_spoofed_source);
  EXPECT_EQ(a().refuse(ndp_frame({.dst = "ff02::1:ff00:1", .target = "2001:db8:18::f00:1"}), now),
            drop_reason::ndp_not_for_us);
  EXPECT_EQ(a().refuse(ndp_frame({.type = wire::icmp6::router_advertisement, .dst = "ff02::1"}), now),
            drop_reason::ndp_ignored);
  EXPECT_EQ(a().refuse(ndp_frame({.type = wire::icmp6::redirect}), now), drop_reason::ndp_ignored);
  byte_list bad = ndp_frame({});
  bad[60] ^= 1;
  EXPECT_EQ(a().refuse(bad, now), drop_reason::icmp_bad_checksum);
  EXPECT_TRUE(a().out.frames.empty());
  EXPECT_EQ(a()->neighbours().in_use(), 0u);
}

TEST_F(host_ndp, follows_the_table_of_advertisements) {
  constexpr std::uint8_t na = wire::icmp6::neighbour_advertisement;
  const std::string_view who = "2001:db8:18::9";
  ndp_wish wish{.type = na, .target = who};
  EXPECT_EQ(a().refuse(ndp_frame(wish), now), drop_reason::neighbour_unsolicited) << "no entry: nothing";
  ASSERT_EQ(a().send(flow_of("2001:db8:18::1", who), {}, now).what, tx_what::kept);
  wish.with_mac = false;
  EXPECT_EQ(a().refuse(ndp_frame(wish), now), drop_reason::neighbour_unsolicited) << "incomplete, and no MAC";
  wish.with_mac = true;
  EXPECT_EQ(a().receive(ndp_frame(wish), now).what, rx_what::consumed);
  EXPECT_EQ(state_of(who), neighbour_state::delay) << "unsolicited makes stale, and what waited used it";
  wish.flags = wire::ndp_flag::solicited | wire::ndp_flag::override_cache;
  now += 5 * sec;
  a()->on_time(now, a().out);
  EXPECT_EQ(a().receive(ndp_frame(wish), now).what, rx_what::consumed);
  EXPECT_EQ(state_of(who), neighbour_state::reachable);
  wish.claimed = mac(0x66);
  wish.flags = wire::ndp_flag::solicited;
  static_cast<void>(a().receive(ndp_frame(wish), now));
  EXPECT_EQ(state_of(who), neighbour_state::stale) << "RFC 4861 7.2.5: another MAC without override";
  EXPECT_EQ(mac_of(who), mac(9));
  wish.flags = wire::ndp_flag::override_cache;
  static_cast<void>(a().receive(ndp_frame(wish), now));
  EXPECT_EQ(state_of(who), neighbour_state::probe) << "with override: asked";
  EXPECT_EQ(mac_of(who), mac(9));
  wish.dst = "ff02::1";
  wish.flags = wire::ndp_flag::solicited;
  EXPECT_EQ(a().refuse(ndp_frame(wish), now), drop_reason::ndp_malformed) << "solicited, to all";
}

TEST_F(host_ndp, takes_an_address_only_when_nobody_objects) {
  config.dad_transmits = 1;
  config.announce = true;
  a()->on_time(now, a().out);
  EXPECT_EQ(a()->addresses()[1].state, address_state::tentative);
  EXPECT_EQ(a()->figures().solicitations_sent.get(), 2u) << "its own and its link-local address";
  EXPECT_EQ(a().refuse(ndp_frame({.dst = "ff02::1:ff00:1"}), now), drop_reason::ndp_not_for_us)
      << "a tentative address answers nobody";
  a()->open_port(5500);
  EXPECT_EQ(a().refuse(ndp_frame({}), now), drop_reason::ip_not_for_us);
  a()->on_time(now + sec, a().out);
  EXPECT_EQ(a()->addresses()[1].state, address_state::ours);
  EXPECT_EQ(a()->figures().advertisements_sent.get(), 2u);
  EXPECT_EQ(a().receive(ndp_frame({.dst = "ff02::1:ff00:1"}), now).what, rx_what::consumed);
}

TEST_F(host_ndp, gives_an_address_up_that_another_has_or_wants) {
  const auto advertisement = wire::icmp6::neighbour_advertisement;
  const ndp_wish objections[] = {{.src = "::", .dst = "ff02::1:ff00:1", .with_mac = false},
                                 {.type = advertisement, .dst = "ff02::1"},
                                 {.type = advertisement, .src = "2001:db8:18::1", .dst = "ff02::1"}};
  for (const ndp_wish& objection : objections) {
    made.reset();
    config.dad_transmits = 1;
    a()->on_time(now, a().out);
    static_cast<void>(a().receive(ndp_frame(objection), now));
    EXPECT_EQ(a()->addresses()[1].state, address_state::duplicate);
    a()->on_time(now + 10 * sec, a().out);
    EXPECT_EQ(a()->addresses()[1].state, address_state::duplicate);
    EXPECT_TRUE(a()->addresses().is_ours(ip("198.18.0.1"))) << "the others are not touched";
    EXPECT_EQ(a()->figures().address_conflicts.get(), 1u);
  }
}

TEST_F(host_ndp, names_the_groups_that_the_port_must_join) {
  wire::mac_address groups[8];
  ASSERT_EQ(a()->group_macs(groups), 2u) << "both addresses share a group";
  EXPECT_EQ(groups[0], (wire::mac_address{{0x33, 0x33, 0, 0, 0, 1}}));
  EXPECT_EQ(groups[1], (wire::mac_address{{0x33, 0x33, 0xFF, 0, 0, 1}}));
}

TEST_F(host_ndp, reports_its_groups_to_a_querier) {
  // RFC 3810 5.1: a general query.
  byte_list body(20);
  byte_list frame(14 + 40 + 8 + 20);
  base::byte_writer writer(frame);
  const base::byte_view view = body;
  EXPECT_TRUE(
      emit(wire::ethernet_header{wire::multicast_mac(wire::all_nodes()), mac(9), wire::ethertype::ipv6}, writer));
  EXPECT_TRUE(emit(wire::ipv6_header{.src = ip("fe80::9"),
                                     .dst = wire::all_nodes(),
                                     .payload_size = 28,
                                     .next_header = wire::ip_protocol::icmpv6,
                                     .hop_limit = 1},
                   writer));
  EXPECT_TRUE(
      emit(wire::icmp_header{.type = 130}, ip("fe80::9"), wire::all_nodes(), base::segments({&view, 1}), writer));
  EXPECT_TRUE(writer.bytes(body));
  EXPECT_EQ(a().receive(frame, now).what, rx_what::consumed);
  const byte_list report = a().out.pop();
  const base::byte_view packet = base::byte_view(report).subspan(14);
  EXPECT_EQ(packet[6], wire::ip_protocol::hop_by_hop);
  EXPECT_EQ(packet[7], 1);
  EXPECT_EQ(packet[48], wire::icmp6::mld2_report);
  EXPECT_EQ(base::load_be32(packet.data() + 52) & 0xFFFF, 1u);
  EXPECT_EQ(base::ip_address::v6(packet.subspan(60, 16)), ip("ff02::1:ff00:1"));
  EXPECT_TRUE(wire::is_icmp_sound(wire::link_local_of(mac(1)), wire::all_mldv2_routers(), packet.subspan(48)));
}

// --- several instances of one interface ---

TEST_F(link_test, tells_the_other_instance_what_it_waits_for) {
  config.instances = 2;
  host_config second = config;
  second.instance = 1;
  station other(second);
  other->start(now);
  EXPECT_EQ(other.send(flow_of("198.18.0.1", "198.18.0.9"), {}, now).what, tx_what::kept);
  // The answer comes on the first one's queue.
  static_cast<void>(a().receive(arp_frame({.operation = wire::arp_operation::reply, .to = mac(1)}), now));
  host_news news;
  ASSERT_TRUE(a()->poll_news(news));
  other->on_news(news, now, other.out);
  EXPECT_EQ(other->figures().sent_late.get(), 1u);
  EXPECT_FALSE(a()->poll_news(news));
  other.check_balance();
}

}  // namespace
}  // namespace millrace::net
