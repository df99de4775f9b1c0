// loadgen/traffic.hpp - what kinds of traffic the generator makes, and what a caller may ask of it.
//
// Shape    plain values; parse_traffic_kinds() reads `--traffic quic,srmp,udp,tcp`.
// Units    frame sizes are bytes from the Ethernet header on, without FCS, as testpmd's --txpkts counts them.
// Errors   failures are `unusable`: they name the option and say what would do.
// Tests    test/loadgen/traffic_test.cpp
#pragma once

#include <string>
#include <string_view>

#include "base/fixed_vector.hpp"
#include "base/ip_address.hpp"
#include "base/result.hpp"

namespace millrace::loadgen {

enum class traffic_kind : std::uint8_t { quic, srmp, udp, tcp };
inline constexpr std::size_t traffic_kind_count = 4;

[[nodiscard]] std::string_view to_string(traffic_kind kind) noexcept;

// In the order given; flows take them in turn, so a kind named twice has twice the flows.
using traffic_kinds = base::fixed_vector<traffic_kind, 16>;

[[nodiscard]] base::result<traffic_kinds> parse_traffic_kinds(std::string_view text);

// In what order the frames of a flow's life come.
enum class frame_order : std::uint8_t {
  life,      // every flow begins at its beginning: what a capture of new connections shows
  staggered  // every flow is somewhere else in its life: any run of frames holds all kinds of packets, as a link does
};

struct frame_options {
  traffic_kinds kinds;           // empty: all four, in the order of traffic_kind
  std::uint32_t flows = 64;      // 1 .. max_flows; connections, seen from both ends
  std::uint32_t frame_size = 0;  // every frame has this size; 0: each packet has the size its kind usually has
  std::uint64_t seed = 1;        // equal options and seed: equal frames
  bool ipv4 = true;              // of the flows of a kind every second one is IPv6 when both are wanted
  bool ipv6 = true;
  frame_order order = frame_order::staggered;
  std::uint16_t srmp_port = 5500;
  std::string domain = "millrace.test";  // the SNI of flow 7 is "flow-7." and this; at most max_domain_size
};

inline constexpr std::uint32_t max_flows = 1u << 24;
inline constexpr std::uint32_t min_frame_size = 60;    // IEEE 802.3: 64 with FCS
inline constexpr std::uint32_t max_frame_size = 9216;  // the jumbo frames that NICs agree on
inline constexpr std::size_t max_domain_size = 200;

// The smallest frame of a kind: its headers and the least a packet of it can be. A short QUIC header, its connection
// ID, a packet number and what header protection needs are 29 bytes.
[[nodiscard]] std::uint32_t smallest_frame(traffic_kind kind, base::ip_family family) noexcept;

// Client Initials fill datagrams of at least 1200 bytes (RFC 9000 14.1): with frames smaller than this, QUIC flows
// consist of short headers alone. The same for both families: 1200 and the headers of IPv6 over Ethernet.
inline constexpr std::uint32_t smallest_frame_with_initials = 1200 + 14 + 40 + 8;

// Success, or what about the options cannot be.
[[nodiscard]] base::outcome check(const frame_options& options);

}  // namespace millrace::loadgen
