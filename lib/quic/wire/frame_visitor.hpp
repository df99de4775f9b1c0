// quic/wire/frame_visitor.hpp - what sees the frames of a packet: one on() a frame.
//
// Shape    a visitor derives from frame_visitor, whose on() takes each frame and goes on, and overrides (after
//          `using frame_visitor::on;`) those it wants. Calls are static: what is not overridden costs nothing.
//          on() answers whether the walk goes on.
// Owner    frames view the payload. Of a payload in segments, see frame_segments.hpp.
// Source   RFC 9000 19, RFC 9221 4. Tests  test/quic/wire/frame_walker_test.cpp
#pragma once

#include "quic/wire/frame_ack.hpp"
#include "quic/wire/frame_connection_close.hpp"
#include "quic/wire/frame_crypto.hpp"
#include "quic/wire/frame_data_blocked.hpp"
#include "quic/wire/frame_datagram.hpp"
#include "quic/wire/frame_handshake_done.hpp"
#include "quic/wire/frame_max_data.hpp"
#include "quic/wire/frame_max_stream_data.hpp"
#include "quic/wire/frame_max_streams.hpp"
#include "quic/wire/frame_new_connection_id.hpp"
#include "quic/wire/frame_new_token.hpp"
#include "quic/wire/frame_padding.hpp"
#include "quic/wire/frame_path.hpp"
#include "quic/wire/frame_reset_stream.hpp"
#include "quic/wire/frame_retire_connection_id.hpp"
#include "quic/wire/frame_stop_sending.hpp"
#include "quic/wire/frame_stream.hpp"
#include "quic/wire/frame_stream_data_blocked.hpp"
#include "quic/wire/frame_streams_blocked.hpp"

namespace millrace::quic::wire {

struct frame_visitor {
  bool on(const padding_frame&) noexcept { return true; }
  bool on(const ping_frame&) noexcept { return true; }
  bool on(const ack_frame&) noexcept { return true; }
  bool on(const reset_stream_frame&) noexcept { return true; }
  bool on(const stop_sending_frame&) noexcept { return true; }
  bool on(const crypto_frame&) noexcept { return true; }
  bool on(const new_token_frame&) noexcept { return true; }
  bool on(const stream_frame&) noexcept { return true; }
  bool on(const max_data_frame&) noexcept { return true; }
  bool on(const max_stream_data_frame&) noexcept { return true; }
  bool on(const max_streams_frame&) noexcept { return true; }
  bool on(const data_blocked_frame&) noexcept { return true; }
  bool on(const stream_data_blocked_frame&) noexcept { return true; }
  bool on(const streams_blocked_frame&) noexcept { return true; }
  bool on(const new_connection_id_frame&) noexcept { return true; }
  bool on(const retire_connection_id_frame&) noexcept { return true; }
  bool on(const path_challenge_frame&) noexcept { return true; }
  bool on(const path_response_frame&) noexcept { return true; }
  bool on(const connection_close_frame&) noexcept { return true; }
  bool on(const handshake_done_frame&) noexcept { return true; }
  bool on(const datagram_frame&) noexcept { return true; }
};

}  // namespace millrace::quic::wire
