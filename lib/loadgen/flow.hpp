// loadgen/flow.hpp - who the two ends of a generated flow are: addresses, ports, connection IDs, names.
//
// Shape    pure functions of (seed, flow number): nothing is kept a flow, so a million of them cost nothing.
// Rules    addresses are those set aside for it (RFC 2544 198.18.0.0/15, RFC 3849 2001:db8::/32), MACs are locally
//          administered. No two flows share client address and port. Sixteen servers share the flows.
// Units    ports in host order. Tests  test/loadgen/frame_generator_test.cpp
#pragma once

#include <array>

#include "base/ip_address.hpp"
#include "loadgen/traffic.hpp"
#include "net/wire/headers.hpp"
#include "quic/wire/version.hpp"

namespace millrace::loadgen {

inline constexpr std::size_t quic_cid_size = 8;
using quic_cid = std::array<std::uint8_t, quic_cid_size>;

inline constexpr std::uint16_t quic_port = 443;
inline constexpr std::uint16_t discard_port = 9;  // RFC 863: whoever listens throws it away; for plain UDP and TCP

struct flow {
  std::uint32_t number = 0;
  traffic_kind kind{};
  base::ip_family family{};
  base::endpoint client;
  base::endpoint server;
};

struct quic_flow {
  quic::wire::version_number version = quic::wire::version_1;  // every eighth flow speaks version 2
  quic_cid original_dcid{};                                    // of the client's first Initial
  quic_cid client_cid{};                                       // the client's source ID, what the server sends to
  quic_cid server_cid{};                                       // the server's source ID, what the client sends to
};

inline constexpr net::wire::mac_address client_mac = {{0x02, 0x00, 0x00, 0x12, 0x00, 0x01}};
inline constexpr net::wire::mac_address server_mac = {{0x02, 0x00, 0x00, 0x13, 0x00, 0x01}};

// `number` < options.flows; `kinds` not empty.
[[nodiscard]] flow make_flow(const frame_options& options, const traffic_kinds& kinds, std::uint32_t number) noexcept;

[[nodiscard]] quic_flow make_quic_flow(std::uint64_t seed, std::uint32_t number) noexcept;

inline constexpr std::size_t max_name_size = max_domain_size + 16;
using name_buffer = std::array<char, max_name_size>;
// "flow-7.millrace.test" in `out`; the view dies with it.
[[nodiscard]] std::string_view server_name(std::string_view domain, std::uint32_t number, name_buffer& out) noexcept;

}  // namespace millrace::loadgen
