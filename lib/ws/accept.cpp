#include "ws/accept.hpp"

#include <algorithm>

#include "crypto/sha1.hpp"

namespace millrace::ws {

std::optional<wire::accept_text> accept_of(crypto::engine& e, std::string_view key) noexcept {
  if (!wire::is_key(key)) return std::nullopt;
  std::array<char, wire::key_size + wire::guid.size()> joined;
  std::copy(wire::guid.begin(), wire::guid.end(), std::copy(key.begin(), key.end(), joined.begin()));
  crypto::sha1_digest digest;
  crypto::sha1(e, base::as_bytes({joined.data(), joined.size()}), digest);
  wire::accept_text out{};
  base::encode_base64(digest, out.data());
  return out;
}

}  // namespace millrace::ws
