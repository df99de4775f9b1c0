#include "tls/wire/hello_fields.hpp"

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

bool read_vector8(byte_reader& in, byte_view& out) noexcept {
  byte_reader next = in;
  std::uint8_t size = 0;
  if (!next.u8(size) || !next.bytes(size, out)) return false;
  in = next;
  return true;
}

bool has_number(byte_view list, std::uint16_t wanted) noexcept {
  byte_reader in(list);
  std::uint16_t number = 0;
  while (in.u16(number))
    if (number == wanted) return true;
  return false;
}

bool read_vector16(byte_reader& in, byte_view& out) noexcept {
  byte_reader next = in;
  std::uint16_t size = 0;
  if (!next.u16(size) || !next.bytes(size, out)) return false;
  in = next;
  return true;
}

// The 4-byte header and a body that fills the message.
parse_status open_message(byte_reader& in, std::uint8_t wanted) noexcept {
  std::uint8_t type = 0;
  std::uint32_t size = 0;
  if (!in.u8(type)) return {parse_errc::truncated, in.offset()};
  if (type != wanted) return {parse_errc::bad_value, 0};
  if (!in.u24(size)) return {parse_errc::truncated, in.offset()};
  if (size > in.remaining()) return {parse_errc::truncated, in.offset()};
  if (size < in.remaining()) return {parse_errc::trailing_bytes, in.offset() + size};
  return {};
}

// RFC 6066 3: the first host name. A name that is none is treated as absent; GnuTLS judges the extension itself.
std::string_view host_name(byte_view extension) noexcept {
  byte_reader in(extension);
  byte_view list;
  if (!read_vector16(in, list)) return {};
  byte_reader names(list);
  while (!names.empty()) {
    std::uint8_t type = 0;
    byte_view name;
    if (!names.u8(type) || !read_vector16(names, name)) return {};
    if (type != name_type_host) continue;
    for (const std::uint8_t c : name)
      if (c <= 0x20 || c >= 0x7f) return {};
    return base::as_text(name);
  }
  return {};
}

// One of the extensions below may come once (RFC 8446 4.2); `seen` holds a bit for each.
bool is_first(unsigned bit, unsigned& seen) noexcept {
  const bool first = (seen & 1u << bit) == 0;
  seen |= 1u << bit;
  return first;
}

parse_status read_extension(std::uint16_t type, byte_view body, std::uint32_t at, unsigned& seen,
                            hello_fields& f) noexcept {
  switch (type) {
    case ext_server_name:
      if (!is_first(0, seen)) return {parse_errc::duplicate, at};
      f.sni = host_name(body);
      return {};
    case ext_alpn: {
      if (!is_first(1, seen)) return {parse_errc::duplicate, at};
      byte_reader in(body);
      if (!read_vector16(in, f.alpn) || !in.empty()) return {parse_errc::bad_length, at};
      f.has_alpn = true;
      return {};
    }
    case ext_quic_transport_parameters:
      if (!is_first(2, seen)) return {parse_errc::duplicate, at};
      f.transport_parameters = body;
      f.has_transport_parameters = true;
      return {};
    case ext_supported_versions: {
      if (!is_first(5, seen)) return {parse_errc::duplicate, at};
      byte_reader in(body);
      byte_view versions;
      if (!read_vector8(in, versions) || !in.empty()) return {parse_errc::bad_length, at};
      f.offers_tls_1_3 = has_number(versions, tls_1_3);
      return {};
    }
    case ext_supported_groups:
    case ext_key_share: {
      if (!is_first(type == ext_key_share ? 6 : 7, seen)) return {parse_errc::duplicate, at};
      byte_reader in(body);
      if (!read_vector16(in, type == ext_key_share ? f.key_shares : f.groups) || !in.empty())
        return {parse_errc::bad_length, at};
      return {};
    }
    case ext_early_data:
      if (!is_first(3, seen)) return {parse_errc::duplicate, at};
      if (!body.empty()) return {parse_errc::bad_length, at};
      f.has_early_data = true;
      return {};
    case ext_pre_shared_key:
      if (!is_first(4, seen)) return {parse_errc::duplicate, at};
      f.has_pre_shared_key = true;
      return {};
    default:
      return {};
  }
}

}  // namespace

