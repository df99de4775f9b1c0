// test/support/frames.hpp - small frames for tests: the named kinds that a forwarding engine meets.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/byte_writer.hpp"
#include "net/wire/headers.hpp"
#include "support/bytes.hpp"

namespace millrace::test {

struct frame_wish {
  bool ipv6 = false;
  bool tcp = false;
  bool tagged = false;
  std::uint16_t src_port = 40000;
  std::uint16_t dst_port = 9;
};

inline base::ip_address address_of(bool ipv6, std::uint8_t last) {
  base::ip_address a;
  a.family = ipv6 ? base::ip_family::v6 : base::ip_family::v4;
  if (ipv6) {
    a.octets[0] = 0x20;
    a.octets[1] = 0x01;
    a.octets[2] = 0x0d;
    a.octets[3] = 0xb8;
    a.octets[15] = last;
  } else {
    a.octets[0] = 198;
    a.octets[1] = 18;
    a.octets[3] = last;
  }
  return a;
}

inline byte_list frame_of(const frame_wish& wish, base::byte_view payload) {
  net::wire::frame_spec spec;
  spec.dst_mac.octets = {0x02, 0, 0, 0, 0, 0x02};
  spec.src_mac.octets = {0x02, 0, 0, 0, 0, 0x01};
  if (wish.tagged) {
    EXPECT_TRUE(spec.tags.push_back({.id = 7}));
  }
  spec.src = address_of(wish.ipv6, 1);
  spec.dst = address_of(wish.ipv6, 2);
  spec.src_port = wish.src_port;
  spec.dst_port = wish.dst_port;
  spec.l4 = wish.tcp ? net::wire::transport::tcp : net::wire::transport::udp;
  byte_list out(net::wire::frame_headers_size(spec) + payload.size());
  base::byte_writer writer(out);
  EXPECT_TRUE(net::wire::emit_frame(spec, payload, writer));
  return out;
}

inline byte_list udp_frame(std::size_t payload_bytes = 30, const frame_wish& wish = {}) {
  return frame_of(wish, byte_list(payload_bytes, 'x'));
}

// Two frames of one SRMP call, as on the wire: flags 01, sequence 1, 5 bytes; and a one-way without payload.
inline byte_list srmp_payload() { return from_hex("01 01 0500 4563686f31  41 02 0000"); }

// A client Initial's header (RFC 9000 17.2.2): 8-byte IDs, no token, `length` bytes of packet number and payload.
inline byte_list quic_initial(std::uint16_t length = 100) {
  byte_list out = from_hex("c3 00000001 08 0102030405060708 08 1112131415161718 00");
  out.push_back(static_cast<std::uint8_t>(0x40 | length >> 8));
  out.push_back(static_cast<std::uint8_t>(length));
  out.resize(out.size() + length, 0xAB);
  return out;
}

}  // namespace millrace::test
