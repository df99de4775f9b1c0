// srmp/wire/frame.hpp - whole frames: cut from bytes already there, and built into room.
//
// Shape    parse_frame() is resumable like parse_header(): done when header and payload are all there, need_more with
//          the bytes needed in all (the header's first, the frame's once the header is known), or malformed.
// Units    bytes, counted from the front of the frame.
// Owner    nothing; a payload is a view into the bytes handed in.
// Limits   `ceiling` is the largest payload accepted: default_ceiling where frames are kept whole, max_payload where
//          their payload is streamed.
// Errors   those of frame_header.hpp. emit_frame(): 0 when the room is too small or the payload too large, nothing
//          written.
// Tests    test/srmp/wire/frame_test.cpp (vectors S1-S22, Q1, Q5), test/fuzz/srmp_stream_fuzz.cpp
#pragma once

#include "srmp/wire/frame_header.hpp"

namespace millrace::srmp::wire {

struct frame {
  frame_header header;
  base::byte_view payload;  // header.payload_size bytes inside what was parsed
};

struct [[nodiscard]] frame_result {
  base::progress outcome = base::progress::need_more;
  header_errc why = header_errc::ok;  // malformed: the reason
  std::uint32_t need = 0;             // need_more: bytes needed in all; the header's while that is not known
};

// Where a frame stands of which `available` bytes are there, once its header was asked for.
inline frame_result judge_frame(const header_result& got, const frame_header& header, std::size_t available) noexcept {
  if (got.outcome != base::progress::done) return {got.outcome, got.why, got.need};
  if (header.frame_size() > available) return {base::progress::need_more, header_errc::ok, header.frame_size()};
  return {base::progress::done, header_errc::ok, 0};
}

// `out` is written when done. When need exceeds 8 the header is known, and parse_header() answers it.
inline frame_result parse_frame(base::byte_view in, std::uint32_t ceiling, frame& out) noexcept {
  frame_header header;
  const frame_result seen = judge_frame(parse_header(in, ceiling, header), header, in.size());
  if (seen.outcome == base::progress::done) [[likely]]
    out = {header, in.subspan(header.header_size, header.payload_size)};
  return seen;
}

// The same over bytes in several buffers, `offset` bytes in. `out` is written when the header is known, done or not:
// the payload lies at offset + out.header_size.
inline frame_result parse_frame(const base::segments& in, std::size_t offset, std::uint32_t ceiling,
                                frame_header& out) noexcept {
  const header_result got = parse_header(in, offset, ceiling, out);
  return judge_frame(got, out, in.size() - (offset < in.size() ? offset : in.size()));
}

[[nodiscard]] constexpr std::size_t frame_size_for(std::uint32_t payload_size) noexcept {
  return header_size_for(payload_size) + payload_size;
}

// Header and a copy of `payload` at the front of `out`; answers the bytes written.
[[nodiscard]] inline std::size_t emit_frame(base::byte_span out, std::uint8_t flags, std::uint8_t seq,
                                            base::byte_view payload) noexcept {
  if (payload.size() > max_payload) return 0;
  const auto size = static_cast<std::uint32_t>(payload.size());
  if (frame_size_for(size) > out.size()) return 0;
  const std::size_t at = emit_header(out.data(), flags, seq, size);
  if (size != 0) std::memcpy(out.data() + at, payload.data(), size);
  return at + size;
}

}  // namespace millrace::srmp::wire
