#include "quic/path/reset_tokens.hpp"

#include <algorithm>

namespace millrace::quic::path {

reset_tokens::reset_tokens(crypto::engine& engine, std::span<const std::uint8_t, reset_key_size> key) noexcept {
  crypto::set_hmac_key(engine, key, *key_);
}

// RFC 9000 10.3.2: a keyed one-way function of the connection ID.
wire::stateless_reset_token_value reset_tokens::of(crypto::engine& engine, base::byte_view cid) const noexcept {
  crypto::sha256_digest digest;
  crypto::hmac(engine, *key_, cid, digest);
  wire::stateless_reset_token_value out;
  std::copy_n(digest.begin(), out.size(), out.begin());
  return out;
}

}  // namespace millrace::quic::path
