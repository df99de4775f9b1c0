// Any datagram: the packets in it, one behind the other, and what classify() takes it for.
//
// Holds    no view leaves the input, no packet is empty, no walk over coalesced packets runs away; what was read of a
//          header whose types we know is enough to write a header that reads the same.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "quic/wire/header_emit.hpp"
#include "support/quic_header_check.hpp"

namespace {

using namespace millrace;
using namespace millrace::quic::wire;

void require(bool holds) {
  if (!holds) std::abort();
}

void round_trip(const packet_header& h) {
  if (h.type != packet_type::initial && h.type != packet_type::zero_rtt && h.type != packet_type::handshake) return;
  const long_header again{.type = h.type,
                          .version = h.version,
                          .dcid = h.dcid,
                          .scid = h.scid,
                          .token = h.token,
                          .length = h.length,
                          .pn_size = 1};
  std::vector<std::uint8_t> packet(encoded_size(again) + std::max<std::uint64_t>(h.length, 1));
  base::byte_writer out(packet);
  base::byte_span number;
  require(emit(out, again, number));
  packet_header read;
  require(static_cast<bool>(parse_packet(packet, read)));
  require(read.type == h.type && read.version == h.version && read.length == h.length);
  require(std::ranges::equal(read.dcid, h.dcid) && std::ranges::equal(read.scid, h.scid));
  require(std::ranges::equal(read.token, h.token));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const base::byte_view in(data, size);
  const datagram_kind kind = classify(in);
  require(size != 0 || kind == datagram_kind::not_quic);
  base::byte_view rest = in;
  while (!rest.empty()) {
    packet_header h;
    const base::parse_status status = parse_packet(rest, h);
    require(test::broken_header_rule(rest, status, h) == nullptr);
    if (!status) break;
    round_trip(h);
    rest = rest.subspan(h.packet_size);
  }
  return 0;
}
