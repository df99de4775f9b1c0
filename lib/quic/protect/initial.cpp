// Deriving a direction costs one extract and one expand by the side's name, then the three expands of any secret. The
// salt is an HMAC key made at compile time; the last three messages run side by side.
//
// Opening never writes into the packet: it is one part whose plain bytes go to `out`.
#include "quic/protect/initial.hpp"

#include <cstring>

#include "quic/protect/packet_layout.hpp"
#include "quic/protect/seal.hpp"
#include "quic/protect/version_secrets.hpp"

namespace millrace::quic::protect {
namespace {

// RFC 9001 5.2.
constexpr crypto::hkdf_label client_label = crypto::make_hkdf_label<32>("client in");
constexpr crypto::hkdf_label server_label = crypto::make_hkdf_label<32>("server in");

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

  // RFC 9001 5.2: Initial packets are always under AES-128-GCM and SHA-256.
  traffic_secret side_secret;
  std::memcpy(side_secret.bytes.data(), secret.data(), secret.size());
  side_secret.size = static_cast<std::uint8_t>(secret.size());
  return derive_packet_keys(engine, {version, cipher_suite::aes_128_gcm_sha256}, side_secret, out);
}

open_errc open_initial(crypto::engine& engine, const packet_keys& keys, base::byte_view packet,
                       const wire::packet_header& header, std::uint64_t largest_pn, base::byte_span out,
                       opened& result) noexcept {
  const std::size_t size = header.packet_size;
  if (size > packet.size()) return open_errc::too_short;
  if (out.size() < size) return open_errc::no_room;
  const crypto::text_part whole{packet.data(), out.data(), size};
  opened_packet plain;
  const open_errc code = open_packet(engine, keys, {&whole, 1}, header.pn_offset, largest_pn, plain);
  if (code != open_errc::ok) return code;
  result.packet_number = plain.packet_number;
  result.payload = out.subspan(plain.header_size, plain.payload_size);
  return open_errc::ok;
}

bool seal_initial(crypto::engine& engine, const packet_keys& keys, base::byte_span packet, std::uint32_t pn_offset,
                  unsigned pn_size, std::uint64_t packet_number) noexcept {
  // The payload is in its place already, so sealing is in place, and the packet number is written again as it stands.
  const std::size_t header_size = std::size_t{pn_offset} + pn_size;
  if (packet.size() < header_size + crypto::aead_tag_size) return false;
  const base::byte_view frames = packet.subspan(header_size, packet.size() - header_size - crypto::aead_tag_size);
  if (pn_size > pn_size_max) return false;
  seal_request request{.out = packet,
                       .pn_offset = pn_offset,
                       .pn_size = static_cast<std::uint8_t>(pn_size),
                       .packet_number = packet_number,
                       .payload = {&frames, 1}};
  return seal_packet(engine, keys, request) == seal_errc::ok;
}

}  // namespace millrace::quic::protect
