// inspect/initial_frames.hpp - the frames of a decrypted client Initial, of which CRYPTO matters.
//
// Shape    walk() reads all frames and hands each CRYPTO frame to `on_crypto`, in order of appearance.
// Owner    views die with the payload.
// Errors   parse_status: truncated inside a frame, bad_value for a frame that may not stand in an Initial. Frames in
//          front of it have been handed over: callers that must not act on half a packet walk twice.
// Source   RFC 9000 12.4 (table 3), 19.1 19.2 19.3 19.6 19.19; for T05x and Q050 the gQUIC wire specification's frames
//          with CRYPTO as 0x08. Tests  test/inspect/initial_frames_test.cpp
#pragma once

#include "base/byte_reader.hpp"
#include "base/parse_status.hpp"

namespace millrace::inspect {

enum class frame_numbering : std::uint8_t { ietf, gquic };

struct crypto_frame {
  std::uint64_t offset = 0;
  base::byte_view data;
};

// One frame at the front of `at`. `is_crypto` tells whether `out` was written.
[[nodiscard]] base::parse_errc next_initial_frame(base::byte_reader& at, frame_numbering numbering, crypto_frame& out,
                                                  bool& is_crypto) noexcept;

template <class OnCrypto>
base::parse_status walk_initial_frames(base::byte_view payload, frame_numbering numbering, OnCrypto on_crypto) {
  base::byte_reader at(payload);
  while (!at.empty()) {
    const std::uint32_t begin = at.offset();
    crypto_frame frame;
    bool is_crypto = false;
    const base::parse_errc code = next_initial_frame(at, numbering, frame, is_crypto);
    if (code != base::parse_errc::ok) return {code, begin};
    if (is_crypto) on_crypto(frame);
  }
  return {};
}

}  // namespace millrace::inspect
