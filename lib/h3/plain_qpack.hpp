// h3/plain_qpack.hpp - field sections without a dynamic table: the static one and literals.
//
// Shape    decode_plain() hands each field to a sink, encode_plain() writes a section that refers to nothing but the
//          static table: what a peer without a dynamic table (capacity 0) understands.
// Owner    names and values live until the sink returns; `room` holds one decoded field.
// Errors   plain_outcome. A section that refers to a dynamic table is malformed: we have allowed none.
// Source   RFC 9204 4.5. Tests  test/h3/plain_qpack_test.cpp
#pragma once

#include <span>
#include <string_view>

#include "base/bytes.hpp"

namespace millrace::h3 {

struct header_field {
  std::string_view name;
  std::string_view value;
  bool never_index = false;
};

class plain_sink {
 public:
  plain_sink() noexcept = default;
  plain_sink(const plain_sink&) = delete;
  plain_sink& operator=(const plain_sink&) = delete;
  virtual ~plain_sink() = default;
  [[nodiscard]] virtual bool on_field(std::string_view name, std::string_view value) noexcept = 0;  // false: stop
};

enum class plain_outcome : std::uint8_t { done, stopped, too_large, malformed };

[[nodiscard]] plain_outcome decode_plain(base::byte_view section, std::span<char> room, plain_sink& to) noexcept;
// `out` has encoded_most() bytes; answers how many were written.
[[nodiscard]] std::size_t encode_plain(std::span<const header_field> fields, base::byte_span out) noexcept;

}  // namespace millrace::h3
