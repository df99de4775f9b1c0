// tls/wire/client_hello.hpp - what a TLS ClientHello says in clear, for inspection.
//
// Shape    parse_client_hello() reads one whole handshake message (4-byte header included). Views point into it.
//          client_hello_size() tells from the first bytes of a CRYPTO stream how many make the message.
//          Of the extensions, those with a field below are taken apart; the others are skipped by their length, and
//          what a server would have to refuse in them (RFC 8446 9.2) is the handshake's business, not ours.
// Units    status.at counts from the first byte of the message.
// Owner    every view dies with `message`.
// Errors   truncated, bad_length (an inner length that does not fit its outer one, an empty list that may not be),
//          bad_value (not a ClientHello; a host name that is not printable ASCII), duplicate (an extension or host name
//          twice), trailing_bytes, too_many (a list longer than the capacities below). `out` is written on success
//          only.
// Source   RFC 8446 4.1.2 4.2, RFC 6066 3, RFC 7301 3.1, RFC 9001 8.2. Tests  test/tls/wire/client_hello_test.cpp
#pragma once

#include "base/bytes.hpp"
#include "base/fixed_vector.hpp"
#include "base/parse_status.hpp"

namespace millrace::tls::wire {

inline constexpr std::size_t max_cipher_suites = 128;  // browsers send 3 to 40
inline constexpr std::size_t max_extensions = 64;
inline constexpr std::size_t max_alpn = 32;
inline constexpr std::size_t max_versions = 16;
inline constexpr std::size_t max_signature_algorithms = 64;

struct client_hello {
  std::uint16_t legacy_version = 0;
  base::byte_view random;  // 32 bytes
  base::byte_view session_id;
  std::string_view sni;  // RFC 6066 3 host_name; empty when absent
  bool has_sni = false;
  base::byte_view transport_parameters;  // RFC 9001 8.2: extension 0x39, or 0xffa5 in drafts; empty when absent
  bool has_transport_parameters = false;
  base::fixed_vector<std::uint16_t, max_cipher_suites> cipher_suites;  // as sent, GREASE included
  base::fixed_vector<std::uint16_t, max_extensions> extensions;        // types, as sent
  base::fixed_vector<std::string_view, max_alpn> alpn;                 // as sent
  base::fixed_vector<std::uint16_t, max_versions> supported_versions;  // as sent
  base::fixed_vector<std::uint16_t, max_signature_algorithms> signature_algorithms;
};

base::parse_status parse_client_hello(base::byte_view message, client_hello& out) noexcept;

// Bytes of the handshake message that begins at `stream` (4 + its length), or 0 when fewer than 4 bytes are there.
// `is_client_hello` is false when its type is another.
[[nodiscard]] std::size_t handshake_message_size(base::byte_view stream, bool& is_client_hello) noexcept;

}  // namespace millrace::tls::wire
