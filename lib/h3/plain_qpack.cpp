#include "h3/plain_qpack.hpp"

#include <cstring>

#include "h3/qpack/huffman.hpp"
#include "h3/qpack/integer.hpp"
#include "h3/qpack/static_table.hpp"

namespace millrace::h3 {
namespace {

using base::progress;

// A string whose length has a prefix of so many bits, with the Huffman flag above; decoded into the front of `room`,
// which it takes, or left where it lies.
plain_outcome read_string(base::byte_reader& in, unsigned prefix_bits, std::span<char>& room,
                          std::string_view& out) noexcept {
  if (in.empty()) return plain_outcome::malformed;
  const bool is_huffman = (in.rest()[0] >> prefix_bits & 1) != 0;
  std::uint64_t size = 0;
  base::byte_view bytes;
  if (qpack::parse_integer(in, prefix_bits, size) != progress::done || !in.bytes(size, bytes))
    return plain_outcome::malformed;
  if (!is_huffman) {
    out = base::as_text(bytes);
    return plain_outcome::done;
  }
  const qpack::huffman_result got = qpack::huffman_decode(bytes, room);
  if (got.status == qpack::huffman_status::no_room) return plain_outcome::too_large;
  if (got.status == qpack::huffman_status::malformed) return plain_outcome::malformed;
  out = {room.data(), got.size};
  room = room.subspan(got.size);
  return plain_outcome::done;
}

std::uint8_t* write_string(std::uint8_t* at, unsigned prefix_bits, std::uint8_t above, std::string_view text) noexcept {
  const std::size_t coded = qpack::huffman_size(text);
  const bool is_huffman = coded < text.size();
  const auto flag = static_cast<std::uint8_t>(is_huffman ? 1u << prefix_bits : 0u);
  at = qpack::emit_integer(at, static_cast<std::uint8_t>(above | flag), prefix_bits, is_huffman ? coded : text.size());
  if (is_huffman) return qpack::huffman_encode(text, at);
  if (!text.empty()) std::memcpy(at, text.data(), text.size());
  return at + text.size();
}

}  // namespace

plain_outcome decode_plain(base::byte_view section, std::span<char> room, plain_sink& to) noexcept {
  base::byte_reader in(section);
  std::uint64_t inserts = 0;
  std::uint64_t delta = 0;
  if (qpack::parse_integer(in, 8, inserts) != progress::done || inserts != 0) return plain_outcome::malformed;
  if (in.empty() || (in.rest()[0] & 0x80) != 0 || qpack::parse_integer(in, 7, delta) != progress::done)
    return plain_outcome::malformed;
  while (!in.empty()) {
    const std::uint8_t first = in.rest()[0];
    std::span<char> left = room;
    std::uint64_t index = 0;
    std::string_view name;
    std::string_view value;
    if ((first & 0x80) != 0) {  // 4.5.2
      if ((first & 0x40) == 0 || qpack::parse_integer(in, 6, index) != progress::done ||
          index >= qpack::static_table_size)
        return plain_outcome::malformed;
      name = qpack::static_at(index).name;
      value = qpack::static_at(index).value;
    } else {
      if ((first & 0x40) != 0) {  // 4.5.4
        if ((first & 0x10) == 0 || qpack::parse_integer(in, 4, index) != progress::done ||
            index >= qpack::static_table_size)
          return plain_outcome::malformed;
        name = qpack::static_at(index).name;
      } else if ((first & 0x20) != 0) {  // 4.5.6
        if (const plain_outcome e = read_string(in, 3, left, name); e != plain_outcome::done) return e;
      } else {
        return plain_outcome::malformed;
      }
      if (const plain_outcome e = read_string(in, 7, left, value); e != plain_outcome::done) return e;
    }
    if (!to.on_field(name, value)) return plain_outcome::stopped;
  }
  return plain_outcome::done;
}

std::size_t encode_plain(std::span<const header_field> fields, base::byte_span out) noexcept {
  std::uint8_t* at = out.data();
  *at++ = 0;
  *at++ = 0;
  for (const header_field& f : fields) {
    const qpack::static_match known = qpack::find_static(f.name, f.value);
    const auto never = static_cast<std::uint8_t>(f.never_index ? 1 : 0);
    if (known.field != qpack::no_static && !f.never_index) {
      at = qpack::emit_integer(at, 0xC0, 6, known.field);
      continue;
    }
    if (known.name != qpack::no_static)
      at = qpack::emit_integer(at, static_cast<std::uint8_t>(0x50 | never << 5), 4, known.name);
    else
      at = write_string(at, 3, static_cast<std::uint8_t>(0x20 | never << 4), f.name);
    at = write_string(at, 7, 0, f.value);
  }
  return static_cast<std::size_t>(at - out.data());
}

}  // namespace millrace::h3
