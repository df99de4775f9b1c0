// h3/wire/settings.hpp - the SETTINGS frame: what the peer can do, read in pieces, and what we say.
//
// Shape    settings_reader takes the payload as it comes and keeps none of it; end() is called behind its last byte.
// Limits   most_unknown_settings identifiers that we do not know, each of which must come once.
// Errors   as the RFC's code: frame_error (the payload ends inside a setting), settings_error (twice, of HTTP/2, or a
//          value that cannot be), excessive_load (more unknown ones than the limit).
// Source   RFC 9114 7.2.4, RFC 9204 5, RFC 9220 3, RFC 9297 2.1.1. Tests  test/h3/wire/settings_test.cpp
#pragma once

#include "h3/wire/frame.hpp"

namespace millrace::h3::wire {

enum class setting : std::uint64_t {
  qpack_max_table_capacity = 0x01,
  max_field_section_size = 0x06,
  qpack_blocked_streams = 0x07,
  enable_connect_protocol = 0x08,  // RFC 9220 5
  h3_datagram = 0x33,              // RFC 9297 2.1.1
};

inline constexpr std::size_t most_unknown_settings = 16;

// What stands for a setting that does not come.
struct settings_values {
  std::uint64_t qpack_max_table_capacity = 0;
  std::uint64_t max_field_section_size = base::varint_max;  // no limit
  std::uint64_t qpack_blocked_streams = 0;
  bool enable_connect_protocol = false;
  bool h3_datagram = false;
  friend bool operator==(const settings_values&, const settings_values&) = default;
};

class settings_reader {
  pair_reader pair_;
  std::array<std::uint64_t, most_unknown_settings> unknown_{};
  std::uint8_t unknown_count_ = 0;
  std::uint8_t known_ = 0;  // bits: which of ours have come

 public:
  // error::no_error: go on. `out` holds what has come so far.
  [[nodiscard]] error take(base::byte_view piece, settings_values& out) noexcept;
  [[nodiscard]] error end() const noexcept { return pair_.is_inside() ? error::frame_error : error::no_error; }

 private:
  [[nodiscard]] error set(std::uint64_t id, std::uint64_t value, settings_values& out) noexcept;
};

// A whole SETTINGS frame; settings at their defaults are left out, a reserved one is put in (RFC 9114 7.2.4.1). Answers
// its size, at most max_settings_frame_size, which `room` must have.
inline constexpr std::size_t max_settings_frame_size = 64;
[[nodiscard]] std::size_t emit_settings(base::byte_span room, const settings_values& values) noexcept;

}  // namespace millrace::h3::wire
