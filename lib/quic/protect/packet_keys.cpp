#include "quic/protect/packet_keys.hpp"

#include <cstring>

#include "crypto/wiped.hpp"
#include "quic/protect/version_secrets.hpp"

namespace millrace::quic::protect {
namespace {

// What HKDF-Expand-Label made; as long as the longest key.
struct key_material {
  crypto::sha256_digest key;
  crypto::sha256_digest iv;
  crypto::sha256_digest header;
};

bool fits(const key_context& context, const traffic_secret& secret) noexcept {
  return secret.size == crypto::hash_size(hash_of(context.suite));
}

void expand(crypto::engine& engine, const key_context& context, const schedule_labels& labels,
            const traffic_secret& secret, key_material& out) noexcept {
  const std::size_t key_size = crypto::key_size(aead_of(context.suite));
  if (hash_of(context.suite) == crypto::hash_algorithm::sha384) {
    crypto::wiped<crypto::hmac384_key> expander;
    crypto::set_hmac384_key(secret.view(), *expander);
    crypto::hkdf_expand_label(*expander, labels.key_text, base::byte_span(out.key).first(key_size));
    crypto::hkdf_expand_label(*expander, labels.iv_text, base::byte_span(out.iv).first(crypto::aead_nonce_size));
    crypto::hkdf_expand_label(*expander, labels.header_text, base::byte_span(out.header).first(key_size));
    return;
  }
  crypto::wiped<crypto::hmac_key> expander;
  crypto::set_hmac_key(engine, secret.view(), *expander);
  const bool short_key = key_size == crypto::aes128_key_size;
  const std::array<crypto::hmac_request, 3> requests = {
      crypto::hmac_request{(short_key ? labels.key16 : labels.key32).view(), &out.key},
      crypto::hmac_request{labels.iv.view(), &out.iv},
      crypto::hmac_request{(short_key ? labels.header16 : labels.header32).view(), &out.header}};
  crypto::hmac_each(engine, *expander, requests);
}

void set_payload_keys(crypto::engine& engine, crypto::aead_algorithm algorithm, const key_material& material,
                      payload_keys& out) noexcept {
  crypto::set_aead_key(engine, algorithm, base::byte_view(material.key).first(crypto::key_size(algorithm)), out.aead);
  std::memcpy(out.iv.data(), material.iv.data(), out.iv.size());
}

}  // namespace

bool set_secret(cipher_suite suite, base::byte_view bytes, traffic_secret& out) noexcept {
  if (bytes.size() != crypto::hash_size(hash_of(suite))) return false;
  std::memcpy(out.bytes.data(), bytes.data(), bytes.size());
  out.size = static_cast<std::uint8_t>(bytes.size());
  return true;
}

bool derive_packet_keys(crypto::engine& engine, const key_context& context, const traffic_secret& secret,
                        packet_keys& out) noexcept {
  const schedule_labels* const labels = find_labels(context.version);
  if (labels == nullptr || !fits(context, secret)) return false;
  crypto::wiped<key_material> material;
  expand(engine, context, *labels, secret, *material);
  const crypto::aead_algorithm algorithm = aead_of(context.suite);
  set_payload_keys(engine, algorithm, *material, out);
  crypto::set_header_key(engine, algorithm, base::byte_view(material->header).first(crypto::key_size(algorithm)),
                         out.header);
  return true;
}

bool derive_payload_keys(crypto::engine& engine, const key_context& context, const traffic_secret& secret,
                         payload_keys& out) noexcept {
  const schedule_labels* const labels = find_labels(context.version);
  if (labels == nullptr || !fits(context, secret)) return false;
  crypto::wiped<key_material> material;
  expand(engine, context, *labels, secret, *material);
  set_payload_keys(engine, aead_of(context.suite), *material, out);
  return true;
}

bool next_secret(crypto::engine& engine, const key_context& context, const traffic_secret& secret,
                 traffic_secret& out) noexcept {
  const schedule_labels* const labels = find_labels(context.version);
  if (labels == nullptr || !fits(context, secret)) return false;
  crypto::wiped<traffic_secret> next;
  next->size = secret.size;
  crypto::hkdf_expand_label(engine, hash_of(context.suite), secret.view(), labels->update_text,
                            base::byte_span(next->bytes).first(next->size));
  out = *next;
  return true;
}

}  // namespace millrace::quic::protect
