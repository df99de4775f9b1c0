// json/writer.hpp - JSON text as a run of events, straight into a sink: no DOM, no heap.
//
// Shape    begin_object(); member("packets", 3); key("list"); begin_array(); ... end_array(); end_object();
//          end_line() closes one document of a JSON Lines stream; end_document() closes the only one.
// Text     strings may hold any bytes: what is not UTF-8 becomes U+FFFD (one for each maximal subpart), control
//          characters, quotes and backslashes are escaped, all else is written as it is.
// Numbers  integers exact; doubles in the shortest form that reads back as the same double; NaN and infinity, which
//          JSON cannot say, are refused.
// Errors   the first one sticks, silences all later output, and is answered at the end of the document, which is then
//          unusable. No call needs a check of its own.
// Owner    the sink is borrowed. Threads  one. Limits  max_depth levels.
// Source   RFC 8259. Structure and integers are RapidJSON's. Tests  test/json/writer_test.cpp
#pragma once

#include <concepts>
#include <cstddef>

#include "base/bytes.hpp"
#include "json/sink.hpp"

namespace millrace::json {

enum class write_errc : std::uint8_t {
  ok,
  no_room,     // the sink refused: buffer full, or the file could not be written
  too_deep,    // more than max_depth levels
  not_finite,  // NaN or infinity
  misuse,      // our own bug: a value without its key, an end without its beginning, a document left open
};

[[nodiscard]] std::string_view to_string(write_errc code) noexcept;

class writer {
  static constexpr std::size_t state_size = 640;  // RapidJSON's writer and its levels; asserted in writer.cpp
  alignas(16) std::byte state_[state_size];
  sink& out_;
  write_errc status_ = write_errc::ok;

  struct levels;
  [[nodiscard]] levels& state() noexcept;
  [[nodiscard]] bool may_write_value() noexcept;
  void fail(write_errc code) noexcept;
  void signed_integer(std::int64_t v) noexcept;
  void unsigned_integer(std::uint64_t v) noexcept;
  [[nodiscard]] write_errc end(bool line) noexcept;

 public:
  static constexpr std::size_t max_depth = 32;

  explicit writer(sink& out) noexcept;
  ~writer();
  writer(const writer&) = delete;
  writer& operator=(const writer&) = delete;

  void begin_object() noexcept;
  void end_object() noexcept;
  void begin_array() noexcept;
  void end_array() noexcept;
  void key(std::string_view name) noexcept;

  void value(std::string_view text) noexcept;
  void value(const char* text) noexcept { value(std::string_view(text)); }
  void value(double v) noexcept;
  void value(std::same_as<bool> auto v) noexcept { boolean(v); }
  void value(std::signed_integral auto v) noexcept { signed_integer(v); }
  template <std::unsigned_integral Integer>
    requires(!std::same_as<Integer, bool>)
  void value(Integer v) noexcept {
    unsigned_integer(v);
  }
  void boolean(bool v) noexcept;
  void null() noexcept;
  // Bytes as a string of lower-case hexadecimal, e.g. a connection ID.
  void hex(base::byte_view bytes) noexcept;
  // A double with at most `places` (0..17) digits behind the point, for figures that are measurements.
  void fixed(double v, int places) noexcept;

  template <class Value>
  void member(std::string_view name, const Value& v) noexcept {
    key(name);
    value(v);
  }

  // Both answer what went wrong in this document, if anything did, and make the writer ready for the next one.
  // end_document() also flushes the sink.
  [[nodiscard]] write_errc end_document() noexcept { return end(false); }
  [[nodiscard]] write_errc end_line() noexcept { return end(true); }

  // Of the document so far.
  [[nodiscard]] write_errc status() const noexcept {
    return status_ == write_errc::ok && out_.refused() ? write_errc::no_room : status_;
  }
};

}  // namespace millrace::json
