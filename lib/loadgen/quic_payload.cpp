#include <algorithm>
#include <array>

#include "base/byte_writer.hpp"
#include "crypto/aead.hpp"
#include "loadgen/payload.hpp"
#include "quic/protect/initial.hpp"
#include "quic/wire/frame_crypto.hpp"
#include "quic/wire/header_emit.hpp"
#include "tls/wire/client_hello_emit.hpp"

namespace millrace::loadgen {
namespace {

namespace wire = quic::wire;

constexpr std::size_t pn_size = 2;  // of the long headers

// RFC 9000 18.2, as a client sends them: id, length, value. initial_source_connection_id must be the client's own.
std::array<std::uint8_t, 40> transport_parameters(const quic_cid& client_cid, std::size_t& size) noexcept {
  std::array<std::uint8_t, 40> out;
  base::byte_writer w(out);
  const auto number = [&w](std::uint64_t id, std::uint64_t value) {
    return w.varint(id) && w.varint(base::varint_size(value)) && w.varint(value);
  };
  const bool all = number(0x01, 30'000) &&      // max_idle_timeout, ms
                   number(0x04, 1u << 20) &&    // initial_max_data
                   number(0x05, 256u << 10) &&  // initial_max_stream_data_bidi_local
                   number(0x08, 100) &&         // initial_max_streams_bidi
                   w.varint(0x0F) && w.varint(client_cid.size()) &&
                   w.bytes(client_cid);  // initial_source_connection_id
  size = all ? w.size() : 0;
  return out;
}

bool emit_client_hello(payload_request& r, const quic_flow& ids, base::byte_writer& out) noexcept {
  constexpr std::array<std::uint16_t, 3> suites = {0x1301, 0x1302, 0x1303};      // RFC 8446 B.4
  constexpr std::array<std::uint16_t, 3> signatures = {0x0403, 0x0804, 0x0401};  // RFC 8446 4.2.3
  constexpr std::array<std::string_view, 1> alpn = {"h3"};
  const auto random = r.random.array<32>();
  const auto share = r.random.array<tls::wire::x25519_share_size>();
  std::size_t parameters_size = 0;
  const auto parameters = transport_parameters(ids.client_cid, parameters_size);
  name_buffer name;
  tls::wire::client_hello_values hello;
  hello.random = random;
  hello.cipher_suites = suites;
  hello.sni = server_name(r.domain, r.of.number, name);
  hello.alpn = alpn;
  hello.signatures = signatures;
  hello.x25519_share = share;
  hello.transport_parameters = base::byte_view(parameters).first(parameters_size);
  return emit(out, hello);
}

}  // namespace

bool fill_quic_initial(crypto::engine& engine, payload_request& r, base::byte_span out) noexcept {
  const quic_flow ids = make_quic_flow(r.seed, r.of.number);
  std::array<std::uint8_t, 1024> hello;
  base::byte_writer hello_out(hello);
  if (!emit_client_hello(r, ids, hello_out)) return false;

  wire::long_header header;
  header.version = ids.version;
  header.dcid = ids.original_dcid;
  header.scid = ids.client_cid;
  header.pn_size = pn_size;
  const std::size_t before_number = encoded_size(header);  // its length field has 2 bytes, whatever it says
  if (out.size() < before_number + pn_size + crypto::aead_tag_size) return false;
  header.length = out.size() - before_number;
  base::byte_writer w(out.first(out.size() - crypto::aead_tag_size));
  base::byte_span number;
  if (!emit(w, header, number) || number.data() != out.data() + before_number) return false;
  base::store_be16(number.data(), 0);  // the first packet of its space is number 0 (RFC 9000 12.3)
  if (!emit(w, wire::crypto_frame{0, hello_out.written()})) return false;
  base::byte_span padding;
  if (!w.reserve(w.room(), padding)) return false;
  std::fill(padding.begin(), padding.end(), std::uint8_t{0});

  quic::protect::packet_keys keys;
  return derive_initial_keys(engine, ids.version, ids.original_dcid, quic::protect::side::client, keys) &&
         seal_initial(engine, keys, out, static_cast<std::uint32_t>(before_number), pn_size, 0);
}

bool fill_quic_handshake(payload_request& r, base::byte_span out) noexcept {
  const quic_flow ids = make_quic_flow(r.seed, r.of.number);
  wire::long_header header;
  header.type = wire::packet_type::handshake;
  header.version = ids.version;
  header.dcid = r.plan.from_client ? ids.server_cid : ids.client_cid;
  header.scid = r.plan.from_client ? ids.client_cid : ids.server_cid;
  header.pn_size = pn_size;
  const std::size_t before_number = encoded_size(header);
  if (out.size() < before_number + pn_size + crypto::aead_tag_size) return false;
  header.length = out.size() - before_number;
  base::byte_writer w(out);
  base::byte_span number;
  if (!emit(w, header, number)) return false;
  r.random.fill(out.subspan(before_number));
  out[0] ^= static_cast<std::uint8_t>(
      r.random.below(16));  // RFC 9001 5.4.1: protection hides the low four bits of a long header
  return true;
}

bool fill_quic_one_rtt(payload_request& r, base::byte_span out) noexcept {
  const quic_flow ids = make_quic_flow(r.seed, r.of.number);
  wire::short_header header;
  header.dcid = r.plan.from_client ? ids.server_cid : ids.client_cid;
  base::byte_writer w(out);
  base::byte_span number;
  if (!emit(w, header, number)) return false;
  r.random.fill(out.subspan(encoded_size(header)));
  out[0] ^= static_cast<std::uint8_t>(r.random.below(32));  // RFC 9001 5.4.1: and the low five of a short one
  return true;
}

}  // namespace millrace::loadgen
