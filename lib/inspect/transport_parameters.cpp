#include "inspect/transport_parameters.hpp"

#include "base/byte_reader.hpp"

namespace millrace::inspect {
namespace {

using base::byte_reader;
using base::byte_view;
using base::parse_errc;
using base::parse_status;

struct known {
  std::uint64_t number;
  std::string_view name;
  bool flag;  // present without a value
};

// In the order of enum parameter. RFC 9000 18.2, RFC 9221 3, RFC 9287 3.
constexpr std::array<known, parameter_count> known_parameters = {{
    {0x01, "max_idle_timeout", false},
    {0x03, "max_udp_payload_size", false},
    {0x04, "initial_max_data", false},
    {0x05, "initial_max_stream_data_bidi_local", false},
    {0x06, "initial_max_stream_data_bidi_remote", false},
    {0x07, "initial_max_stream_data_uni", false},
    {0x08, "initial_max_streams_bidi", false},
    {0x09, "initial_max_streams_uni", false},
    {0x0A, "ack_delay_exponent", false},
    {0x0B, "max_ack_delay", false},
    {0x0E, "active_connection_id_limit", false},
    {0x20, "max_datagram_frame_size", false},
    {0x0C, "disable_active_migration", true},
    {0x2AB2, "grease_quic_bit", true},
}};

bool read_varint_parameter(byte_reader& at, std::uint64_t& number, byte_view& value) noexcept {
  std::uint64_t size = 0;
  return at.varint(number) && at.varint(size) && at.bytes(size, value);
}

bool read_sixteen_parameter(byte_reader& at, std::uint64_t& number, byte_view& value) noexcept {
  std::uint16_t id = 0;
  std::uint16_t size = 0;
  if (!at.u16(id) || !at.u16(size) || !at.bytes(size, value)) return false;
  number = id;
  return true;
}

// RFC 9000 18.2: an integer parameter is one varint and nothing behind it, a flag has no value at all.
parse_errc note(std::uint64_t number, byte_view value, transport_parameters& out) noexcept {
  for (std::size_t i = 0; i < known_parameters.size(); ++i) {
    const known& k = known_parameters[i];
    if (k.number != number) continue;
    if ((out.present >> i & 1) != 0) return parse_errc::duplicate;  // RFC 9000 7.4
    if (k.flag) {
      if (!value.empty()) return parse_errc::bad_length;
      out.values[i] = 1;
    } else {
      byte_reader inside(value);
      if (!inside.varint(out.values[i]) || !inside.empty()) return parse_errc::bad_length;
    }
    out.present |= 1u << i;
    return parse_errc::ok;
  }
  return parse_errc::ok;
}

}  // namespace

std::string_view to_string(parameter p) noexcept {
  const auto i = static_cast<std::size_t>(p);
  return i < known_parameters.size() ? known_parameters[i].name : "unknown";
}

parse_status parse_transport_parameters(byte_view in, parameter_encoding encoding, transport_parameters& out) noexcept {
  byte_reader at(in);
  if (encoding == parameter_encoding::sixteen) {
    std::uint16_t all = 0;
    if (!at.u16(all) || all != at.remaining()) return {parse_errc::bad_length, 0};
  }
  transport_parameters found;
  while (!at.empty()) {
    const std::uint32_t begin = at.offset();
    std::uint64_t number = 0;
    byte_view value;
    const bool whole = encoding == parameter_encoding::varint ? read_varint_parameter(at, number, value)
                                                              : read_sixteen_parameter(at, number, value);
    if (!whole) return {parse_errc::truncated, begin};
    const parse_errc code = note(number, value, found);
    if (code != parse_errc::ok) return {code, begin};
  }
  out = found;
  return {};
}

}  // namespace millrace::inspect
