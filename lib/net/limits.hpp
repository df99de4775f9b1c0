// net/limits.hpp - what a host keeps for strangers and how long: each a number with a default, none a surprise.
//
// Shape    one plain struct; the configuration file maps onto it. A counter or a drop reason says which was hit.
// Units    in the names. Rates are events a second, with a burst that may pass at once.
// Errors   none here; host::make() refuses values that cannot work. Tests  test/net/tables_test.cpp
#pragma once

#include <cstdint>

namespace millrace::net {

struct rate_limit {
  std::uint32_t per_second = 0;
  std::uint32_t burst = 0;
};

struct host_limits {
  // Neighbours (ARP and neighbour discovery alike).
  std::uint32_t neighbours = 1024;              // entries; static ones count
  std::uint32_t pending_frames = 256;           // frames that wait for an address, over all neighbours
  std::uint32_t pending_per_neighbour = 8;      // of these for one; the oldest gives way
  std::uint64_t reachable_ns = 30'000'000'000;  // RFC 4861 10 REACHABLE_TIME
  std::uint64_t delay_ns = 5'000'000'000;       // DELAY_FIRST_PROBE_TIME
  std::uint64_t retransmit_ns = 1'000'000'000;  // RETRANS_TIMER
  std::uint32_t multicast_solicits = 3;         // MAX_MULTICAST_SOLICIT; ARP broadcasts as often
  std::uint32_t unicast_solicits = 3;           // MAX_UNICAST_SOLICIT
  std::uint64_t unused_ns = 600'000'000'000;    // an entry that nobody used for this long goes

  // Fragments (RFC 8200 4.5: 60 s; RFC 1122 3.3.2 wants 60 to 120 s).
  std::uint32_t reassembly_datagrams = 64;       // put together at the same time; the oldest gives way
  std::uint32_t reassembly_bytes = 1024 * 1024;  // over all of them, in blocks of 2 KiB
  std::uint32_t fragments_per_datagram = 64;     // 64 KiB in fragments of 1 KiB; up to 128
  std::uint64_t reassembly_ns = 60'000'000'000;

  // Path MTU (RFC 1191 6.3, RFC 8201 4).
  std::uint32_t path_mtus = 256;                // destinations with a smaller one than the link
  std::uint64_t path_mtu_ns = 600'000'000'000;  // then the link's is tried again
  std::uint16_t min_path_mtu_v4 = 552;          // a smaller report counts as this one, and clears "don't fragment"

  // What we say unasked or in answer (RFC 1812 4.3.2.8, RFC 4443 2.4 f).
  rate_limit icmp_errors{1'000, 100};
  rate_limit echo_replies{100'000, 10'000};
  rate_limit neighbour_answers{10'000, 1'000};
  rate_limit neighbour_solicits{10'000, 1'000};
};

}  // namespace millrace::net
