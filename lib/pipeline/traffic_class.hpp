// pipeline/traffic_class.hpp - what a packet is, as far as one packet can say it without a flow table.
//
// Shape    classify() takes a frame that decode_fast() understood and answers one class; a datagram with several QUIC
//          packets has the class of its first, and all of them are parsed and counted.
// Rules    SRMP has no magic: a datagram to or from the SRMP port is SRMP when frames fill it exactly. A QUIC short
//          header looks like a quarter of all random bytes: it counts as one to or from a QUIC port only. Long headers
//          and gQUIC are judged by their bytes on any port.
// Units    packets.
// Errors   none: what is broken above L4 is a class of its own, it is not dropped here.
// Source   RFC 8999, RFC 9000 17, docs/rfc; the SRMP sheet 1. Tests  test/pipeline/traffic_class_test.cpp
//          Bench  bench/pipeline/parse_bench.cpp
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/bytes.hpp"
#include "base/fixed_vector.hpp"
#include "net/wire/decode.hpp"

namespace millrace::pipeline {

// X(name)
#define MILLRACE_TRAFFIC_CLASSES(X)                                                        \
  X(quic_initial)                                                                          \
  X(quic_zero_rtt)                                                                         \
  X(quic_handshake)                                                                        \
  X(quic_retry)                                                                            \
  X(quic_version_negotiation)                                                              \
  X(quic_one_rtt)                                                                          \
  X(quic_unknown_version)                                                                  \
  X(quic_malformed) /* a long header that its datagram does not hold, or junk behind it */ \
  X(gquic)                                                                                 \
  X(srmp)                                                                                  \
  X(srmp_malformed)                                                                        \
  X(udp)                                                                                   \
  X(tcp)                                                                                   \
  X(icmp)                                                                                  \
  X(fragment)                                                                              \
  X(arp)                                                                                   \
  X(other_ip)                                                                              \
  X(other)

enum class traffic_class : std::uint8_t {
#define MILLRACE_CLASS_ENUM(name) name,
  MILLRACE_TRAFFIC_CLASSES(MILLRACE_CLASS_ENUM)
#undef MILLRACE_CLASS_ENUM
      count_
};
inline constexpr std::size_t traffic_class_count = static_cast<std::size_t>(traffic_class::count_);

[[nodiscard]] std::string_view to_string(traffic_class c) noexcept;

inline constexpr std::size_t max_quic_ports = 8;

struct classify_ports {
  std::uint16_t srmp = 5500;
  base::fixed_vector<std::uint16_t, max_quic_ports> quic;  // default_classify_ports() fills it
};
[[nodiscard]] classify_ports default_classify_ports() noexcept;  // SRMP 5500; QUIC 443, 4433, 8443

struct classified {
  traffic_class what = traffic_class::other;
  std::uint8_t quic_packets = 0;  // QUIC packets with a readable header in the datagram
};

// Coalesced packets looked at in one datagram. A datagram of 1500 bytes holds at most three useful ones; tiny ones of
// a hostile sender are cut off here and make the datagram quic_malformed.
inline constexpr unsigned max_coalesced = 16;

[[nodiscard]] classified classify(base::byte_view frame, const net::wire::decoded& headers,
                                  const classify_ports& ports) noexcept;

}  // namespace millrace::pipeline
