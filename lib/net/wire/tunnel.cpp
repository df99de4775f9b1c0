// Tunnels: GRE, VXLAN, Geneve, GTP-U; IP in IP needs no header of its own. One depth a tunnel, whatever it carries.

#include "net/wire/walk.hpp"

namespace millrace::net::wire::walking {
namespace {

// What GRE (RFC 2784 2.4) and Geneve (RFC 8926 3.4) name by ethertype. `at` stands behind the tunnel header.
step follow_tunnelled_type(walk& w, std::uint16_t type) noexcept {
  w.out.ethertype = type;
  switch (type) {
    case ethertype::ipv4:
      return enter_tunnel(w, step::ipv4);
    case ethertype::ipv6:
      return enter_tunnel(w, step::ipv6);
    case ethertype::bridged_ethernet:
      return enter_tunnel(w, step::ethernet);
    case ethertype::mpls:
    case ethertype::mpls_multicast:
      return enter_tunnel(w, step::mpls);
    default:
      return w.stop_at_other(type, defect::tunnel_unsupported);
  }
}

// RFC 8926 3.5: each option is four bytes and as many fours as it says; together they fill the options' length.
[[nodiscard]] bool are_geneve_options_sound(base::byte_view options) noexcept {
  std::size_t at = 0;
  while (at < options.size()) {
    const std::size_t size =
        4 + (options[at + 3] & 31u) * 4;  // the length of all is a multiple of four: byte 3 is there
    if (size > options.size() - at) return false;
    at += size;
  }
  return true;
}

// 3GPP TS 29.281 5.2.1: a chain that each header's last byte continues, 0 ending it; sizes in fours, never 0.
// `at` stands on the first header's length.
defect skip_gtpu_extensions(walk& w, std::uint8_t next) noexcept {
  for (std::size_t count = 0; next != 0; ++count) {
    if (count == max_gtpu_extensions) return defect::tunnel_unsupported;
    if (!w.has(1)) return defect::tunnel_truncated;
    const std::uint32_t size = w.u8(0) * 4u;
    if (size == 0) return defect::tunnel_malformed;
    if (!w.has(size)) return defect::tunnel_truncated;
    next = w.u8(size - 1);
    w.at += size;
  }
  return defect::none;
}

}  // namespace

step enter_tunnel(walk& w, step inner) noexcept {
  if (w.out.tunnel_depth == max_tunnel_depth) return w.fail(defect::tunnel_too_deep);
  ++w.out.tunnel_depth;
  w.tags = 0;
  w.reached = false;
  return inner;
}

// RFC 2784 2 with the key and sequence number of RFC 2890 2. Bits 1, 4 and 5 are RFC 1701's routing, strict source
// route and recursion, which RFC 2784 2.3 has receivers discard; version 1 is RFC 2637's, which carries PPP.
step parse_gre(walk& w) noexcept {
  constexpr std::uint16_t has_checksum = 0x8000;
  constexpr std::uint16_t has_key = 0x2000;
  constexpr std::uint16_t has_sequence = 0x1000;
  constexpr std::uint16_t of_rfc_1701 = 0x4C00;
  constexpr std::uint16_t version = 0x0007;
  if (!w.has(4)) return w.fail(defect::tunnel_truncated);
  const std::uint16_t flags = w.u16(0);
  if ((flags & (of_rfc_1701 | version)) != 0) return w.fail(defect::tunnel_unsupported);
  const std::uint32_t size = 4u + ((flags & has_checksum) != 0 ? 4 : 0) + ((flags & has_key) != 0 ? 4 : 0) +
                             ((flags & has_sequence) != 0 ? 4 : 0);
  if (!w.has(size)) return w.fail(defect::tunnel_truncated);
  if (!w.note(layer_kind::gre)) return w.fail(defect::tunnel_too_deep);
  const std::uint16_t type = w.u16(2);
  w.at += size;
  return follow_tunnelled_type(w, type);
}

// RFC 7348 5: the I flag is set, all else is reserved and ignored.
step parse_vxlan(walk& w) noexcept {
  constexpr std::uint32_t vxlan_size = 8;
  constexpr std::uint8_t has_network_id = 0x08;
  if (!w.has(vxlan_size)) return w.fail(defect::tunnel_truncated);
  if ((w.u8(0) & has_network_id) == 0) return w.fail(defect::tunnel_malformed);
  if (!w.note(layer_kind::vxlan)) return w.fail(defect::tunnel_too_deep);
  w.at += vxlan_size;
  return enter_tunnel(w, step::ethernet);
}

// RFC 8926 3.4: version 0, options of up to 252 bytes, the type of what follows.
step parse_geneve(walk& w) noexcept {
  constexpr std::uint32_t geneve_size = 8;
  if (!w.has(geneve_size)) return w.fail(defect::tunnel_truncated);
  if (w.u8(0) >> 6 != 0) return w.fail(defect::tunnel_unsupported);
  const std::uint32_t options_size = (w.u8(0) & 63u) * 4;
  if (!w.has(geneve_size + options_size)) return w.fail(defect::tunnel_truncated);
  if (!are_geneve_options_sound({w.data + w.at + geneve_size, options_size})) return w.fail(defect::tunnel_malformed);
  if (!w.note(layer_kind::geneve)) return w.fail(defect::tunnel_too_deep);
  const std::uint16_t type = w.u16(2);
  w.at += geneve_size + options_size;
  return follow_tunnelled_type(w, type);
}

// 3GPP TS 29.281 5.1: version 1, protocol type 1 (0 is GTP'), message type, the length behind the first eight bytes. A
// G-PDU (255) carries the user's packet; echo, error indication and the like carry none.
step parse_gtpu(walk& w) noexcept {
  constexpr std::uint32_t gtpu_size = 8;
  constexpr std::uint8_t version_and_type = 0xF0;
  constexpr std::uint8_t version_1_gtp = 0x30;
  constexpr std::uint8_t has_extension = 4;
  constexpr std::uint8_t has_optional = 7;  // any of extension, sequence number and N-PDU number: all fields are there
  constexpr std::uint8_t message_g_pdu = 255;
  if (!w.has(gtpu_size)) return w.fail(defect::tunnel_truncated);
  const std::uint8_t flags = w.u8(0);
  if ((flags & version_and_type) != version_1_gtp) return w.fail(defect::tunnel_unsupported);
  if (!w.announce(gtpu_size + w.u16(2))) return w.fail(defect::tunnel_malformed);
  if (!w.note(layer_kind::gtpu)) return w.fail(defect::tunnel_too_deep);
  if (w.u8(1) != message_g_pdu) return w.fail(defect::tunnel_unsupported);
  w.at += gtpu_size;
  if ((flags & has_optional) != 0) {
    if (!w.has(4)) return w.fail(defect::tunnel_truncated);
    const std::uint8_t next = w.u8(3);
    w.at += 4;
    const defect why = (flags & has_extension) != 0 ? skip_gtpu_extensions(w, next) : defect::none;
    if (why != defect::none) return w.fail(why);
  }
  if (!w.has(1)) return w.fail(defect::tunnel_truncated);
  const unsigned version = w.u8(0) >> 4;  // the session says what a G-PDU holds: IP shows itself, other kinds do not
  if (version == 4) return enter_tunnel(w, step::ipv4);
  return version == 6 ? enter_tunnel(w, step::ipv6) : w.fail(defect::tunnel_unsupported);
}

}  // namespace millrace::net::wire::walking
