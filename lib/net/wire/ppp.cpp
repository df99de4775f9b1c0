// PPP as a link of its own and inside PPPoE.

#include "net/wire/walk.hpp"

namespace millrace::net::wire::walking {
namespace {

constexpr std::uint32_t pppoe_size = 6;
constexpr std::uint8_t pppoe_version_and_type = 0x11;  // RFC 2516 4: both are 1

// RFC 2516 4: version and type, code (0 in sessions alone), session, length. False: `w.out.why` says what is wrong.
bool parse_pppoe_header(walk& w, bool session) noexcept {
  if (!w.has(pppoe_size)) {
    w.fail_short(pppoe_size, defect::length_contradiction, defect::link_truncated);
    return false;
  }
  if (w.u8(0) != pppoe_version_and_type || (w.u8(1) == 0) != session) {
    w.fail(defect::pppoe_malformed);
    return false;
  }
  if (!w.announce(pppoe_size + w.u16(4))) {
    w.fail(defect::length_contradiction);
    return false;
  }
  return true;
}

// RFC 1661 2: the last byte of a protocol number is odd and those before it are even, so that one byte may stand for
// two where the high one is zero (6.5, protocol field compression).
bool parse_protocol_number(walk& w, std::uint16_t& protocol) noexcept {
  const bool compressed = w.has(1) && (w.u8(0) & 1) != 0;
  const std::uint32_t size = compressed ? 1 : 2;
  if (!w.has(size)) {
    w.fail_short(size, defect::pppoe_malformed, defect::link_truncated);
    return false;
  }
  protocol = compressed ? w.u8(0) : w.u16(0);
  if ((protocol & 1) == 0) {
    w.fail(defect::pppoe_malformed);
    return false;
  }
  w.at += size;
  return true;
}

step follow_ppp_protocol(walk& w, std::uint16_t protocol) noexcept {
  switch (protocol) {  // the numbers of RFC 1332 2, RFC 5072 3 and RFC 3032 4.3
    case 0x0021:
      return step::ipv4;
    case 0x0057:
      return step::ipv6;
    case 0x0281:
    case 0x0283:
      return step::mpls;
    default:  // LCP, authentication, network control, compression
      return w.stop_at_other(protocol, defect::ethertype_unknown);
  }
}

// `start`: where the layer begins, address and control included.
step parse_ppp_from(walk& w, std::uint32_t start) noexcept {
  std::uint16_t protocol = 0;
  if (!parse_protocol_number(w, protocol)) return step::stop;
  if (!w.note_at(start, layer_kind::ppp)) return w.fail(defect::too_many_tags);
  return follow_ppp_protocol(w, protocol);
}

}  // namespace

step parse_ppp(walk& w) noexcept { return parse_ppp_from(w, w.at); }

// RFC 1662 3.1: address 0xFF and control 0x03, which may be compressed away (RFC 1661 6.6). 0xFF begins no protocol.
step parse_ppp_link(walk& w) noexcept {
  if (w.has(2) && w.u16(0) == 0xFF03) w.at = 2;
  return parse_ppp_from(w, 0);
}

step parse_pppoe_session(walk& w) noexcept {
  if (!parse_pppoe_header(w, true)) return step::stop;
  if (!w.note(layer_kind::pppoe_session)) return w.fail(defect::too_many_tags);
  w.at += pppoe_size;
  return step::ppp;
}

step parse_pppoe_discovery(walk& w) noexcept {
  if (!parse_pppoe_header(w, false)) return step::stop;
  return w.note(layer_kind::pppoe_discovery) ? step::stop : w.fail(defect::too_many_tags);
}

}  // namespace millrace::net::wire::walking
