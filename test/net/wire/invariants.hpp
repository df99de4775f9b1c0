// test/net/wire/invariants.hpp - what holds for every result of the decoders, whatever the frame; no test framework, so
// that fuzzers take it too.
#pragma once

#include "net/wire/decode.hpp"

namespace millrace::net::wire::test {

// Every field but the layers.
inline bool same(const decoded& a, const decoded& b) {
  return a.src == b.src && a.dst == b.dst && a.src_port == b.src_port && a.dst_port == b.dst_port && a.l4 == b.l4 &&
         a.ip_protocol == b.ip_protocol && a.why == b.why && a.fragment == b.fragment &&
         a.first_fragment == b.first_fragment && a.payload_truncated == b.payload_truncated &&
         a.tunnel_depth == b.tunnel_depth && a.tcp_flags == b.tcp_flags && a.ethertype == b.ethertype &&
         a.l3_offset == b.l3_offset && a.l4_offset == b.l4_offset && a.payload_offset == b.payload_offset &&
         a.payload_length == b.payload_length && a.wire_payload_length == b.wire_payload_length;
}

// Answers the first rule that `d` breaks, or nullptr. `answer`: what the decoder answered.
inline const char* broken_rule(base::byte_view frame, const decoded& d, bool answer) {
  const bool ports = d.l4 == transport::udp || d.l4 == transport::tcp;
  const bool later_fragment = d.fragment && !d.first_fragment;
  if (d.l3_offset > frame.size() || d.l4_offset > frame.size()) return "an offset is outside the frame";
  if (d.payload_offset > frame.size() || d.payload_length > frame.size() - d.payload_offset)
    return "the payload is outside the frame";
  if (d.l4_offset != 0 && d.l4_offset < d.l3_offset) return "transport before network";
  if (d.payload_offset < d.l4_offset) return "payload before transport";
  if (d.payload_length > d.wire_payload_length) return "more captured than announced";
  if (d.payload_truncated != (d.payload_length < d.wire_payload_length)) return "payload_truncated is wrong";
  if (d.first_fragment && !d.fragment) return "a first fragment that is none";
  if (d.tunnel_depth > max_tunnel_depth) return "too deep";
  if (d.src.family != d.dst.family) return "two families";
  if ((d.src_port != 0 || d.dst_port != 0) && (!ports || later_fragment)) return "ports of nobody";
  if (answer && d.why != defect::none) return "reached with a defect";
  if (answer && (d.l4 == transport::none || d.l4 == transport::other || later_fragment)) return "reached nothing";
  if (answer && d.src.family == base::ip_family::none) return "a transport without addresses";
  if (answer && ports && d.payload_offset < d.l4_offset + (d.l4 == transport::udp ? 8 : 20))
    return "no room for a header";
  for (std::size_t i = 0; i < d.layers.size(); ++i) {
    if (d.layers[i].offset > frame.size()) return "a layer outside the frame";
    if (d.layers[i].depth > d.tunnel_depth) return "a layer too deep";
    if (i != 0 && (d.layers[i].offset < d.layers[i - 1].offset || d.layers[i].depth < d.layers[i - 1].depth))
      return "layers out of order";
  }
  return nullptr;
}

}  // namespace millrace::net::wire::test
