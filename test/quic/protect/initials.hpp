// test/quic/protect/initials.hpp - Initial packets made by hand for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include "base/endian.hpp"
#include "crypto/engine.hpp"
#include "quic/protect/initial.hpp"
#include "support/bytes.hpp"

namespace millrace::test {

inline crypto::engine make_engine() {
  std::optional<crypto::engine> made = crypto::engine::make();
  EXPECT_TRUE(made.has_value());
  return std::move(*made);
}

struct plain_initial {
  byte_list header;  // up to and with the packet number
  byte_list frames;
  std::uint32_t pn_offset = 0;
  unsigned pn_size = 0;
  std::uint64_t packet_number = 0;
};

// `first_byte`: form, fixed and type bits; the low four are set here (reserved 0, then the number's size).
inline plain_initial make_initial(std::uint8_t first_byte, quic::wire::version_number version, const byte_list& dcid,
                                  const byte_list& frames, unsigned pn_size, std::uint64_t packet_number) {
  plain_initial out;
  byte_list& h = out.header;
  h.push_back(static_cast<std::uint8_t>((first_byte & 0xf0) | (pn_size - 1)));
  h.resize(5);
  base::store_be32(h.data() + 1, version);
  h.push_back(static_cast<std::uint8_t>(dcid.size()));
  h.insert(h.end(), dcid.begin(), dcid.end());
  h.push_back(0);  // no source connection ID
  h.push_back(0);  // no token
  const std::size_t length = pn_size + frames.size() + 16;
  h.push_back(static_cast<std::uint8_t>(0x40 | (length >> 8)));
  h.push_back(static_cast<std::uint8_t>(length));
  out.pn_offset = static_cast<std::uint32_t>(h.size());
  for (unsigned i = pn_size; i-- > 0;) h.push_back(static_cast<std::uint8_t>(packet_number >> (8 * i)));
  out.frames = frames;
  out.pn_size = pn_size;
  out.packet_number = packet_number;
  return out;
}

// With room for the tag, as seal_initial takes it.
inline byte_list unsealed(const plain_initial& initial) {
  return join({initial.header, initial.frames, byte_list(16)});
}

inline byte_list sealed(crypto::engine& engine, const quic::protect::packet_keys& keys, const plain_initial& initial) {
  byte_list packet = unsealed(initial);
  EXPECT_TRUE(
      quic::protect::seal_initial(engine, keys, packet, initial.pn_offset, initial.pn_size, initial.packet_number));
  return packet;
}

inline quic::protect::packet_keys derive(crypto::engine& engine, quic::wire::version_number version,
                                         base::byte_view dcid, quic::protect::side sender) {
  quic::protect::packet_keys keys;
  EXPECT_TRUE(quic::protect::derive_initial_keys(engine, version, dcid, sender, keys));
  return keys;
}

struct open_result {
  quic::protect::open_errc code{};
  std::uint64_t packet_number = 0;
  byte_list frames;
};

inline open_result open_packet(crypto::engine& engine, const quic::protect::packet_keys& keys, base::byte_view packet,
                               const quic::wire::packet_header& header, std::uint64_t largest) {
  byte_list room(packet.size());
  quic::protect::opened opened;
  open_result out;
  out.code = quic::protect::open_initial(engine, keys, packet, header, largest, room, opened);
  out.packet_number = opened.packet_number;
  out.frames.assign(opened.payload.begin(), opened.payload.end());
  return out;
}

// parse_packet first.
inline open_result open_packet(crypto::engine& engine, const quic::protect::packet_keys& keys, base::byte_view packet) {
  quic::wire::packet_header header;
  const base::parse_status parsed = quic::wire::parse_packet(packet, header);
  EXPECT_TRUE(static_cast<bool>(parsed)) << base::to_string(parsed.code);
  return open_packet(engine, keys, packet, header, ~std::uint64_t{0});
}

}  // namespace millrace::test
