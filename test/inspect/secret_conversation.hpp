// test/inspect/secret_conversation.hpp - both sides of a QUIC connection with secrets of the test's own, and the key
// log that opens it.
//
// Shape    hello() makes the handshake's packets; packets of each level are sealed for real. Secrets are made up:
// nobody
//          runs TLS here, and nobody who only looks could tell.
#pragma once

#include <algorithm>
#include <string>

#include "base/endian.hpp"
#include "inspect/quic_packets.hpp"
#include "quic/protect/send_keys.hpp"
#include "tls/wire/key_log_line.hpp"

namespace millrace::inspect::test {

using quic::protect::cipher_suite;
using tls::wire::traffic_label;

struct conversation_spec {
  quic::wire::version_number version = quic::wire::version_1;
  cipher_suite suite = cipher_suite::aes_128_gcm_sha256;
  byte_list client_cid = millrace::test::from_hex("c1c2c3");
  byte_list server_cid = millrace::test::from_hex("5152535455565758");
  std::string alpn = "h3";
};

class conversation {
  crypto::engine& engine_;
  std::array<quic::protect::send_keys, 2> one_rtt_;
  std::array<std::array<std::uint64_t, 2>, 4> next_pn_{};  // by level of packets: initial, 0-RTT, Handshake, 1-RTT

 public:
  conversation_spec spec;
  byte_list first_dcid = millrace::test::from_hex("0102030405060708");
  hello_spec client;

  explicit conversation(crypto::engine& engine, conversation_spec s = {}) : engine_(engine), spec(std::move(s)) {
    client.alpn = {spec.alpn};
    for (int side = 0; side < 2; ++side) {
      quic::protect::traffic_secret secret;
      const byte_list bytes =
          secret_of(side == 0 ? traffic_label::client_application : traffic_label::server_application);
      must(quic::protect::set_secret(spec.suite, bytes, secret));
      must(one_rtt_[static_cast<std::size_t>(side)].install(engine_, {spec.version, spec.suite}, secret));
    }
  }

  [[nodiscard]] byte_list secret_of(traffic_label label) const {
    const std::size_t size = quic::protect::hash_of(spec.suite) == crypto::hash_algorithm::sha384 ? 48 : 32;
    byte_list out;
    for (std::size_t i = 0; i < size; ++i)
      out.push_back(static_cast<std::uint8_t>(17 * (static_cast<unsigned>(label) + 1) + i));
    return out;
  }
  // The line of one secret; the ClientHello's random is 00 01 02 ... 1f.
  [[nodiscard]] std::string line(traffic_label label) const {
    std::string text = std::string(tls::wire::to_string(label)) + " ";
    for (int i = 0; i < 32; ++i) {
      constexpr std::string_view digits = "0123456789abcdef";
      text += digits[static_cast<std::size_t>(i) / 16];
      text += digits[static_cast<std::size_t>(i) % 16];
    }
    return text + " " + millrace::test::to_hex(secret_of(label)) + "\n";
  }
  [[nodiscard]] std::string key_log() const {
    std::string all;
    for (std::size_t i = 0; i < tls::wire::traffic_label_count; ++i) all += line(static_cast<traffic_label>(i));
    return all;
  }

  // ---- packets

  byte_list initial(bool from_client, base::byte_view frames) {
    return inspect::test::initial(
        engine_,
        {.version = spec.version,
         .dcid = from_client ? (server_spoke_ ? spec.server_cid : first_dcid) : spec.client_cid,
         .scid = from_client ? spec.client_cid : spec.server_cid,
         .key_dcid = first_dcid,
         .token = {},
         .packet_number = static_cast<std::uint32_t>(next_pn_[0][from_client ? 0 : 1]++),
         .sender = from_client ? quic::protect::side::client : quic::protect::side::server,
         .pad_to = 1200},
        frames);
  }
  // Handshake (2) or 0-RTT (1), in the numbers of version 1.
  byte_list long_packet(unsigned v1_type, bool from_client, base::byte_view frames) {
    const std::size_t side = from_client ? 0 : 1;
    const traffic_label label = v1_type == 1  ? traffic_label::client_early
                                : from_client ? traffic_label::client_handshake
                                              : traffic_label::server_handshake;
    quic::protect::traffic_secret secret;
    quic::protect::packet_keys keys;
    const byte_list bytes = secret_of(label);
    must(quic::protect::set_secret(spec.suite, bytes, secret));
    must(quic::protect::derive_packet_keys(engine_, {spec.version, spec.suite}, secret, keys));
    byte_list packet = long_header(spec.version, v1_type,
                                   from_client ? (server_spoke_ ? spec.server_cid : first_dcid) : spec.client_cid,
                                   from_client ? spec.client_cid : spec.server_cid);
    const byte_list payload = padded(frames);
    append_u16(packet, 0x4000 | (4 + payload.size() + crypto::aead_tag_size));
    const auto pn_offset = static_cast<std::uint32_t>(packet.size());
    // 0-RTT and 1-RTT share their numbers.
    const std::uint64_t number = next_pn_[v1_type == 1 ? 3 : 2][side]++;
    seal(packet, pn_offset, number, payload,
         [&](quic::protect::seal_request& r) { return quic::protect::seal_packet(engine_, keys, r); });
    return packet;
  }
  byte_list handshake(bool from_client, base::byte_view frames) { return long_packet(2, from_client, frames); }
  byte_list early(base::byte_view frames) { return long_packet(1, true, frames); }
  byte_list one_rtt(bool from_client, base::byte_view frames, const byte_list& dcid) {
    const std::size_t side = from_client ? 0 : 1;
    byte_list packet = {0x43};
    append(packet, dcid);
    const auto pn_offset = static_cast<std::uint32_t>(packet.size());
    seal(packet, pn_offset, next_pn_[3][side]++, padded(frames),
         [&](quic::protect::seal_request& r) { return one_rtt_[side].seal(engine_, r); });
    return packet;
  }
  byte_list one_rtt(bool from_client, base::byte_view frames) {
    return one_rtt(from_client, frames, from_client ? spec.server_cid : spec.client_cid);
  }
  void update_keys(bool from_client) { one_rtt_[from_client ? 0 : 1].update(engine_); }
  void skip_packet_numbers(bool from_client, std::uint64_t count) { next_pn_[3][from_client ? 0 : 1] += count; }

