// IPv4, and what both IP versions share.

#include "net/wire/walk.hpp"

namespace millrace::net::wire::walking {
namespace {

constexpr std::uint32_t ipv4_size = 20;
constexpr std::uint16_t more_fragments = 0x2000;
constexpr std::uint16_t fragment_offset_mask = 0x1FFF;

// RFC 791: no host needs to take less than 576 bytes at once, so nobody segments below.
constexpr std::uint32_t smallest_offload = 576;

constexpr std::uint8_t option_end = 0;
constexpr std::uint8_t option_no_operation = 1;
constexpr std::uint8_t option_loose_source_route = 131;
constexpr std::uint8_t option_strict_source_route = 137;

// RFC 791 3.1: kinds 0 and 1 are one byte; every other carries its length, itself included. Behind an end-of-list
// nothing is looked at. A source route that is not walked to its end replaces `destination` by that end: the header's
// own field is only the next hop then (RFC 1122 3.2.1.8 c).
bool parse_ipv4_options(base::byte_view options, const std::uint8_t*& destination) noexcept {
  std::size_t at = 0;
  while (at < options.size()) {
    const std::uint8_t kind = options[at];
    if (kind == option_end) return true;
    if (kind == option_no_operation) {
      ++at;
      continue;
    }
    if (options.size() - at < 2) return false;
    const std::size_t length = options[at + 1];
    if (length < 2 || length > options.size() - at) return false;
    if (kind == option_loose_source_route || kind == option_strict_source_route) {
      if (length < 3) return false;
      const std::size_t pointer = options[at + 2];  // from 1, of the next hop to take
      if (length >= 7 && pointer + 3 <= length) destination = options.data() + at + length - 4;
    }
    at += length;
  }
  return true;
}

void set_v4(base::ip_address& out, const std::uint8_t* four) noexcept {
  out = {};
  std::memcpy(out.octets.data(), four, 4);
  out.family = base::ip_family::v4;
}

// Which lengths the header may hold; announces the packet's own end.
defect judge_length(walk& w, std::uint32_t header_size, bool fragment) noexcept {
  const std::uint16_t total = w.u16(2);
  if (total == 0 && !fragment && is_plausible_offload(w, w.u8(9))) return defect::none;
  if (total < ipv4_size) return defect::ip_bad_total_length;
  if (total < header_size) return defect::ip_bad_header_length;
  return w.announce(total) ? defect::none : defect::ip_bad_total_length;
}

}  // namespace

void enter_ip(walk& w, bool ipv6) noexcept {
  decoded& out = w.out;
  w.ipv6 = ipv6;
  out.src_port = 0;
  out.dst_port = 0;
  out.l4 = transport::none;
  out.ip_protocol = 0;
  out.tcp_flags = 0;
  out.fragment = false;
  out.first_fragment = false;
  out.payload_truncated = false;
  out.l3_offset = w.at;
  out.l4_offset = 0;
  out.payload_offset = 0;
  out.payload_length = 0;
  out.wire_payload_length = 0;
}

bool is_plausible_offload(const walk& w, std::uint8_t protocol) noexcept {
  return (protocol == ip_protocol::tcp || protocol == ip_protocol::udp) && w.announced_end == no_limit &&
         w.left() >= smallest_offload;
}

// RFC 791 3.1.
step parse_ipv4(walk& w) noexcept {
  if (!w.has(ipv4_size)) return w.fail(defect::ip_truncated);
  if (w.u8(0) >> 4 != 4) return w.fail(defect::ip_bad_version);
  const std::uint32_t header_size = (w.u8(0) & 15u) * 4;
  if (header_size < ipv4_size) return w.fail(defect::ip_bad_header_length);
  const std::uint16_t fragment = w.u16(6) & (more_fragments | fragment_offset_mask);
  const defect length = judge_length(w, header_size, fragment != 0);
  if (length != defect::none) return w.fail(length);
  if (!w.has(header_size)) return w.fail(defect::ip_truncated);

  const std::uint8_t* const header = w.data + w.at;
  const std::uint8_t* destination = header + 16;
  if (!parse_ipv4_options({header + ipv4_size, header_size - ipv4_size}, destination))
    return w.fail(defect::ip_bad_options);
  if (!w.note(layer_kind::ipv4)) return w.fail(defect::tunnel_too_deep);

  enter_ip(w, false);
  set_v4(w.out.src, header + 12);
  set_v4(w.out.dst, destination);
  w.out.ip_protocol = header[9];
  w.out.fragment = fragment != 0;
  w.out.first_fragment = fragment == more_fragments;
  w.at += header_size;
  return step::ip_protocol;
}

}  // namespace millrace::net::wire::walking
