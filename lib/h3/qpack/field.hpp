// h3/qpack/field.hpp - one field, how large it counts, and who is told of it.
//
// Shape    the decoder calls on_field() once for each field, in the order they came.
// Owner    names and values live until on_field() returns: whoever wants them longer copies them.
// Source   RFC 9114 4.2.2, RFC 9204 7.1.3. Tests  test/h3/qpack/decoder_test.cpp
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace::h3::qpack {

struct field {
  std::string_view name;
  std::string_view value;
  bool never_index = false;  // came, or is to go, as a literal that no intermediary may put in a table
};

inline constexpr std::uint64_t field_overhead = 32;  // RFC 9114 4.2.2, RFC 9204 3.2.1: the same for both

// What a field counts in a field section's size, and in a table's.
[[nodiscard]] constexpr std::uint64_t field_size(std::string_view name, std::string_view value) noexcept {
  return std::uint64_t{name.size()} + value.size() + field_overhead;
}

enum class sink_answer : std::uint8_t { go_on, stop };

class field_sink {
 public:
  field_sink() noexcept = default;
  field_sink(const field_sink&) = delete;
  field_sink& operator=(const field_sink&) = delete;
  virtual ~field_sink() = default;
  // `stop`: no further field is told, and decode() answers `stopped`.
  [[nodiscard]] virtual sink_answer on_field(const field& f) noexcept = 0;
};

}  // namespace millrace::h3::qpack
