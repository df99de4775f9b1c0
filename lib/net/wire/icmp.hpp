// net/wire/icmp.hpp - the eight bytes that every ICMP and ICMPv6 message begins with, and the numbers in them.
//
// Shape    parse() reads type, code and the second word; is_icmp_sound() judges the checksum; emit() writes the header
//          for a body that the caller keeps elsewhere, checksum filled.
// Errors   truncated (8 bytes are the least of every message we take). Owner  nothing.
// Source   RFC 792, RFC 4443 2.1, 2.3, 3, 4. Tests  test/net/host_ip_test.cpp, test/fuzz/net_host_fuzz.cpp
#pragma once

#include "base/byte_writer.hpp"
#include "base/ip_address.hpp"
#include "base/parse_status.hpp"
#include "base/segments.hpp"

namespace millrace::net::wire {

namespace icmp4 {
inline constexpr std::uint8_t echo_reply = 0;
inline constexpr std::uint8_t unreachable = 3;
inline constexpr std::uint8_t source_quench = 4;
inline constexpr std::uint8_t redirect = 5;
inline constexpr std::uint8_t echo_request = 8;
inline constexpr std::uint8_t time_exceeded = 11;
inline constexpr std::uint8_t parameter_problem = 12;
// Codes of unreachable.
inline constexpr std::uint8_t protocol_unreachable = 2;
inline constexpr std::uint8_t port_unreachable = 3;
inline constexpr std::uint8_t fragmentation_needed = 4;
// Of time_exceeded.
inline constexpr std::uint8_t reassembly_time = 1;

// RFC 1122 3.2.2: these quote a packet, and are never answered with another error.
[[nodiscard]] constexpr bool is_error(std::uint8_t type) noexcept {
  return type == unreachable || type == source_quench || type == redirect || type == time_exceeded ||
         type == parameter_problem;
}
}  // namespace icmp4

namespace icmp6 {
inline constexpr std::uint8_t unreachable = 1;
inline constexpr std::uint8_t packet_too_big = 2;
inline constexpr std::uint8_t time_exceeded = 3;
inline constexpr std::uint8_t parameter_problem = 4;
inline constexpr std::uint8_t echo_request = 128;
inline constexpr std::uint8_t echo_reply = 129;
inline constexpr std::uint8_t router_solicitation = 133;
inline constexpr std::uint8_t router_advertisement = 134;
inline constexpr std::uint8_t neighbour_solicitation = 135;
inline constexpr std::uint8_t neighbour_advertisement = 136;
inline constexpr std::uint8_t redirect = 137;
inline constexpr std::uint8_t mld2_report = 143;
// Codes of unreachable.
inline constexpr std::uint8_t port_unreachable = 4;
// Of time_exceeded.
inline constexpr std::uint8_t reassembly_time = 1;
// Of parameter_problem.
inline constexpr std::uint8_t erroneous_field = 0;
inline constexpr std::uint8_t unknown_next_header = 1;
inline constexpr std::uint8_t unknown_option = 2;
inline constexpr std::uint8_t incomplete_header_chain = 3;  // RFC 7112 5

[[nodiscard]] constexpr bool is_error(std::uint8_t type) noexcept { return type < 128; }  // RFC 4443 2.1
}  // namespace icmp6

struct icmp_header {
  static constexpr std::size_t encoded_size = 8;
  std::uint8_t type = 0;
  std::uint8_t code = 0;
  std::uint32_t word = 0;  // the second word: identifier and sequence, pointer, MTU, flags
};

[[nodiscard]] base::parse_status parse(base::byte_view in, icmp_header& out) noexcept;

// `message`: header and body as received. ICMPv6 sums the pseudo-header too (RFC 4443 2.3), so it needs the addresses.
[[nodiscard]] bool is_icmp_sound(const base::ip_address& src, const base::ip_address& dst,
                                 base::byte_view message) noexcept;

// The header of a message between `src` and `dst` (their family decides which ICMP) whose body is `body`.
[[nodiscard]] bool emit(const icmp_header& header, const base::ip_address& src, const base::ip_address& dst,
                        const base::segments& body, base::byte_writer& out) noexcept;

}  // namespace millrace::net::wire
