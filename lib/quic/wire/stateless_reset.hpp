// quic/wire/stateless_reset.hpp - the answer of who has forgotten a connection: noise that ends in a token.
//
// Shape    stateless_reset_size() says how large an answer to a packet may be, emit_stateless_reset() writes it, and
//          find_stateless_reset() looks for it among the tokens a peer gave. Anything that ends in a valid token is a
//          reset, whatever it begins with (RFC 9000 10.3): the form bit is not looked at.
// Owner    nothing. The token is a function of the connection ID under a key of its own: the endpoint's business.
// Errors   emit: false when sizes contradict each other or there is no room, and nothing is written then.
// Timing   find_stateless_reset() compares with every token and without branching on its bytes (RFC 9000 10.3.1).
// Source   RFC 9000 10.3. Tests  test/quic/wire/stateless_reset_test.cpp
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "base/byte_writer.hpp"
#include "quic/wire/header.hpp"

namespace millrace::quic::wire {

inline constexpr std::size_t stateless_reset_token_size = 16;
using stateless_reset_token_value = std::array<std::uint8_t, stateless_reset_token_size>;

// RFC 9000 10.3: what is shorter could not have been a packet, and an answer to it would tell what we are.
inline constexpr std::size_t min_stateless_reset_size = min_short_packet_size;
// Enough to look like a packet with a connection ID of 20 bytes. RFC 9000 10.3: answers to packets of 43 bytes or less
// are one byte shorter than these.
inline constexpr std::size_t max_stateless_reset_size = 43;

// Bytes of the answer to a packet of `trigger_size`, 0 when it gets none. Always shorter than what it answers, so that
// two endpoints cannot answer each other for ever (RFC 9000 10.3.3).
[[nodiscard]] constexpr std::size_t stateless_reset_size(std::size_t trigger_size) noexcept {
  return trigger_size <= min_stateless_reset_size ? 0 : std::min(trigger_size - 1, max_stateless_reset_size);
}

// `noise`: unpredictable bytes, as many as the answer has in front of the token (stateless_reset_size() less 16); the
// first two bits become those of a short header.
[[nodiscard]] inline bool emit_stateless_reset(base::byte_writer& out, base::byte_view noise,
                                               const stateless_reset_token_value& token) noexcept {
  base::byte_span room;
  if (noise.size() < min_stateless_reset_size - token.size() || !out.reserve(noise.size() + token.size(), room))
    return false;
  std::copy(noise.begin(), noise.end(), room.begin());
  room[0] = static_cast<std::uint8_t>(0x40 | (noise[0] & 0x3F));
  std::copy(token.begin(), token.end(), room.last(token.size()).begin());
  return true;
}

// Which of `tokens` a datagram ends in. To be asked when its first packet matched no connection or could not be opened.
// `tokens` holds those that the peer at the datagram's source address has given, and no other: neither IDs not yet
// used or already retired (RFC 9000 10.3.1), nor room where none was put.
[[nodiscard]] inline std::optional<std::size_t> find_stateless_reset(
    base::byte_view datagram, std::span<const stateless_reset_token_value> tokens) noexcept {
  if (datagram.size() < min_stateless_reset_size) return std::nullopt;
  const std::uint8_t* tail = datagram.data() + datagram.size() - stateless_reset_token_size;
  const std::uint64_t high = base::load_be64(tail);
  const std::uint64_t low = base::load_be64(tail + 8);
  std::uint64_t found = 0;  // 1 more than the index of the last that matches
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::uint64_t differs = (high ^ base::load_be64(tokens[i].data())) | (low ^ base::load_be64(&tokens[i][8]));
    const std::uint64_t same = ((differs | (0 - differs)) >> 63) ^ 1;  // 1 only when no bit differs
    found = same * (i + 1) + (1 - same) * found;
  }
  return found != 0 ? std::optional<std::size_t>(found - 1) : std::nullopt;
}

}  // namespace millrace::quic::wire
