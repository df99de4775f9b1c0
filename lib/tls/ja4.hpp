// tls/ja4.hpp - the JA4 fingerprint of a ClientHello: 36 characters that name a client's TLS stack.
//
// Shape    "q13d0312h3_55b375c5d22e_06cda9e17597": protocol, version, SNI, counts and first ALPN; then truncated
// SHA-256
//          of the sorted cipher suites, and of the sorted extensions with the signature algorithms. GREASE is ignored.
// Source   FoxIO JA4 technical details (the JA4 method itself is BSD-3). Tests  test/tls/ja4_test.cpp
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
