// Any bytes as a frame of any link type: the result breaks no rule, and on Ethernet both decoders agree.
//
// Input    byte 0: the link type (modulo their number); the rest: the frame.
#include <cstdio>
#include <cstdlib>

#include "net/wire/invariants.hpp"

namespace {

using namespace millrace;
using namespace millrace::net::wire;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// What a decoder that forgets a field would leave behind.
decoded soiled() {
  decoded out;
  out.src.octets.fill(0xAA);
  out.dst.octets.fill(0xAA);
  out.src.family = base::ip_family::v4;
  out.src_port = out.dst_port = out.ethertype = 0xAAAA;
  out.l4 = transport::icmp;
  out.ip_protocol = out.tunnel_depth = out.tcp_flags = 0xAA;
  out.why = defect::too_many_tags;
  out.fragment = out.first_fragment = out.payload_truncated = true;
  out.l3_offset = out.l4_offset = out.payload_offset = out.payload_length = out.wire_payload_length = 0xAAAA'AAAA;
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  constexpr unsigned link_types = static_cast<unsigned>(link_type::linux_sll2) + 1;
  const auto link = static_cast<link_type>(data[0] % link_types);
  const base::byte_view frame(data + 1, size - 1);
  decoded full = soiled();
  const bool answer = decode(frame, link, full);
  const char* const broken = test::broken_rule(frame, full, answer);
  require(broken == nullptr, broken);
  if (link != link_type::ethernet) return 0;
  decoded fast = soiled();
  require(decode_fast(frame, fast) == answer, "the decoders answer differently");
  require(test::same(full, fast), "the decoders leave different results");
  require(fast.layers.empty(), "decode_fast() recorded layers");
  return 0;
}
