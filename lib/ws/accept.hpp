// ws/accept.hpp - the server's proof that it understood the opening handshake.
//
// Shape    the accept value of a key, to be written as Sec-WebSocket-Accept, or compared with it by a client.
// Owner    nothing; the engine is one lcore's.
// Errors   nullopt: the key is not 16 bytes in base64 (wire::is_key).
// Source   RFC 6455 4.2.2     Tests  test/ws/accept_test.cpp (vector W1)
#pragma once

#include <optional>

#include "crypto/engine.hpp"
#include "ws/wire/handshake.hpp"

namespace millrace::ws {

[[nodiscard]] std::optional<wire::accept_text> accept_of(crypto::engine& e, std::string_view key) noexcept;

}  // namespace millrace::ws
