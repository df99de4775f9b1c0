#include "tls/message_gate.hpp"

#include <algorithm>

#include "base/endian.hpp"
#include "tls/wire/extension_type.hpp"

namespace millrace::tls {

bool message_gate::allows(std::uint8_t type) const noexcept {
  switch (level_) {
    case encryption_level::initial:
      if (whole_ != 0) return false;
      return type == (role_ == endpoint_role::server ? wire::handshake_client_hello : wire::handshake_server_hello);
    case encryption_level::early:
      return false;
    case encryption_level::handshake:
      if (finished_) return false;
      // A server asks for no client certificate, so Finished is all it can get. What a client gets is GnuTLS's to
      // judge.
      return role_ == endpoint_role::client || type == wire::handshake_finished;
    case encryption_level::application:
      // RFC 9001 4.4: no client authentication. RFC 9001 6: no KeyUpdate.
      return role_ == endpoint_role::client && type == wire::handshake_new_session_ticket;
  }
  return false;
}

quic_error message_gate::walk(base::byte_view bytes, std::uint32_t max_message) noexcept {
  std::size_t at = 0;
  while (at < bytes.size()) {
    if (header_size_ < header_.size()) {
      header_[header_size_++] = bytes[at++];
      ++walked_;
      if (header_size_ == 1 && !allows(header_[0])) return crypto_error(alert::unexpected_message);
      if (header_size_ < header_.size()) continue;
      left_ = base::load_be24(header_.data() + 1);
      if (left_ > max_message) return quic_crypto_buffer_exceeded;
    }
    const auto taken = static_cast<std::uint32_t>(std::min<std::size_t>(left_, bytes.size() - at));
    at += taken;
    walked_ += taken;
    left_ -= taken;
    if (left_ != 0) return quic_no_error;
    whole_ = walked_;
    header_size_ = 0;
    finished_ = finished_ || (level_ == encryption_level::handshake && header_[0] == wire::handshake_finished);
  }
  return quic_no_error;
}

}  // namespace millrace::tls
