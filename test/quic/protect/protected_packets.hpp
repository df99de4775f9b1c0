// test/quic/protect/protected_packets.hpp - packets of every suite and form, made by hand for the tests of this folder.
#pragma once

#include "quic/protect/initials.hpp"
#include "quic/protect/receive_keys.hpp"
#include "quic/protect/reference.hpp"
#include "quic/protect/send_keys.hpp"
#include "support/seeded.hpp"

namespace millrace::test {

struct suite_row {
  quic::protect::cipher_suite ours;
  reference_suite theirs;
  std::size_t secret_size;
};
inline constexpr suite_row suites[] = {
    {quic::protect::cipher_suite::aes_128_gcm_sha256, reference_suite::aes_128, 32},
    {quic::protect::cipher_suite::aes_256_gcm_sha384, reference_suite::aes_256, 48},
    {quic::protect::cipher_suite::chacha20_poly1305_sha256, reference_suite::chacha20, 32},
};
struct label_row {
  quic::wire::version_number version;
  const char* prefix;
};
inline constexpr label_row label_rows[] = {
    {quic::wire::version_1, "quic "}, {quic::wire::version_2, "quicv2 "}, {0xff00001d, "quic "}};

inline quic::protect::traffic_secret secret_of(quic::protect::cipher_suite suite, base::byte_view bytes) {
  quic::protect::traffic_secret out;
  EXPECT_TRUE(quic::protect::set_secret(suite, bytes, out));
  return out;
}

// A header with its packet number, not protected. Short: first byte 0x40 and a destination of `cid_size` bytes. Long:
// of a Handshake packet.
struct plain_packet {
  byte_list header;
  std::uint32_t pn_offset = 0;
  std::uint8_t pn_size = 1;
  std::uint64_t packet_number = 0;
  byte_list payload;
};
inline plain_packet make_packet(seeded& random, bool is_long, std::size_t payload_size) {
  plain_packet out;
  out.pn_size = static_cast<std::uint8_t>(1 + random.below(4));
  out.packet_number = random.next() >> (2 + random.below(60));
  const auto low = static_cast<std::uint8_t>(out.pn_size - 1);
  out.header = random.bytes(1 + random.below(is_long ? 60 : 21));
  out.header[0] = static_cast<std::uint8_t>((is_long ? 0xe0 : 0x40) | low);
  out.pn_offset = static_cast<std::uint32_t>(out.header.size());
  for (unsigned i = out.pn_size; i-- > 0;) {
    out.header.push_back(static_cast<std::uint8_t>(out.packet_number >> (8 * i)));
  }
  out.payload = random.bytes(payload_size);
  return out;
}

// What the largest number before it must have been, so that it decodes: the one right in front.
inline std::uint64_t largest_before(std::uint64_t packet_number) { return packet_number - 1; }

inline byte_list room_for(const plain_packet& p) { return join({p.header, byte_list(p.payload.size() + 16)}); }

// Cut into at most `pieces`, at random places.
inline std::vector<base::byte_view> pieces_of(seeded& random, base::byte_view all, std::size_t pieces) {
  std::vector<base::byte_view> out;
  for (std::size_t i = 1; i < pieces; ++i) {
    const std::size_t take = random.below(4) == 0 ? 0 : random.below(all.size() + 1);
    out.push_back(all.first(take));
    all = all.subspan(take);
  }
  out.push_back(all);
  return out;
}

}  // namespace millrace::test
