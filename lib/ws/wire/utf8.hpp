// ws/wire/utf8.hpp - is this text UTF-8? Asked piece by piece, in whatever pieces it arrives.
//
// Shape    on_bytes() judges the next piece; is_complete() says whether the text may end here, which it may not inside
//          a character. Once false, on_bytes() stays false until reset().
// Rules    no overlong form, no surrogate, nothing above U+10FFFF: a text is refused at the latest with the piece that
//          holds the first byte no valid text can have there.
// Owner    nothing. Errors  false.
// Source   RFC 3629 4, RFC 6455 8.1     Tests  test/ws/wire/utf8_test.cpp     Bench  bench/ws/wire/ws_bench.cpp
#pragma once

#include "base/bytes.hpp"

namespace millrace::ws::wire {

class utf8_validator {
  std::uint8_t missing_ = 0;  // bytes of a character still to come; 0 between characters
  std::uint8_t low_ = 0x80;   // the next of them is at least this ...
  std::uint8_t high_ = 0xBF;  // ... and at most this
  bool is_valid_ = true;

  bool step(std::uint8_t byte) noexcept;

 public:
  bool on_bytes(base::byte_view in) noexcept;
  [[nodiscard]] bool is_complete() const noexcept { return is_valid_ && missing_ == 0; }
  void reset() noexcept { *this = {}; }
};

// The same for text that is all there.
[[nodiscard]] inline bool is_utf8(base::byte_view text) noexcept {
  utf8_validator whole;
  return whole.on_bytes(text) && whole.is_complete();
}

}  // namespace millrace::ws::wire
