// Any payload, as the frames of an Initial, of a Handshake packet, and as gQUIC's.
//
// Holds    faults lie inside the payload; what was accepted, written again, is never longer, reads as the same frames
//          and writes as itself; ranges of an ACK descend.
#include <algorithm>
#include <cstdlib>

#include "quic/wire/gquic_frame.hpp"
#include "support/quic_frame_echo.hpp"

namespace {

using namespace millrace;
using namespace millrace::quic::wire;

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const base::byte_view in(data, size);
  for (const packet_type type : {packet_type::initial, packet_type::handshake}) {
    test::frame_echo echo;
    const walk_result result = walk_frames(in, type, echo);
    require(!echo.broken);
    require(result.status.at <= size);
    require(static_cast<bool>(result) == static_cast<bool>(result.status));
    if (!result) continue;
    require(echo.written().size() <= size);
    test::frame_echo again;
    const walk_result second = walk_frames(echo.written(), type, again);
    require(static_cast<bool>(second));
    require(second.frames == result.frames && second.ack_eliciting == result.ack_eliciting);
    require(std::ranges::equal(again.written(), echo.written()));
  }
  const walk_result google = walk_google_frames(in, google_frame_visitor{});
  require(google.status.at <= size);
  return 0;
}
