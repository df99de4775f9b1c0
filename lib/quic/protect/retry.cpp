#include <cstring>

#include "crypto/constant_time.hpp"
#include "quic/protect/initial.hpp"
#include "quic/protect/version_secrets.hpp"
#include "quic/wire/header.hpp"

namespace millrace::quic::protect {
namespace {

// RFC 9001 5.8: the Retry pseudo-packet is the original DCID behind its length byte, then the packet up to its tag.
void retry_tag(crypto::engine& engine, const retry_secrets& secrets, base::byte_view original_dcid,
               base::byte_view retry_without_tag, crypto::aead_tag& tag) noexcept {
  crypto::aead_key key;
  crypto::set_aes128_gcm_key(engine, secrets.key, key);
  const auto dcid_size = static_cast<std::uint8_t>(original_dcid.size());
  const std::array<base::byte_view, 3> pseudo_packet = {base::byte_view(&dcid_size, 1), original_dcid,
                                                        retry_without_tag};
  crypto::authenticate(engine, key, secrets.nonce, pseudo_packet, tag);
}

}  // namespace

bool has_retry_key(wire::version_number version) noexcept { return find_retry_secrets(version) != nullptr; }

bool verify_retry(crypto::engine& engine, wire::version_number version, base::byte_view original_dcid,
                  base::byte_view retry) noexcept {
  const retry_secrets* const secrets = find_retry_secrets(version);
  if (secrets == nullptr || retry.size() < crypto::aead_tag_size ||
      original_dcid.size() > wire::max_invariant_cid_size) {
    return false;
  }
  crypto::aead_tag tag;
  const std::size_t tag_at = retry.size() - crypto::aead_tag_size;
  retry_tag(engine, *secrets, original_dcid, retry.first(tag_at), tag);
  return crypto::equal_secret(tag, retry.subspan(tag_at));
}

bool seal_retry(crypto::engine& engine, wire::version_number version, base::byte_view original_dcid,
                base::byte_span retry) noexcept {
  const retry_secrets* const secrets = find_retry_secrets(version);
  if (secrets == nullptr || retry.size() < crypto::aead_tag_size ||
      original_dcid.size() > wire::max_invariant_cid_size) {
    return false;
  }
  crypto::aead_tag tag;
  const std::size_t tag_at = retry.size() - crypto::aead_tag_size;
  retry_tag(engine, *secrets, original_dcid, retry.first(tag_at), tag);
  std::memcpy(retry.data() + tag_at, tag.data(), tag.size());
  return true;
}

}  // namespace millrace::quic::protect
