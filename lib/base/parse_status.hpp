// base/parse_status.hpp - what a codec answers: why it stopped, and where.
//
// Shape    whole-message codecs (all bytes are present) answer parse_status; short input is malformed.
//          Resumable codecs answer progress, and parse_status when they are malformed.
// Errors   parse_errc is local; each protocol maps it to its RFC's own code in one place.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace::base {

enum class parse_errc : std::uint8_t {
  ok,
  truncated,       // the input ends inside a field
  bad_length,      // a length field contradicts the bytes around it
  bad_value,       // a field holds a value its specification forbids
  bad_version,     // a version this codec does not speak
  bad_checksum,    // an integrity check failed
  too_long,        // well-formed, but beyond a named limit of ours
  too_many,        // a count beyond a named limit of ours
  duplicate,       // something that may appear once appeared twice
  unsupported,     // well-formed and not understood
  trailing_bytes,  // bytes left over where none may be
};

[[nodiscard]] constexpr std::string_view to_string(parse_errc code) noexcept {
  switch (code) {
    case parse_errc::ok:
      return "ok";
    case parse_errc::truncated:
      return "truncated";
    case parse_errc::bad_length:
      return "bad_length";
    case parse_errc::bad_value:
      return "bad_value";
    case parse_errc::bad_version:
      return "bad_version";
    case parse_errc::bad_checksum:
      return "bad_checksum";
    case parse_errc::too_long:
      return "too_long";
    case parse_errc::too_many:
      return "too_many";
    case parse_errc::duplicate:
      return "duplicate";
    case parse_errc::unsupported:
      return "unsupported";
    case parse_errc::trailing_bytes:
      return "trailing_bytes";
  }
  return "unknown";
}

struct [[nodiscard]] parse_status {
  parse_errc code = parse_errc::ok;
  std::uint32_t at = 0;  // offset of the first byte not accepted, from the start of what was handed in
  explicit constexpr operator bool() const noexcept { return code == parse_errc::ok; }
};

// For resumable codecs: `need_more` keeps all judged bytes, nothing is scanned twice.
enum class progress : std::uint8_t { done, need_more, malformed };

}  // namespace millrace::base
