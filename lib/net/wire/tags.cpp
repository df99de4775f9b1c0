// What stands between a link-layer header and the network layer: VLAN tags and MPLS labels.

#include "net/wire/walk.hpp"

namespace millrace::net::wire::walking {

// IEEE 802.1Q 9.6: priority, drop eligibility and VLAN ID, then the next ethertype. `at` stands behind the TPID.
step parse_vlan(walk& w) noexcept {
  if (!w.has(4)) return w.fail_short(4, defect::length_contradiction, defect::link_truncated);
  const layer_kind kind = w.out.ethertype == ethertype::vlan ? layer_kind::vlan : layer_kind::qinq;
  if (!w.note_tag(kind, w.u16(0) & 0x0FFF)) return w.fail(defect::too_many_tags);
  const std::uint16_t type = w.u16(2);
  w.at += 4;
  return follow_ethertype(w, type);
}

// RFC 3032 2.1: label 20 bits, traffic class 3, bottom of stack 1, TTL 8. Nothing in a stack names what it carries: the
// explicit null labels do, else the first nibble is all there is to see (RFC 4928 3), and only IP is taken from it.
step parse_mpls(walk& w) noexcept {
  constexpr std::uint32_t ipv4_explicit_null = 0;
  constexpr std::uint32_t ipv6_explicit_null = 2;
  std::uint32_t entry = 0;
  do {
    if (!w.has(4)) return w.fail(defect::mpls_malformed);
    if (!w.note_tag(layer_kind::mpls, 0)) return w.fail(defect::too_many_tags);
    entry = w.u32(0);
    w.at += 4;
  } while ((entry & 0x100) == 0);

  if (!w.has(1)) return w.fail(defect::mpls_malformed);
  const unsigned nibble = w.u8(0) >> 4;
  const std::uint32_t label = entry >> 12;
  if (label == ipv4_explicit_null || nibble == 4) return step::ipv4;
  if (label == ipv6_explicit_null || nibble == 6) return step::ipv6;
  return w.stop_at_other(0, defect::ethertype_unknown);
}

}  // namespace millrace::net::wire::walking
