// IP and ICMP as they come from strangers: what is answered, what is refused, and what never earns an answer.

#include "net/network.hpp"
#include "net/wire/checksum.hpp"

namespace millrace::net {
namespace {

using namespace test;
using stats::drop_reason;

constexpr std::string_view us4 = "198.18.0.1";
constexpr std::string_view them4 = "198.18.0.9";
constexpr std::string_view us6 = "2001:db8:18::1";
constexpr std::string_view them6 = "2001:db8:18::9";

struct ip_wish {
  std::string_view src = them4;
  std::string_view dst = us4;
  std::uint8_t protocol = wire::ip_protocol::udp;
  std::uint16_t fragment = 0;  // IPv4: flags and offset
  std::uint16_t id = 77;
  byte_list options{};
  wire::mac_address to = mac(1);
  std::uint8_t ttl = 64;
};

byte_list with_ethernet(const wire::mac_address& to, std::uint16_t type, const byte_list& packet) {
  byte_list out(14);
  base::byte_writer writer(out);
  EXPECT_TRUE(emit(wire::ethernet_header{to, mac(9), type}, writer));
  return join({out, packet});
}

byte_list ipv4(const ip_wish& w, const byte_list& payload) {
  byte_list header(20 + w.options.size());
  header[0] = static_cast<std::uint8_t>(0x45 + w.options.size() / 4);
  base::store_be16(header.data() + 2, static_cast<std::uint16_t>(header.size() + payload.size()));
  base::store_be16(header.data() + 4, w.id);
  base::store_be16(header.data() + 6, w.fragment);
  header[8] = w.ttl;
  header[9] = w.protocol;
  std::memcpy(header.data() + 12, ip(w.src).octets.data(), 4);
  std::memcpy(header.data() + 16, ip(w.dst).octets.data(), 4);
  std::copy(w.options.begin(), w.options.end(), header.begin() + 20);
  base::store_be16(header.data() + 10, wire::internet_checksum(header));
  return with_ethernet(w.to, wire::ethertype::ipv4, join({header, payload}));
}

byte_list ipv6(std::string_view src, std::string_view dst, std::uint8_t next, const byte_list& payload) {
  byte_list header(40);
  header[0] = 0x60;
  base::store_be16(header.data() + 4, static_cast<std::uint16_t>(payload.size()));
  header[6] = next;
  header[7] = 64;
  std::memcpy(header.data() + 8, ip(src).octets.data(), 16);
  std::memcpy(header.data() + 24, ip(dst).octets.data(), 16);
  const auto to = wire::is_multicast(ip(dst)) ? wire::multicast_mac(ip(dst)) : mac(1);
  return with_ethernet(to, wire::ethertype::ipv6, join({header, payload}));
}

byte_list udp(std::string_view src, std::string_view dst, std::uint16_t port, std::size_t size) {
  const byte_list payload(size, 'u');
  byte_list out(8);
  base::byte_writer writer(out);
  const base::byte_view view = payload;
  const base::segments whole({&view, 1});
  const auto from = ip(src);
  const auto to = ip(dst);
  EXPECT_TRUE(emit(wire::udp_header{4000, port}, {from, to, whole}, writer));
  return join({out, payload});
}

byte_list icmp(std::string_view src, std::string_view dst, const wire::icmp_header& header, const byte_list& body) {
  byte_list out(8);
  base::byte_writer writer(out);
  const base::byte_view view = body;
  EXPECT_TRUE(emit(header, ip(src), ip(dst), base::segments({&view, 1}), writer));
  return join({out, body});
}

byte_list numbered(std::size_t size) {
  byte_list out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::uint8_t>(i * 13 + (i >> 8));
  return out;
}

byte_list part_of(const byte_list& whole, std::size_t at, std::size_t size) {
  return {whole.begin() + static_cast<std::ptrdiff_t>(at), whole.begin() + static_cast<std::ptrdiff_t>(at + size)};
}

// An ICMP error of ours, without its Ethernet header.
struct said {
  std::uint8_t type = 0xFF;
  std::uint8_t code = 0xFF;
  std::uint32_t word = 0;
  byte_list quote{};
};

struct ip_test : testing::Test {
  host_config config = config_of(1);
  std::unique_ptr<station> made;
  std::uint64_t now = 10 * sec;
  station& a() {
    if (!made) {
      config.neighbours = {{ip(them4), mac(9)}, {ip(them6), mac(9)}};
      made = std::make_unique<station>(config);
      made->stack->start(now);
      made->stack->open_port(5500);
    }
    return *made;
  }
  said error() {
    const byte_list frame = a().out.pop();
    if (frame.size() < 42) return {};
    const base::byte_view packet = base::byte_view(frame).subspan(14);
    const bool v4 = packet[0] >> 4 == 4;
    const std::size_t at = v4 ? 20 : 40;
    const auto src = v4 ? base::ip_address::v4(packet.subspan(12, 4)) : base::ip_address::v6(packet.subspan(8, 16));
    const auto dst = v4 ? base::ip_address::v4(packet.subspan(16, 4)) : base::ip_address::v6(packet.subspan(24, 16));
    EXPECT_EQ(src, ip(v4 ? us4 : us6)) << "from the address that was called";
    EXPECT_TRUE(wire::is_icmp_sound(src, dst, packet.subspan(at)));
    EXPECT_LE(packet.size(), v4 ? 576u : 1280u);
    return {packet[at],
            packet[at + 1],
            base::load_be32(packet.data() + at + 4),
            {packet.begin() + static_cast<std::ptrdiff_t>(at) + 8, packet.end()}};
  }
  ~ip_test() override { a().check_balance(); }
};
using host_ipv4 = ip_test;
using host_ipv6 = ip_test;
using host_icmp = ip_test;
using host_fragments = ip_test;

// --- IPv4 ---

TEST_F(host_ipv4, refuses_addresses_that_cannot_be) {
  const auto from = [&](std::string_view src) { return a().refuse(ipv4({.src = src}, udp(src, us4, 5500, 4)), now); };
  for (const std::string_view src :
       {"0.0.0.0", "0.1.2.3", "127.0.0.1", "224.0.0.5", "240.0.0.1", "255.255.255.255", "198.18.0.255"})
    EXPECT_EQ(from(src), drop_reason::ip_martian_source) << src;
  EXPECT_EQ(from(us4), drop_reason::ip_spoofed_source);
  const auto to = [&](std::string_view dst, const wire::mac_address& mac_to = mac(1)) {
    return a().refuse(ipv4({.dst = dst, .to = mac_to}, udp(them4, dst, 5500, 4)), now);
  };
  EXPECT_EQ(to("127.0.0.1"), drop_reason::ip_martian_destination);
  EXPECT_EQ(to("0.0.0.0"), drop_reason::ip_martian_destination);
  EXPECT_EQ(to("198.18.0.2"), drop_reason::ip_not_for_us);
  EXPECT_EQ(to("224.0.0.1"), drop_reason::ip_not_for_us);
  EXPECT_EQ(to(us4, wire::broadcast_mac), drop_reason::ip_broadcast) << "RFC 1122 3.3.6";
  EXPECT_EQ(to("198.18.0.255", wire::broadcast_mac), drop_reason::ip_broadcast);
  EXPECT_EQ(to("255.255.255.255", wire::broadcast_mac), drop_reason::ip_broadcast);
  EXPECT_TRUE(a().out.frames.empty()) << "none of these is answered";
}

TEST_F(host_ipv4, delivers_broadcasts_where_they_are_wanted) {
  config.accept_broadcast = true;
  EXPECT_EQ(
      a().receive(ipv4({.dst = "198.18.0.255", .to = wire::broadcast_mac}, udp(them4, "198.18.0.255", 5500, 4)), now)
          .what,
      rx_what::deliver);
  EXPECT_TRUE(a().inbox[0].broadcast);
  EXPECT_EQ(a().refuse(ipv4({.dst = "198.18.0.255", .to = wire::broadcast_mac}, udp(them4, "198.18.0.255", 7, 4)), now),
            drop_reason::no_service);
  EXPECT_TRUE(a().out.frames.empty()) << "no error in answer to a broadcast";
}

TEST_F(host_ipv4, judges_lengths_and_versions) {
  const byte_list good = ipv4({}, udp(them4, us4, 5500, 30));
  const auto with = [&](std::size_t at, std::uint16_t value) {
    byte_list bad = good;
    base::store_be16(bad.data() + 14 + at, value);
    base::store_be16(bad.data() + 24, 0);
    base::store_be16(bad.data() + 24, wire::internet_checksum(base::byte_view(bad).subspan(14, 20)));
    return a().refuse(bad, now);
  };
  EXPECT_EQ(with(0, 0x5500), drop_reason::ip_bad_version);
  EXPECT_EQ(with(0, 0x4400), drop_reason::ip_bad_header_length);
  EXPECT_EQ(with(2, 19), drop_reason::ip_bad_header_length);
  EXPECT_EQ(with(2, 59), drop_reason::ip_bad_total_length);
  EXPECT_EQ(with(2, 0), drop_reason::ip_bad_header_length);
  EXPECT_EQ(with(2, 27), drop_reason::udp_truncated);
  EXPECT_EQ(with(24, 7), drop_reason::udp_bad_length);
  EXPECT_EQ(with(24, 39), drop_reason::udp_bad_length);
  EXPECT_EQ(with(24, 0), drop_reason::udp_bad_length);
  for (std::size_t size = 14; size < 34; ++size)
    EXPECT_EQ(a().refuse(base::byte_view(good).first(size), now), drop_reason::ip_truncated);
  byte_list wrong = good;
  wrong[22] ^= 1;
  EXPECT_EQ(a().refuse(wrong, now), drop_reason::ip_bad_checksum);
  EXPECT_TRUE(a().out.frames.empty());
}

TEST_F(host_ipv4, ignores_padding_and_what_is_behind_the_udp_length) {
  byte_list padded = ipv4({}, udp(them4, us4, 5500, 4));
  padded.resize(60, 0xAA);
  EXPECT_EQ(a().receive(padded, now).what, rx_what::deliver);
  EXPECT_EQ(a().inbox.back().payload.size(), 4u);
  const byte_list surplus = ipv4({}, join({udp(them4, us4, 5500, 4), from_hex("0102030405")}));
  EXPECT_EQ(a().receive(surplus, now).what, rx_what::deliver);
  EXPECT_EQ(a().inbox.back().payload.size(), 4u);
}

TEST_F(host_ipv4, takes_what_has_little_time_to_live_left) {
  for (const std::uint8_t ttl : {std::uint8_t{0}, std::uint8_t{1}})
    EXPECT_EQ(a().receive(ipv4({.ttl = ttl}, udp(them4, us4, 5500, 4)), now).what, rx_what::deliver)
        << "RFC 1122 3.2.1.7";
}

TEST_F(host_ipv4, hands_on_what_the_service_may_want_to_know) {
  byte_list frame = ipv4({.ttl = 17}, udp(them4, us4, 5500, 4));
  frame[15] = 0xB9;  // class and congestion marks
  base::store_be16(frame.data() + 24, 0);
  base::store_be16(frame.data() + 24, wire::internet_checksum(base::byte_view(frame).subspan(14, 20)));
  base::store_be16(frame.data() + 34, 0);  // no reply is wanted
  base::store_be16(frame.data() + 40, 0);  // and no checksum sent
  udp_delivery d;
  ++a().given;
  ++a().delivered;
  ASSERT_EQ(a()->receive(frame, {}, now, a().out, d).what, rx_what::deliver);
  EXPECT_EQ(d.traffic_class, 0xB9);
  EXPECT_EQ(d.hop_limit, 17);
  EXPECT_EQ(d.remote.port, 0);
}

TEST_F(host_ipv4, skips_options_and_refuses_routes) {
  const auto with = [&](std::string_view options) {
    return a().receive(ipv4({.options = from_hex(options)}, udp(them4, us4, 5500, 4)), now);
  };
  EXPECT_EQ(with("01010101").what, rx_what::deliver);
  EXPECT_EQ(with("94040000").what, rx_what::deliver) << "router alert";
  EXPECT_EQ(with("00ffffff").what, rx_what::deliver) << "behind the end nothing is looked at";
  EXPECT_EQ(with("0704 0400").what, rx_what::deliver) << "a record route that is full";
  EXPECT_EQ(with("83070400 00000000").why, drop_reason::ip_source_route);
  EXPECT_EQ(with("89070800 00000000").why, drop_reason::ip_source_route);
  EXPECT_TRUE(a().out.frames.empty());
  EXPECT_EQ(with("01440101").why, drop_reason::ip_bad_options);
  const said problem = error();
  EXPECT_EQ(problem.type, wire::icmp4::parameter_problem);
  EXPECT_EQ(problem.word, 22u << 24) << "the length byte";
  EXPECT_EQ(with("07ff0401").why, drop_reason::ip_bad_options);
  EXPECT_EQ(with("01010107").why, drop_reason::ip_bad_options);
}

TEST_F(host_ipv4, says_which_port_and_protocol_nobody_serves) {
  EXPECT_EQ(a().refuse(ipv4({}, udp(them4, us4, 7, 600)), now), drop_reason::no_service);
  const said port = error();
  EXPECT_EQ(port.type, wire::icmp4::unreachable);
  EXPECT_EQ(port.code, wire::icmp4::port_unreachable);
  EXPECT_EQ(port.quote.size(), 548u) << "RFC 1812 4.3.2.3";
  EXPECT_EQ(a().refuse(ipv4({.protocol = wire::ip_protocol::tcp}, byte_list(20)), now),
            drop_reason::ip_unknown_protocol);
  EXPECT_EQ(error().code, wire::icmp4::protocol_unreachable);
  a()->open_port(7);
  EXPECT_EQ(a().receive(ipv4({}, udp(them4, us4, 7, 0)), now).what, rx_what::deliver);
  a()->close_port(7);
  EXPECT_EQ(a().refuse(ipv4({}, udp(them4, us4, 7, 0)), now), drop_reason::no_service);
}

TEST_F(host_ipv4, sends_errors_no_faster_than_its_rate) {
  config.limits.icmp_errors = {10, 3};
  for (int i = 0; i < 50; ++i) static_cast<void>(a().receive(ipv4({}, udp(them4, us4, 7, 4)), now));
  EXPECT_EQ(a()->figures().errors_sent.get(), 3u);
  EXPECT_EQ(a()->figures().errors_limited.get(), 47u);
  EXPECT_EQ(a().drops.get(drop_reason::no_service), 50u);
}

// --- ICMP ---

TEST_F(host_icmp, echoes_every_size) {
  for (const std::size_t size : {0u, 1u, 56u, 1464u, 1472u}) {
    const byte_list request =
        ipv4({.protocol = wire::ip_protocol::icmp}, icmp(them4, us4, {.type = 8, .word = 0x12340007}, numbered(size)));
    ASSERT_EQ(a().receive(request, now).what, rx_what::consumed) << size;
    const byte_list reply = a().out.pop();
    EXPECT_EQ(reply[34], 0);
    EXPECT_EQ(base::load_be32(reply.data() + 38), 0x12340007u);
    EXPECT_EQ(byte_list(reply.begin() + 42, reply.end()), numbered(size));
    EXPECT_TRUE(wire::is_icmp_sound(ip(us4), ip(them4), base::byte_view(reply).subspan(34)));
    EXPECT_EQ(wire::internet_checksum(base::byte_view(reply).subspan(14, 20)), 0);
  }
  const byte_list request =
      ipv6(them6, us6, wire::ip_protocol::icmpv6, icmp(them6, us6, {.type = 128, .word = 0xAAAA0001}, numbered(100)));
  EXPECT_EQ(a().receive(request, now).what, rx_what::consumed);
  const byte_list reply = a().out.pop();
  EXPECT_EQ(reply[54], 129);
  EXPECT_EQ(byte_list(reply.begin() + 62, reply.end()), numbered(100));
}

TEST_F(host_icmp, echoes_across_the_mtu_in_fragments) {
  network net;
  station& one = net.join(config_of(1));
  station& two = net.join(config_of(2));
  const byte_list message = icmp("198.18.0.2", us4, {.type = 8, .word = 1}, numbered(20000));
  for (std::size_t at = 0; at < message.size(); at += 1480) {
    const std::size_t size = std::min<std::size_t>(1480, message.size() - at);
    const bool more = at + size < message.size();
    const byte_list part(message.begin() + static_cast<std::ptrdiff_t>(at),
                         message.begin() + static_cast<std::ptrdiff_t>(at + size));
    byte_list frame = ipv4({.src = "198.18.0.2",
                            .protocol = wire::ip_protocol::icmp,
                            .fragment = static_cast<std::uint16_t>((more ? 0x2000u : 0u) | at / 8)},
                           part);
    const rx_answer answer = one.receive(frame, net.now);
    EXPECT_EQ(answer.what, more ? rx_what::consumed : rx_what::drop) << "too many pieces to wait for a neighbour";
  }
  EXPECT_EQ(one.drops.get(drop_reason::neighbour_queue_full), 1u);
  net.run(10 * ms);
  for (std::size_t at = 0; at < message.size(); at += 1480) {
    const std::size_t size = std::min<std::size_t>(1480, message.size() - at);
    const byte_list part(message.begin() + static_cast<std::ptrdiff_t>(at),
                         message.begin() + static_cast<std::ptrdiff_t>(at + size));
    const bool more = at + size < message.size();
    EXPECT_EQ(one.receive(ipv4({.src = "198.18.0.2",
                                .protocol = wire::ip_protocol::icmp,
                                .fragment = static_cast<std::uint16_t>((more ? 0x2000u : 0u) | at / 8),
                                .id = 78},
                               part),
                          net.now)
                  .what,
              rx_what::consumed);
  }
  EXPECT_EQ(one.out.frames.size(), 14u);
  net.settle();
  EXPECT_EQ(two->figures().datagrams_reassembled.get(), 1u);
  EXPECT_EQ(two.drops.get(drop_reason::icmp_unwanted), 1u) << "the reply, whole and sound";
  net.check_balance();
}

TEST_F(host_icmp, limits_a_flood_of_echoes) {
  config.limits.echo_replies = {100, 20};
  const byte_list request =
      ipv4({.protocol = wire::ip_protocol::icmp}, icmp(them4, us4, {.type = 8, .word = 1}, numbered(10)));
  for (int i = 0; i < 1000; ++i) static_cast<void>(a().receive(request, now));
  EXPECT_EQ(a()->figures().echo_replies_sent.get(), 20u);
  EXPECT_EQ(a().drops.get(drop_reason::icmp_rate_limited), 980u);
}

TEST_F(host_icmp, refuses_what_is_wrong_or_unwanted) {
  const auto v4 = [&](const byte_list& message) {
    return a().refuse(ipv4({.protocol = wire::ip_protocol::icmp}, message), now);
  };
  EXPECT_EQ(v4(byte_list(7)), drop_reason::icmp_malformed);
  byte_list wrong = icmp(them4, us4, {.type = 8}, numbered(9));
  wrong.back() ^= 1;
  EXPECT_EQ(v4(wrong), drop_reason::icmp_bad_checksum);
  EXPECT_EQ(v4(icmp(them4, us4, {.type = 13}, byte_list(12))), drop_reason::icmp_unwanted);
  EXPECT_EQ(v4(icmp(them4, us4, {.type = 0}, {})), drop_reason::icmp_unwanted);
  EXPECT_EQ(v4(icmp(them4, us4, {.type = 3, .code = 3}, byte_list(27))), drop_reason::icmp_malformed);
  EXPECT_EQ(a().refuse(ipv4({.dst = "198.18.0.255", .protocol = 1, .to = wire::broadcast_mac},
                            icmp(them4, "198.18.0.255", {.type = 8}, {})),
                       now),
            drop_reason::ip_broadcast);
  EXPECT_EQ(a().refuse(ipv6(them6, "ff02::1", 58, icmp(them6, "ff02::1", {.type = 128}, {})), now),
            drop_reason::ip_broadcast);
  EXPECT_TRUE(a().out.frames.empty());
}

TEST_F(host_icmp, never_answers_an_error_or_a_later_fragment) {
  // Errors whose own headers are wrong.
  const byte_list quoted(60, 0x45);
  const byte_list error4 = icmp(them4, us4, {.type = 3, .code = 3}, quoted);
  EXPECT_EQ(a().refuse(ipv4({.protocol = 1, .options = from_hex("07ff0401")}, error4), now),
            drop_reason::ip_bad_options);
  const byte_list error6 = icmp(them6, us6, {.type = 1, .code = 4}, quoted);
  EXPECT_EQ(a().refuse(ipv6(them6, us6, 60, join({from_hex("3a00 8004 00000000"), error6})), now),
            drop_reason::ip_unknown_option);
  // A fragment that is not the first.
  EXPECT_EQ(a().refuse(ipv4({.fragment = 0x2010, .options = from_hex("07ff0401")}, byte_list(16)), now),
            drop_reason::ip_bad_options);
  EXPECT_TRUE(a().out.frames.empty());
}

TEST_F(host_icmp, learns_a_smaller_path_mtu_from_what_it_sent) {
  const auto report = [&](std::uint32_t mtu, std::string_view src = us4, std::uint16_t size = 1500) {
    byte_list quoted = ipv4({.src = src, .dst = them4}, byte_list(8));
    quoted.erase(quoted.begin(), quoted.begin() + 14);
    base::store_be16(quoted.data() + 2, size);
    return a().receive(ipv4({.protocol = 1}, icmp(them4, us4, {.type = 3, .code = 4, .word = mtu}, quoted)), now);
  };
  EXPECT_EQ(a()->max_udp_payload(ip(them4), now), 1472u);
  EXPECT_EQ(report(1400, them4).why, drop_reason::icmp_unwanted) << "we never sent that";
  EXPECT_EQ(report(1500).why, drop_reason::icmp_unwanted) << "no smaller than the packet";
  EXPECT_EQ(report(60).why, drop_reason::icmp_unwanted) << "no link is that small";
  EXPECT_EQ(report(1400).what, rx_what::consumed);
  EXPECT_EQ(a()->max_udp_payload(ip(them4), now), 1372u);
  EXPECT_EQ(report(1450).why, drop_reason::icmp_unwanted) << "it never grows by report";
  EXPECT_EQ(a().send(flow_of(us4, them4), byte_list(1372), now).what, tx_what::ready);
  EXPECT_EQ(a().send(flow_of(us4, them4), byte_list(1373), now).what, tx_what::kept) << "cut";
  EXPECT_EQ(report(0).what, rx_what::drop) << "RFC 1191 7.1: the next plateau is 1492, more than known";
  EXPECT_EQ(report(100).what, rx_what::consumed);
  EXPECT_EQ(a()->max_udp_payload(ip(them4), now), 524u);
  a().out.frames.clear();
  EXPECT_EQ(a().send(flow_of(us4, them4), byte_list(10), now).what, tx_what::kept);
  EXPECT_EQ(a().out.pop()[20] & 0x40, 0) << "below our floor routers must be free to cut";
  EXPECT_EQ(a()->max_udp_payload(ip(them4), now + 601 * sec), 1472u) << "and after ten minutes it is tried again";
}

TEST_F(host_icmp, learns_it_in_ipv6_too_but_never_below_1280) {
  const auto report = [&](std::uint32_t mtu) {
    byte_list quoted = ipv6(us6, them6, 17, byte_list(1400));
    quoted.erase(quoted.begin(), quoted.begin() + 14);
    quoted.resize(1200);
    return a().receive(ipv6(them6, us6, 58, icmp(them6, us6, {.type = 2, .word = mtu}, quoted)), now);
  };
  EXPECT_EQ(report(1279).why, drop_reason::icmp_unwanted);
  EXPECT_EQ(report(1300).what, rx_what::consumed);
  EXPECT_EQ(a()->max_udp_payload(ip(them6), now), 1252u);
}

// --- IPv6 headers ---

TEST_F(host_ipv6, refuses_addresses_that_cannot_be) {
  const auto from = [&](std::string_view src) { return a().refuse(ipv6(src, us6, 17, udp(src, us6, 5500, 4)), now); };
  EXPECT_EQ(from("::"), drop_reason::ip_martian_source);
  EXPECT_EQ(from("::1"), drop_reason::ip_martian_source);
  EXPECT_EQ(from("ff02::1"), drop_reason::ip_martian_source);
  EXPECT_EQ(from("::ffff:198.18.0.9"), drop_reason::ip_martian_source);
  EXPECT_EQ(from(us6), drop_reason::ip_spoofed_source);
  EXPECT_EQ(a().refuse(ipv6(them6, "::1", 17, udp(them6, "::1", 5500, 4)), now), drop_reason::ip_martian_destination);
  EXPECT_EQ(a().refuse(ipv6(them6, "2001:db8:18::5", 17, {}), now), drop_reason::ip_not_for_us);
  EXPECT_EQ(a().refuse(ipv6(them6, "ff02::fb", 17, {}), now), drop_reason::l2_not_for_us);
  EXPECT_TRUE(a().out.frames.empty());
}

TEST_F(host_ipv6, passes_extension_headers_in_any_order) {
  const byte_list tail = udp(them6, us6, 5500, 4);
  const auto with = [&](std::uint8_t first, std::string_view headers) {
    return a().receive(ipv6(them6, us6, first, join({from_hex(headers), tail})), now);
  };
  EXPECT_EQ(with(0, "1100 0104 00000000").what, rx_what::deliver) << "hop by hop, padding";
  EXPECT_EQ(with(60, "1100 1e04 00000000").what, rx_what::deliver) << "an option that may be skipped";
  EXPECT_EQ(with(43, "1100 0000 00000000").what, rx_what::deliver) << "a route that is walked";
  EXPECT_EQ(with(44, "1100 0000 00000001").what, rx_what::deliver) << "an atomic fragment";
  EXPECT_EQ(with(60, "2b00 0104 00000000 3c00 0000 00000000 1100 0104 00000000").what, rx_what::deliver);
  EXPECT_TRUE(a().out.frames.empty());
  EXPECT_EQ(a()->fragments().in_use(), 0u);
}

TEST_F(host_ipv6, answers_headers_as_they_ask_for) {
  const byte_list tail = udp(them6, us6, 5500, 4);
  const auto with = [&](std::uint8_t first, std::string_view headers) {
    return a().refuse(ipv6(them6, us6, first, join({from_hex(headers), tail})), now);
  };
  const auto expect = [&](std::uint8_t code, std::uint32_t pointer, int line) {
    const said problem = error();
    EXPECT_EQ(problem.type, wire::icmp6::parameter_problem) << line;
    EXPECT_EQ(problem.code, code) << line;
    EXPECT_EQ(problem.word, pointer) << line;
  };
  EXPECT_EQ(with(60, "1100 8004 00000000"), drop_reason::ip_unknown_option);
  expect(2, 42, __LINE__);
  EXPECT_EQ(with(60, "1100 c104 00000000"), drop_reason::ip_unknown_option);
  expect(2, 42, __LINE__);
  EXPECT_EQ(with(60, "1100 4104 00000000"), drop_reason::ip_unknown_option);
  EXPECT_TRUE(a().out.frames.empty()) << "01: in silence";
  EXPECT_EQ(with(43, "1102 0001 00000000 20010db8001800000000000000000001"), drop_reason::ip_source_route);
  expect(0, 42, __LINE__);
  EXPECT_EQ(with(60, "0000 0104 00000000 1100 0104 00000000"), drop_reason::ip_bad_extension)
      << "hop-by-hop options behind another header";
  expect(1, 40, __LINE__);
  EXPECT_EQ(with(6, ""), drop_reason::ip_unknown_protocol);
  expect(1, 6, __LINE__);
  EXPECT_EQ(with(59, ""), drop_reason::ip_unknown_protocol);
  EXPECT_TRUE(a().out.frames.empty());
  EXPECT_EQ(with(60, "11ff 0104 00000000"), drop_reason::ip_bad_extension);
  expect(0, 41, __LINE__);
  EXPECT_EQ(with(60, "1100 0105 00000000"), drop_reason::ip_bad_extension) << "an option beyond its header";
  expect(0, 43, __LINE__);
  std::string many;
  for (int i = 0; i < 9; ++i) many += "3c00 0104 00000000";
  EXPECT_EQ(with(60, many), drop_reason::ip_bad_extension) << "more headers than we follow";
  EXPECT_EQ(a().refuse(ipv6(them6, us6, 17, udp(them6, us6, 7, 2000)), now), drop_reason::no_service);
  const said port = error();
  EXPECT_EQ(port.code, wire::icmp6::port_unreachable);
  EXPECT_EQ(port.quote.size(), 1232u) << "RFC 4443 2.4 c";
}

TEST_F(host_ipv6, answers_to_a_group_only_what_must_be) {
  const std::string_view group = "ff02::1";
  const byte_list tail = udp(them6, group, 5500, 4);
  EXPECT_EQ(a().refuse(ipv6(them6, group, 60, join({from_hex("1100 c104 00000000"), tail})), now),
            drop_reason::ip_unknown_option);
  EXPECT_TRUE(a().out.frames.empty());
  EXPECT_EQ(a().refuse(ipv6(them6, group, 60, join({from_hex("1100 8104 00000000"), tail})), now),
            drop_reason::ip_unknown_option);
  EXPECT_EQ(error().code, wire::icmp6::unknown_option) << "RFC 4443 2.4 e.3";
  EXPECT_EQ(a().refuse(ipv6(them6, group, 17, udp(them6, group, 7, 4)), now), drop_reason::ip_broadcast);
  EXPECT_EQ(a().refuse(ipv6(them6, group, 17, udp(them6, group, 5500, 4)), now), drop_reason::ip_broadcast);
  const byte_list whole = udp(them6, group, 5500, 1000);
  byte_list first = ipv6(them6, group, 44, join({from_hex("1100 0001 00000009"), part_of(whole, 0, 504)}));
  EXPECT_EQ(a().refuse(first, now), drop_reason::none);
  a()->on_time(now + 61 * sec, a().out);
  EXPECT_EQ(a()->figures().reassembly_timeouts.get(), 1u);
  EXPECT_TRUE(a().out.frames.empty()) << "no time exceeded to a group";
}

// --- fragments ---

byte_list fragment4(const byte_list& whole, std::size_t at, std::size_t size, std::uint16_t id = 77) {
  const bool more = at + size < whole.size();
  return ipv4({.fragment = static_cast<std::uint16_t>((more ? 0x2000u : 0u) | at / 8), .id = id},
              part_of(whole, at, size));
}
byte_list fragment6(const byte_list& whole, std::size_t at, std::size_t size, std::uint32_t id = 77) {
  byte_list header(8);
  header[0] = 17;
  base::store_be16(header.data() + 2, static_cast<std::uint16_t>(at | (at + size < whole.size() ? 1u : 0u)));
  base::store_be32(header.data() + 4, id);
  return ipv6(them6, us6, 44, join({header, part_of(whole, at, size)}));
}

TEST_F(host_fragments, come_in_any_order) {
  std::vector<std::size_t> order = {0, 1, 2, 3, 4};
  do {
    for (const bool v6 : {false, true}) {
      const byte_list whole = v6 ? udp(them6, us6, 5500, 4000) : udp(them4, us4, 5500, 4000);
      const std::size_t before = a().inbox.size();
      for (std::size_t i = 0; i < order.size(); ++i) {
        const std::size_t at = order[i] * 1000;
        const std::size_t size = std::min<std::size_t>(1000, whole.size() - at);
        const rx_answer answer = a().receive(v6 ? fragment6(whole, at, size) : fragment4(whole, at, size), now);
        EXPECT_EQ(answer.what, i == 4 ? rx_what::deliver : rx_what::consumed);
      }
      ASSERT_EQ(a().inbox.size(), before + 1);
      EXPECT_EQ(a().inbox.back().payload.size(), 4000u);
      EXPECT_TRUE(a().inbox.back().reassembled);
    }
  } while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(a()->fragments().blocks_in_use(), 0u);
}

TEST_F(host_fragments, that_overlap_end_their_datagram) {
  for (const bool v6 : {false, true}) {
    const byte_list whole = v6 ? udp(them6, us6, 5500, 2992) : udp(them4, us4, 5500, 2992);
    const auto give = [&](std::size_t at, std::size_t size, std::uint16_t id) {
      return a().refuse(v6 ? fragment6(whole, at, size, id) : fragment4(whole, at, size, id), now);
    };
    EXPECT_EQ(give(0, 1000, 1), drop_reason::none);
    EXPECT_EQ(give(0, 1000, 1), drop_reason::ip_fragment_duplicate) << "the very same";
    EXPECT_EQ(give(992, 1000, 1), drop_reason::ip_fragment_overlap);
    EXPECT_EQ(give(1000, 1000, 1), drop_reason::ip_fragment_refused) << "RFC 5722: also those still to come";
    EXPECT_EQ(give(2000, 1000, 1), drop_reason::ip_fragment_refused);
    // Covered wholly, covering wholly, the same place with other bytes.
    EXPECT_EQ(give(800, 800, 2), drop_reason::none);
    EXPECT_EQ(give(808, 8, 2), drop_reason::ip_fragment_overlap);
    EXPECT_EQ(give(800, 8, 3), drop_reason::none);
    EXPECT_EQ(give(0, 2000, 3), drop_reason::ip_fragment_overlap);
    EXPECT_EQ(give(0, 1000, 4), drop_reason::none);
    byte_list other = v6 ? fragment6(whole, 0, 1000, 4) : fragment4(whole, 0, 1000, 4);
    other.back() ^= 1;
    EXPECT_EQ(a().refuse(other, now), drop_reason::ip_fragment_overlap);
    // Two ends; data behind the end.
    EXPECT_EQ(give(2000, 1000, 5), drop_reason::none);
    const byte_list end = part_of(whole, 0, 1000);
    EXPECT_EQ(a().refuse(v6 ? fragment6(end, 504, 496, 5) : fragment4(end, 504, 496, 5), now),
              drop_reason::ip_fragment_overlap);
    EXPECT_EQ(give(504, 496, 6), drop_reason::none);
    EXPECT_EQ(give(2000, 1000, 6), drop_reason::none);
    EXPECT_EQ(a().refuse(v6 ? fragment6(whole, 2504, 496, 6) : fragment4(whole, 2504, 496, 6), now),
              drop_reason::ip_fragment_overlap);
  }
  EXPECT_EQ(a()->fragments().blocks_in_use(), 0u) << "refused datagrams hold nothing";
  EXPECT_TRUE(a().inbox.empty());
}

TEST_F(host_fragments, that_cannot_be_are_refused) {
  const byte_list whole = udp(them4, us4, 5500, 2000);
  EXPECT_EQ(a().refuse(ipv4({.fragment = 0x2000}, part_of(whole, 0, 999)), now), drop_reason::ip_fragment_malformed);
  EXPECT_EQ(a().refuse(ipv4({.fragment = 0x2000}, {}), now), drop_reason::ip_fragment_malformed);
  EXPECT_EQ(a().refuse(ipv4({.fragment = 0x1FFF}, byte_list(64)), now), drop_reason::ip_fragment_malformed)
      << "beyond the longest packet";
  const auto v6 = [&](std::uint16_t field, std::size_t size) {
    byte_list header = from_hex("1100 0000 0000004d");
    base::store_be16(header.data() + 2, field);
    return a().refuse(ipv6(them6, us6, 44, join({header, byte_list(size)})), now);
  };
  EXPECT_EQ(v6(1, 999), drop_reason::ip_fragment_malformed);
  EXPECT_EQ(error().word, 4u) << "the payload length";
  EXPECT_EQ(v6(0xFFF8, 64), drop_reason::ip_fragment_malformed);
  EXPECT_EQ(error().word, 42u) << "the offset";
  EXPECT_EQ(v6(1, 0), drop_reason::ip_fragment_malformed);
  EXPECT_TRUE(a().out.frames.empty());
  // RFC 7112: the first fragment holds all headers.
  byte_list chain = join({from_hex("3c00 0001 00000001"), from_hex("1101 0104 00000000")});
  EXPECT_EQ(a().refuse(ipv6(them6, us6, 44, chain), now), drop_reason::ip_bad_extension);
  EXPECT_EQ(error().code, wire::icmp6::incomplete_header_chain);
  EXPECT_EQ(a()->fragments().in_use(), 0u);
}

TEST_F(host_fragments, are_told_apart_by_all_of_their_key) {
  const byte_list whole = udp(them4, us4, 5500, 1992);
  EXPECT_EQ(a().refuse(fragment4(whole, 0, 1000, 1), now), drop_reason::none);
  EXPECT_EQ(a().refuse(fragment4(whole, 1000, 1000, 2), now), drop_reason::none);
  EXPECT_EQ(a().refuse(ipv4({.protocol = 1, .fragment = 125, .id = 1}, part_of(whole, 1000, 1000)), now),
            drop_reason::none);
  EXPECT_TRUE(a().inbox.empty());
  EXPECT_EQ(a()->fragments().in_use(), 3u);
  EXPECT_EQ(a().receive(fragment4(whole, 1000, 1000, 1), now).what, rx_what::deliver);
}

TEST_F(host_fragments, are_kept_within_all_caps) {
  config.limits.reassembly_datagrams = 8;
  config.limits.reassembly_bytes = 65536;
  config.limits.fragments_per_datagram = 4;
  const byte_list whole = udp(them4, us4, 5500, 40000);
  for (std::uint16_t id = 0; id < 500; ++id) {
    EXPECT_EQ(a().refuse(fragment4(whole, 0, 8, id), now), drop_reason::none);
    EXPECT_LE(a()->fragments().in_use(), 8u);
  }
  EXPECT_EQ(a()->figures().reassembly_evicted.get(), 492u);
  for (std::uint16_t i = 1; i < 4; ++i) EXPECT_EQ(a().refuse(fragment4(whole, i * 8, 8, 499), now), drop_reason::none);
  EXPECT_EQ(a().refuse(fragment4(whole, 32, 8, 499), now), drop_reason::ip_fragment_too_many);
  EXPECT_EQ(a().refuse(fragment4(whole, 40, 8, 499), now), drop_reason::ip_fragment_refused);
  // Who is quick gets through all the same.
  EXPECT_EQ(a().refuse(fragment4(whole, 0, 20000, 600), now), drop_reason::none);
  EXPECT_EQ(a().receive(fragment4(whole, 20000, 20008, 600), now).what, rx_what::deliver);
  EXPECT_LE(a()->fragments().blocks_in_use(), a()->fragments().blocks());
}

TEST_F(host_fragments, time_out_and_say_so_when_the_first_came) {
  const byte_list four = udp(them4, us4, 5500, 1992);
  const byte_list six = udp(them6, us6, 5500, 1992);
  EXPECT_EQ(a().refuse(fragment4(four, 0, 1000, 1), now), drop_reason::none);
  EXPECT_EQ(a().refuse(fragment4(four, 1000, 1000, 2), now), drop_reason::none);
  EXPECT_EQ(a().refuse(fragment6(six, 0, 1000, 1), now), drop_reason::none);
  a()->on_time(now + 59 * sec, a().out);
  EXPECT_EQ(a()->fragments().in_use(), 3u);
  a()->on_time(now + 60 * sec, a().out);
  EXPECT_EQ(a()->fragments().in_use(), 0u);
  EXPECT_EQ(a()->fragments().blocks_in_use(), 0u);
  EXPECT_EQ(a()->figures().reassembly_timeouts.get(), 3u);
  ASSERT_EQ(a().out.frames.size(), 2u) << "the second has no first fragment";
  const said v4 = error();
  EXPECT_EQ(v4.type, wire::icmp4::time_exceeded);
  EXPECT_EQ(v4.code, wire::icmp4::reassembly_time);
  EXPECT_EQ(v4.quote[0], 0x45);
  const said v6 = error();
  EXPECT_EQ(v6.type, wire::icmp6::time_exceeded);
  EXPECT_EQ(v6.quote.size(), 1048u) << "headers, fragment header and all the data of the first";
}

TEST_F(host_fragments, that_time_out_leave_nothing_due) {
  const std::string_view stranger = "198.18.0.55";
  EXPECT_EQ(a().refuse(ipv4({.src = stranger, .fragment = 0x2000}, byte_list(64)), now), drop_reason::none);
  now += 60 * sec;
  a()->on_time(now, a().out);
  EXPECT_EQ(a().out.frames.size(), 1u) << "who is it?";
  EXPECT_EQ(a()->frames_held(), 1u) << "the error waits";
  EXPECT_GT(a()->due_ns(), now);
}

TEST_F(host_fragments, keep_the_headers_in_front_of_the_fragment_header) {
  // Hop-by-hop options, then the fragment header, then destination options in the first fragment.
  const byte_list whole = join({from_hex("1100 0104 00000000"), udp(them6, us6, 5500, 1000)});
  const auto give = [&](std::size_t at, std::size_t size) {
    byte_list fragment = from_hex("3c00 0000 00000009");
    base::store_be16(fragment.data() + 2, static_cast<std::uint16_t>(at | (at + size < whole.size() ? 1u : 0u)));
    return a().receive(ipv6(them6, us6, 0, join({from_hex("2c00 0104 00000000"), fragment, part_of(whole, at, size)})),
                       now);
  };
  EXPECT_EQ(give(512, whole.size() - 512).what, rx_what::consumed);
  EXPECT_EQ(give(0, 512).what, rx_what::deliver);
  EXPECT_EQ(a().inbox.back().payload.size(), 1000u);
}

TEST_F(host_fragments, of_a_fragment_are_refused) {
  byte_list inner = join({from_hex("1100 0001 00000005"), udp(them6, us6, 5500, 992)});
  const auto give = [&](std::size_t at, std::size_t size) {
    byte_list fragment = from_hex("2c00 0000 00000009");
    base::store_be16(fragment.data() + 2, static_cast<std::uint16_t>(at | (at + size < inner.size() ? 1u : 0u)));
    return a().refuse(ipv6(them6, us6, 44, join({fragment, part_of(inner, at, size)})), now);
  };
  EXPECT_EQ(give(0, 512), drop_reason::none);
  EXPECT_EQ(give(512, inner.size() - 512), drop_reason::ip_fragment_malformed);
}

TEST_F(host_fragments, never_carry_neighbour_discovery) {
  byte_list message = icmp(them6, us6, {.type = 135}, join({ip(us6).octets, byte_list(1000)}));
  byte_list first = from_hex("3a00 0001 00000009");
  byte_list second = from_hex("3a00 0200 00000009");
  EXPECT_EQ(a().refuse(ipv6(them6, us6, 44, join({first, part_of(message, 0, 512)})), now), drop_reason::none);
  EXPECT_NE(a().refuse(ipv6(them6, us6, 44, join({second, part_of(message, 512, message.size() - 512)})), now),
            drop_reason::none);
  EXPECT_TRUE(a().out.frames.empty());
}

}  // namespace
}  // namespace millrace::net
