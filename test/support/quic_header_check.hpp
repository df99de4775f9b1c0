// test/support/quic_header_check.hpp - what must hold for any answer of parse_packet, whatever the bytes: shared by the
// tests and the fuzzer. Aborts (fuzzer) or fails (test) through the caller: answers the first rule broken, or nullptr.
#pragma once

#include "quic/wire/header.hpp"
#include "support/view.hpp"

namespace millrace::test {

// `out` is what parse_packet left there; it was zeroed before the call.
[[nodiscard]] inline const char* broken_header_rule(base::byte_view in, base::parse_status status,
                                                    const quic::wire::packet_header& out) {
  using quic::wire::packet_type;
  if (status.at > in.size()) return "an error beyond the end of the input";
  const bool written = status || status.code == base::parse_errc::bad_length;
  if (!written) return out.packet_size == 0 && out.dcid.empty() ? nullptr : "written although it failed";
  if (out.packet_size == 0 || out.packet_size > in.size()) return "a packet size of nothing or beyond the input";
  for (const base::byte_view part : {out.dcid, out.scid, out.token, out.retry_tag, out.original_dcid, out.versions})
    if (!lies_in(part, in)) return "a view outside of the input";
  if (out.dcid.size() > quic::wire::max_invariant_cid_size || out.scid.size() > quic::wire::max_invariant_cid_size)
    return "a connection ID longer than its length byte can say";
  if (!status) return nullptr;
  switch (out.type) {
    case packet_type::initial:
    case packet_type::zero_rtt:
    case packet_type::handshake:
      if (out.pn_offset + out.length != out.packet_size) return "a length that does not end the packet";
      return nullptr;
    case packet_type::version_negotiation:
      return out.versions.empty() || out.versions.size() % 4 != 0 ? "half a version" : nullptr;
    case packet_type::retry:
    case packet_type::unknown_long:
    case packet_type::one_rtt:
      return out.packet_size != in.size() ? "a packet without a length that ends early" : nullptr;
  }
  return "a type that does not exist";
}

}  // namespace millrace::test
