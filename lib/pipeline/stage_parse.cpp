#include "pipeline/stage_parse.hpp"

#include "net/defects.hpp"
#include "net/wire/checksum.hpp"
#include "net/wire/decode.hpp"

namespace millrace::pipeline {
namespace {

using buf::verdict;
using net::wire::decoded;
using net::wire::defect;
using net::wire::transport;
using stats::drop_reason;

// The decoder's limits and gaps are no fault of the packet.
bool is_malformed(defect why) noexcept {
  switch (why) {
    case defect::none:
    case defect::link_unknown_type:
    case defect::ethertype_unknown:
    case defect::ip_protocol_unknown:
    case defect::tunnel_unsupported:
    case defect::tunnel_too_deep:
    case defect::too_many_tags:
      return false;
    default:
      return true;
  }
}

// On a wire, unlike in a capture, nothing was cut off: an IP length beyond the frame lies, even where the transport
// header claims no more than what is there. Of tunnels the innermost header is looked at.
bool exceeds_frame(base::byte_view frame, const decoded& headers) noexcept {
  if (headers.payload_truncated) return true;
  const std::uint8_t* const header = frame.data() + headers.l3_offset;
  const std::size_t room = frame.size() - headers.l3_offset;
  if (headers.src.family == base::ip_family::v4) return base::load_be16(header + 2) > room;
  return headers.src.family == base::ip_family::v6 && base::load_be16(header + 4) + std::size_t{40} > room;
}

bool is_ipv4_header_sound(base::byte_view frame, const decoded& headers) noexcept {
  const std::uint8_t* const header = frame.data() + headers.l3_offset;
  if (header[0] == 0x45) {  // five words of 32 bits, nearly always
    const std::uint64_t sum = base::load_le64(header) % 0x1'0000'0000 + base::load_le64(header) / 0x1'0000'0000 +
                              base::load_le32(header + 8) + base::load_le32(header + 12) + base::load_le32(header + 16);
    return net::wire::fold_sum(sum) == 0xFFFF;
  }
  return net::wire::internet_checksum({header, (header[0] & 0xFu) * 4u}) == 0;
}

bool is_transport_sound(base::byte_view frame, const decoded& headers) noexcept {
  const std::size_t size = headers.payload_offset - headers.l4_offset + headers.payload_length;
  const base::byte_view part = frame.subspan(headers.l4_offset, size);
  const base::segments whole({&part, 1});
  return headers.l4 == transport::udp ? net::wire::is_udp_sound(headers.src, headers.dst, whole)
                                      : net::wire::is_tcp_sound(headers.src, headers.dst, whole);
}

// Hardware judges the outermost header; inside a tunnel we do.
bool is_sound(verdict hardware, bool inner, bool (*software)(base::byte_view, const decoded&) noexcept,
              base::byte_view frame, const decoded& headers) noexcept {
  if (inner || hardware == verdict::unknown) return software(frame, headers);
  return hardware == verdict::good;
}

}  // namespace

drop_reason judge(base::byte_view frame, buf::checksum_verdict hardware, verify_level verify,
                  decoded& headers) noexcept {
  const bool reached = net::wire::decode_fast(frame, headers);
  if (!reached && is_malformed(headers.why)) return net::to_drop_reason(headers.why);
  if (exceeds_frame(frame, headers)) return drop_reason::ip_bad_total_length;
  if (verify == verify_level::none || headers.why != defect::none) return drop_reason::none;
  const bool inner = headers.tunnel_depth != 0;
  if (headers.src.family == base::ip_family::v4 && !is_sound(hardware.ip, inner, is_ipv4_header_sound, frame, headers))
    return drop_reason::ip_bad_checksum;
  if (verify != verify_level::full || headers.fragment) return drop_reason::none;
  if (headers.l4 != transport::udp && headers.l4 != transport::tcp) return drop_reason::none;
  if (is_sound(hardware.transport, inner, is_transport_sound, frame, headers)) return drop_reason::none;
  return headers.l4 == transport::udp ? drop_reason::udp_bad_checksum : drop_reason::tcp_bad_checksum;
}

std::uint64_t parse_burst(buf::burst& packets, parse_work& work, std::uint64_t& received_bytes,
                          lcore_counters& counters) noexcept {
  constexpr unsigned headers_ahead = 8;
  constexpr unsigned data_ahead = 4;
  const unsigned count = packets.size();
  for (unsigned i = 0; i < headers_ahead && i < count; ++i) packets.prefetch_header(i);
  std::uint64_t bytes = 0;
  std::uint64_t dropped_bytes = 0;
  std::uint64_t quic_packets = 0;
  decoded headers;
  for (unsigned i = 0; i < count; ++i) {
    if (i + headers_ahead < count) packets.prefetch_header(i + headers_ahead);
    if (i + data_ahead < count) {
      packets.prefetch_data(i + data_ahead);
      packets.prefetch_data(i + data_ahead, 64);
    }
    const std::uint32_t length = packets.length(i);
    bytes += length;
    const base::byte_view frame = packets.flat(i, work.scratch);
    const drop_reason why = frame.empty() && length != 0
                                ? drop_reason::l2_oversized
                                : judge(frame, packets.checksums(i), work.settings.verify, headers);
    if (why != drop_reason::none) [[unlikely]] {
      dropped_bytes += length;
      packets.drop(i, why, counters.drops);
      continue;
    }
    const classified found = classify(frame, headers, work.settings.ports);
    counters.classes[static_cast<std::size_t>(found.what)].add(1);
    quic_packets += found.quic_packets;
  }
  packets.compact();
  if (quic_packets != 0) counters.add(count::quic_pkts, quic_packets);
  received_bytes = bytes;
  return bytes - dropped_bytes;
}

}  // namespace millrace::pipeline