  // ---- what they say

  [[nodiscard]] byte_list client_hello_message() const { return client_hello(client); }
  [[nodiscard]] byte_list server_hello_message() const {
    byte_list body;
    body.reserve(64);
    body.resize(35, 0x99);
    body[0] = body[1] = 3;
    body[34] = 0;  // no session ID
    append_u16(body, static_cast<std::size_t>(spec.suite));
    append(body, byte_list{0, 0, 6, 0, 43, 0, 2, 3, 4});
    return message(2, body);
  }
  [[nodiscard]] byte_list encrypted_extensions_message() const {
    byte_list extensions;
    append_u16(extensions, 16);
    append_u16(extensions, spec.alpn.size() + 3);
    append_u16(extensions, spec.alpn.size() + 1);
    extensions.push_back(static_cast<std::uint8_t>(spec.alpn.size()));
    append(extensions, base::as_bytes(spec.alpn));
    append(extensions, byte_list{0, 0x39, 0, 4, 0x01, 0x02, 0x47, 0xD0});  // max_idle_timeout 2000
    byte_list body;
    append_u16(body, extensions.size());
    append(body, extensions);
    return message(8, body);
  }
  [[nodiscard]] byte_list server_flight() const {
    byte_list all = encrypted_extensions_message();
    append(all, message(11, byte_list(700, 0xCE)));
    append(all, message(15, byte_list(80, 0x51)));
    append(all, message(20, byte_list(32, 0xF1)));
    return all;
  }
  [[nodiscard]] static byte_list finished_message() { return message(20, byte_list(32, 0xF0)); }
  static byte_list message(std::uint8_t type, const byte_list& body) {
    byte_list out(4 + body.size());
    out[0] = type;
    base::store_be16(out.data() + 2, static_cast<std::uint16_t>(body.size()));
    std::copy(body.begin(), body.end(), out.begin() + 4);
    return out;
  }

  // The server answers from here on under its own ID.
  byte_list server_first() {
    byte_list datagram = initial(false, crypto_frame(0, server_hello_message()));
    server_spoke_ = true;
    append(datagram, handshake(false, crypto_frame(0, server_flight())));
    return datagram;
  }
  // A whole handshake: feed(from_client, datagram) for each of its datagrams.
  template <class Feed>
  void handshake_with(Feed feed) {
    feed(true, initial(true, crypto_frame(0, client_hello_message())));
    feed(false, server_first());
    feed(true, handshake(true, crypto_frame(0, finished_message())));
    feed(false, one_rtt(false, byte_list{0x1e}));
  }

 private:
  bool server_spoke_ = false;

  static byte_list padded(base::byte_view frames) {
    byte_list payload(frames.begin(), frames.end());
    if (payload.size() < 4) payload.resize(4, 0);
    return payload;
  }
  template <class Seal>
  static void seal(byte_list& packet, std::uint32_t pn_offset, std::uint64_t number, const byte_list& payload,
                   Seal run) {
    packet.resize(pn_offset + 4 + payload.size() + crypto::aead_tag_size);
    const base::byte_view piece(payload);
    quic::protect::seal_request request{
        .out = packet, .pn_offset = pn_offset, .pn_size = 4, .packet_number = number, .payload = {&piece, 1}};
    must(run(request) == quic::protect::seal_errc::ok);
    must(request.size == packet.size());
  }
};

inline byte_list stream_frame(std::uint64_t id, std::uint64_t offset, base::byte_view data, bool fin = false) {
  byte_list out = {static_cast<std::uint8_t>(0x0e | (fin ? 1 : 0))};  // offset and length
  append_varint(out, id);
  append_varint(out, offset);
  append_varint(out, data.size());
  append(out, data);
  return out;
}

inline byte_list new_connection_id_frame(std::uint64_t sequence, base::byte_view id) {
  byte_list out = {0x18};
  append_varint(out, sequence);
  append_varint(out, 0);
  out.push_back(static_cast<std::uint8_t>(id.size()));
  append(out, id);
  out.resize(out.size() + 16, 0x70);
  return out;
}

inline byte_list joined(std::initializer_list<byte_list> parts) {
  byte_list out;
  for (const byte_list& part : parts) append(out, part);
  return out;
}

}  // namespace millrace::inspect::test
