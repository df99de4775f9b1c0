// app/quic_report.hpp - what every client over QUIC says of its connections, whatever they carry.
//
// Units    connections; texts are for people, kinds are keys of the result ("quic_auth_failed").
// Threads  control thread. Tests  test/app/fetch_report_test.cpp, test/app/load_report_test.cpp
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ip_address.hpp"
#include "loadgen/quic_client.hpp"

namespace millrace::app {

struct quic_end {                    // of all generators together
  std::uint64_t begun = 0;           // connections
  std::uint64_t completed = 0;       // handshakes of them
  std::uint64_t lost = 0;            // ended by the server or by silence, not by us
  std::uint64_t unreachable = 0;     // datagrams that no neighbour answered for; filled by the role, as are
  std::uint64_t unroutable = 0;      // those that no route led anywhere
  std::uint64_t handshake_heap = 0;  // calls of malloc and its kin that TLS handshakes made
  std::vector<std::pair<std::string, std::uint64_t>> troubles;  // by kind; no zeroes
  std::optional<loadgen::quic_loss> last_loss;                  // why a connection was lost, the last one we know of
};

// Adds to each kind's count what tells a client of trouble, its own or the server's.
void add_troubles(const quic::conn::counters& events, std::vector<std::pair<std::string, std::uint64_t>>& to);

[[nodiscard]] std::string loss_text(const loadgen::quic_loss& loss);
// "quic_auth_failed 3", with commas between; empty for none.
void add_kind_text(std::string_view kind, std::uint64_t n, std::string& to);

// Why there never was a connection. Of `end`: all but lost and troubles.
[[nodiscard]] std::string no_connection_text(const base::endpoint& target, const quic_end& end);

}  // namespace millrace::app
