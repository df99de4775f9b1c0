// net/wire/walk.hpp - internal to decode(): the position in a frame, its two ends, and the header parsers' outcome.
//
// Shape    each parser takes the header at `at`, writes what it learned and answers which parser comes next; decode()
//          loops. No recursion: every turn notes a layer or stops, and layers are capped.
// Ends     captured_end bounds what may be read. announced_end is where the lengths in the headers say that the packet
//          ends: no_limit until one of them speaks, then it only shrinks. A header that crosses announced_end lies; one
//          that crosses captured_end alone was cut by the capture.
// Owner    nothing; lives for one call.
// Tests    test/net/wire/decode_*_test.cpp
#pragma once

#include <algorithm>

#include "base/endian.hpp"
#include "net/wire/decode.hpp"
#include "net/wire/numbers.hpp"

namespace millrace::net::wire::walking {

enum class step : std::uint8_t {
  stop,
  ethernet,
  vlan,
  llc,
  mpls,
  pppoe_session,
  pppoe_discovery,
  ppp,
  ipv4,
  ipv6,
  ip_protocol,  // what out.ip_protocol names
  gre,
  vxlan,
  geneve,
  gtpu,
};

inline constexpr std::uint32_t no_limit = 0xFFFF'FFFF;

// Only the destination port names a tunnel: all four say that the source port is free, and a client's port may be any.
[[nodiscard]] inline bool is_tunnel_port(std::uint16_t dst_port) noexcept {
  return dst_port == udp_port::vxlan || dst_port == udp_port::gtpu || dst_port == udp_port::geneve ||
         dst_port == udp_port::vxlan_linux;
}

struct walk {
  const std::uint8_t* data;
  std::uint32_t at = 0;
  std::uint32_t captured_end;
  std::uint32_t announced_end = no_limit;
  std::uint8_t layers = 0;  // noted so far, recorded or not
  std::uint8_t tags = 0;    // VLAN tags and MPLS labels since the last link-layer header
  bool record;              // fill out.layers
  bool reached = false;     // a transport header or ICMP stands in `out`
  bool ipv6 = false;        // the innermost IP header is one
  decoded& out;

  [[nodiscard]] std::uint32_t left() const noexcept { return captured_end - at; }
  [[nodiscard]] bool has(std::uint32_t count) const noexcept { return captured_end - at >= count; }
  // Whether the lengths seen so far leave `count` bytes here, captured or not.
  [[nodiscard]] bool announces(std::uint32_t count) const noexcept { return announced_end - at >= count; }

  [[nodiscard]] std::uint8_t u8(std::uint32_t offset) const noexcept { return data[at + offset]; }
  [[nodiscard]] std::uint16_t u16(std::uint32_t offset) const noexcept { return base::load_be16(data + at + offset); }
  [[nodiscard]] std::uint32_t u32(std::uint32_t offset) const noexcept { return base::load_be32(data + at + offset); }

  // A header says that what it belongs to takes `count` bytes from `at` on. False: the headers around it say less.
  [[nodiscard]] bool announce(std::uint32_t count) noexcept {
    if (!announces(count)) return false;
    announced_end = at + count;
    captured_end = std::min(captured_end, announced_end);
    return true;
  }

  step fail(defect why) noexcept {
    out.why = why;
    return step::stop;
  }
  // A header of `count` bytes is not all here: `lied` when the announced end cuts it, `cut` when the capture does.
  step fail_short(std::uint32_t count, defect lied, defect cut) noexcept { return fail(announces(count) ? cut : lied); }

  // False when max_layers are noted already.
  [[nodiscard]] bool note_at(std::uint32_t offset, layer_kind kind, std::uint16_t detail = 0) noexcept {
    if (layers == max_layers) return false;
    ++layers;
    return !record || out.layers.push_back({kind, out.tunnel_depth, detail, offset});
  }
  [[nodiscard]] bool note(layer_kind kind, std::uint16_t detail = 0) noexcept { return note_at(at, kind, detail); }
  // One more tag or label: false beyond max_link_tags.
  [[nodiscard]] bool note_tag(layer_kind kind, std::uint16_t detail) noexcept {
    return ++tags <= max_link_tags && note(kind, detail);
  }
  // What is not looked into: noted where there is room, and the reason for stopping.
  step stop_at_other(std::uint16_t detail, defect why) noexcept {
    static_cast<void>(note(layer_kind::other, detail));
    return fail(why);
  }

  // All from `at` to both ends is payload.
  void payload_here() noexcept {
    out.payload_offset = at;
    out.payload_length = left();
    out.wire_payload_length = announced_end == no_limit ? out.payload_length : announced_end - at;
    out.payload_truncated = out.payload_length < out.wire_payload_length;
  }
};

// link.cpp
step parse_ethernet(walk& w) noexcept;
step parse_llc(walk& w) noexcept;
step parse_sll(walk& w) noexcept;
step parse_sll2(walk& w) noexcept;
step parse_loopback(walk& w, bool network_order) noexcept;
step parse_raw_ip(walk& w) noexcept;
step follow_ethertype(walk& w, std::uint16_t type) noexcept;  // `at` stands behind it

// ppp.cpp
step parse_ppp(walk& w) noexcept;
step parse_ppp_link(walk& w) noexcept;
step parse_pppoe_session(walk& w) noexcept;
step parse_pppoe_discovery(walk& w) noexcept;

// tags.cpp
step parse_vlan(walk& w) noexcept;
step parse_mpls(walk& w) noexcept;

// ipv4.cpp, ipv6.cpp
step parse_ipv4(walk& w) noexcept;
step parse_ipv6(walk& w) noexcept;

// transport.cpp
step follow_ip_protocol(walk& w) noexcept;

// tunnel.cpp
step enter_tunnel(walk& w, step inner) noexcept;
step parse_gre(walk& w) noexcept;
step parse_vxlan(walk& w) noexcept;
step parse_geneve(walk& w) noexcept;
step parse_gtpu(walk& w) noexcept;

// Shared by both IP versions (ipv4.cpp).
// A new innermost IP header: what stood for the one around it goes.
void enter_ip(walk& w, bool ipv6) noexcept;
// RFC 791 3.1 and RFC 8200 3 leave no room for a length of 0, but segmentation offload shows up in captures so: taken
// for the frame's own length where nothing else announces one and there is a large TCP or UDP payload to segment.
[[nodiscard]] bool is_plausible_offload(const walk& w, std::uint8_t protocol) noexcept;

}  // namespace millrace::net::wire::walking
