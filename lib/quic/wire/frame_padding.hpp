// quic/wire/frame_padding.hpp - the frames without fields: PADDING and PING.
//
// Shape    a run of PADDING frames, each one zero byte, is read and written as one; PING is its type and nothing else.
// Source   RFC 9000 19.1 19.2. Tests  test/quic/wire/frame_padding_test.cpp
#pragma once

#include <algorithm>
#include <bit>

#include "base/byte_reader.hpp"
#include "base/byte_writer.hpp"
#include "quic/wire/frame_type.hpp"

namespace millrace::quic::wire {

struct padding_frame {
  std::size_t count = 0;  // frames in the run, which is bytes
};

struct ping_frame {};

// Takes all zero bytes that come next; the type byte of the first one was read before. Cannot fail.
inline void parse(base::byte_reader& in, padding_frame& out) noexcept {
  const base::byte_view rest = in.rest();
  std::size_t zeros = 0;
  // Eight at a time: a client's first packet is often more padding than hello.
  while (rest.size() - zeros >= 8) {
    const std::uint64_t word = base::load_le64(rest.data() + zeros);
    if (word != 0) {
      zeros += static_cast<std::size_t>(std::countr_zero(word)) / 8;
      break;
    }
    zeros += 8;
  }
  while (zeros < rest.size() && rest[zeros] == 0) ++zeros;
  if (!in.skip(zeros)) return;  // never: they are there
  out.count = zeros + 1;
}

[[nodiscard]] constexpr std::size_t encoded_size(const padding_frame& f) noexcept { return f.count; }
[[nodiscard]] constexpr std::size_t encoded_size(const ping_frame&) noexcept { return 1; }

// False when there is no room; nothing is written then.
[[nodiscard]] inline bool emit(base::byte_writer& out, const padding_frame& f) noexcept {
  base::byte_span zeros;
  if (!out.reserve(f.count, zeros)) return false;
  std::ranges::fill(zeros, std::uint8_t{0});
  return true;
}
[[nodiscard]] inline bool emit(base::byte_writer& out, const ping_frame&) noexcept {
  return out.u8(static_cast<std::uint8_t>(frame_ping));
}

}  // namespace millrace::quic::wire
