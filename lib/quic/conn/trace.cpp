#include "quic/conn/trace.hpp"

#include <algorithm>
#include <bit>

#include "quic/wire/frame_walker.hpp"

namespace millrace::quic::conn {

std::unique_ptr<trace_queue> trace_queue::make(std::size_t records, std::uint32_t most_open) {
  const std::size_t count = std::bit_ceil(std::max<std::size_t>(records, 64));
  mem::region memory = mem::region::make_array<trace_record>("quic_trace", count);
  if (!memory) return nullptr;
  return std::make_unique<trace_queue>(std::move(memory), count, most_open);
}

namespace {

struct type_collector : wire::frame_visitor {
  std::uint64_t seen = 0;
  bool add(wire::frame_type type) noexcept {
    seen |= std::uint64_t{1} << type;
    return true;
  }
  bool on(const wire::padding_frame&) noexcept { return add(wire::frame_padding); }
  bool on(const wire::ping_frame&) noexcept { return add(wire::frame_ping); }
  bool on(const wire::ack_frame&) noexcept { return add(wire::frame_ack); }
  bool on(const wire::reset_stream_frame&) noexcept { return add(wire::frame_reset_stream); }
  bool on(const wire::stop_sending_frame&) noexcept { return add(wire::frame_stop_sending); }
  bool on(const wire::crypto_frame&) noexcept { return add(wire::frame_crypto); }
  bool on(const wire::new_token_frame&) noexcept { return add(wire::frame_new_token); }
  bool on(const wire::stream_frame&) noexcept { return add(wire::frame_stream_first); }
  bool on(const wire::max_data_frame&) noexcept { return add(wire::frame_max_data); }
  bool on(const wire::max_stream_data_frame&) noexcept { return add(wire::frame_max_stream_data); }
  bool on(const wire::max_streams_frame&) noexcept { return add(wire::frame_max_streams_bidi); }
  bool on(const wire::data_blocked_frame&) noexcept { return add(wire::frame_data_blocked); }
  bool on(const wire::stream_data_blocked_frame&) noexcept { return add(wire::frame_stream_data_blocked); }
  bool on(const wire::streams_blocked_frame&) noexcept { return add(wire::frame_streams_blocked_bidi); }
  bool on(const wire::new_connection_id_frame&) noexcept { return add(wire::frame_new_connection_id); }
  bool on(const wire::retire_connection_id_frame&) noexcept { return add(wire::frame_retire_connection_id); }
  bool on(const wire::path_challenge_frame&) noexcept { return add(wire::frame_path_challenge); }
  bool on(const wire::path_response_frame&) noexcept { return add(wire::frame_path_response); }
  bool on(const wire::connection_close_frame&) noexcept { return add(wire::frame_connection_close); }
  bool on(const wire::handshake_done_frame&) noexcept { return add(wire::frame_handshake_done); }
  bool on(const wire::datagram_frame&) noexcept { return add(wire::frame_datagram); }
};

}  // namespace

std::uint64_t frame_types(base::byte_view payload, wire::packet_type type) noexcept {
  type_collector collector;
  static_cast<void>(wire::walk_frames(payload, type, collector));
  return collector.seen;
}

}  // namespace millrace::quic::conn
