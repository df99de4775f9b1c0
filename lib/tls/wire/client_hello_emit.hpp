// tls/wire/client_hello_emit.hpp - a small ClientHello, as a TLS 1.3 client over QUIC would send it.
//
// Shape    for frame generators and tests: well-formed bytes from values the caller gives, no handshake behind them.
//          The order is: server_name, supported_groups, signature_algorithms, ALPN, supported_versions,
//          psk_key_exchange_modes, key_share, transport parameters, then `more`.
// Owner    everything is borrowed for the call.
// Errors   false: no room, or a value TLS cannot carry (a random of other than 32 bytes, a session id over 32, no
//          cipher suite, an empty ALPN name, a list beyond its length field); nothing is written then.
// Source   RFC 8446 4.1.2 4.2, RFC 6066 3, RFC 7301 3.1, RFC 9001 8.2. Tests  test/tls/wire/client_hello_emit_test.cpp
#pragma once

#include <span>

#include "base/byte_writer.hpp"
#include "tls/wire/extension_type.hpp"

namespace millrace::tls::wire {

struct client_hello_values {
  base::byte_view random{};      // 32 bytes
  base::byte_view session_id{};  // empty over QUIC (RFC 9001 8.4)
  std::span<const std::uint16_t> cipher_suites{};
  std::string_view sni{};                       // empty: no server_name extension
  std::span<const std::string_view> alpn{};     // empty: no ALPN extension
  std::span<const std::uint16_t> versions{};    // empty: TLS 1.3 alone
  std::span<const std::uint16_t> signatures{};  // empty: no signature_algorithms extension
  base::byte_view x25519_share{};               // 32 bytes; empty: neither supported_groups nor key_share
  base::byte_view transport_parameters{};       // encoded; empty: no such extension
  std::uint16_t transport_parameters_type = ext_quic_transport_parameters;  // or the drafts' number
  base::byte_view more{};  // whole extensions, encoded: GREASE, padding and the like
};

inline constexpr std::size_t x25519_share_size = 32;

// Exact; meaningless for values that emit refuses.
[[nodiscard]] std::size_t encoded_size(const client_hello_values& v) noexcept;
[[nodiscard]] bool emit(base::byte_writer& out, const client_hello_values& v) noexcept;

}  // namespace millrace::tls::wire
