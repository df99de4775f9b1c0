#include "crypto/sha1.hpp"

#include "crypto/ipsec_mb.hpp"

namespace millrace::crypto {

void sha1(engine& e, base::byte_view message, sha1_digest& out) noexcept {
  static constexpr std::uint8_t nothing = 0;  // IPsec-MB refuses a null pointer, also of an empty message
  IMB_SHA1(e.hash_manager(), message.empty() ? &nothing : message.data(), message.size(), out.data());
}

}  // namespace millrace::crypto
