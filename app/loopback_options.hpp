// app/loopback_options.hpp - what `loopback` was asked to do.
//
// Shape    plain values, filled by parse_loopback_options().
// Units    as each option says. Errors  refusals name the option; exit status 2. An option that the workload has no use
//          for is refused, so that nobody takes a run for what it was not.
// Tests    test/app/loopback_test.py
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/options.hpp"
#include "pipeline/impairment.hpp"

namespace millrace::app {

enum class loopback_workload : std::uint8_t { io, srmp_echo, srmp_stream, quic_stream, h3_get, h3_json };
[[nodiscard]] std::string_view to_string(loopback_workload workload) noexcept;

enum class loopback_transport : std::uint8_t { udp, quic };
[[nodiscard]] constexpr std::string_view to_string(loopback_transport transport) noexcept {
  return transport == loopback_transport::quic ? "quic" : "udp";
}

struct loopback_options {
  common_options common;
  loopback_workload workload = loopback_workload::srmp_echo;
  loopback_transport transport = loopback_transport::udp;  // of SRMP
  std::uint64_t size = 0;           // io: frame; srmp-echo: payload of a message; srmp-stream: bytes of a stream;
                                    // quic-stream, h3-get: of a body
  std::uint64_t item = 0;           // srmp-stream: bytes of an item; 0: what fills a datagram
  std::uint16_t mtu = 1500;         // of IP, at both ends
  std::uint16_t connections = 0;    // 0: the workload's default, until settled
  std::uint16_t streams = 0;        // requests, or streams, in flight of one connection; of SRMP over QUIC its
                                    // streams; 0: the same
  std::uint16_t window = 64;        // of SRMP over QUIC: requests in flight of one stream
  std::string method;               // srmp-echo: an rpc method that is called; empty: raw frames are echoed
  bool fill = false;                // srmp-echo: datagrams are filled with messages
  std::uint64_t rate = 0;           // messages a second, open loop; 0: closed loop
  std::uint64_t requests = 0;       // 0: until time is up
  double duration_s = 0;            // 0: until stopped
  double timeout_s = 0;             // of a request; of a stream, of silence; 0: the workload's default, until settled
  std::uint16_t burst_pkts = 32;    // of a receive
  bool software_checksums = false;  // as on a port that computes and verifies none; else packets are marked as sound
  pipeline::impairment_settings wire;  // of each direction; the seed is the first one's

  [[nodiscard]] bool is_srmp_quic() const noexcept {
    return workload == loopback_workload::srmp_echo && transport == loopback_transport::quic;
  }
  [[nodiscard]] bool is_h3() const noexcept {
    return workload == loopback_workload::h3_get || workload == loopback_workload::h3_json;
  }
  // Bodies are fetched.
  [[nodiscard]] bool is_fetch() const noexcept { return workload == loopback_workload::quic_stream || is_h3(); }
  // Both ends have QUIC endpoints.
  [[nodiscard]] bool is_quic() const noexcept { return is_fetch() || is_srmp_quic(); }
};

// Nothing when the role is to run; else the exit status.
[[nodiscard]] std::optional<int> parse_loopback_options(const invocation& call, loopback_options& out);

}  // namespace millrace::app
