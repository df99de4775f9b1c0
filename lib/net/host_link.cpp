// ARP and neighbour discovery: answering for our addresses, hearing about others', keeping ours to ourselves; and the
// reports that tell a snooping switch which groups we listen to.

#include "net/host.hpp"

#include <algorithm>

#include "net/wire/arp.hpp"

namespace millrace::net {
namespace {

using base::ip_address;
using base::ip_family;
using stats::drop_reason;

constexpr std::uint8_t link_hop_limit = 255;  // RFC 4861 7.1: proof that it never crossed a router

[[nodiscard]] rx_answer dropped(drop_reason why) noexcept { return {rx_what::drop, why}; }

[[nodiscard]] rx_answer to_answer(learned what) noexcept {
  switch (what) {
    case learned::accepted:
      return {rx_what::consumed};
    case learned::fixed:
      return dropped(drop_reason::neighbour_fixed);
    case learned::full:
      return dropped(drop_reason::neighbour_cache_full);
    case learned::nothing:
    case learned::asking:
      break;
  }
  return dropped(drop_reason::neighbour_unsolicited);
}

}  // namespace

// --- ARP ---

rx_answer host::receive_arp(base::byte_view body, arrival& a) noexcept {
  wire::arp_packet arp;
  if (!parse(body, arp)) return dropped(drop_reason::arp_malformed);
  if (!started_) return dropped(drop_reason::arp_not_for_us);
  if (!(arp.sender_mac == a.src_mac)) return dropped(drop_reason::arp_spoofed);
  const bool probe = wire::is_unspecified(arp.sender);  // RFC 5227 2.1.1: asks before it takes an address
  const std::size_t claimed = addresses_.find(arp.sender);
  if (claimed != local_addresses::none) {  // RFC 5227 2.4: somebody uses what is ours
    figures_.address_conflicts.add(1);
    if (addresses_.defend(claimed, a.now)) announce_address(addresses_[claimed], a.sink);
    return dropped(drop_reason::arp_spoofed);
  }
  if (!probe &&
      (!wire::is_host_address(arp.sender) || !addresses_.is_on_link(arp.sender) || addresses_.is_broadcast(arp.sender)))
    return dropped(drop_reason::arp_spoofed);

  const bool for_us = addresses_.is_ours(arp.target);
  const neighbour_claim claim{.ip = arp.sender,
                              .mac = arp.sender_mac,
                              .solicited = arp.operation == wire::arp_operation::reply && for_us && !a.group,
                              .overrides = true};
  if (arp.operation == wire::arp_operation::reply || (!probe && arp.sender == arp.target))
    return receive_arp_answer(claim, a);
  if (!for_us) return dropped(drop_reason::arp_not_for_us);
  if (!answer_bucket_.take(a.now)) return dropped(drop_reason::neighbour_rate_limited);
  if (!probe) {
    const learned what = neighbours_.on_request(arp.sender, arp.sender_mac, a.now);
    if (what == learned::fixed) return dropped(drop_reason::neighbour_fixed);
    learn(claim, what, a.now, a.sink);
  }
  // RFC 826: the same packet, turned round.
  const arp_send reply{
      .to = arp.sender_mac, .reply = true, .target_mac = arp.sender_mac, .sender = arp.target, .target = arp.sender};
  if (!send_arp(reply, a.sink)) return dropped(drop_reason::mempool_empty);
  figures_.arp_replies_sent.add(1);
  return {rx_what::consumed};
}

// A reply, or an announcement (gratuitous ARP), which answers nobody.
rx_answer host::receive_arp_answer(const neighbour_claim& claim, arrival& a) noexcept {
  const learned what = neighbours_.on_answer(claim, a.now);
  learn(claim, what, a.now, a.sink);
  return to_answer(what);
}

bool host::send_arp(const arp_send& what, frame_sink& sink) noexcept {
  // The padding to 60 bytes is the driver's or ours: ours, as virtual devices add none and some peers want it.
  constexpr std::size_t least_frame = 60;
  const std::size_t size = std::max<std::size_t>(link_size_ + wire::arp_packet::encoded_size, least_frame);
  const base::byte_span room = sink.take(size);
  if (room.empty()) {
    figures_.no_packet.add(1);
    return false;
  }
  std::uint8_t* const p = put_link(room.data(), what.to, wire::ethertype::arp);
  base::byte_writer writer({p, size - link_size_});
  const wire::arp_packet arp{.operation = what.reply ? wire::arp_operation::reply : wire::arp_operation::request,
                             .sender_mac = config_.mac,
                             .target_mac = what.target_mac,
                             .sender = what.sender,
                             .target = what.target};
  if (!emit(arp, writer)) return false;
  std::memset(p + wire::arp_packet::encoded_size, 0, size - link_size_ - wire::arp_packet::encoded_size);
  return true;
}

// --- neighbour discovery ---

rx_answer host::receive_ndp(arrival& a, const wire::ip_datagram& d) noexcept {
  // RFC 4861 6.1, 7.1, 8.1; RFC 6980 5: never from beyond the link, never in fragments.
  if (d.hop_limit != link_hop_limit) return dropped(drop_reason::ndp_hop_limit);
  if (a.reassembled) return dropped(drop_reason::ndp_malformed);
  const base::byte_view message = a.packet.subspan(d.payload_offset, d.payload_size());
  const std::uint8_t type = message[0];
  if (type != wire::icmp6::neighbour_solicitation && type != wire::icmp6::neighbour_advertisement)
    return dropped(drop_reason::ndp_ignored);
  wire::neighbour_message m;
  if (!parse(message, m)) return dropped(drop_reason::ndp_malformed);
  return type == wire::icmp6::neighbour_solicitation ? receive_solicitation(a, d, m) : receive_advertisement(a, d, m);
}

rx_answer host::receive_solicitation(arrival& a, const wire::ip_datagram& d,
                                     const wire::neighbour_message& m) noexcept {
  const bool detecting = wire::is_unspecified(d.src);
  // RFC 4861 7.1.1: from the unspecified address only to a solicited-node group, and without a MAC.
  if (detecting && (!(d.dst == wire::solicited_node(m.target)) || m.has_source_mac))
    return dropped(drop_reason::ndp_malformed);
  const std::size_t i = addresses_.find(m.target);
  if (i == local_addresses::none) return dropped(drop_reason::ndp_not_for_us);
  if (addresses_[i].state != address_state::ours) {
    // RFC 4862 5.4.3: two want the same address; neither gets it. A resolution by others is not for us yet.
    if (!detecting || addresses_[i].state == address_state::duplicate) return dropped(drop_reason::ndp_not_for_us);
    addresses_.on_duplicate(i);
    figures_.address_conflicts.add(1);
    return {rx_what::consumed};
  }
  if (!answer_bucket_.take(a.now)) return dropped(drop_reason::neighbour_rate_limited);
  ndp_send reply{.to = a.src_mac,
                 .src = m.target,
                 .dst = d.src,
                 .type = wire::icmp6::neighbour_advertisement,
                 .message = {.flags = wire::ndp_flag::solicited | wire::ndp_flag::override_cache,
                             .target = m.target,
                             .has_target_mac = true,
                             .target_mac = config_.mac}};
  if (detecting) {  // RFC 4861 7.2.4: to all, and not "solicited"
    figures_.address_conflicts.add(1);
    reply.dst = wire::all_nodes();
    reply.to = wire::multicast_mac(reply.dst);
    reply.message.flags = wire::ndp_flag::override_cache;
  } else {
    // Whoever asks on this link is on it, else it could plant neighbours that no route leads to.
    if (!wire::is_link_local(d.src) && !addresses_.is_on_link(d.src)) return dropped(drop_reason::ip_martian_source);
    if (m.has_source_mac) {
      const neighbour_claim claim{.ip = d.src, .mac = m.source_mac, .overrides = true};
      const learned what = neighbours_.on_request(d.src, m.source_mac, a.now);
      if (what == learned::fixed) return dropped(drop_reason::neighbour_fixed);
      learn(claim, what, a.now, a.sink);
      reply.to = m.source_mac;
    }
  }
  if (!send_ndp(reply, a.sink)) return dropped(drop_reason::mempool_empty);
  figures_.advertisements_sent.add(1);
  return {rx_what::consumed};
}

rx_answer host::receive_advertisement(arrival& a, const wire::ip_datagram& d,
                                      const wire::neighbour_message& m) noexcept {
  const bool solicited = (m.flags & wire::ndp_flag::solicited) != 0;
  if (solicited && wire::is_multicast(d.dst)) return dropped(drop_reason::ndp_malformed);  // RFC 4861 7.1.2
  const std::size_t i = addresses_.find(m.target);
  if (i != local_addresses::none) {  // RFC 4862 5.4.4: somebody has it
    figures_.address_conflicts.add(1);
    if (addresses_[i].state == address_state::tentative) addresses_.on_duplicate(i);
    return dropped(drop_reason::arp_spoofed);
  }
  if (addresses_.find(d.src) != local_addresses::none) return dropped(drop_reason::ip_spoofed_source);
  const neighbour_claim claim{.ip = m.target,
                              .mac = m.target_mac,
                              .has_mac = m.has_target_mac,
                              .solicited = solicited,
                              .overrides = (m.flags & wire::ndp_flag::override_cache) != 0};
  const learned what = neighbours_.on_answer(claim, a.now);
  learn(claim, what, a.now, a.sink);
  return to_answer(what);
}

bool host::send_ndp(const ndp_send& what, frame_sink& sink) noexcept {
  std::array<std::uint8_t, wire::max_neighbour_body_size> body_room;
  base::byte_writer body(body_room);
  if (!emit_body(what.message, body)) return false;
  const std::size_t payload = wire::icmp_header::encoded_size + body.size();
  const base::byte_span room = sink.take(link_size_ + wire::ipv6_header::encoded_size + payload);
  if (room.empty()) {
    figures_.no_packet.add(1);
    return false;
  }
  std::uint8_t* const p = put_link(room.data(), what.to, wire::ethertype::ipv6);
  base::byte_writer out({p, room.size() - link_size_});
  const base::byte_view written = body.written();
  return emit(wire::ipv6_header{.src = what.src,
                                .dst = what.dst,
                                .payload_size = payload,
                                .next_header = wire::ip_protocol::icmpv6,
                                .hop_limit = link_hop_limit},
              out) &&
         emit(wire::icmp_header{.type = what.type, .word = what.message.flags}, what.src, what.dst,
              base::segments({&written, 1}), out) &&
         out.bytes(written);
}

void host::probe_address(const local_address& a, frame_sink& sink) noexcept {
  // RFC 4862 5.4.2: from the unspecified address, to the address's own group, which we have joined.
  static_cast<void>(send_listener_report(4, sink));
  ip_address nobody;
  nobody.family = ip_family::v6;
  const ndp_send what{.to = wire::multicast_mac(a.group),
                      .src = nobody,
                      .dst = a.group,
                      .type = wire::icmp6::neighbour_solicitation,
                      .message = {.target = a.ip}};
  if (send_ndp(what, sink)) figures_.solicitations_sent.add(1);
}

void host::announce_address(const local_address& a, frame_sink& sink) noexcept {
  if (a.ip.family == ip_family::v4) {  // RFC 5227 2.3: a request for itself
    const arp_send what{.to = wire::broadcast_mac, .sender = a.ip, .target = a.ip};
    if (send_arp(what, sink)) figures_.arp_requests_sent.add(1);
    return;
  }
  const ip_address all = wire::all_nodes();  // RFC 4861 7.2.6
  const ndp_send what{
      .to = wire::multicast_mac(all),
      .src = a.ip,
      .dst = all,
      .type = wire::icmp6::neighbour_advertisement,
      .message = {
          .flags = wire::ndp_flag::override_cache, .target = a.ip, .has_target_mac = true, .target_mac = config_.mac}};
  if (send_ndp(what, sink)) figures_.advertisements_sent.add(1);
}

// --- multicast listener discovery ---

rx_answer host::receive_listener_query(arrival& a, const wire::ip_datagram& d) noexcept {
  // RFC 3810 5.1.14: from a router on the link. The answer comes at once: a handful of groups floods nobody.
  if (d.hop_limit != 1 || !wire::is_link_local(d.src)) return dropped(drop_reason::ndp_hop_limit);
  if (d.payload_size() < 24) return dropped(drop_reason::icmp_malformed);
  if (!answer_bucket_.take(a.now)) return dropped(drop_reason::neighbour_rate_limited);
  if (!send_listener_report(2, a.sink)) return dropped(drop_reason::mempool_empty);
  return {rx_what::consumed};
}

// RFC 3810 5.2: one record a group, each "all sources" (2 in answer to a query, 4 when we begin to listen).
bool host::send_listener_report(std::uint8_t record_type, frame_sink& sink) noexcept {
  constexpr std::size_t record_size = 20;
  constexpr std::size_t router_alert_size = 8;
  std::array<std::uint8_t, max_addresses * record_size> records{};
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < addresses_.size(); ++i) {
    const ip_address& group = addresses_[i].group;
    bool listed = group.family != ip_family::v6;
    for (std::size_t j = 0; j < i; ++j) listed |= addresses_[j].group == group;
    if (listed) continue;
    std::uint8_t* const record = records.data() + count++ * record_size;
    record[0] = record_type;
    std::memcpy(record + 4, group.octets.data(), 16);
  }
  ip_address src;  // RFC 3590 4: unspecified while our link-local address is not ours yet
  src.family = ip_family::v6;
  const ip_address own = wire::link_local_of(config_.mac);
  if (addresses_.is_ours(own)) src = own;
  const ip_address dst = wire::all_mldv2_routers();
  const base::byte_view body(records.data(), count * record_size);
  const std::size_t payload = router_alert_size + wire::icmp_header::encoded_size + body.size();
  const base::byte_span room = sink.take(link_size_ + wire::ipv6_header::encoded_size + payload);
  if (room.empty()) {
    figures_.no_packet.add(1);
    return false;
  }
  std::uint8_t* const p = put_link(room.data(), wire::multicast_mac(dst), wire::ethertype::ipv6);
  base::byte_writer out({p, room.size() - link_size_});
  // RFC 2711 2.1: router alert, value 0 (listener discovery), and padding.
  constexpr std::array<std::uint8_t, router_alert_size> alert = {wire::ip_protocol::icmpv6, 0, 5, 2, 0, 0, 1, 0};
  return emit(wire::ipv6_header{.src = src,
                                .dst = dst,
                                .payload_size = payload,
                                .next_header = wire::ip_protocol::hop_by_hop,
                                .hop_limit = 1},
              out) &&
         out.bytes(alert) &&
         emit(wire::icmp_header{.type = wire::icmp6::mld2_report, .word = count}, src, dst, base::segments({&body, 1}),
              out) &&
         out.bytes(body);
}

}  // namespace millrace::net
