#include "crypto/hkdf.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "base/endian.hpp"

namespace millrace::crypto {

void hkdf_expand(engine& e, const hmac_key& secret, const hkdf_label& label, sha256_digest& out) noexcept {
  hmac(e, secret, label.view(), out);
}

void hkdf_expand_label(engine& e, const hmac_key& secret, std::string_view label, base::byte_span out) noexcept {
  MILLRACE_ASSERT(label.size() <= hkdf_label_max && out.size() <= hkdf_output_max);
  label = label.substr(0, hkdf_label_max);

  // T(n) = HMAC(secret, T(n-1) | HkdfLabel | n): the previous block stands in front from the second step on.
  std::array<std::uint8_t, sha256_size + 2 + 1 + 255 + 1 + 1> step;
  std::uint8_t* const info = step.data() + sha256_size;
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

  sha256_digest block;
  const std::uint8_t* from = info;
  while (!out.empty()) {
    ++counter;
    hmac(e, secret, {from, static_cast<std::size_t>(at - from)}, block);
    const std::size_t take = std::min(out.size(), block.size());
    std::memcpy(out.data(), block.data(), take);
    out = out.subspan(take);
    std::memcpy(step.data(), block.data(), block.size());
    from = step.data();
  }
}

}  // namespace millrace::crypto
