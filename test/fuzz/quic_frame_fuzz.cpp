// Any payload, as the frames of each type of packet, whole and cut into segments, and as gQUIC's.
//
// Holds    faults lie inside the payload; a decoder written for tests alone sees the same frames and the same fault;
//          what was accepted, written again, is never longer, reads as the same frames and writes as itself; where the
//          payload is cut changes nothing.
#include <algorithm>
#include <cstdlib>

#include "quic/wire/frame_segments.hpp"
#include "quic/wire/gquic_frame.hpp"
#include "support/quic_frame_echo.hpp"
#include "support/quic_reference.hpp"

namespace {

using namespace millrace;
using namespace millrace::quic::wire;

void require(bool holds) {
  if (!holds) std::abort();
}

struct packet {
  frame_rules rules;
  test::reference_packet reference;
};

void check_round_trip(base::byte_view in, const frame_rules& rules, const walk_result& result) {
  test::frame_echo echo;
  require(static_cast<bool>(walk_frames(in, rules, echo)) && !echo.broken);
  require(echo.written().size() <= in.size());
  // A limit on DATAGRAM frames counts bytes as they came: the canonical form is only ever shorter.
  test::frame_echo again;
  const walk_result second = walk_frames(echo.written(), rules, again);
  require(static_cast<bool>(second));
  require(second.frames == result.frames && second.ack_eliciting == result.ack_eliciting);
  require(std::ranges::equal(again.written(), echo.written()));
}

// Cuts that depend on the bytes, so that the fuzzer finds all of them; each part has memory of its own.
void check_segments(base::byte_view in, const frame_rules& rules, const walk_result& result, const std::string& text) {
  std::uint32_t state = static_cast<std::uint32_t>(in.size());
  for (const std::uint8_t byte : in) state = state * 31 + byte;
  std::vector<std::vector<std::uint8_t>> parts;
  for (base::byte_view rest = in; !rest.empty();) {
    state = state * 1664525 + 1013904223;
    const std::size_t size = std::min<std::size_t>(rest.size(), (state >> 16) % ((state >> 30) == 0 ? 64 : 5));
    parts.emplace_back(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(size));
    rest = rest.subspan(size);
  }
  const std::vector<base::byte_view> views(parts.begin(), parts.end());
  test::note_taker taker;
  const walk_result cut = walk_frames(base::segments(views), rules, taker);
  require(cut.fault == result.fault && cut.status.code == result.status.code && cut.status.at == result.status.at);
  require(cut.frames == result.frames && cut.type == result.type);
  require(cut.ack_eliciting == result.ack_eliciting && cut.probing == result.probing);
  require(taker.text() == text);
}

void check(base::byte_view in, const packet& p) {
  test::note_taker taker;
  const walk_result result = walk_frames(in, p.rules, taker);
  require(result.status.at <= in.size());
  require(static_cast<bool>(result) == static_cast<bool>(result.status));
  const std::string text = taker.text();
  test::frame_notes notes;
  require(test::reference_reader(in).read(p.reference, notes) == result.fault);
  require(notes.text() == text);
  if (result) check_round_trip(in, p.rules, result);
  check_segments(in, p.rules, result, text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const base::byte_view in(data, size);
  const packet packets[] = {
      {packet_type::initial, {.kind = 'I'}},
      {packet_type::handshake, {.kind = 'H'}},
      {frame_rules(packet_type::zero_rtt, sender::client, 64),
       {.kind = '0', .from_client = true, .knows_sender = true, .max_datagram = 64}},
      {frame_rules(packet_type::one_rtt, sender::client), {.from_client = true, .knows_sender = true}},
      {frame_rules(packet_type::one_rtt, sender::server, 0), {.knows_sender = true, .max_datagram = 0}},
      {packet_type::one_rtt, {}},
  };
  for (const packet& p : packets) check(in, p);
  const walk_result google = walk_google_frames(in, google_frame_visitor{});
  require(google.status.at <= size);
  return 0;
}
