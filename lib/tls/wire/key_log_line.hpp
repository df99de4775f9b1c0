// tls/wire/key_log_line.hpp - one line of a key log as browsers and servers write it: the secrets of a TLS handshake.
//
// Shape    LABEL SPACE client_random SPACE secret, both in hexadecimal. Five labels name what protects QUIC packets;
//          older stacks wrote them with "QUIC_" in front. Lines of other labels are told apart, not taken.
// Owner    values. Whoever keeps a line keeps a secret: crypto::wipe() it.
// Errors   key_log_kind::malformed; `out` is written for `secret` only.
// Limits   a secret has 32 or 48 bytes (RFC 8446: SHA-256, SHA-384), a random 32.
// Source   NSS Key Log Format (SSLKEYLOGFILE), RFC 8446 7.1. Tests  test/tls/wire/key_log_line_test.cpp
#pragma once

#include <array>

#include "base/bytes.hpp"

namespace millrace::tls::wire {

enum class traffic_label : std::uint8_t {
  client_early,        // 0-RTT
  client_handshake,    // Handshake
  server_handshake,    //
  client_application,  // 1-RTT, first key phase
  server_application,  //
  count_
};
inline constexpr std::size_t traffic_label_count = static_cast<std::size_t>(traffic_label::count_);

inline constexpr std::size_t client_random_bytes = 32;
inline constexpr std::size_t max_secret_bytes = 48;
// The longest line that can be a secret, with room for blanks behind it; a longer one is malformed.
inline constexpr std::size_t max_key_log_line_bytes = 512;

enum class key_log_kind : std::uint8_t {
  secret,
  blank,          // nothing, or a comment
  client_random,  // TLS 1.2 and before: CLIENT_RANDOM, RSA
  other,          // another label: exporters, ECH, what comes yet
  malformed,
};

struct key_log_line {
  traffic_label label{};
  std::uint8_t secret_size = 0;
  std::array<std::uint8_t, client_random_bytes> random{};
  std::array<std::uint8_t, max_secret_bytes> secret{};
};

[[nodiscard]] std::string_view to_string(traffic_label label) noexcept;  // as key logs write it

// `text` is one line without its newline; a carriage return and blanks at its end do not count.
[[nodiscard]] key_log_kind parse_key_log_line(std::string_view text, key_log_line& out) noexcept;

}  // namespace millrace::tls::wire
