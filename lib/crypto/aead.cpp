#include "crypto/aead.hpp"

#include <cstring>

#include "base/assert.hpp"
#include "crypto/constant_time.hpp"
#include "crypto/ipsec_mb.hpp"

namespace millrace::crypto {
namespace {

static_assert(sizeof(gcm_key_data) <= sizeof(aead_key::schedule), "IPsec-MB's key schedule has outgrown ours");
static_assert(alignof(aead_key) >= 64, "gcm_key_data asks for 64 bytes (its AVX-512 code loads whole lines)");

const gcm_key_data* schedule_of(const aead_key& key) noexcept {
  return reinterpret_cast<const gcm_key_data*>(key.schedule.data());
}

// IPsec-MB takes a null pointer for an error even where the length beside it is zero.
constexpr std::uint8_t nothing[1] = {};
const std::uint8_t* never_null(base::byte_view bytes) noexcept { return bytes.empty() ? nothing : bytes.data(); }

}  // namespace

void set_aes128_gcm_key(engine& e, base::byte_view key16, aead_key& out) noexcept {
  MILLRACE_ASSERT(key16.size() == aes128_key_size);
  IMB_AES128_GCM_PRE(e.cipher_manager(), key16.data(), reinterpret_cast<gcm_key_data*>(out.schedule.data()));
}

void set_aes128_header_key(engine& e, base::byte_view key16, header_key& out) noexcept {
  MILLRACE_ASSERT(key16.size() == aes128_key_size);
  header_key decryption;  // IPsec-MB expands both directions in one call; header protection only ever encrypts
  IMB_AES_KEYEXP_128(e.cipher_manager(), key16.data(), out.schedule.data(), decryption.schedule.data());
}

bool open(engine& e, const aead_key& key, base::byte_view nonce, base::byte_view associated, base::byte_view sealed,
          std::uint8_t* out) noexcept {
  MILLRACE_ASSERT(nonce.size() == aead_nonce_size);
  if (sealed.size() < aead_tag_size) return false;
  const std::size_t size = sealed.size() - aead_tag_size;
  // In place, the tag behind the ciphertext is not overwritten: it stays where it is until compared.
  const base::byte_view tag = sealed.subspan(size);
  gcm_context_data context;
  alignas(16) aead_tag computed;
  IMB_AES128_GCM_DEC(e.cipher_manager(), schedule_of(key), &context, out, sealed.data(), size, nonce.data(),
                     never_null(associated), associated.size(), computed.data(), computed.size());
  if (equal_secret(computed, tag)) return true;
  if (size != 0) std::memset(out, 0, size);
  return false;
}

void seal(engine& e, const aead_key& key, base::byte_view nonce, base::byte_view associated, base::byte_view in,
          std::uint8_t* out) noexcept {
  MILLRACE_ASSERT(nonce.size() == aead_nonce_size);
  gcm_context_data context;
  IMB_AES128_GCM_ENC(e.cipher_manager(), schedule_of(key), &context, out, never_null(in), in.size(), nonce.data(),
                     never_null(associated), associated.size(), out + in.size(), aead_tag_size);
}

void authenticate(engine& e, const aead_key& key, base::byte_view nonce, std::span<const base::byte_view> associated,
                  aead_tag& tag) noexcept {
  MILLRACE_ASSERT(nonce.size() == aead_nonce_size);
  IMB_MGR* const manager = e.cipher_manager();
  gcm_context_data context;
  IMB_AES128_GMAC_INIT(manager, schedule_of(key), &context, nonce.data(), nonce.size());
  for (const base::byte_view part : associated) {
    if (!part.empty()) IMB_AES128_GMAC_UPDATE(manager, schedule_of(key), &context, part.data(), part.size());
  }
  IMB_AES128_GMAC_FINALIZE(manager, schedule_of(key), &context, tag.data(), tag.size());
}

void header_mask(engine& e, const header_key& key, base::byte_view sample,
                 std::array<std::uint8_t, header_mask_size>& mask) noexcept {
  MILLRACE_ASSERT(sample.size() == header_sample_size);
  // CFB of zeros with the sample as IV is the block cipher of the sample: the cheapest call that reaches one block.
  static constexpr std::array<std::uint8_t, header_mask_size> zeros{};
  IMB_AES128_CFB_ONE(e.cipher_manager(), mask.data(), zeros.data(), sample.data(), key.schedule.data(), zeros.size());
}

}  // namespace millrace::crypto
