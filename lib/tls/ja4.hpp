// tls/ja4.hpp - the JA4 fingerprint of a ClientHello: 36 characters that name a client's TLS stack.
//
// Shape    "q13d0312h3_55b375c5d22e_06cda9e17597": transport, version, SNI, counts and first ALPN; then truncated
// SHA-256
//          of the sorted cipher suites, and of the sorted extensions with the signature algorithms. GREASE is ignored
//          everywhere (RFC 8701: both bytes equal).
// Owner    nothing; `out` has no terminator. Errors  none: every ClientHello has a fingerprint.
// Where the method leaves a choice:
//          version     the largest number in supported_versions, known or not ("00" when not); the hello's own when
//                      the list is absent or holds GREASE alone.
//          SNI         "d" when the extension is there, whatever is in it.
//          ALPN        the first protocol offered; "00" when there is none or it is empty. A first or last byte that is
//                      no letter or digit takes both characters from the name's hexadecimal form.
// Source   FoxIO, JA4 technical details, of 2026 (the JA4 method itself is BSD-3). Tests  test/tls/ja4_test.cpp
#pragma once

#include <array>

#include "crypto/engine.hpp"
#include "tls/wire/client_hello.hpp"

namespace millrace::tls {

inline constexpr std::size_t ja4_size = 36;

enum class ja4_transport : std::uint8_t { tcp, quic };

void ja4(crypto::engine& engine, const wire::client_hello& hello, ja4_transport over,
         std::array<char, ja4_size>& out) noexcept;

}  // namespace millrace::tls
