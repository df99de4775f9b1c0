// The front door: make, one frame in, time. Plain UDP for us is judged in one straight line (receive_plain); any doubt
// sends the frame down the long way, which decides everything anew, so that the line needs no reasons of its own.

#include "net/host.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "net/wire/checksum.hpp"

namespace millrace::net {
namespace {

using base::ip_address;
using base::ip_family;
using buf::verdict;
using stats::drop_reason;

constexpr std::uint64_t second_ns = 1'000'000'000;
constexpr std::size_t least_plain = 14 + 20 + 8;

[[nodiscard]] rx_answer dropped(drop_reason why) noexcept { return {rx_what::drop, why}; }

[[nodiscard]] std::uint64_t load_mac(const std::uint8_t* p) noexcept { return base::load_le64(p) & 0xFFFF'FFFF'FFFF; }

}  // namespace

base::result<std::unique_ptr<host>> host::make(const host_config& config) {
  if (base::outcome fine = check(config); !fine) return fine.error();
  auto made = std::make_unique<host>(passkey{}, config);
  if (!made->neighbours_ || !made->path_mtus_ || !made->reassembler_)
    return base::failure{.what = "no memory for the host's tables",
                         .hint = "lower the limits neighbours, pending_frames or reassembly_bytes"};
  for (const static_neighbour& n : config.neighbours)
    if (!made->neighbours_.add_fixed(n.address, n.mac))
      return base::failure{.what = "no room for a static neighbour", .hint = "raise the limit neighbours"};
  return made;
}

host::host(passkey, const host_config& config) noexcept
    : config_(config),
      mac_bits_(0),
      link_size_(config.vlan ? 18 : 14),
      neighbours_(config.limits, config.mtu + std::size_t{18}, config.seed),
      path_mtus_(config.limits, config.seed ^ 1),
      reassembler_(config.limits, config.seed ^ 2),
      error_bucket_(config.limits.icmp_errors),
      echo_bucket_(config.limits.echo_replies),
      answer_bucket_(config.limits.neighbour_answers),
      solicit_bucket_(config.limits.neighbour_solicits),
      news_bucket_(config.limits.neighbour_answers),
      next_id_(static_cast<std::uint32_t>(base::hash_mix(config.seed | 1, 0x9E37'79B9'7F4A'7C15)) / config.instances *
                   config.instances +
               config.instance) {
  std::uint8_t eight[8] = {};
  std::memcpy(eight, config.mac.octets.data(), 6);
  mac_bits_ = load_mac(eight);
  bool v6 = false;
  for (const host_address& a : config.addresses) {
    v6 |= a.address.family == ip_family::v6;
    if (!addresses_.add(a) || !routes_.add({a.address, a.prefix_length, {}})) return;
  }
  if (v6 && config.link_local) {
    const host_address own{wire::link_local_of(config.mac), 64};
    if (addresses_.find(own.address) == local_addresses::none &&
        (!addresses_.add(own) || !routes_.add({own.address, own.prefix_length, {}})))
      return;
  }
  for (const host_route& r : config.routes)
    if (!routes_.add(r)) return;
}

void host::start(std::uint64_t now) noexcept {
  addresses_.start(config_.dad_transmits, config_.announce, now);
  started_ = true;
  sweep_ns_ = now + second_ns;
}

// --- one frame ---

rx_answer host::receive(base::byte_view frame, buf::checksum_verdict hardware, std::uint64_t now, frame_sink& sink,
                        udp_delivery& out) noexcept {
  if (receive_plain(frame, hardware, out)) [[likely]] {
    figures_.delivered.add(1);
    return {rx_what::deliver};
  }
  arrival a{.packet = {}, .src_mac = {}, .hardware = hardware, .now = now, .sink = sink, .out = out};
  const rx_answer answer = receive_slowly(frame, a);
  (answer.what == rx_what::deliver    ? figures_.delivered
   : answer.what == rx_what::consumed ? figures_.consumed
                                      : figures_.dropped)
      .add(1);
  return answer;
}

// Ethernet for our MAC, our tag or none, IP without options, extension headers or fragments, UDP with a checksum, for
// an address and a port of ours. False: something else, or wrong; `out` may hold anything.
bool host::receive_plain(base::byte_view frame, buf::checksum_verdict hardware, udp_delivery& out) noexcept {
  if (frame.size() < least_plain + link_size_ - 14 || load_mac(frame.data()) != mac_bits_) return false;
  const std::uint8_t* p = frame.data() + link_size_;
  const std::uint8_t* const end = frame.data() + frame.size();
  if (link_size_ != 14 &&
      (base::load_be16(p - 6) != wire::ethertype::vlan || (base::load_be16(p - 4) & 0x0FFF) != *config_.vlan))
    return false;
  const std::uint16_t type = base::load_be16(p - 2);
  const std::uint64_t from = load_mac(frame.data() + 6);
  if (from == 0 || from == mac_bits_ || (from & 1) != 0) return false;

  ip_address& src = out.remote.address;
  ip_address& dst = out.local.address;
  std::uint64_t sum = 0;  // of the pseudo-header's addresses
  if (type == wire::ethertype::ipv4) {
    if (p[0] != 0x45 || p[9] != wire::ip_protocol::udp || (base::load_be16(p + 6) & 0x3FFF) != 0) return false;
    const std::uint16_t total = base::load_be16(p + 2);
    if (total < 28 || total > end - p) return false;
    sum = std::uint64_t{base::load_le32(p + 12)} + base::load_le32(p + 16);
    if (hardware.ip != verdict::good) {
      const std::uint64_t header =
          sum + base::load_le32(p) + std::uint64_t{base::load_le32(p + 4)} + base::load_le32(p + 8);
      if (hardware.ip == verdict::bad || wire::fold_sum(header) != 0xFFFF) return false;
    }
    src.octets = {};
    dst.octets = {};
    std::memcpy(src.octets.data(), p + 12, 4);
    std::memcpy(dst.octets.data(), p + 16, 4);
    src.family = dst.family = ip_family::v4;
    out.traffic_class = p[1];
    out.hop_limit = p[8];
    if (addresses_.is_broadcast(src)) return false;
    p += 20;
    if (base::load_be16(p + 4) > total - 20) return false;
  } else {
    if (type != wire::ethertype::ipv6 || end - p < 48 || p[0] >> 4 != 6 || p[6] != wire::ip_protocol::udp) return false;
    const std::uint16_t size = base::load_be16(p + 4);
    if (size > end - p - 40 || size < 8) return false;
    std::memcpy(src.octets.data(), p + 8, 16);
    std::memcpy(dst.octets.data(), p + 24, 16);
    src.family = dst.family = ip_family::v6;
    for (std::size_t at = 8; at < 40; at += 8) {
      const std::uint64_t word = base::load_le64(p + at);
      sum += (word & 0xFFFF'FFFF) + (word >> 32);
    }
    out.traffic_class = static_cast<std::uint8_t>(base::load_be16(p) >> 4);
    out.hop_limit = p[7];
    p += 40;
    if (base::load_be16(p + 4) > size) return false;
  }
  if (wire::is_martian_source(src) || !addresses_.is_ours(dst) || addresses_.find(src) != local_addresses::none)
    return false;

  const std::uint16_t length = base::load_be16(p + 4);
  out.remote.port = base::load_be16(p);
  out.local.port = base::load_be16(p + 2);
  if (length < 8 || !is_open(out.local.port)) return false;
  if (base::load_le16(p + 6) == 0) return false;  // RFC 768: none; the long way knows when that may be
  if (hardware.transport != verdict::good) {
    sum += __builtin_bswap16(wire::ip_protocol::udp) + std::uint64_t{__builtin_bswap16(length)} +
           wire::sum_words({p, length});
    if (hardware.transport == verdict::bad || wire::fold_sum(sum) != 0xFFFF) return false;
  }
  out.payload = {p + 8, length - std::size_t{8}};
  out.reassembled = false;
  out.broadcast = false;
  return true;
}

rx_answer host::receive_slowly(base::byte_view frame, arrival& a) noexcept {
  if (frame.size() < 14) return dropped(drop_reason::l2_truncated);
  wire::mac_address to;
  std::memcpy(to.octets.data(), frame.data(), 6);
  std::memcpy(a.src_mac.octets.data(), frame.data() + 6, 6);
  if (wire::is_group(a.src_mac) || wire::is_zero(a.src_mac) || a.src_mac == config_.mac)
    return dropped(drop_reason::l2_bad_source);
  a.group = wire::is_group(to);
  if (!(to == config_.mac) && !(to == wire::broadcast_mac) && !addresses_.is_group_mac(to))
    return dropped(drop_reason::l2_not_for_us);

  // IEEE 802.1Q 6.9: a tag of VLAN 0 is priority alone.
  std::size_t at = 14;
  std::uint16_t type = base::load_be16(frame.data() + 12);
  std::uint16_t vlan = 0;
  if (type == wire::ethertype::vlan) {
    if (frame.size() < 18) return dropped(drop_reason::l2_truncated);
    vlan = base::load_be16(frame.data() + 14) & 0x0FFF;
    type = base::load_be16(frame.data() + 16);
    at = 18;
  }
  if (vlan != config_.vlan.value_or(0)) return dropped(drop_reason::l2_wrong_vlan);
  a.packet = frame.subspan(at);
  switch (type) {
    case wire::ethertype::ipv4:
      return receive_ipv4(a);
    case wire::ethertype::ipv6:
      return receive_ipv6(a);
    case wire::ethertype::arp:
      return receive_arp(a.packet, a);
    default:
      return dropped(drop_reason::l2_unknown_ethertype);
  }
}

// --- neighbours ---

void host::solicit(neighbour& n, bool to_all, std::uint64_t now, frame_sink& sink) noexcept {
  if (!solicit_bucket_.take(now)) {
    figures_.solicits_limited.add(1);
    return;
  }
  const local_address* const own = addresses_.source_for(n.ip);
  if (own == nullptr) return;
  if (n.ip.family == ip_family::v4) {
    const arp_send what{.to = to_all ? wire::broadcast_mac : n.mac, .sender = own->ip, .target = n.ip};
    if (send_arp(what, sink)) figures_.arp_requests_sent.add(1);
    return;
  }
  const ip_address group = wire::solicited_node(n.ip);
  const ndp_send what{.to = to_all ? wire::multicast_mac(group) : n.mac,
                      .src = own->ip,
                      .dst = to_all ? group : n.ip,
                      .type = wire::icmp6::neighbour_solicitation,
                      .message = {.target = n.ip, .has_source_mac = true, .source_mac = config_.mac}};
  if (send_ndp(what, sink)) figures_.solicitations_sent.add(1);
}

// The frames that waited for this neighbour go out, each copied into a packet.
void host::flush(neighbour& n, std::uint64_t now, frame_sink& sink) noexcept {
  const wire::mac_address* const mac = neighbours_.use(n, now);
  if (mac == nullptr) return;
  while (n.frames != 0) {
    const base::byte_span frame = neighbours_.first_frame(n);
    const base::byte_span room = sink.take(frame.size());
    if (room.empty()) {
      figures_.no_packet.add(1);
      neighbours_.drops().add(drop_reason::mempool_empty);
    } else {
      std::memcpy(frame.data(), mac->octets.data(), 6);
      std::memcpy(room.data(), frame.data(), frame.size());
      figures_.sent_late.add(1);
    }
    neighbours_.pop_frame(n);
  }
}

// What follows from news about a neighbour, here and for the other instances.
void host::learn(const neighbour_claim& claim, learned what, std::uint64_t now, frame_sink& sink) noexcept {
  if (what == learned::asking) figures_.neighbour_conflicts.add(1);
  if (what == learned::accepted) {
    neighbour* const n = neighbours_.find(claim.ip);
    if (n != nullptr && n->frames != 0) flush(*n, now, sink);
  }
  if (config_.instances > 1) post({.what = host_news::kind::neighbour, .claim = claim}, now);
}

void host::post(const host_news& news, std::uint64_t now) noexcept {
  if (news_count_ == news_capacity || !news_bucket_.take(now)) {
    figures_.news_lost.add(1);
    return;
  }
  news_[(news_first_ + news_count_++) % news_capacity] = news;
}

bool host::poll_news(host_news& out) noexcept {
  if (news_count_ == 0) return false;
  out = news_[news_first_];
  news_first_ = (news_first_ + 1) % news_capacity;
  --news_count_;
  return true;
}

void host::on_news(const host_news& news, std::uint64_t now, frame_sink& sink) noexcept {
  if (news.what == host_news::kind::path_mtu) {
    if (path_mtus_.on_report(news.dst, news.mtu, news.packet_size, now)) figures_.path_mtu_reports.add(1);
    return;
  }
  const learned what = neighbours_.on_answer(news.claim, now);
  if (what == learned::asking) figures_.neighbour_conflicts.add(1);
  if (what != learned::accepted) return;
  neighbour* const n = neighbours_.find(news.claim.ip);
  if (n != nullptr && n->frames != 0) flush(*n, now, sink);
}

void host::confirm(const ip_address& remote, std::uint64_t now) noexcept {
  const hop to = find_hop(remote, now);
  if (to.waiting != nullptr) neighbours_.confirm(*to.waiting, now);
}

// --- time ---

void host::run_addresses(std::uint64_t now, frame_sink& sink) noexcept {
  std::size_t which = 0;
  for (std::size_t turns = 0; turns < 2 * max_addresses; ++turns) {
    const address_task task = addresses_.poll(now, which);
    if (task == address_task::none) return;
    if (task == address_task::probe)
      probe_address(addresses_[which], sink);
    else
      announce_address(addresses_[which], sink);
  }
}

// RFC 1122 3.3.2, RFC 8200 4.5: "time exceeded" where the first fragment came.
void host::expire_fragments(std::uint64_t now, frame_sink& sink) noexcept {
  while (reassembler_.expire(now)) {
    figures_.reassembly_timeouts.add(1);
    const base::byte_view quote = reassembler_.quote();
    if (quote.empty()) continue;
    udp_delivery unused;
    arrival a{.packet = quote, .src_mac = {}, .hardware = {}, .now = now, .sink = sink, .out = unused};
    const bool v4 = quote[0] >> 4 == 4;
    send_error(a, {.type = v4 ? wire::icmp4::time_exceeded : wire::icmp6::time_exceeded,
                   .code = v4 ? wire::icmp4::reassembly_time : wire::icmp6::reassembly_time});
  }
}

void host::on_time(std::uint64_t now, frame_sink& sink) noexcept {
  if (!started_) return;
  if (addresses_.due_ns() <= now) run_addresses(now, sink);
  if (reassembler_.due_ns() <= now) expire_fragments(now, sink);
  // Behind the errors, which may need a neighbour that nobody knows yet.
  neighbours_.on_time(now, [&](neighbour& n, bool to_all) { solicit(n, to_all, now, sink); });
  if (sweep_ns_ <= now) {
    neighbours_.sweep(now);
    sweep_ns_ = now + second_ns;
  }
}

std::uint64_t host::due_ns() const noexcept {
  if (!started_) return neighbour_cache::never;
  return std::min({addresses_.due_ns(), neighbours_.due_ns(), reassembler_.due_ns(), sweep_ns_});
}

std::size_t host::group_macs(std::span<wire::mac_address> out) const noexcept {
  std::size_t count = 0;
  const auto put = [&](const wire::mac_address& mac) {
    if (count < out.size() && std::find(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(count), mac) ==
                                  out.begin() + static_cast<std::ptrdiff_t>(count))
      out[count++] = mac;
  };
  for (std::size_t i = 0; i < addresses_.size(); ++i) {
    if (addresses_[i].ip.family != ip_family::v6) continue;
    put(wire::multicast_mac(wire::all_nodes()));
    put(wire::multicast_mac(addresses_[i].group));
  }
  return count;
}

}  // namespace millrace::net
