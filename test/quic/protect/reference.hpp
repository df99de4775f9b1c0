// test/quic/protect/reference.hpp - packet protection once more, on libcrypto and as the RFC tells it: the
// second implementation that ours is held against. Clear rather than fast; shares no code with lib/.
#pragma once

#include <string>

#include "support/bytes.hpp"
#include "support/libcrypto.hpp"

namespace millrace::test {

enum class reference_suite { aes_128, aes_256, chacha20 };

struct reference_keys {
  byte_list key, iv, header;
  reference_suite suite = reference_suite::aes_128;
};

inline const EVP_MD* reference_hash(reference_suite suite) {
  return suite == reference_suite::aes_256 ? EVP_sha384() : EVP_sha256();
}
inline const EVP_CIPHER* reference_cipher(reference_suite suite) {
  if (suite == reference_suite::chacha20) return EVP_chacha20_poly1305();
  return suite == reference_suite::aes_256 ? EVP_aes_256_gcm() : EVP_aes_128_gcm();
}
inline byte_list reference_mask(const reference_keys& keys, base::byte_view sample) {
  if (keys.suite == reference_suite::chacha20) return libcrypto::chacha20_keystream(keys.header, sample, 5);
  return libcrypto::ecb_block(keys.suite == reference_suite::aes_256 ? EVP_aes_256_ecb() : EVP_aes_128_ecb(),
                              keys.header, sample);
}

// RFC 9001 5.1; `label_prefix` is "quic " or RFC 9369's "quicv2 ".
inline reference_keys reference_keys_of(reference_suite suite, base::byte_view secret,
                                        const std::string& label_prefix) {
  const std::size_t key_size = suite == reference_suite::aes_128 ? 16 : 32;
  const EVP_MD* hash = reference_hash(suite);
  return {libcrypto::hkdf_expand_label(secret, label_prefix + "key", key_size, hash),
          libcrypto::hkdf_expand_label(secret, label_prefix + "iv", 12, hash),
          libcrypto::hkdf_expand_label(secret, label_prefix + "hp", key_size, hash), suite};
}

// RFC 9001 5.2; `label_prefix` is "quic " or RFC 9369's "quicv2 ".
inline reference_keys derive_reference(const byte_list& salt, base::byte_view dcid, bool client,
                                       const std::string& label_prefix) {
  const byte_list initial = libcrypto::hmac_sha256(salt, dcid);
  const byte_list secret = libcrypto::hkdf_expand_label(initial, client ? "client in" : "server in", 32);
  return reference_keys_of(reference_suite::aes_128, secret, label_prefix);
}

inline byte_list reference_nonce(const reference_keys& keys, std::uint64_t packet_number) {
  byte_list nonce = keys.iv;
  for (std::size_t i = 0; i < 8; ++i) {
    nonce[11 - i] = static_cast<std::uint8_t>(nonce[11 - i] ^ (packet_number >> (8 * i)));
  }
  return nonce;
}

// RFC 9001 5.3 and 5.4.1: `header` ends with `pn_size` bytes of packet number.
inline byte_list seal_reference(const reference_keys& keys, const byte_list& header, const byte_list& frames,
                                unsigned pn_size, std::uint64_t packet_number) {
  byte_list packet = header;
  const byte_list sealed = libcrypto::aead_seal(reference_cipher(keys.suite), keys.key,
                                                reference_nonce(keys, packet_number), header, frames);
  packet.insert(packet.end(), sealed.begin(), sealed.end());
  const std::size_t pn_offset = header.size() - pn_size;
  const byte_list mask = reference_mask(keys, base::byte_view(packet).subspan(pn_offset + 4, 16));
  packet[0] = static_cast<std::uint8_t>(packet[0] ^ (mask[0] & ((packet[0] & 0x80) != 0 ? 0x0f : 0x1f)));
  for (std::size_t i = 0; i < pn_size; ++i) {
    packet[pn_offset + i] = static_cast<std::uint8_t>(packet[pn_offset + i] ^ mask[1 + i]);
  }
  return packet;
}

// The frames, or nothing with `ok` false. Takes the packet number as it stands (no space to decode it in).
inline byte_list open_reference(const reference_keys& keys, byte_list packet, std::size_t pn_offset, bool& ok) {
  const byte_list mask = reference_mask(keys, base::byte_view(packet).subspan(pn_offset + 4, 16));
  packet[0] = static_cast<std::uint8_t>(packet[0] ^ (mask[0] & ((packet[0] & 0x80) != 0 ? 0x0f : 0x1f)));
  const std::size_t pn_size = (packet[0] & 3u) + 1;
  std::uint64_t packet_number = 0;
  for (std::size_t i = 0; i < pn_size; ++i) {
    packet[pn_offset + i] = static_cast<std::uint8_t>(packet[pn_offset + i] ^ mask[1 + i]);
    packet_number = packet_number << 8 | packet[pn_offset + i];
  }
  const base::byte_view all(packet);
  return libcrypto::aead_open(reference_cipher(keys.suite), keys.key, reference_nonce(keys, packet_number),
                              all.first(pn_offset + pn_size), all.subspan(pn_offset + pn_size), ok);
}

}  // namespace millrace::test
