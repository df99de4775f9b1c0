#include "h3/wire/settings.hpp"

namespace millrace::h3::wire {
namespace {

constexpr std::uint64_t id_of(setting s) noexcept { return static_cast<std::uint64_t>(s); }

constexpr std::uint64_t reserved_setting = 0x1f * 0x2a7 + 0x21;

}  // namespace

error settings_reader::take(base::byte_view piece, settings_values& out) noexcept {
  std::uint64_t id = 0;
  std::uint64_t value = 0;
  while (pair_.next(piece, id, value) == base::progress::done) {
    if (const error e = set(id, value, out); e != error::no_error) return e;
  }
  return error::no_error;
}

error settings_reader::set(std::uint64_t id, std::uint64_t value, settings_values& out) noexcept {
  const auto first_time = [this](unsigned bit) noexcept {  // RFC 9114 7.2.4: the same identifier must not come twice
    const auto mask = static_cast<std::uint8_t>(1u << bit);
    if ((known_ & mask) != 0) return false;
    known_ = static_cast<std::uint8_t>(known_ | mask);
    return true;
  };
  const auto flag = [&](unsigned bit, bool& to) noexcept {  // RFC 9220 3, RFC 9297 2.1.1: 0 or 1
    if (value > 1 || !first_time(bit)) return error::settings_error;
    to = value == 1;
    return error::no_error;
  };
  const auto amount = [&](unsigned bit, std::uint64_t& to) noexcept {
    if (!first_time(bit)) return error::settings_error;
    to = value;
    return error::no_error;
  };
  switch (id) {
    case id_of(setting::qpack_max_table_capacity):
      return amount(0, out.qpack_max_table_capacity);
    case id_of(setting::max_field_section_size):
      return amount(1, out.max_field_section_size);
    case id_of(setting::qpack_blocked_streams):
      return amount(2, out.qpack_blocked_streams);
    case id_of(setting::enable_connect_protocol):
      return flag(3, out.enable_connect_protocol);
    case id_of(setting::h3_datagram):
      return flag(4, out.h3_datagram);
    case 0x02:  // RFC 9114 7.2.4.1: settings of HTTP/2 that have no meaning here
    case 0x03:
    case 0x04:
    case 0x05:
      return error::settings_error;
    default:
      break;
  }
  for (std::size_t i = 0; i < unknown_count_; ++i)
    if (unknown_[i] == id) return error::settings_error;
  if (unknown_count_ == unknown_.size()) return error::excessive_load;
  unknown_[unknown_count_++] = id;
  return error::no_error;
}

std::size_t emit_settings(base::byte_span room, const settings_values& values) noexcept {
  std::array<std::uint8_t, 6 * 2 * base::max_varint_size> payload;
  std::size_t size = 0;
  const auto add = [&](std::uint64_t id, std::uint64_t value) noexcept {
    size += base::encode_varint(payload.data() + size, id);
    size += base::encode_varint(payload.data() + size, value);
  };
  constexpr settings_values defaults;
  if (values.qpack_max_table_capacity != 0)
    add(id_of(setting::qpack_max_table_capacity), values.qpack_max_table_capacity);
  if (values.max_field_section_size < defaults.max_field_section_size)
    add(id_of(setting::max_field_section_size), values.max_field_section_size);
  if (values.qpack_blocked_streams != 0) add(id_of(setting::qpack_blocked_streams), values.qpack_blocked_streams);
  if (values.enable_connect_protocol) add(id_of(setting::enable_connect_protocol), 1);
  if (values.h3_datagram) add(id_of(setting::h3_datagram), 1);
  add(reserved_setting, 0);
  const frame_header header = header_of(frame_type::settings, size);
  const std::size_t front = encoded_size(header);
  if (room.size() < front + size) return 0;
  static_cast<void>(emit(room.data(), header));
  std::memcpy(room.data() + front, payload.data(), size);
  return front + size;
}

}  // namespace millrace::h3::wire
