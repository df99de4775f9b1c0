// tls/wire/server_hello.hpp - what a TLS 1.3 server answers: the cipher suite it chose, and the protocol.
//
// Shape    each parser reads one whole handshake message, its 4-byte header included. Views point into it.
//          Of the extensions, those with a field below are taken apart; the others are skipped by their length.
// Units    status.at counts from the first byte of the message.
// Owner    every view dies with the message.
// Errors   truncated, bad_value (another message; not one protocol where one must stand), bad_length, trailing_bytes,
//          duplicate (one of these extensions twice). `out` is written on success only.
// Source   RFC 8446 4.1.3 4.3.1, RFC 7301 3.1, RFC 9001 8.2. Tests  test/tls/wire/server_hello_test.cpp
#pragma once

#include "base/bytes.hpp"
#include "base/parse_status.hpp"

namespace millrace::tls::wire {

struct server_hello {
  base::byte_view random;  // 32 bytes
  std::uint16_t cipher_suite = 0;
  std::uint16_t selected_version = 0;  // of the supported_versions extension; 0: absent
  bool is_retry_request = false;       // RFC 8446 4.1.3: HelloRetryRequest, by its random; another hello follows
};

base::parse_status parse_server_hello(base::byte_view message, server_hello& out) noexcept;

struct encrypted_extensions {
  std::string_view alpn;  // the protocol chosen
  base::byte_view transport_parameters;
  bool has_alpn = false;
  bool has_transport_parameters = false;
  bool has_early_data = false;  // 0-RTT was accepted
};

base::parse_status parse_encrypted_extensions(base::byte_view message, encrypted_extensions& out) noexcept;

}  // namespace millrace::tls::wire
