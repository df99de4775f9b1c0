// The sizes of all boxes follow from the values, so they are computed first and every length is written when its box
// begins: one pass, nothing patched. Each extension is a pair of functions, its size and its bytes, kept side by side.
#include "tls/wire/client_hello_emit.hpp"

#include "base/assert.hpp"

namespace millrace::tls::wire {
namespace {

using base::byte_span;
using base::byte_view;

constexpr std::size_t extension_header_size = 4;  // type and length
constexpr std::size_t max_box16 = 0xFFFF;
constexpr std::uint16_t only_tls_1_3[] = {tls_1_3};

// Writes into room that was reserved for all of it.
struct cursor {
  std::uint8_t* at;
  void u8(std::size_t v) noexcept { *at++ = static_cast<std::uint8_t>(v); }
  void u16(std::size_t v) noexcept {
    base::store_be16(at, static_cast<std::uint16_t>(v));
    at += 2;
  }
  void u24(std::size_t v) noexcept {
    base::store_be24(at, static_cast<std::uint32_t>(v));
    at += 3;
  }
  void bytes(byte_view in) noexcept {
    if (!in.empty()) std::memcpy(at, in.data(), in.size());
    at += in.size();
  }
  void numbers(std::span<const std::uint16_t> list) noexcept {
    for (const std::uint16_t v : list) u16(v);
  }
  void extension(std::uint16_t type, std::size_t body) noexcept {
    u16(type);
    u16(body);
  }
};

std::span<const std::uint16_t> versions_of(const client_hello_values& v) noexcept {
  return v.versions.empty() ? std::span<const std::uint16_t>(only_tls_1_3) : v.versions;
}

std::size_t alpn_list_size(const client_hello_values& v) noexcept {
  std::size_t size = 0;
  for (const std::string_view name : v.alpn) size += 1 + name.size();
  return size;
}

std::size_t extension_size(bool present, std::size_t body) noexcept {
  return present ? extension_header_size + body : 0;
}

// Bodies, in this order: RFC 6066 3 (list, type, name), RFC 8446 4.2.7, 4.2.3, RFC 7301 3.1, and of TLS again
// RFC 8446 4.2.1, 4.2.9, 4.2.8.
std::size_t sni_body(const client_hello_values& v) noexcept { return 2 + 1 + 2 + v.sni.size(); }
std::size_t groups_body() noexcept { return 2 + 2; }
std::size_t signatures_body(const client_hello_values& v) noexcept { return 2 + 2 * v.signatures.size(); }
std::size_t alpn_body(const client_hello_values& v) noexcept { return 2 + alpn_list_size(v); }
std::size_t versions_body(const client_hello_values& v) noexcept { return 1 + 2 * versions_of(v).size(); }
std::size_t psk_modes_body() noexcept { return 1 + 1; }
std::size_t key_share_body(const client_hello_values& v) noexcept { return 2 + 2 + 2 + v.x25519_share.size(); }

std::size_t extensions_size(const client_hello_values& v) noexcept {
  return extension_size(!v.sni.empty(), sni_body(v)) + extension_size(!v.x25519_share.empty(), groups_body()) +
         extension_size(!v.signatures.empty(), signatures_body(v)) + extension_size(!v.alpn.empty(), alpn_body(v)) +
         extension_size(true, versions_body(v)) + extension_size(true, psk_modes_body()) +
         extension_size(!v.x25519_share.empty(), key_share_body(v)) +
         extension_size(!v.transport_parameters.empty(), v.transport_parameters.size()) + v.more.size();
}

std::size_t body_size(const client_hello_values& v) noexcept {
  return 2 + hello_random_size + 1 + v.session_id.size() + 2 + 2 * v.cipher_suites.size() + 2 + 2 + extensions_size(v);
}

bool can_emit(const client_hello_values& v) noexcept {
  for (const std::string_view name : v.alpn)
    if (name.empty() || name.size() > 0xFF) return false;
  // Every inner list is smaller than all extensions together, so their one limit is enough for the 16-bit lengths.
  return v.random.size() == hello_random_size && v.session_id.size() <= max_session_id_size &&
         !v.cipher_suites.empty() && 2 * v.cipher_suites.size() <= max_box16 && versions_body(v) - 1 <= 0xFE &&
         (v.x25519_share.empty() || v.x25519_share.size() == x25519_share_size) && extensions_size(v) <= max_box16;
}

void put_names(cursor& to, const client_hello_values& v) noexcept {
  if (!v.sni.empty()) {
    to.extension(ext_server_name, sni_body(v));
    to.u16(1 + 2 + v.sni.size());
    to.u8(name_type_host);
    to.u16(v.sni.size());
    to.bytes(base::as_bytes(v.sni));
  }
}

void put_algorithms(cursor& to, const client_hello_values& v) noexcept {
  if (!v.x25519_share.empty()) {
    to.extension(ext_supported_groups, groups_body());
    to.u16(2);
    to.u16(group_x25519);
  }
  if (!v.signatures.empty()) {
    to.extension(ext_signature_algorithms, signatures_body(v));
    to.u16(2 * v.signatures.size());
    to.numbers(v.signatures);
  }
}

void put_protocols(cursor& to, const client_hello_values& v) noexcept {
  if (!v.alpn.empty()) {
    to.extension(ext_alpn, alpn_body(v));
    to.u16(alpn_list_size(v));
    for (const std::string_view name : v.alpn) {
      to.u8(name.size());
      to.bytes(base::as_bytes(name));
    }
  }
  to.extension(ext_supported_versions, versions_body(v));
  to.u8(2 * versions_of(v).size());
  to.numbers(versions_of(v));
}

void put_keys(cursor& to, const client_hello_values& v) noexcept {
  to.extension(ext_psk_key_exchange_modes, psk_modes_body());
  to.u8(1);
  to.u8(psk_dhe_ke);
  if (!v.x25519_share.empty()) {
    to.extension(ext_key_share, key_share_body(v));
    to.u16(2 + 2 + v.x25519_share.size());
    to.u16(group_x25519);
    to.u16(v.x25519_share.size());
    to.bytes(v.x25519_share);
  }
  if (!v.transport_parameters.empty()) {
    to.extension(v.transport_parameters_type, v.transport_parameters.size());
    to.bytes(v.transport_parameters);
  }
}

}  // namespace

std::size_t encoded_size(const client_hello_values& v) noexcept { return handshake_header_size + body_size(v); }

bool emit(base::byte_writer& out, const client_hello_values& v) noexcept {
  byte_span room;
  if (!can_emit(v) || !out.reserve(encoded_size(v), room)) return false;
  cursor to{room.data()};
  to.u8(handshake_client_hello);
  to.u24(body_size(v));
  to.u16(legacy_hello_version);
  to.bytes(v.random);
  to.u8(v.session_id.size());
  to.bytes(v.session_id);
  to.u16(2 * v.cipher_suites.size());
  to.numbers(v.cipher_suites);
  to.u8(1);  // one compression method: none
  to.u8(0);
  to.u16(extensions_size(v));
  put_names(to, v);
  put_algorithms(to, v);
  put_protocols(to, v);
  put_keys(to, v);
  to.bytes(v.more);
  MILLRACE_ASSERT(to.at == room.data() + room.size());
  return true;
}

}  // namespace millrace::tls::wire
