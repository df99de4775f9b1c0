// loadgen/srmp_quic_settings.hpp - what the client of an SRMP server over QUIC is told beyond load_settings.
//
// Shape    fill srmp_quic_settings, fit() its pools to it, give it to srmp_quic_load::make().
// Units    in the names. Errors  check(): what of the settings cannot work.
// Threads  values. Tests  test/loadgen/srmp_quic_settings_test.cpp
#pragma once

#include <memory>
#include <string>

#include "loadgen/load_settings.hpp"
#include "quic/endpoint/endpoint.hpp"

namespace millrace::loadgen {

inline constexpr std::uint16_t max_srmp_streams = 1024;  // of one connection
inline constexpr std::uint32_t max_srmp_in_all =
    65'536;  // streams of one load: pools would be of some hundred megabytes

struct srmp_quic_settings {
  // port_step, port_tries, port_offset and fill mean nothing here; window is of each stream.
  load_settings load;
  std::uint16_t streams = 1;  // of one connection
  std::string server_name;
  quic::wire::version_number version = quic::wire::version_1;
  quic::endpoint::endpoint_settings endpoint;
  std::shared_ptr<const tls::client_context> tls;  // offers the protocol srmp
};

// All but the TLS context, which may be made later.
[[nodiscard]] base::outcome check(const srmp_quic_settings& settings);

// Sets the endpoint's pools to what these connections, streams and windows can use, and answers how many packets they
// may hold: requests that wait to be acknowledged, replies that wait for a lost packet.
std::uint32_t fit(srmp_quic_settings& settings) noexcept;
// EAL memory of a load's pools, without packets; a little above the truth.
[[nodiscard]] std::size_t memory_bytes(const srmp_quic_settings& settings) noexcept;

}  // namespace millrace::loadgen
