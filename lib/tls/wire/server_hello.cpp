#include "tls/wire/server_hello.hpp"

#include <algorithm>
#include <array>

#include "base/byte_reader.hpp"
#include "tls/wire/extension_type.hpp"

namespace millrace::tls::wire {
namespace {

using base::byte_reader;
using base::byte_view;
using base::parse_errc;
using base::parse_status;

// RFC 8446 4.1.3: SHA-256 of "HelloRetryRequest".
constexpr std::array<std::uint8_t, hello_random_size> retry_request_random = {
    0xCF, 0x21, 0xAD, 0x74, 0xE5, 0x9A, 0x61, 0x11, 0xBE, 0x1D, 0x8C, 0x02, 0x1E, 0x65, 0xB8, 0x91,
    0xC2, 0xA2, 0x11, 0x16, 0x7A, 0xBB, 0x8C, 0x5E, 0x07, 0x9E, 0x09, 0xE2, 0xC8, 0xA8, 0x33, 0x9C};

bool read_vector8(byte_reader& in, byte_view& out) noexcept {
  std::uint8_t size = 0;
  return in.u8(size) && in.bytes(size, out);
}

bool read_vector16(byte_reader& in, byte_view& out) noexcept {
  std::uint16_t size = 0;
  return in.u16(size) && in.bytes(size, out);
}

// The 4-byte header and a body that fills the message.
parse_status open_message(byte_reader& in, std::uint8_t wanted) noexcept {
  std::uint8_t type = 0;
  std::uint32_t size = 0;
  if (!in.u8(type)) return {parse_errc::truncated, in.offset()};
  if (type != wanted) return {parse_errc::bad_value, 0};
  if (!in.u24(size) || size > in.remaining()) return {parse_errc::truncated, in.offset()};
  if (size < in.remaining()) return {parse_errc::trailing_bytes, in.offset() + size};
  return {};
}

// each(type, body, bit of a set of those seen) -> parse_errc. Fills what is left of the message.
template <class Each>
parse_status read_extensions(byte_reader& in, Each each) noexcept {
  byte_view all;
  if (!read_vector16(in, all)) return {parse_errc::bad_length, in.offset()};
  if (!in.empty()) return {parse_errc::trailing_bytes, in.offset()};
  const std::uint32_t start = in.offset() - static_cast<std::uint32_t>(all.size());
  byte_reader list(all);
  while (!list.empty()) {
    const std::uint32_t at = start + list.offset();
    std::uint16_t type = 0;
    byte_view body;
    if (!list.u16(type) || !read_vector16(list, body)) return {parse_errc::bad_length, at};
    if (const parse_errc code = each(type, body); code != parse_errc::ok) return {code, at};
  }
  return {};
}

// RFC 7301 3.1: a list of exactly one name.
parse_errc read_protocol(byte_view body, encrypted_extensions& e) noexcept {
  if (e.has_alpn) return parse_errc::duplicate;
  byte_reader in(body);
  byte_view list;
  if (!read_vector16(in, list) || !in.empty()) return parse_errc::bad_length;
  byte_reader names(list);
  byte_view name;
  if (!read_vector8(names, name)) return parse_errc::bad_length;
  if (name.empty() || !names.empty()) return parse_errc::bad_value;
  e.alpn = base::as_text(name);
  e.has_alpn = true;
  return parse_errc::ok;
}

}  // namespace

parse_status parse_server_hello(byte_view message, server_hello& out) noexcept {
  byte_reader in(message);
  if (const parse_status opened = open_message(in, handshake_server_hello); !opened) return opened;
  server_hello h;
  std::uint16_t version = 0;
  std::uint8_t compression = 0;
  byte_view session_id;
  if (!in.u16(version) || !in.bytes(hello_random_size, h.random) || !read_vector8(in, session_id) ||
      session_id.size() > max_session_id_size || !in.u16(h.cipher_suite) || !in.u8(compression)) {
    return {parse_errc::bad_length, in.offset()};
  }
  h.is_retry_request = std::ranges::equal(h.random, retry_request_random);
  const parse_status status = read_extensions(in, [&](std::uint16_t type, byte_view body) {
    if (type != ext_supported_versions) return parse_errc::ok;
    if (h.selected_version != 0) return parse_errc::duplicate;
    if (body.size() != 2) return parse_errc::bad_length;
    h.selected_version = base::load_be16(body.data());
    return parse_errc::ok;
  });
  if (status) out = h;
  return status;
}

parse_status parse_encrypted_extensions(byte_view message, encrypted_extensions& out) noexcept {
  byte_reader in(message);
  if (const parse_status opened = open_message(in, handshake_encrypted_extensions); !opened) return opened;
  encrypted_extensions e;
  const parse_status status = read_extensions(in, [&](std::uint16_t type, byte_view body) {
    switch (type) {
      case ext_alpn:
        return read_protocol(body, e);
      case ext_quic_transport_parameters:
      case ext_quic_transport_parameters_draft:
        if (e.has_transport_parameters) return parse_errc::duplicate;
        e.transport_parameters = body;
        e.has_transport_parameters = true;
        return parse_errc::ok;
      case ext_early_data:
        if (!body.empty()) return parse_errc::bad_length;
        e.has_early_data = true;
        return parse_errc::ok;
      default:
        return parse_errc::ok;
    }
  });
  if (status) out = e;
  return status;
}

}  // namespace millrace::tls::wire
