#include "srmp/wire/length_field.hpp"

namespace millrace::srmp::wire {

length_result parse_length_varint(base::byte_view in, std::size_t at, std::uint32_t ceiling,
                                  length_header& out) noexcept {
  std::uint64_t size = 0;
  for (std::size_t i = 0; i < max_length_varint; ++i) {
    if (at + i >= in.size()) return {base::progress::need_more, length_errc::ok, static_cast<std::uint8_t>(at + i + 1)};
    const std::uint8_t byte = in[at + i];
    size |= std::uint64_t{byte & 0x7Fu} << (7 * i);
    if ((byte & 0x80) != 0) continue;
    if (size > max_length_payload) return {base::progress::malformed, length_errc::bad_varint, 0};
    return detail::judge_length(static_cast<std::uint32_t>(size), at + i + 1, ceiling, out);
  }
  return {base::progress::malformed, length_errc::bad_varint, 0};
}

length_result parse_length_field(const base::segments& in, std::size_t offset, length_format format,
                                 std::uint32_t ceiling, length_header& out) noexcept {
  const std::size_t most = format.offset() + (format.is_varint() ? max_length_varint : format.width());
  const base::byte_view whole = in.contiguous(offset, most);
  if (!whole.empty()) return parse_length_field(whole, format, ceiling, out);
  std::uint8_t joined[max_length_header];
  const std::size_t size = in.copy_out(offset, base::byte_span(joined).first(most));
  return parse_length_field(base::byte_view(joined, size), format, ceiling, out);
}

std::size_t length_header_size(length_format format, std::uint32_t payload_size) noexcept {
  std::size_t width = format.width();
  if (format.is_varint()) {
    width = 1;
    for (std::uint32_t rest = payload_size >> 7; rest != 0; rest >>= 7) ++width;
  }
  return format.offset() + width;
}

std::size_t emit_length_field(base::byte_span out, length_format format, std::uint32_t payload_size) noexcept {
  const std::size_t size = length_header_size(format, payload_size);
  if (payload_size > format.max_payload() || out.size() < size) return 0;
  std::uint8_t* p = out.data();
  for (std::size_t i = 0; i < format.offset(); ++i) *p++ = 0;
  switch (format.width()) {
    case 0:
      for (; payload_size > 0x7F; payload_size >>= 7) *p++ = static_cast<std::uint8_t>(payload_size | 0x80);
      *p = static_cast<std::uint8_t>(payload_size);
      break;
    case 1:
      *p = static_cast<std::uint8_t>(payload_size);
      break;
    case 2: {
      const auto narrow = static_cast<std::uint16_t>(payload_size);
      format.is_big_endian() ? base::store_be16(p, narrow) : base::store_le16(p, narrow);
      break;
    }
    default:
      format.is_big_endian() ? base::store_be32(p, payload_size) : base::store_le32(p, payload_size);
      break;
  }
  return size;
}

}  // namespace millrace::srmp::wire