parse_status scan_client_hello(byte_view message, hello_fields& out) noexcept {
  byte_reader in(message);
  if (const parse_status opened = open_message(in, handshake_client_hello); !opened) return opened;
  hello_fields f;
  std::uint16_t version = 0;
  byte_view skipped;
  const auto bad_length = [&] { return parse_status{parse_errc::bad_length, in.offset()}; };
  if (!in.u16(version) || !in.skip(hello_random_size) || !read_vector8(in, f.session_id) ||
      f.session_id.size() > max_session_id_size || !read_vector16(in, skipped) || !read_vector8(in, skipped)) {
    return bad_length();
  }
  byte_view extensions;
  if (!in.empty() && !read_vector16(in, extensions)) return bad_length();
  if (!in.empty()) return {parse_errc::trailing_bytes, in.offset()};
  const std::uint32_t start = in.offset() - static_cast<std::uint32_t>(extensions.size());
  byte_reader list(extensions);
  unsigned seen = 0;
  while (!list.empty()) {
    const std::uint32_t at = start + list.offset();
    std::uint16_t type = 0;
    byte_view body;
    if (!list.u16(type) || !read_vector16(list, body)) return {parse_errc::bad_length, at};
    if (const parse_status read = read_extension(type, body, at, seen, f); !read) return read;
  }
  out = f;
  return {};
}

bool is_protocol_list(byte_view names) noexcept {
  byte_reader in(names);
  if (in.empty()) return false;
  while (!in.empty()) {
    byte_view name;
    if (!read_vector8(in, name) || name.empty()) return false;
  }
  return true;
}

std::optional<std::size_t> choose_protocol(byte_view names, std::span<const std::string_view> ours) noexcept {
  for (std::size_t i = 0; i < ours.size(); ++i) {
    byte_reader in(names);
    byte_view name;
    while (read_vector8(in, name))
      if (base::as_text(name) == ours[i]) return i;
  }
  return std::nullopt;
}

bool has_preferred_share(const hello_fields& hello, std::span<const std::uint16_t> ours) noexcept {
  for (const std::uint16_t wanted : ours) {
    if (!has_number(hello.groups, wanted)) continue;
    byte_reader in(hello.key_shares);
    std::uint16_t number = 0;
    byte_view share;
    while (in.u16(number) && read_vector16(in, share))
      if (number == wanted) return true;
    return false;
  }
  return false;
}

bool is_hello_retry_request(byte_view message) noexcept {
  // SHA-256 of "HelloRetryRequest".
  static constexpr std::array<std::uint8_t, hello_random_size> retry_random = {
      0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
      0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c};
  constexpr std::size_t random_at = handshake_header_size + 2;
  return message.size() >= random_at + hello_random_size && message[0] == handshake_server_hello &&
         std::equal(retry_random.begin(), retry_random.end(), message.data() + random_at);
}

parse_status parse_new_session_ticket(byte_view message, new_session_ticket& out) noexcept {
  byte_reader in(message);
  if (const parse_status opened = open_message(in, handshake_new_session_ticket); !opened) return opened;
  new_session_ticket t;
  std::uint32_t age_add = 0;
  byte_view nonce;
  byte_view ticket;
  byte_view extensions;
  if (!in.u32(t.lifetime_s) || !in.u32(age_add) || !read_vector8(in, nonce) || !read_vector16(in, ticket) ||
      ticket.empty() || !read_vector16(in, extensions)) {
    return {parse_errc::bad_length, in.offset()};
  }
  if (!in.empty()) return {parse_errc::trailing_bytes, in.offset()};
  const std::uint32_t start = in.offset() - static_cast<std::uint32_t>(extensions.size());
  byte_reader list(extensions);
  while (!list.empty()) {
    const std::uint32_t at = start + list.offset();
    std::uint16_t type = 0;
    byte_view body;
    if (!list.u16(type) || !read_vector16(list, body)) return {parse_errc::bad_length, at};
    if (type != ext_early_data) continue;
    if (t.has_early_data) return {parse_errc::duplicate, at};
    byte_reader value(body);
    if (!value.u32(t.max_early_data_size) || !value.empty()) return {parse_errc::bad_length, at};
    t.has_early_data = true;
  }
  out = t;
  return {};
}

}  // namespace millrace::tls::wire
