#include "crypto/engine.hpp"

#include "crypto/hash_jobs.hpp"
#include "crypto/hkdf.hpp"
#include "crypto/hmac.hpp"
#include "crypto/ipsec_mb.hpp"

namespace millrace::crypto {

void engine::free_manager::operator()(IMB_MGR* manager) const noexcept { free_mb_mgr(manager); }

std::optional<engine> engine::make(const engine_options& options) noexcept {
  const std::uint64_t flags = options.sha_ni ? 0 : IMB_FLAG_SHANI_OFF;
  engine made;
  made.cipher_.reset(alloc_mb_mgr(flags));
  made.hash_.reset(alloc_mb_mgr(flags));
  made.jobs_.reset(make_hash_jobs());
  if (made.cipher_ == nullptr || made.hash_ == nullptr || made.jobs_ == nullptr) return std::nullopt;

  init_mb_mgr_auto(made.cipher_.get(), nullptr);
  if (imb_get_errno(made.cipher_.get()) != 0) return std::nullopt;  // no architecture fits, or its self-test failed
  // The SSE manager uses SHA instructions where the CPU has them and beats the wide ones at single messages; without
  // them its lanes are the narrowest, so hashing then takes what ciphers take.
  const bool sha_ni = (made.cipher_->features & IMB_FEATURE_SHANI) != 0;
  if (sha_ni) {
    init_mb_mgr_sse(made.hash_.get());
  } else {
    init_mb_mgr_auto(made.hash_.get(), nullptr);
  }
  if (imb_get_errno(made.hash_.get()) != 0) return std::nullopt;
  // Header protection has its own AES code, on the CPU's instructions; IPsec-MB 1.3 as distributed needs them as well.
  if ((made.cipher_->features & IMB_FEATURE_AESNI) == 0) return std::nullopt;
  made.blocks_ = sha_ni ? sha256_blocks_sha_ni : sha256_blocks_portable;
  return made;
}

std::string_view engine::architecture() const noexcept {
  switch (static_cast<IMB_ARCH>(cipher_->used_arch)) {
    case IMB_ARCH_NOAESNI:
      return "noaesni";
    case IMB_ARCH_SSE:
      return "sse";
    case IMB_ARCH_AVX:
      return "avx";
    case IMB_ARCH_AVX2:
      return "avx2";
    case IMB_ARCH_AVX512:
      return "avx512";
    case IMB_ARCH_NONE:
    case IMB_ARCH_NUM:
      break;
  }
  return "unknown";
}

void engine::sha256(base::byte_view message, sha256_digest& out) noexcept {
  sha256_words state = sha256_initial;
  sha256_finish(*this, state, 0, message, out);
}

void engine::hmac_sha256(base::byte_view key, base::byte_view message, sha256_digest& out) noexcept {
  hmac_key prepared;
  set_hmac_key(*this, key, prepared);
  hmac(*this, prepared, message, out);
}

void engine::hkdf_extract(base::byte_view salt, base::byte_view secret, sha256_digest& out) noexcept {
  hmac_sha256(salt, secret, out);
}

void engine::hkdf_expand_label(const sha256_digest& secret, std::string_view label, base::byte_span out) noexcept {
  hmac_key prepared;
  set_hmac_key(*this, secret, prepared);
  crypto::hkdf_expand_label(*this, prepared, label, out);
}

}  // namespace millrace::crypto
