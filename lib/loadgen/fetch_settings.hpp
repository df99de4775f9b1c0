// loadgen/fetch_settings.hpp - what clients of hq-interop are told, and what they count: plain values.
//
// Shape    fill fetch_settings, fit() its pools to it, give it to hq_load::make().
// Units    in the names; ns.
// Errors   check(): what of the settings cannot work.
// Threads  values. Tests  test/loadgen/fetch_settings_test.cpp, test/loadgen/hq_load_test.cpp
#pragma once

#include <memory>
#include <string>

#include "h3/settings.hpp"
#include "quic/endpoint/endpoint.hpp"

namespace millrace::loadgen {

// Beyond that many requests in flight of one load, pools would be of some hundred megabytes.
inline constexpr std::uint32_t max_fetches_in_flight = 65'536;
inline constexpr std::uint16_t max_fetch_connections = 16'384;
inline constexpr std::uint16_t ports_of_a_mover = 4;  // that a connection which moves goes round
inline constexpr std::size_t max_fetch_path = 512;
inline constexpr std::size_t max_fetch_body = std::size_t{1} << 30;  // of a request
// A longer body of a request is sent from where it lies, in blocks; a shorter one is copied behind its head.
inline constexpr std::size_t most_copied_body = 1024;
inline constexpr std::uint16_t h3_standing_streams = 6;  // control and QPACK's two, each way

struct fetch_settings {
  base::endpoint target;
  base::ip_address source;  // ours; family none: what the host would choose for the target
  std::string server_name;  // SNI, and what the certificate must say where that is checked
  std::uint16_t first_port = 49152;
  std::uint16_t port_step = 0;  // from one port of a connection that moves to its next; 0: `connections`
  std::uint16_t connections = 1;
  std::uint16_t window = 1;         // requests in flight of one connection
  std::uint64_t requests = 0;       // of all; 0: until time is up
  std::uint64_t requests_each = 0;  // of one connection, which then ends and is followed by another; 0: no end
  std::uint64_t duration_ns = 0;
  std::string path = "/bytes/1000000";
  std::string body;  // HTTP/3: sent with each request, as a POST; empty: GETs
  std::string body_type = "application/json";
  std::uint64_t expected_bytes = 0;  // of each body; 0: not known
  bool checks_pattern = false;
  bool resumes = false;                                        // connections after the first use its ticket and token
  bool early_data = false;                                     // and send their first requests as 0-RTT
  quic::wire::version_number version = quic::wire::version_1;  // a Version Negotiation may change it
  std::uint64_t update_keys_every = 0;                         // bytes received by a connection; 0: never
  std::uint64_t migrate_every_ns = 0;                          // a connection goes on from another port; 0: never
  std::uint64_t patience_ns = 10'000'000'000;                  // for the first answer, and at the end for the last
  std::uint16_t standing_streams = 0;  // of each connection besides its requests': HTTP/3 has three each way
  std::uint16_t interface = 0;
  quic::endpoint::endpoint_settings endpoint;
  std::shared_ptr<const tls::client_context> tls;

  // Local ports from first_port on that are used; they lie port_step apart.
  [[nodiscard]] std::uint16_t ports_each() const noexcept { return migrate_every_ns == 0 ? 1 : ports_of_a_mover; }
  [[nodiscard]] std::uint16_t step() const noexcept { return port_step == 0 ? connections : port_step; }
};

// All but the TLS context, which may be made later.
[[nodiscard]] base::outcome check(const fetch_settings& settings);

// Sets the endpoint's pools and windows to what these connections, requests and bodies can use, and answers how many
// received packets they may keep waiting for a lost one. Datagram sizes are left as they are.
std::uint32_t fit(fetch_settings& settings) noexcept;
// EAL memory of a load's pools, without packets; a little above the truth.
[[nodiscard]] std::size_t memory_bytes(const fetch_settings& settings) noexcept;

// What its HTTP/3 client is made with.
[[nodiscard]] h3::settings h3_settings_for(const fetch_settings& settings) noexcept;

// "/bytes/1000": 1000. 0: any other path, and bodies of no bytes.
[[nodiscard]] std::uint64_t body_bytes(std::string_view path) noexcept;

// Once nothing is in flight: begun == whole + short_bodies + failed.
struct fetch_figures {
  bool answered = false;
  std::uint64_t connections = 0;  // begun
  std::uint64_t established = 0;  // of those
  std::uint64_t resumed = 0;
  std::uint64_t early_accepted = 0;
  std::uint64_t lost_connections = 0;  // ended by the peer or by silence, not by us
  std::uint64_t begun = 0;             // requests
  std::uint64_t whole = 0;
  std::uint64_t short_bodies = 0;  // ended with another number of bytes than expected
  std::uint64_t failed = 0;        // reset, or their connection ended
  std::uint64_t wrong = 0;         // pieces that were not the pattern
  std::uint64_t bytes = 0;         // of bodies
  std::uint64_t in_flight = 0;
  std::uint64_t key_updates = 0;
  std::uint64_t migrations = 0;
  std::uint64_t first_ns = 0;  // when measuring began, on the loop's clock; 0: not yet
  std::uint64_t last_ns = 0;   // of the last byte that came

  fetch_figures& operator+=(const fetch_figures& more) noexcept;
  [[nodiscard]] double seconds() const noexcept {
    return last_ns > first_ns ? static_cast<double>(last_ns - first_ns) / 1e9 : 0;
  }
};

}  // namespace millrace::loadgen
