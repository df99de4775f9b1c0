// quic/stream/stream_id.hpp - who opened a stream, which way it goes, and the how-manieth of its kind it is.
//
// Source   RFC 9000 2.1. Tests  test/quic/stream/stream_id_test.cpp
#pragma once

#include <cstdint>

namespace millrace::quic::stream {

inline constexpr std::uint64_t max_streams = std::uint64_t{1} << 60;       // RFC 9000 4.6: of one kind
inline constexpr std::uint64_t max_offset = (std::uint64_t{1} << 62) - 1;  // RFC 9000 4.5: of a final size

enum class side : std::uint8_t { client, server };
enum class direction : std::uint8_t { bidirectional, unidirectional };

class stream_id {
  std::uint64_t value_ = 0;

 public:
  constexpr stream_id() noexcept = default;
  constexpr explicit stream_id(std::uint64_t value) noexcept : value_(value) {}
  constexpr stream_id(side opener, direction d, std::uint64_t index) noexcept
      : value_(index << 2 | (d == direction::unidirectional ? 2u : 0u) | (opener == side::server ? 1u : 0u)) {}

  [[nodiscard]] constexpr std::uint64_t value() const noexcept { return value_; }
  [[nodiscard]] constexpr side opener() const noexcept { return (value_ & 1) != 0 ? side::server : side::client; }
  [[nodiscard]] constexpr direction kind() const noexcept {
    return (value_ & 2) != 0 ? direction::unidirectional : direction::bidirectional;
  }
  [[nodiscard]] constexpr std::uint64_t index() const noexcept { return value_ >> 2; }
  [[nodiscard]] constexpr bool is_opened_by(side s) const noexcept { return opener() == s; }
  // RFC 9000 2.1: unidirectional streams carry data from their opener only.
  [[nodiscard]] constexpr bool can_send(side we) const noexcept {
    return kind() == direction::bidirectional || opener() == we;
  }
  [[nodiscard]] constexpr bool can_receive(side we) const noexcept {
    return kind() == direction::bidirectional || opener() != we;
  }
  friend constexpr bool operator==(stream_id, stream_id) noexcept = default;
};

}  // namespace millrace::quic::stream
