// net/wire/ndp.hpp - neighbour solicitation and advertisement: the bodies, with their options.
//
// Shape    parse() takes a whole ICMPv6 message whose checksum is sound; emit_body() writes what follows the four bytes
//          of type, code and checksum plus the flags word, i.e. target and one link-layer address option.
// Limits   max_ndp_options options are looked at; a message with more is too_many.
// Errors   truncated; bad_length: an option of length 0 or beyond the message; bad_value: a multicast target, a code
//          that is not 0, a link-layer address that is a group's. Options that we do not know are skipped.
// Owner    nothing.
// Source   RFC 4861 4.3, 4.4, 4.6.1, 7.1. Tests  test/net/host_link_test.cpp, test/fuzz/net_host_fuzz.cpp
#pragma once

#include "base/byte_writer.hpp"
#include "base/parse_status.hpp"
#include "net/wire/address.hpp"
#include "net/wire/icmp.hpp"

namespace millrace::net::wire {

inline constexpr std::size_t max_ndp_options = 16;  // RFC 4861 has two here; others are for routers

namespace ndp_flag {  // of an advertisement's second word, RFC 4861 4.4
inline constexpr std::uint32_t router = 0x8000'0000;
inline constexpr std::uint32_t solicited = 0x4000'0000;
inline constexpr std::uint32_t override_cache = 0x2000'0000;
}  // namespace ndp_flag

struct neighbour_message {
  std::uint32_t flags = 0;  // advertisements only
  base::ip_address target{};
  bool has_source_mac = false;  // option 1
  bool has_target_mac = false;  // option 2
  mac_address source_mac{};
  mac_address target_mac{};
};

// `message`: type 135 or 136, from its first byte.
[[nodiscard]] base::parse_status parse(base::byte_view message, neighbour_message& out) noexcept;

// Target, then source_mac or target_mac as an option where the message has it.
inline constexpr std::size_t max_neighbour_body_size = 16 + 2 * 8;
[[nodiscard]] bool emit_body(const neighbour_message& message, base::byte_writer& out) noexcept;

}  // namespace millrace::net::wire
