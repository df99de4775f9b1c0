#include "rpc/wire/payload.hpp"

namespace millrace::rpc::wire {
namespace {

using base::parse_errc;
using base::parse_status;

// Longer forms of a short length are accepted, as the reference does. 35 bits, which no payload reaches.
parse_status read_name_size(base::byte_reader& in, std::uint64_t& out) noexcept {
  std::uint64_t size = 0;
  for (unsigned i = 0; i < max_length_bytes; ++i) {
    std::uint8_t byte = 0;
    if (!in.u8(byte)) return {parse_errc::truncated, in.offset()};
    size |= static_cast<std::uint64_t>(byte & 0x7F) << (7 * i);
    if ((byte & 0x80) == 0) {
      out = size;
      return {};
    }
  }
  return {parse_errc::too_long, in.offset()};
}

bool read_i32(base::byte_reader& in, std::int32_t& out) noexcept {
  base::byte_view four;
  if (!in.bytes(4, four)) return false;
  out = static_cast<std::int32_t>(base::load_le32(four.data()));
  return true;
}

}  // namespace

base::parse_status parse(base::byte_view in, form what, payload& out) noexcept {
  base::byte_reader reader(in);
  std::uint64_t name_size = 0;
  if (const parse_status got = read_name_size(reader, name_size); !got) return got;
  if (name_size == 0) return {parse_errc::bad_value, reader.offset()};
  base::byte_view name;
  if (!reader.bytes(name_size, name)) return {parse_errc::bad_length, reader.offset()};
  payload seen;
  seen.name = base::as_text(name);
  if (what == form::error && !read_i32(reader, seen.code)) return {parse_errc::truncated, reader.offset()};
  if (!reader.empty()) {
    std::int32_t size = 0;
    if (!read_i32(reader, size)) return {parse_errc::truncated, reader.offset()};
    if (size > 0) {
      if (!reader.bytes(static_cast<std::uint64_t>(size), seen.data)) return {parse_errc::bad_length, reader.offset()};
      seen.has_data = true;
    }
    seen.ignored = static_cast<std::uint32_t>(reader.remaining());
  }
  out = seen;
  return {};
}

std::string_view name_at_front(base::byte_view front) noexcept {
  base::byte_reader reader(front);
  std::uint64_t size = 0;
  base::byte_view name;
  if (!read_name_size(reader, size) || !reader.bytes(size, name)) return {};
  return base::as_text(name);
}

}  // namespace millrace::rpc::wire
