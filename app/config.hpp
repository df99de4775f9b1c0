// app/config.hpp - everything `serve` needs to know, as plain values, and the TOML file they come from.
//
// Shape    serve_config is what the program works with: the rooms' own limits structs, filled. read_config() reads a
//          file onto the defaults; options of the command line override it (serve_options.hpp); check_config() finds
//          what contradicts itself; to_toml() writes all of it, and reading that gives the same values.
// Units    in the file: seconds, bytes (K, M, G of 1024 in a text), packets; docs/configuration.md has every key.
// Errors   `unusable` failures that begin with the place, FILE:LINE:COLUMN or the option. Unknown keys, wrong types,
//          values out of range, duplicates and contradictions are errors, each at its own place; the first is told.
// Owner    plain data; nothing of the TOML library leaves its .cpp.
// Threads  control code, before EAL. Tests  test/app/config_test.cpp, test/fuzz/serve_config_fuzz.cpp
#pragma once

#include <map>
#include <string>
#include <vector>

#include "app/http_config.hpp"
#include "app/options.hpp"
#include "app/quic_config.hpp"
#include "base/result.hpp"
#include "net/host_config.hpp"
#include "pipeline/service_loop.hpp"
#include "pipeline/srmp_sink.hpp"
#include "rpc/service.hpp"
#include "srmp/compatibility.hpp"

namespace millrace::app {

inline constexpr std::uint16_t default_srmp_port = 5500;
inline constexpr std::size_t max_interfaces = pipeline::service_loop::max_interfaces;

// One port and who answers there.
struct interface_config {
  std::string port = "0";  // EAL's number, or its name: "net_tap0", "0000:03:00.0"
  bool own_mac = false;    // host.mac was configured; else it is the port's
  bool own_mtu = false;    // host.mtu was configured, and the port is set to it; else it is the port's
  net::host_config host;   // but for instance, instances, seed and offload, which the appliance fills in
};

// What answers to requests on the SRMP port: calls of methods, or each payload sent back as it is.
enum class srmp_answer : std::uint8_t { rpc, echo };
[[nodiscard]] constexpr std::string_view to_string(srmp_answer what) noexcept {
  return what == srmp_answer::rpc ? "rpc" : "echo";
}

struct srmp_config {
  std::uint16_t port = default_srmp_port;  // 0: no SRMP
  srmp_answer answer = srmp_answer::rpc;
  std::uint32_t batch_bytes = 0;  // of a datagram of replies at most; 0: what the interface's MTU carries over IPv6
  srmp::compatibility peers;
  pipeline::amplification_limits amplification;  // of each lcore
  rpc::service_limits rpc;
};

// Packet memory and descriptors; zeros are derived from the ports.
struct pool_config {
  std::uint32_t packets = 0;  // of the pool: descriptors, caches, bursts and what waits to be sent
  std::uint16_t cache_pkts = 256;
  std::uint16_t rxd = 0;  // descriptors of a receive queue: the driver's wish, else 1024
  std::uint16_t txd = 0;
  bool checksum_offload = true;  // ports that can compute and verify checksums do; false: all is done here
};

struct serve_config {
  std::vector<interface_config> interfaces;  // never empty, once read or by default_config()
  net::host_limits limits;                   // of each interface, each lcore its own
  srmp_config srmp;
  quic_config quic;
  http_config http;
  std::uint16_t echo_port = 0;  // UDP echo; 0: none
  pipeline::loop_settings loop;
  pool_config pool;
  std::vector<unsigned> lcores;  // that run a loop; empty: all workers, or the main lcore where there is none
  double duration_s = 0;         // 0: until stopped
  double stats_period_s = 0;     // 0: no lines while running
};

// 198.18.0.1/24 and 2001:db8:18::1/64 on the first port, SRMP on 5500.
[[nodiscard]] serve_config default_config();
[[nodiscard]] std::vector<net::host_address> default_addresses();
// What is served over HTTP: [[http.directory]], and quic.root at /.
[[nodiscard]] std::vector<service::site_directory> directories_of(const serve_config& config);
// A gateway is a route of its family to everywhere.
[[nodiscard]] net::host_route default_route(const base::ip_address& gateway) noexcept;
[[nodiscard]] bool is_default_route(const net::host_route& route) noexcept;

// Where values came from: a path like "interface.0.address.1" to "serve.toml:12:3" or "--address 10.0.0.1/8".
class config_origins {
  std::map<std::string, std::string, std::less<>> places_;

 public:
  void set(std::string path, std::string place) { places_[std::move(path)] = std::move(place); }
  // Forgets `path` and all below it.
  void erase(std::string_view path);
  // The place of the path or of the nearest one above it; "the default configuration" when there is none.
  [[nodiscard]] std::string of(std::string_view path) const;
};

struct config_read {
  serve_config config;
  config_origins origins;
};

// The file on top of the defaults. Not checked for contradictions yet.
[[nodiscard]] base::result<config_read> read_config(const std::string& path);
// The same of text already in memory; `name` stands for the file in messages.
[[nodiscard]] base::result<config_read> parse_config(std::string_view text, const std::string& name);

// Whether it can work, as far as that is known without ports.
[[nodiscard]] base::outcome check_config(const serve_config& config, const config_origins& origins);

// Valid TOML with every key, each with a short comment.
[[nodiscard]] std::string to_toml(const serve_config& config);

// --- the shared spelling of values, for options and file alike ---
// "198.18.0.1/24", "2001:db8::1/64"; nullopt for anything else. Host bits are kept.
[[nodiscard]] std::optional<net::host_address> parse_cidr(std::string_view text);
[[nodiscard]] std::optional<net::wire::mac_address> parse_mac(std::string_view text);  // "02:00:00:00:00:01"
[[nodiscard]] std::string to_text(const base::ip_address& address);
[[nodiscard]] std::string to_text(const net::host_address& address);
[[nodiscard]] std::string to_text(const net::wire::mac_address& mac);

}  // namespace millrace::app
