// test/quic/protect/reference.hpp - Initial and Retry protection once more, on libcrypto and as the RFC tells it: the
// second implementation that ours is held against. Clear rather than fast; shares no code with lib/.
#pragma once

#include <string>

#include "support/bytes.hpp"
#include "support/libcrypto.hpp"

namespace millrace::test {

struct reference_keys {
  byte_list key, iv, header;
};

// RFC 9001 5.2; `label_prefix` is "quic " or RFC 9369's "quicv2 ".
inline reference_keys derive_reference(const byte_list& salt, base::byte_view dcid, bool client,
                                       const std::string& label_prefix) {
  const byte_list initial = libcrypto::hmac_sha256(salt, dcid);
  const byte_list secret = libcrypto::hkdf_expand_label(initial, client ? "client in" : "server in", 32);
  return {libcrypto::hkdf_expand_label(secret, label_prefix + "key", 16),
          libcrypto::hkdf_expand_label(secret, label_prefix + "iv", 12),
          libcrypto::hkdf_expand_label(secret, label_prefix + "hp", 16)};
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
  const byte_list sealed = libcrypto::aes128_gcm_seal(keys.key, reference_nonce(keys, packet_number), header, frames);
  packet.insert(packet.end(), sealed.begin(), sealed.end());
  const std::size_t pn_offset = header.size() - pn_size;
  const byte_list mask = libcrypto::aes128_ecb_block(keys.header, base::byte_view(packet).subspan(pn_offset + 4, 16));
  packet[0] = static_cast<std::uint8_t>(packet[0] ^ (mask[0] & 0x0f));
  for (std::size_t i = 0; i < pn_size; ++i) {
    packet[pn_offset + i] = static_cast<std::uint8_t>(packet[pn_offset + i] ^ mask[1 + i]);
  }
  return packet;
}

// The frames, or nothing with `ok` false. Takes the packet number as it stands (no space to decode it in).
inline byte_list open_reference(const reference_keys& keys, byte_list packet, std::size_t pn_offset, bool& ok) {
  const byte_list mask = libcrypto::aes128_ecb_block(keys.header, base::byte_view(packet).subspan(pn_offset + 4, 16));
  packet[0] = static_cast<std::uint8_t>(packet[0] ^ (mask[0] & 0x0f));
  const std::size_t pn_size = (packet[0] & 3u) + 1;
  std::uint64_t packet_number = 0;
  for (std::size_t i = 0; i < pn_size; ++i) {
    packet[pn_offset + i] = static_cast<std::uint8_t>(packet[pn_offset + i] ^ mask[1 + i]);
    packet_number = packet_number << 8 | packet[pn_offset + i];
  }
  const base::byte_view all(packet);
  return libcrypto::aes128_gcm_open(keys.key, reference_nonce(keys, packet_number), all.first(pn_offset + pn_size),
                                    all.subspan(pn_offset + pn_size), ok);
}

}  // namespace millrace::test
