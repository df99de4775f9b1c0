// quic/path/spent_tokens.hpp - which address tokens have served already: a table of fixed size that forgets the oldest.
//
// Shape    sets of four; an entry is a token's id (opened_token::id, 64 bits that no client chooses).
// Limits   the caller's memory: a power of two of slots, at least four, all zero at first. What is pushed out could be
//          used again: replay is limited, not prevented (RFC 9000 8.1.4 asks for either), and so it is between lcores.
// Errors   spend(): false when the token was used before.
// Threads  one. Source  RFC 9000 8.1.3 8.1.4. Tests  test/quic/path/spent_tokens_test.cpp
#pragma once

#include <cstdint>
#include <span>

namespace millrace::quic::path {

class spent_tokens {
  std::span<std::uint64_t> slots_;
  std::uint64_t replays_ = 0;

 public:
  static constexpr std::size_t ways = 4;

  // Other sizes are cut to the next lower power of two; below four slots nothing is remembered.
  explicit spent_tokens(std::span<std::uint64_t> slots) noexcept;

  [[nodiscard]] bool spend(std::uint64_t id) noexcept;
  [[nodiscard]] std::uint64_t replays() const noexcept { return replays_; }  // refused so far
};

}  // namespace millrace::quic::path
