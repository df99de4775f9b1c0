// json/reader.hpp - JSON text as a run of events, over bytes that stay where they are: no DOM, no heap, no recursion.
//
// Shape    reader(limits, scratch).read(text, handler): one document, judged whole, one call of the handler an event.
// Owner    text and scratch are the caller's. A string handed to the handler lies in scratch and lives for that call.
// Errors   read_result says what and where; events before that have been delivered. Everything RFC 8259 forbids is
//          refused: comments, trailing commas, NaN, a second document, a byte-order mark, text that is not UTF-8, an
//          escape that is half a surrogate pair. Members named twice are the handler's to judge.
// Limits   read_limits; bytes are checked before anything else, so the work is bounded by them.
// Threads  one. Source  RFC 8259; the grammar is RapidJSON's. Tests  test/json/reader_test.cpp,
//          test/fuzz/json_reader_fuzz.cpp
#pragma once

#include "base/bytes.hpp"

namespace millrace::json {

struct read_limits {
  std::uint32_t max_bytes = 64 * 1024;  // of the whole document
  std::uint32_t max_depth = 32;         // objects and arrays inside each other
};

enum class read_errc : std::uint8_t {
  ok,
  too_large,       // longer than max_bytes
  too_deep,        // more than max_depth levels
  malformed,       // not JSON, or not at its end
  bad_text,        // a string or name that is not UTF-8, or half a surrogate pair
  bad_number,      // a number no double can hold
  trailing_bytes,  // something behind the document
  refused,         // the handler answered false
};

[[nodiscard]] std::string_view to_string(read_errc code) noexcept;

struct [[nodiscard]] read_result {
  read_errc code = read_errc::ok;
  std::uint32_t at = 0;  // offset of the byte where reading stopped
  explicit constexpr operator bool() const noexcept { return code == read_errc::ok; }
};

// Each answers whether to go on. The defaults go on, so a handler names only what it is interested in.
class handler {
 protected:
  handler() = default;
  ~handler() = default;

 public:
  handler(const handler&) = delete;
  handler& operator=(const handler&) = delete;

  [[nodiscard]] virtual bool on_null() noexcept { return true; }
  [[nodiscard]] virtual bool on_bool(bool) noexcept { return true; }
  // Whatever is written without point and exponent and fits, -0 apart; else on_unsigned, else on_double.
  [[nodiscard]] virtual bool on_integer(std::int64_t) noexcept { return true; }
  [[nodiscard]] virtual bool on_unsigned(std::uint64_t) noexcept { return true; }  // 2^63 .. 2^64-1
  [[nodiscard]] virtual bool on_double(double) noexcept { return true; }           // finite
  [[nodiscard]] virtual bool on_string(std::string_view) noexcept { return true; }
  [[nodiscard]] virtual bool on_begin_object() noexcept { return true; }
  [[nodiscard]] virtual bool on_key(std::string_view) noexcept { return true; }
  [[nodiscard]] virtual bool on_end_object() noexcept { return true; }
  [[nodiscard]] virtual bool on_begin_array() noexcept { return true; }
  [[nodiscard]] virtual bool on_end_array() noexcept { return true; }
};

class reader {
  read_limits limits_;
  std::span<std::byte> scratch_;

 public:
  // Bytes of scratch that no document within `limits` exceeds.
  [[nodiscard]] static constexpr std::size_t scratch_size(const read_limits& limits) noexcept {
    return std::size_t{limits.max_bytes} + 8 * (std::size_t{limits.max_depth} + 1) + 32;
  }
  // `scratch`: at least scratch_size(limits) bytes, at any alignment; smaller ones lower max_bytes.
  reader(const read_limits& limits, std::span<std::byte> scratch) noexcept;

  read_result read(base::byte_view text, handler& events) noexcept;
};

}  // namespace millrace::json
