// Deriving a direction costs one extract and one expand by the side's name, then three expands by the key labels. The
// salt is an HMAC key made at compile time; the last three messages run side by side.
//
// Opening never writes into the packet: the header goes to the front of `out`, is unmasked there, and serves as
// associated data where it lies; the frames are decrypted behind it.
#include "quic/protect/initial.hpp"

#include <cstring>

#include "base/assert.hpp"
#include "base/endian.hpp"
#include "quic/protect/version_secrets.hpp"
#include "quic/wire/packet_number.hpp"

namespace millrace::quic::protect {
namespace {

// RFC 9001 5.2.
constexpr crypto::hkdf_label client_label = crypto::make_hkdf_label<32>("client in");
constexpr crypto::hkdf_label server_label = crypto::make_hkdf_label<32>("server in");

constexpr std::uint8_t long_header_mask_bits = 0x0f;  // RFC 9001 5.4.1: reserved bits and packet number length
constexpr std::uint8_t reserved_bits_mask = 0x0c;     // RFC 9000 17.2
constexpr std::uint8_t pn_size_mask = 0x03;
constexpr unsigned pn_size_max = 4;
constexpr std::size_t sample_distance = 4;  // RFC 9001 5.4.2: the sample begins where a 4-byte number would end

using nonce = std::array<std::uint8_t, crypto::aead_nonce_size>;

nonce make_nonce(const packet_keys& keys, std::uint64_t packet_number) noexcept {  // RFC 9001 5.3
  nonce out = keys.iv;
  base::store_be64(out.data() + 4, base::load_be64(out.data() + 4) ^ packet_number);
  return out;
}

void xor_bytes(std::uint8_t* bytes, const std::uint8_t* mask, unsigned count) noexcept {
  for (unsigned i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(bytes[i] ^ mask[i]);
}

}  // namespace

bool has_initial_salt(wire::version_number version) noexcept { return find_initial_secrets(version) != nullptr; }

bool derive_initial_keys(crypto::engine& engine, wire::version_number version, base::byte_view client_dcid, side sender,
                         packet_keys& out) noexcept {
  const initial_secrets* const secrets = find_initial_secrets(version);
  if (secrets == nullptr) return false;

  crypto::sha256_digest secret;
  crypto::hmac_key expander;
  crypto::hmac(engine, secrets->salt, client_dcid, secret);  // HKDF-Extract
  crypto::set_hmac_key(engine, secret, expander);
  crypto::hkdf_expand(engine, expander, sender == side::client ? client_label : server_label, secret);
  crypto::set_hmac_key(engine, secret, expander);

  crypto::sha256_digest key;
  crypto::sha256_digest iv;
  crypto::sha256_digest header;
  const initial_labels& labels = secrets->labels;
  const std::array<crypto::hmac_request, 3> requests = {crypto::hmac_request{labels.key.view(), &key},
                                                        crypto::hmac_request{labels.iv.view(), &iv},
                                                        crypto::hmac_request{labels.header.view(), &header}};
  crypto::hmac_each(engine, expander, requests);
  crypto::set_aes128_gcm_key(engine, base::byte_view(key).first(crypto::aes128_key_size), out.aead);
  crypto::set_aes128_header_key(engine, base::byte_view(header).first(crypto::aes128_key_size), out.header);
  std::memcpy(out.iv.data(), iv.data(), out.iv.size());
  return true;
}

open_errc open_initial(crypto::engine& engine, const packet_keys& keys, base::byte_view packet,
                       const wire::packet_header& header, std::uint64_t largest_pn, base::byte_span out,
                       opened& result) noexcept {
  const std::size_t pn_offset = header.pn_offset;
  const std::size_t size = header.packet_size;
  if (pn_offset == 0 || size > packet.size() || size < pn_offset + sample_distance + crypto::header_sample_size) {
    return open_errc::too_short;
  }
  if (out.size() < size) return open_errc::no_room;

  std::array<std::uint8_t, crypto::header_mask_size> mask;
  crypto::header_mask(keys.header, packet.subspan(pn_offset + sample_distance, crypto::header_sample_size), mask);
  std::memcpy(out.data(), packet.data(), pn_offset + pn_size_max);
  out[0] = static_cast<std::uint8_t>(out[0] ^ (mask[0] & long_header_mask_bits));
  const unsigned pn_size = (out[0] & pn_size_mask) + 1u;
  xor_bytes(out.data() + pn_offset, mask.data() + 1, pn_size);

  std::uint64_t truncated = 0;
  for (unsigned i = 0; i < pn_size; ++i) truncated = truncated << 8 | out[pn_offset + i];
  const std::uint64_t packet_number = wire::decode_packet_number(largest_pn, truncated, pn_size);

  // The length check above leaves 20 bytes behind pn_offset: 4 at most for the number, 16 for the tag.
  const std::size_t header_size = pn_offset + pn_size;
  const base::byte_view sealed = packet.subspan(header_size, size - header_size);
  if (!crypto::open(engine, keys.aead, make_nonce(keys, packet_number), out.first(header_size), sealed,
                    out.data() + header_size)) {
    return open_errc::auth_failed;
  }
  // RFC 9000 17.2: looked at only now, when both protections are off, so that it tells an attacker nothing.
  if ((out[0] & reserved_bits_mask) != 0) return open_errc::reserved_bits;
  result.packet_number = packet_number;
  result.payload = out.subspan(header_size, sealed.size() - crypto::aead_tag_size);
  return open_errc::ok;
}

bool seal_initial(crypto::engine& engine, const packet_keys& keys, base::byte_span packet, std::uint32_t pn_offset,
                  unsigned pn_size, std::uint64_t packet_number) noexcept {
  if (pn_offset == 0 || pn_size == 0 || pn_size > pn_size_max || packet_number > wire::max_packet_number ||
      packet.size() < std::size_t{pn_offset} + sample_distance + crypto::header_sample_size) {
    return false;
  }
  if ((packet[0] & pn_size_mask) != pn_size - 1) return false;

  const std::size_t header_size = pn_offset + pn_size;
  const base::byte_view frames = packet.subspan(header_size, packet.size() - header_size - crypto::aead_tag_size);
  crypto::seal(engine, keys.aead, make_nonce(keys, packet_number), packet.first(header_size), frames,
               packet.data() + header_size);
  std::array<std::uint8_t, crypto::header_mask_size> mask;
  crypto::header_mask(keys.header, packet.subspan(pn_offset + sample_distance, crypto::header_sample_size), mask);
  packet[0] = static_cast<std::uint8_t>(packet[0] ^ (mask[0] & long_header_mask_bits));
  xor_bytes(packet.data() + pn_offset, mask.data() + 1, pn_size);
  return true;
}

}  // namespace millrace::quic::protect
