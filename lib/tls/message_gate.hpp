// tls/message_gate.hpp - which handshake messages may come in at a level, and where the whole ones end.
//
// Shape    walks the bytes of a CRYPTO stream as they come and knows the message boundaries: so that TLS is called with
//          whole messages only, a message larger than its limit is refused at its fourth byte, and what QUIC forbids is
//          refused at its first.
// Rules    Initial: one message of its kind a step, nothing behind it (RFC 8446 5.1: messages may not span a key
//          change). Handshake: nothing behind Finished. 1-RTT: a client takes NewSessionTicket, a server nothing
//          (no KeyUpdate, RFC 9001 6; no post-handshake authentication, 4.4).
// Units    bytes; whole() counts from the first byte that was not yet taken.
// Errors   walk() answers a transport error, quic_no_error otherwise; after an error the gate stays shut.
// Source   RFC 8446 4 5.1, RFC 9001 4.1.3 4.4 6. Tests  test/tls/parts_test.cpp
#pragma once

#include <array>

#include "base/bytes.hpp"
#include "tls/alert.hpp"
#include "tls/cipher_suite.hpp"

namespace millrace::tls {

enum class endpoint_role : std::uint8_t { client, server };

class message_gate {
  endpoint_role role_;
  encryption_level level_ = encryption_level::initial;
  std::array<std::uint8_t, 4> header_{};
  std::uint8_t header_size_ = 0;  // bytes of the current message's header seen; 0 between messages
  bool finished_ = false;         // a whole Finished came at this level
  std::uint32_t left_ = 0;        // bytes of the current message's body still to come
  std::uint32_t walked_ = 0;      // bytes since the last take()
  std::uint32_t whole_ = 0;       // of those: up to the end of the last whole message

 public:
  explicit message_gate(endpoint_role role) noexcept : role_(role) {}

  [[nodiscard]] quic_error walk(base::byte_view bytes, std::uint32_t max_message) noexcept;

  // Bytes, from the front, that are whole messages.
  [[nodiscard]] std::uint32_t whole() const noexcept { return whole_; }
  // The front `whole()` bytes were handed on.
  void take() noexcept {
    walked_ -= whole_;
    whole_ = 0;
  }
  // No message has begun that is not whole.
  [[nodiscard]] bool at_boundary() const noexcept { return walked_ == whole_; }
  [[nodiscard]] bool is_at(encryption_level level) const noexcept { return level_ == level; }
  // The level TLS reads now; a new one at a boundary only, with everything taken.
  void enter(encryption_level level) noexcept {
    finished_ = finished_ && level == level_;
    level_ = level;
  }

 private:
  [[nodiscard]] bool allows(std::uint8_t type) const noexcept;
};

}  // namespace millrace::tls
