// net/wire/arp.hpp - ARP for IPv4 over Ethernet.
//
// Shape    parse() takes what follows the Ethernet header (and its padding); emit() writes the 28 bytes.
// Errors   truncated; unsupported: another hardware, protocol or operation (RARP, InARP); bad_length: sizes that are
//          not 6 and 4; bad_value: a sender whose hardware address is a group's or zero.
// Owner    nothing.
// Source   RFC 826, RFC 5227 1.1. Tests  test/net/tables_test.cpp, test/net/host_link_test.cpp,
// test/fuzz/net_host_fuzz.cpp
#pragma once

#include "base/byte_writer.hpp"
#include "base/parse_status.hpp"
#include "net/wire/address.hpp"

namespace millrace::net::wire {

enum class arp_operation : std::uint16_t { request = 1, reply = 2 };

struct arp_packet {
  static constexpr std::size_t encoded_size = 28;
  arp_operation operation = arp_operation::request;
  mac_address sender_mac;
  mac_address target_mac;
  base::ip_address sender;  // IPv4; 0.0.0.0 in a probe (RFC 5227 2.1.1)
  base::ip_address target;
};

[[nodiscard]] base::parse_status parse(base::byte_view in, arp_packet& out) noexcept;
[[nodiscard]] bool emit(const arp_packet& packet, base::byte_writer& out) noexcept;

}  // namespace millrace::net::wire
