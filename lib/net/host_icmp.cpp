// ICMP and ICMPv6: echo answered, errors read and sent. Neighbour discovery is in host_link.cpp.

#include "net/host.hpp"

#include <algorithm>

namespace millrace::net {
namespace {

using base::ip_family;
using stats::drop_reason;

[[nodiscard]] rx_answer dropped(drop_reason why) noexcept { return {rx_what::drop, why}; }

// RFC 1812 4.3.2.3: an error and what it quotes fit 576 bytes; RFC 4443 2.4 c: 1280.
constexpr std::size_t quote_v4 = 576 - 20 - wire::icmp_header::encoded_size;
constexpr std::size_t quote_v6 = 1280 - 40 - wire::icmp_header::encoded_size;

}  // namespace

rx_answer host::receive_icmp(arrival& a, const wire::ip_datagram& d) noexcept {
  const base::byte_view message = a.packet.subspan(d.payload_offset, d.payload_size());
  wire::icmp_header header;
  if (!parse(message, header)) return dropped(drop_reason::icmp_malformed);
  if (!wire::is_icmp_sound(d.src, d.dst, message)) return dropped(drop_reason::icmp_bad_checksum);
  if (header.type == wire::icmp4::echo_request) {
    if (a.group) return dropped(drop_reason::ip_broadcast);  // RFC 1122 3.2.2.6: may be, and is how smurfs are made
    return answer_echo(a, d, wire::icmp4::echo_reply);
  }
  if (wire::icmp4::is_error(header.type)) return receive_error(a, d, header);
  return dropped(drop_reason::icmp_unwanted);
}

rx_answer host::receive_icmpv6(arrival& a, const wire::ip_datagram& d) noexcept {
  const base::byte_view message = a.packet.subspan(d.payload_offset, d.payload_size());
  wire::icmp_header header;
  if (!parse(message, header)) return dropped(drop_reason::icmp_malformed);
  if (!wire::is_icmp_sound(d.src, d.dst, message)) return dropped(drop_reason::icmp_bad_checksum);
  constexpr std::uint8_t listener_query = 130;
  switch (header.type) {
    case wire::icmp6::echo_request:
      // RFC 4443 4.2: an echo to a group may be answered; ours are those of neighbour discovery, and silent.
      if (wire::is_multicast(d.dst)) return dropped(drop_reason::ip_broadcast);
      return answer_echo(a, d, wire::icmp6::echo_reply);
    case wire::icmp6::router_solicitation:
    case wire::icmp6::router_advertisement:
    case wire::icmp6::neighbour_solicitation:
    case wire::icmp6::neighbour_advertisement:
    case wire::icmp6::redirect:
      return receive_ndp(a, d);
    case listener_query:
      return receive_listener_query(a, d);
    default:
      break;
  }
  if (wire::icmp6::is_error(header.type)) return receive_error(a, d, header);
  return dropped(drop_reason::icmp_unwanted);
}

// RFC 792, RFC 4443 4.2: identifier, sequence and data as they came, from the address that was called.
rx_answer host::answer_echo(arrival& a, const wire::ip_datagram& d, std::uint8_t reply_type) noexcept {
  if (!echo_bucket_.take(a.now)) return dropped(drop_reason::icmp_rate_limited);
  const base::byte_view message = a.packet.subspan(d.payload_offset, d.payload_size());
  const base::byte_view body = message.subspan(wire::icmp_header::encoded_size);
  std::array<std::uint8_t, wire::icmp_header::encoded_size> header;
  base::byte_writer writer(header);
  const wire::icmp_header reply{.type = reply_type, .word = base::load_be32(message.data() + 4)};
  if (!emit(reply, d.dst, d.src, base::segments({&body, 1}), writer)) return dropped(drop_reason::icmp_malformed);
  const base::byte_view parts[] = {header, body};
  const outgoing what{.src = d.dst, .dst = d.src, .protocol = d.protocol, .traffic_class = d.traffic_class};
  const tx_answer answer = send_ip(what, base::segments(parts), a.now, a.sink);
  if (answer.what == tx_what::dropped) return dropped(answer.why);
  figures_.echo_replies_sent.add(1);
  return {rx_what::consumed};
}

// What an error quotes must be something that we could have sent. All that is used of it is a smaller path MTU.
rx_answer host::receive_error(arrival& a, const wire::ip_datagram& d, const wire::icmp_header& header) noexcept {
  const base::byte_view quoted =
      a.packet.subspan(d.payload_offset, d.payload_size()).subspan(wire::icmp_header::encoded_size);
  const bool v4 = d.src.family == ip_family::v4;
  const std::size_t least = v4 ? 28 : 48;
  if (quoted.size() < least || quoted[0] >> 4 != (v4 ? 4 : 6)) return dropped(drop_reason::icmp_malformed);
  const base::ip_address src =
      v4 ? base::ip_address::v4(quoted.subspan(12, 4)) : base::ip_address::v6(quoted.subspan(8, 16));
  const base::ip_address dst =
      v4 ? base::ip_address::v4(quoted.subspan(16, 4)) : base::ip_address::v6(quoted.subspan(24, 16));
  if (!addresses_.is_ours(src)) return dropped(drop_reason::icmp_unwanted);
  figures_.errors_received.add(1);
  const bool too_big = v4 ? header.type == wire::icmp4::unreachable && header.code == wire::icmp4::fragmentation_needed
                          : header.type == wire::icmp6::packet_too_big;
  if (!too_big) return {rx_what::consumed};
  const std::uint32_t mtu = v4 ? header.word & 0xFFFF : header.word;  // RFC 1191 4; RFC 4443 3.2
  const std::uint32_t size = v4 ? base::load_be16(quoted.data() + 2) : 40u + base::load_be16(quoted.data() + 4);
  if (!path_mtus_.on_report(dst, mtu, size, a.now)) return dropped(drop_reason::icmp_unwanted);
  figures_.path_mtu_reports.add(1);
  if (config_.instances > 1)
    post({.what = host_news::kind::path_mtu, .claim = {}, .dst = dst, .mtu = mtu, .packet_size = size}, a.now);
  return {rx_what::consumed};
}

// RFC 1122 3.2.2, RFC 1812 4.3.2.7, RFC 4443 2.4 e: who gets no error, and how much of the packet goes back.
void host::send_error(arrival& a, const icmp_error& error) noexcept {
  const base::byte_view packet = a.packet;
  const bool v4 = packet[0] >> 4 == 4;
  const auto address = [&](std::size_t at) {
    return v4 ? base::ip_address::v4(packet.subspan(at, 4)) : base::ip_address::v6(packet.subspan(at, 16));
  };
  const base::ip_address src = address(v4 ? 12 : 8);
  base::ip_address dst = address(v4 ? 16 : 24);
  const bool to_many = a.group || wire::is_multicast(dst) || addresses_.is_broadcast(dst);
  if (!wire::is_host_address(src) || (to_many && !error.even_to_multicast)) return;
  // Never to another error; and of a fragment only to the first, which is the one that shows what it carries.
  wire::upper_layer upper;
  if (!wire::find_upper_layer(packet, upper)) {
    if (v4 || error.type != wire::icmp6::parameter_problem) return;
  } else if (upper.protocol == (v4 ? wire::ip_protocol::icmp : wire::ip_protocol::icmpv6)) {
    if (upper.at >= packet.size()) return;
    const std::uint8_t type = packet[upper.at];
    if (v4 ? wire::icmp4::is_error(type) : wire::icmp6::is_error(type)) return;
    if (!v4 && type == wire::icmp6::redirect) return;  // RFC 4443 2.4 e.2
  }
  if (wire::is_multicast(dst)) {
    const local_address* const own = addresses_.source_for(src);
    if (own == nullptr) return;
    dst = own->ip;
  }
  if (!error_bucket_.take(a.now)) {
    figures_.errors_limited.add(1);
    return;
  }
  const std::size_t announced = v4 ? base::load_be16(packet.data() + 2) : 40u + base::load_be16(packet.data() + 4);
  const base::byte_view quote = packet.first(std::min({packet.size(), announced, v4 ? quote_v4 : quote_v6}));
  std::array<std::uint8_t, wire::icmp_header::encoded_size> header;
  base::byte_writer writer(header);
  const wire::icmp_header what{.type = error.type, .code = error.code, .word = error.word};
  if (!emit(what, dst, src, base::segments({&quote, 1}), writer)) return;
  const base::byte_view parts[] = {header, quote};
  // RFC 1812 4.3.2.5: precedence as it came, so as not to be lost first; ECN is not ours to echo.
  const outgoing to{
      .src = dst, .dst = src, .protocol = v4 ? wire::ip_protocol::icmp : wire::ip_protocol::icmpv6, .traffic_class = 0};
  if (send_ip(to, base::segments(parts), a.now, a.sink).what != tx_what::dropped) figures_.errors_sent.add(1);
}

}  // namespace millrace::net
