#include "crypto/hkdf.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "base/endian.hpp"
#include "crypto/wiped.hpp"

namespace millrace::crypto {
namespace {

constexpr std::size_t info_max = 2 + 1 + 255 + 1;  // RFC 8446 7.1: length, label behind its own, no context

// RFC 5869 2.3 with the label as info. mac(message, block) is HMAC under the secret.
template <std::size_t HashSize, class Mac>
void expand_label(std::string_view label, base::byte_span out, Mac mac) noexcept {
  MILLRACE_ASSERT(label.size() <= hkdf_label_max && out.size() <= 255 * HashSize);
  label = label.substr(0, hkdf_label_max);

  // T(n) = HMAC(secret, T(n-1) | HkdfLabel | n): the previous block stands in front from the second step on.
  std::array<std::uint8_t, HashSize + info_max + 1> step;
  std::uint8_t* const info = step.data() + HashSize;
  std::uint8_t* at = info;
  base::store_be16(at, static_cast<std::uint16_t>(out.size()));
  at += 2;
  *at++ = static_cast<std::uint8_t>(hkdf_label_prefix.size() + label.size());
  std::memcpy(at, hkdf_label_prefix.data(), hkdf_label_prefix.size());
  at += hkdf_label_prefix.size();
  at = std::copy(label.begin(), label.end(), at);
  *at++ = 0;  // no context
  std::uint8_t& counter = *at++;
  counter = 0;

  std::array<std::uint8_t, HashSize> block;
  const std::uint8_t* from = info;
  while (!out.empty()) {
    ++counter;
    mac(base::byte_view(from, static_cast<std::size_t>(at - from)), block);
    const std::size_t take = std::min(out.size(), block.size());
    std::memcpy(out.data(), block.data(), take);
    out = out.subspan(take);
    std::memcpy(step.data(), block.data(), block.size());
    from = step.data();
  }
  wipe(step);
  wipe(block);
}

}  // namespace

void hkdf_expand(engine& e, const hmac_key& secret, const hkdf_label& label, sha256_digest& out) noexcept {
  hmac(e, secret, label.view(), out);
}

void hkdf_expand_label(engine& e, const hmac_key& secret, std::string_view label, base::byte_span out) noexcept {
  expand_label<sha256_size>(label, out,
                            [&](base::byte_view message, sha256_digest& block) { hmac(e, secret, message, block); });
}

void hkdf_expand_label(const hmac384_key& secret, std::string_view label, base::byte_span out) noexcept {
  expand_label<sha384_size>(label, out,
                            [&](base::byte_view message, sha384_digest& block) { hmac384(secret, message, block); });
}

void hkdf_extract(engine& e, hash_algorithm hash, base::byte_view salt, base::byte_view secret,
                  base::byte_span out) noexcept {
  MILLRACE_ASSERT(out.size() == hash_size(hash));
  if (hash == hash_algorithm::sha256) {
    sha256_digest digest;
    e.hkdf_extract(salt, secret, digest);
    std::memcpy(out.data(), digest.data(), digest.size());
    wipe(digest);
    return;
  }
  wiped<hmac384_key> key;
  set_hmac384_key(salt, *key);
  sha384_digest digest;
  hmac384(*key, secret, digest);
  std::memcpy(out.data(), digest.data(), digest.size());
  wipe(digest);
}

void hkdf_expand_label(engine& e, hash_algorithm hash, base::byte_view secret, std::string_view label,
                       base::byte_span out) noexcept {
  MILLRACE_ASSERT(secret.size() == hash_size(hash));
  if (hash == hash_algorithm::sha256) {
    wiped<hmac_key> key;
    set_hmac_key(e, secret, *key);
    hkdf_expand_label(e, *key, label, out);
    return;
  }
  wiped<hmac384_key> key;
  set_hmac384_key(secret, *key);
  hkdf_expand_label(*key, label, out);
}

}  // namespace millrace::crypto
