// test/inspect/quic_packets.hpp - QUIC packets as clients and servers send them, made for tests, fuzzers and
// benchmarks.
#pragma once

#include <cstdlib>
#include <string>

#include "base/byte_writer.hpp"
#include "quic/protect/initial.hpp"
#include "support/bytes.hpp"

namespace millrace::inspect::test {

using millrace::test::byte_list;

inline void must(bool holds) {
  if (!holds) std::abort();
}

inline void append(byte_list& to, base::byte_view more) { to.insert(to.end(), more.begin(), more.end()); }

inline void append_varint(byte_list& to, std::uint64_t v) {
  std::array<std::uint8_t, 8> room;
  append(to, base::byte_view(room).first(base::encode_varint(room.data(), v)));
}

inline void append_u16(byte_list& to, std::size_t v) {
  to.push_back(static_cast<std::uint8_t>(v >> 8));
  to.push_back(static_cast<std::uint8_t>(v));
}

struct hello_spec {
  std::string sni = "server.test";
  std::vector<std::string> alpn = {"h3"};
  std::size_t padding = 0;  // bytes of a padding extension (RFC 7685)
  byte_list parameters = {0x01, 0x02, 0x40, 0x64, 0x0F, 0x00};
  std::uint16_t parameters_type = 0x39;
};

// A whole ClientHello message.
inline byte_list client_hello(const hello_spec& spec) {
  byte_list extensions;
  const auto extension = [&](std::uint16_t type, const byte_list& body) {
    append_u16(extensions, type);
    append_u16(extensions, body.size());
    append(extensions, body);
  };
  if (!spec.sni.empty()) {
    byte_list body;
    append_u16(body, spec.sni.size() + 3);
    body.push_back(0);
    append_u16(body, spec.sni.size());
    append(body, base::as_bytes(spec.sni));
    extension(0, body);
  }
  byte_list names;
  for (const std::string& name : spec.alpn) {
    names.push_back(static_cast<std::uint8_t>(name.size()));
    append(names, base::as_bytes(name));
  }
  byte_list alpn;
  append_u16(alpn, names.size());
  append(alpn, names);
  if (!spec.alpn.empty()) extension(16, alpn);
  extension(43, {2, 0x03, 0x04});
  extension(13, {0, 2, 0x04, 0x03});
  extension(spec.parameters_type, spec.parameters);
  if (spec.padding != 0) extension(21, byte_list(spec.padding, 0));

  byte_list body = {0x03, 0x03};
  for (std::uint8_t i = 0; i < 32; ++i) body.push_back(i);
  body.push_back(0);                                      // session ID
  append(body, byte_list{0, 4, 0x13, 0x01, 0x13, 0x03});  // cipher suites
  append(body, byte_list{1, 0});                          // compression
  append_u16(body, extensions.size());
  append(body, extensions);
  byte_list message = {1, 0};
  append_u16(message, body.size());
  append(message, body);
  return message;
}

inline byte_list crypto_frame(std::uint64_t offset, base::byte_view data, std::uint8_t type = 0x06) {
  byte_list out = {type};
  append_varint(out, offset);
  append_varint(out, data.size());
  append(out, data);
  return out;
}

struct initial_spec {
  quic::wire::version_number version = quic::wire::version_1;
  byte_list dcid = millrace::test::from_hex("0102030405060708");
  byte_list scid = millrace::test::from_hex("090909");
  byte_list key_dcid;  // empty: dcid
  byte_list token;
  std::uint32_t packet_number = 0;
  quic::protect::side sender = quic::protect::side::client;
  std::size_t pad_to = 1200;  // of the datagram; frames are padded with PADDING
};

inline std::uint8_t long_first_byte(quic::wire::version_number version, unsigned v1_type) {
  // RFC 9369 3.2: v2 counts Initial 1, 0-RTT 2, Handshake 3, Retry 0.
  const unsigned type = version == quic::wire::version_2 ? (v1_type + 1) % 4 : v1_type;
  return static_cast<std::uint8_t>(0xC3 | type << 4);  // a packet number of four bytes
}

inline byte_list long_header(quic::wire::version_number version, unsigned v1_type, base::byte_view dcid,
                             base::byte_view scid) {
  byte_list out = {long_first_byte(version, v1_type)};
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<std::uint8_t>(version >> shift));
  out.push_back(static_cast<std::uint8_t>(dcid.size()));
  append(out, dcid);
  out.push_back(static_cast<std::uint8_t>(scid.size()));
  append(out, scid);
  return out;
}

// One protected Initial, as it stands in a datagram.
inline byte_list initial(crypto::engine& engine, const initial_spec& spec, base::byte_view frames) {
  byte_list packet = long_header(spec.version, 0, spec.dcid, spec.scid);
  append_varint(packet, spec.token.size());
  append(packet, spec.token);
  const std::size_t overhead = packet.size() + 2 + 4 + crypto::aead_tag_size;
  byte_list payload(frames.begin(), frames.end());
  if (overhead + payload.size() < spec.pad_to) payload.resize(spec.pad_to - overhead, 0);
  if (payload.size() < 4) payload.resize(4, 0);
  append_u16(packet, 0x4000 | (4 + payload.size() + crypto::aead_tag_size));
  const auto pn_offset = static_cast<std::uint32_t>(packet.size());
  for (int shift = 24; shift >= 0; shift -= 8) packet.push_back(static_cast<std::uint8_t>(spec.packet_number >> shift));
  append(packet, payload);
  packet.resize(packet.size() + crypto::aead_tag_size);
  quic::protect::packet_keys keys;
  must(quic::protect::derive_initial_keys(engine, spec.version, spec.key_dcid.empty() ? spec.dcid : spec.key_dcid,
                                          spec.sender, keys));
  must(quic::protect::seal_initial(engine, keys, packet, pn_offset, 4, spec.packet_number));
  return packet;
}

// A Handshake (2) or 0-RTT (1) packet nobody can open, which is what they look like without keys.
inline byte_list sealed_long(quic::wire::version_number version, unsigned v1_type, base::byte_view dcid,
                             base::byte_view scid, std::size_t size = 100) {
  byte_list packet = long_header(version, v1_type, dcid, scid);
  append_u16(packet, 0x4000 | size);
  packet.resize(packet.size() + size, 0x5A);
  return packet;
}

inline byte_list short_packet(base::byte_view dcid, std::size_t size = 40) {
  byte_list packet = {0x41};
  append(packet, dcid);
  packet.resize(std::max(packet.size(), size), 0x77);
  return packet;
}

inline byte_list version_negotiation(base::byte_view dcid, base::byte_view scid,
                                     std::initializer_list<quic::wire::version_number> versions) {
  byte_list packet = long_header(0, 0, dcid, scid);
  for (const quic::wire::version_number v : versions)
    for (int shift = 24; shift >= 0; shift -= 8) packet.push_back(static_cast<std::uint8_t>(v >> shift));
  return packet;
}

inline byte_list retry(crypto::engine& engine, quic::wire::version_number version, base::byte_view dcid,
                       base::byte_view scid, base::byte_view original_dcid, base::byte_view token) {
  byte_list packet = long_header(version, 3, dcid, scid);
  append(packet, token);
  packet.resize(packet.size() + 16);
  must(quic::protect::seal_retry(engine, version, original_dcid, packet));
  return packet;
}

}  // namespace millrace::inspect::test
