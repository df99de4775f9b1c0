// tls/alert.hpp - TLS alerts and the QUIC error codes a TLS handshake can end a connection with.
//
// Shape    QUIC carries no alert records: an alert ends the connection as the transport error 0x0100 + its number.
//          What is not TLS's own fault (bytes at the wrong level, too many of them) has a transport code instead.
// Source   RFC 8446 6, RFC 9001 4.8, RFC 9000 20.1. Tests  test/tls/quic_handshake_failure_test.cpp
#pragma once

#include <cstdint>

namespace millrace::tls {

// The ones this room sends by itself; GnuTLS sends others, so any number can come.
enum class alert : std::uint8_t {
  unexpected_message = 10,
  illegal_parameter = 47,
  decode_error = 50,
  protocol_version = 70,
  internal_error = 80,
  missing_extension = 109,
  no_application_protocol = 120,
};

// A transport error code of RFC 9000 20.1 as a number: quic/ has the enum, and this room may not see it.
using quic_error = std::uint64_t;

inline constexpr quic_error quic_no_error = 0x00;
inline constexpr quic_error quic_internal_error = 0x01;
inline constexpr quic_error quic_protocol_violation = 0x0a;
inline constexpr quic_error quic_crypto_buffer_exceeded = 0x0d;
inline constexpr quic_error quic_crypto_error = 0x0100;  // RFC 9001 4.8: + the alert

[[nodiscard]] constexpr quic_error crypto_error(std::uint8_t number) noexcept { return quic_crypto_error + number; }
[[nodiscard]] constexpr quic_error crypto_error(alert a) noexcept { return crypto_error(static_cast<std::uint8_t>(a)); }

}  // namespace millrace::tls
