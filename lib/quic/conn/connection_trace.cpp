// What a connection tells of itself: figures, and records for a trace.
#include <algorithm>

#include "quic/conn/arrival.hpp"

namespace millrace::quic::conn {

trace_record connection::begun_record() const noexcept {
  trace_record r{.time_ns = now_ns_, .kind = trace_kind::begun, .number = is_server_ ? 1u : 0u, .a = version_};
  r.id_size = static_cast<std::uint8_t>(std::ranges::copy(original_dcid_.view(), r.id.begin()).out - r.id.begin());
  return r;
}

connection_statistics connection::statistics() const noexcept {
  const recovery::rtt& rtt = recovery_.round_trip();
  return {.packets_received = packets_in_,
          .packets_sent = packets_out_,
          .packets_lost = packets_lost_,
          .bytes_received = bytes_in_,
          .bytes_sent = bytes_out_,
          .window_bytes = recovery_.controller().window_bytes(),
          .in_flight_bytes = recovery_.in_flight(),
          .smoothed_rtt_ns = rtt.has_sample() ? rtt.smoothed_ns() : 0,
          .least_rtt_ns = rtt.has_sample() ? rtt.min_ns() : 0,
          .mtu_bytes = static_cast<std::uint32_t>(datagram_bytes()),
          .open_streams = open_streams_,
          .key_updates = keys_.updates()};
}

void connection::trace_drop(const arrival& a) noexcept {
  if (trace_.is_on())
    trace_.tell({.time_ns = a.now_ns,
                 .kind = trace_kind::packet_dropped,
                 .type = a.type,
                 .size = static_cast<std::uint32_t>(a.datagram.bytes.size()),
                 .a = static_cast<std::uint64_t>(a.why)});
}

void connection::trace_metrics() noexcept {
  if (!trace_.is_on()) return;
  const connection_statistics s = statistics();
  trace_.tell({.time_ns = now_ns_,
               .kind = trace_kind::metrics,
               .number = recovery_.pto_count(),
               .a = s.window_bytes,
               .b = s.in_flight_bytes,
               .c = s.smoothed_rtt_ns,
               .d = s.least_rtt_ns});
}

void connection::note_lost(recovery::packet_space space, std::uint64_t number, std::uint32_t bytes) noexcept {
  ++packets_lost_;
  if (!trace_.is_on()) return;
  constexpr std::array types = {wire::packet_type::initial, wire::packet_type::handshake, wire::packet_type::one_rtt};
  trace_.tell({.time_ns = now_ns_,
               .kind = trace_kind::packet_lost,
               .type = types[static_cast<std::size_t>(space)],
               .size = bytes,
               .number = number});
}

}  // namespace millrace::quic::conn
