#include "crypto/aead.hpp"

#include <cstring>

#include "base/assert.hpp"
#include "crypto/constant_time.hpp"
#include "crypto/ipsec_mb.hpp"

namespace millrace::crypto {
namespace {

static_assert(sizeof(gcm_key_data) <= sizeof(aead_key), "IPsec-MB's key schedule has outgrown ours");
static_assert(offsetof(gcm_key_data, ghash_keys) + sizeof(gcm_key_data::ghash_keys) <= sizeof(aead_key::schedule),
              "the algorithm stands where IPsec-MB has padding");
static_assert(alignof(aead_key) >= alignof(gcm_key_data), "IPsec-MB's AVX-512 code loads whole lines");

const gcm_key_data* schedule_of(const aead_key& key) noexcept {
  return reinterpret_cast<const gcm_key_data*>(key.schedule.data());
}

// IPsec-MB takes a null pointer for an error even where the length beside it is zero.
constexpr std::uint8_t nothing[1] = {};
const std::uint8_t* never_null(base::byte_view bytes) noexcept { return bytes.empty() ? nothing : bytes.data(); }

// The calls of one GCM key size in one direction, for texts in parts.
struct gcm_calls {
  aes_gcm_init_t init;
  aes_gcm_enc_dec_update_t update;
  aes_gcm_enc_dec_finalize_t finalize;
};
gcm_calls opening(const IMB_MGR* m, aead_algorithm algorithm) noexcept {
  if (algorithm == aead_algorithm::aes_128_gcm) return {m->gcm128_init, m->gcm128_dec_update, m->gcm128_dec_finalize};
  return {m->gcm256_init, m->gcm256_dec_update, m->gcm256_dec_finalize};
}
gcm_calls sealing(const IMB_MGR* m, aead_algorithm algorithm) noexcept {
  if (algorithm == aead_algorithm::aes_128_gcm) return {m->gcm128_init, m->gcm128_enc_update, m->gcm128_enc_finalize};
  return {m->gcm256_init, m->gcm256_enc_update, m->gcm256_enc_finalize};
}

// The one call most packets need, without the table of the others.
aes_gcm_enc_dec_t opening_whole(const IMB_MGR* m, aead_algorithm algorithm) noexcept {
  return algorithm == aead_algorithm::aes_128_gcm ? m->gcm128_dec : m->gcm256_dec;
}
aes_gcm_enc_dec_t sealing_whole(const IMB_MGR* m, aead_algorithm algorithm) noexcept {
  return algorithm == aead_algorithm::aes_128_gcm ? m->gcm128_enc : m->gcm256_enc;
}

void gcm_parts(const gcm_calls& calls, const aead_key& key, base::byte_view nonce, base::byte_view associated,
               std::span<const text_part> parts, std::uint8_t* tag) noexcept {
  gcm_context_data context;
  calls.init(schedule_of(key), &context, nonce.data(), never_null(associated), associated.size());
  for (const text_part& part : parts) {
    if (part.size != 0) calls.update(schedule_of(key), &context, part.to, part.from, part.size);
  }
  calls.finalize(schedule_of(key), &context, tag, aead_tag_size);
}

void chacha20_parts(IMB_MGR* m, chacha_poly_enc_dec_update_t update, const aead_key& key, base::byte_view nonce,
                    base::byte_view associated, std::span<const text_part> parts, std::uint8_t* tag) noexcept {
  chacha20_poly1305_context_data context;
  IMB_CHACHA20_POLY1305_INIT(m, key.schedule.data(), &context, nonce.data(), never_null(associated), associated.size());
  for (const text_part& part : parts) {
    if (part.size != 0) update(key.schedule.data(), &context, part.to, part.from, part.size);
  }
  IMB_CHACHA20_POLY1305_ENC_FINALIZE(m, &context, tag, aead_tag_size);
}

// By itself, so that seal() needs no room on the stack for what only this one keeps.
[[gnu::noinline]] void seal_chacha20(IMB_MGR* m, const aead_key& key, base::byte_view nonce, base::byte_view associated,
                                     const text_part& text) noexcept {
  chacha20_parts(m, m->chacha20_poly1305_enc_update, key, nonce, associated, {&text, 1}, text.to + text.size);
}

}  // namespace

void set_aead_key(engine& e, aead_algorithm algorithm, base::byte_view key, aead_key& out) noexcept {
  MILLRACE_ASSERT(key.size() == key_size(algorithm));
  auto* const schedule = reinterpret_cast<gcm_key_data*>(out.schedule.data());
  switch (algorithm) {
    case aead_algorithm::aes_128_gcm:
      IMB_AES128_GCM_PRE(e.cipher_manager(), key.data(), schedule);
      break;
    case aead_algorithm::aes_256_gcm:
      IMB_AES256_GCM_PRE(e.cipher_manager(), key.data(), schedule);
      break;
    case aead_algorithm::chacha20_poly1305:
      std::memcpy(out.schedule.data(), key.data(), aead_key_size_max);
      break;
  }
  out.algorithm = algorithm;
}

void set_aes128_gcm_key(engine& e, base::byte_view key16, aead_key& out) noexcept {
  set_aead_key(e, aead_algorithm::aes_128_gcm, key16, out);
}

bool open(engine& e, const aead_key& key, base::byte_view nonce, base::byte_view associated, base::byte_view sealed,
          std::uint8_t* out) noexcept {
  MILLRACE_ASSERT(nonce.size() == aead_nonce_size);
  if (sealed.size() < aead_tag_size) return false;
  const std::size_t size = sealed.size() - aead_tag_size;
  // In place, the tag behind the ciphertext is not overwritten: it stays where it is until compared.
  const base::byte_view tag = sealed.subspan(size);
  alignas(16) aead_tag computed;
  if (key.algorithm == aead_algorithm::chacha20_poly1305) {
    const text_part whole{sealed.data(), out, size};
    chacha20_parts(e.cipher_manager(), e.cipher_manager()->chacha20_poly1305_dec_update, key, nonce, associated,
                   {&whole, 1}, computed.data());
  } else {
    gcm_context_data context;
    opening_whole(e.cipher_manager(), key.algorithm)(schedule_of(key), &context, out, sealed.data(), size, nonce.data(),
                                                     never_null(associated), associated.size(), computed.data(),
                                                     computed.size());
  }
  if (equal_secret(computed, tag)) return true;
  if (size != 0) std::memset(out, 0, size);
  return false;
}

void seal(engine& e, const aead_key& key, base::byte_view nonce, base::byte_view associated, base::byte_view in,
          std::uint8_t* out) noexcept {
  MILLRACE_ASSERT(nonce.size() == aead_nonce_size);
  if (key.algorithm == aead_algorithm::chacha20_poly1305) [[unlikely]]
    return seal_chacha20(e.cipher_manager(), key, nonce, associated, {in.data(), out, in.size()});
  gcm_context_data context;
  sealing_whole(e.cipher_manager(), key.algorithm)(schedule_of(key), &context, out, never_null(in), in.size(),
                                                   nonce.data(), never_null(associated), associated.size(),
                                                   out + in.size(), aead_tag_size);
}

bool open_parts(engine& e, const aead_key& key, base::byte_view nonce, base::byte_view associated,
                std::span<const text_part> parts, base::byte_view tag) noexcept {
  MILLRACE_ASSERT(nonce.size() == aead_nonce_size && tag.size() == aead_tag_size);
  IMB_MGR* const m = e.cipher_manager();
  alignas(16) aead_tag computed;
  if (key.algorithm == aead_algorithm::chacha20_poly1305) {
    chacha20_parts(m, m->chacha20_poly1305_dec_update, key, nonce, associated, parts, computed.data());
  } else {
    gcm_parts(opening(m, key.algorithm), key, nonce, associated, parts, computed.data());
  }
  if (equal_secret(computed, tag)) return true;
  for (const text_part& part : parts) {
    if (part.size != 0) std::memset(part.to, 0, part.size);
  }
  return false;
}

void seal_parts(engine& e, const aead_key& key, base::byte_view nonce, base::byte_view associated,
                std::span<const text_part> parts, std::uint8_t* tag) noexcept {
  MILLRACE_ASSERT(nonce.size() == aead_nonce_size);
  IMB_MGR* const m = e.cipher_manager();
  if (key.algorithm == aead_algorithm::chacha20_poly1305) {
    chacha20_parts(m, m->chacha20_poly1305_enc_update, key, nonce, associated, parts, tag);
  } else {
    gcm_parts(sealing(m, key.algorithm), key, nonce, associated, parts, tag);
  }
}

void authenticate(engine& e, const aead_key& key, base::byte_view nonce, std::span<const base::byte_view> associated,
                  aead_tag& tag) noexcept {
  MILLRACE_ASSERT(nonce.size() == aead_nonce_size && key.algorithm == aead_algorithm::aes_128_gcm);
  IMB_MGR* const manager = e.cipher_manager();
  gcm_context_data context;
  IMB_AES128_GMAC_INIT(manager, schedule_of(key), &context, nonce.data(), nonce.size());
  for (const base::byte_view part : associated) {
    if (!part.empty()) IMB_AES128_GMAC_UPDATE(manager, schedule_of(key), &context, part.data(), part.size());
  }
  IMB_AES128_GMAC_FINALIZE(manager, schedule_of(key), &context, tag.data(), tag.size());
}

}  // namespace millrace::crypto
