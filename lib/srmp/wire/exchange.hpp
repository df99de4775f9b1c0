// srmp/wire/exchange.hpp - who numbers a request, what a reply copies from it, and which reply belongs to which
// request.
//
// Shape    sequence_counter numbers the requests of one connection and direction; reply_to() makes a reply's flags.
//          One byte of sequence bounds the requests in flight: max_in_flight.
// Owner    nothing. Threads  one counter a connection, one thread.
// Errors   reply_to(): nullopt for a reply, which is never answered.
// Tests    test/srmp/wire/exchange_test.cpp
#pragma once

#include <optional>

#include "srmp/wire/frame_header.hpp"

namespace millrace::srmp::wire {

inline constexpr std::size_t max_in_flight = 256;  // requests of one connection: the sequence is one byte

// 1, 2, ... 255, 0, 1, ...: zero is as good as any other on the wire. One-way messages consume numbers too.
class sequence_counter {
  std::uint8_t last_ = 0;  // 0 before the first

 public:
  [[nodiscard]] std::uint8_t next() noexcept { return ++last_; }

  // What the other generation does: a message whose sequence the caller left at zero is numbered here, any other keeps
  // the caller's.
  [[nodiscard]] std::uint8_t assign(std::uint8_t wanted) noexcept { return wanted == 0 ? next() : wanted; }
};

[[nodiscard]] constexpr bool is_reply(const frame_header& header) noexcept { return (header.flags & 0x80) != 0; }

// A one-way message is never answered, not even with an error, although its reply could be written.
[[nodiscard]] constexpr bool expects_reply(const frame_header& header) noexcept {
  return header.kind() == frame_kind::request;
}

// Flags of the reply to `request`, whose sequence it copies: data kind kept, reply bit set, bit 6 says success or
// error.
[[nodiscard]] constexpr std::optional<std::uint8_t> reply_to(const frame_header& request, bool is_error) noexcept {
  if (is_reply(request)) return std::nullopt;
  return make_flags(is_error ? frame_kind::error_reply : frame_kind::reply, request.data());
}

// Whether `header` answers a request numbered `seq` on the same connection (on UDP: from the same remote address). Data
// kinds are not compared: servers of the first generation answer with their own.
[[nodiscard]] constexpr bool answers(const frame_header& header, std::uint8_t seq) noexcept {
  return is_reply(header) && header.seq == seq;
}

}  // namespace millrace::srmp::wire
