// IPv6 and its extension headers.

#include "net/wire/walk.hpp"

namespace millrace::net::wire::walking {
namespace {

constexpr std::uint32_t ipv6_size = 40;

[[nodiscard]] bool is_extension(std::uint8_t header) noexcept {
  switch (header) {
    case ip_protocol::hop_by_hop:
    case ip_protocol::routing:
    case ip_protocol::fragment:
    case ip_protocol::ah:
    case ip_protocol::destination_options:
    case ip_protocol::mobility:
    case ip_protocol::hip:
    case ip_protocol::shim6:
      return true;
    default:
      return false;
  }
}

// RFC 8200 4: eights of bytes beyond the first eight; RFC 4302 2.2 counts fours, less two, and needs three of them.
[[nodiscard]] std::uint32_t extension_size(std::uint8_t header, std::uint8_t length) noexcept {
  if (header == ip_protocol::fragment) return 8;
  return header == ip_protocol::ah ? (length + 2u) * 4 : (length + 1u) * 8;
}

// RFC 8200 4.2: Pad1 is one byte; every other option carries the length of its data. A jumbo payload (RFC 2675 3) has
// no place beside a payload length that is not 0, and is refused with one that is.
[[nodiscard]] bool are_options_sound(base::byte_view options) noexcept {
  constexpr std::uint8_t option_pad1 = 0;
  constexpr std::uint8_t option_jumbo = 0xC2;
  std::size_t at = 0;
  while (at < options.size()) {
    if (options[at] == option_pad1) {
      ++at;
      continue;
    }
    if (options[at] == option_jumbo || options.size() - at < 2) return false;
    const std::size_t size = 2u + options[at + 1];
    if (size > options.size() - at) return false;
    at += size;
  }
  return true;
}

// The last address of a route that is not walked to its end, as RFC 8200 8.1 wants it in checksums: the last of type 0
// (RFC 5095 took it out of use, captures still hold it), the home address of type 2 (RFC 6275 6.4), segment 0 of type 4
// (RFC 8754 2). Others are left alone.
[[nodiscard]] const std::uint8_t* end_of_route(base::byte_view header) noexcept {
  const std::uint8_t type = header[2];
  const std::uint8_t segments_left = header[3];
  if (segments_left == 0 || header.size() < 24) return nullptr;
  const std::size_t addresses = (header.size() - 8) / 16;
  if (type == 0) return header.data() + 8 + (addresses - 1) * 16;
  return type == 2 || type == 4 ? header.data() + 8 : nullptr;
}

void set_v6(base::ip_address& out, const std::uint8_t* sixteen) noexcept {
  std::memcpy(out.octets.data(), sixteen, 16);
  out.family = base::ip_family::v6;
}

// One extension header at `at`, all of it captured. False: it cannot be.
bool take_extension(walk& w, std::uint8_t header, base::byte_view bytes) noexcept {
  if (header == ip_protocol::ah) return bytes.size() >= 12;
  if (header == ip_protocol::hop_by_hop || header == ip_protocol::destination_options)
    return are_options_sound(bytes.subspan(2));
  if (header == ip_protocol::routing) {
    const std::uint8_t* const end = end_of_route(bytes);
    if (end != nullptr) set_v6(w.out.dst, end);
  }
  if (header == ip_protocol::fragment) {
    // RFC 8200 4.5: offset in eights, two reserved bits, more. RFC 6946: offset 0 and no more is a whole packet.
    const std::uint16_t field = base::load_be16(bytes.data() + 2);
    const bool first = (field & 0xFFF8) == 0;
    const bool more = (field & 1) != 0;
    w.out.fragment = !first || more;
    w.out.first_fragment = first && more;
  }
  return true;
}

// RFC 8200 4.1: any number in any order must be accepted, but hop-by-hop options stand first only. Ours is a bounded
// number. Behind a later fragment's header there is data, not headers.
step parse_extensions(walk& w, std::uint8_t next) noexcept {
  std::size_t count = 0;
  while (is_extension(next)) {
    if (++count > max_ipv6_extensions || (next == ip_protocol::hop_by_hop && count != 1))
      return w.fail(defect::ip_bad_extension);
    if (!w.has(8)) return w.fail_short(8, defect::ip_bad_extension, defect::ip_truncated);
    const std::uint32_t size = extension_size(next, w.u8(1));
    if (!w.has(size)) return w.fail_short(size, defect::ip_bad_extension, defect::ip_truncated);
    if (!take_extension(w, next, {w.data + w.at, size}) || !w.note(layer_kind::ipv6_extension, next))
      return w.fail(defect::ip_bad_extension);
    const bool was_fragment = next == ip_protocol::fragment;
    next = w.u8(0);
    w.at += size;
    if (was_fragment && w.out.fragment && !w.out.first_fragment) break;
  }
  w.out.ip_protocol = next;
  return step::ip_protocol;
}

}  // namespace

// RFC 8200 3.
step parse_ipv6(walk& w) noexcept {
  if (!w.has(ipv6_size)) return w.fail(w.has(1) && w.u8(0) >> 4 != 6 ? defect::ip_bad_version : defect::ip_truncated);
  if (w.u8(0) >> 4 != 6) return w.fail(defect::ip_bad_version);
  const std::uint16_t payload = w.u16(4);
  const std::uint8_t next = w.u8(6);
  // RFC 2675 3: a length of 0 before hop-by-hop options is a jumbogram, which we refuse.
  if (payload == 0 && next == ip_protocol::hop_by_hop) return w.fail(defect::ip_bad_total_length);
  const bool offload = payload == 0 && is_plausible_offload(w, next);
  if (!offload && !w.announce(ipv6_size + payload)) return w.fail(defect::ip_bad_total_length);
  if (!w.note(layer_kind::ipv6)) return w.fail(defect::tunnel_too_deep);

  enter_ip(w, true);
  set_v6(w.out.src, w.data + w.at + 8);
  set_v6(w.out.dst, w.data + w.at + 24);
  w.at += ipv6_size;
  return parse_extensions(w, next);
}

}  // namespace millrace::net::wire::walking
