#include "app/load_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "app/config.hpp"
#include "app/startup.hpp"
#include "buf/burst.hpp"

namespace millrace::app {
namespace {

using base::failure;
using base::ip_address;
using base::ip_family;

constexpr double default_duration_s = 5;
constexpr std::uint32_t default_size = 28;  // of the published baseline's echo
constexpr std::uint16_t default_connections = 8;
constexpr std::uint16_t default_streams = 32;
constexpr std::string_view ours_v4 = "198.18.0.2/24";
constexpr std::string_view ours_v6 = "2001:db8:18::2/64";
constexpr std::uint16_t default_quic_connections = 1;
constexpr std::uint16_t default_quic_streams = 1;
constexpr std::uint16_t default_stream_window = 32;  // of SRMP over QUIC
constexpr std::uint16_t max_hq_window = 4096;
// What a target has no use for: hq; SRMP over UDP, beside all that is QUIC's; SRMP over QUIC.
constexpr std::string_view not_of_hq[] = {"--rate",  "--size", "--fill", "--one-way", "--timeout", "--first-generation",
                                          "--window"};
constexpr std::string_view not_of_udp[] = {"--window"};
constexpr std::string_view not_of_srmp_quic[] = {"--fill",       "--requests-each", "--resume", "--early-data",
                                                 "--key-update", "--migrate-every", "--data",   "--data-size"};
constexpr std::string_view not_of_hq_alone[] = {"--data", "--data-size"};

// What the options' texts say, before the target's family is known.
struct raw_options {
  std::string target;
  std::string address;
  std::string gateway;
  std::uint64_t size = default_size;
  std::uint16_t stream_window = default_stream_window;
  double duration_s = default_duration_s;
  double timeout_s = 1;
  double patience_s = 5;
  bool duration_given = false;
  bool one_way = false;
  bool first_generation = false;
};

failure unusable(std::string what, std::string hint = "") { return {std::move(what), std::move(hint), true}; }

void add_target(CLI::App& options, raw_options& raw, load_options& out) {
  options
      .add_option("target,--target", raw.target,
                  "whom to ask: srmp+udp://ADDRESS:PORT[/METHOD], srmp+quic://ADDRESS:PORT[/METHOD], "
                  "hq://ADDRESS:PORT/PATH, h3://ADDRESS:PORT/PATH; IPv6 in brackets")
      ->type_name("URL")
      ->required();
  options.add_option("--address", raw.address, "our address with its prefix length")
      ->type_name("CIDR")
      ->default_str(std::string(ours_v4) + " or " + std::string(ours_v6));
  options.add_option("--gateway", raw.gateway, "the way to what is not on our link")->type_name("ADDRESS");
  options.add_option("--local-port", out.asked.first_port, "the first connection's port; the others follow")
      ->check(CLI::Range(1, 65535))
      ->type_name("PORT")
      ->capture_default_str();
}

void add_work(CLI::App& options, raw_options& raw, load_options& out) {
  loadgen::load_settings& s = out.asked;
  options.add_option("--connections", s.connections, "connections, each from a UDP port of its own")
      ->check(CLI::Range(std::uint16_t{1}, loadgen::max_load_connections))
      ->type_name("N")
      ->default_str("8; over QUIC 1");
  options.add_option("--streams", s.window, "requests in flight of one connection; of srmp+quic its streams")
      ->check(CLI::Range(std::uint16_t{1}, max_hq_window))
      ->type_name("N")
      ->default_str("32; over QUIC 1");
  options.add_option("--window", raw.stream_window, "of srmp+quic: requests in flight of one stream")
      ->check(CLI::Range(std::uint16_t{1}, loadgen::max_load_window))
      ->type_name("N")
      ->capture_default_str();
  add_rate(options, "--rate", s.rate, "messages a second over all connections (open loop); 0: as fast as it goes");
  add_count(options, "--requests", s.requests, "messages, or bodies of hq, in all; 0: until time is up");
  add_seconds(options, "--duration", raw.duration_s, "how long to send, from the first answer on; 0: until stopped")
      ->each([&raw](const std::string&) { raw.duration_given = true; });
  add_size(options, "--size", raw.size, "payload of a message: of Echo its arguments; other methods have none");
  options.add_flag("--fill", s.fill, "fill datagrams with messages, up to the MTU; else one each");
  options.add_flag("--one-way", raw.one_way, "send raw messages that nobody answers");
  add_seconds(options, "--timeout", raw.timeout_s, "how long a request waits for its reply");
  add_seconds(options, "--patience", raw.patience_s, "how long to wait for the first answer");
  options.add_flag("--first-generation", raw.first_generation, "talk as SRMP peers of the first generation do");
}

void add_port(CLI::App& options, load_options& out) {
  options.add_option("--burst", out.burst_pkts, "packets of one receive")
      ->check(CLI::Range(1u, buf::burst::capacity))
      ->type_name("N")
      ->capture_default_str();
  options.add_option("--mtu", out.host.mtu, "of our link")
      ->check(CLI::Range(576, 9200))
      ->type_name("BYTES")
      ->capture_default_str();
  options.add_option("--mbufs", out.plan.mbufs, "packets of the pool; 0: derived")->type_name("N");
}

base::outcome settle_host(const raw_options& raw, load_options& out) {
  const bool v4 = out.asked.target.address.family == ip_family::v4;
  const std::string text = raw.address.empty() ? std::string(v4 ? ours_v4 : ours_v6) : raw.address;
  const auto ours = parse_cidr(text);
  if (!ours)
    return unusable("load: --address '" + text + "' is no address with a prefix length",
                    "e.g. " + std::string(ours_v4));
  if (ours->address.family != out.asked.target.address.family)
    return unusable("load: --address " + text + " is of another family than the target");
  out.host.addresses = {*ours};
  out.asked.source = ours->address;
  if (!raw.gateway.empty()) {
    const auto gateway = ip_address::parse(raw.gateway);
    if (!gateway || gateway->family != ours->address.family)
      return unusable("load: --gateway '" + raw.gateway + "' is no address of the target's family");
    out.host.routes = {{.prefix = ip_address{{}, gateway->family}, .prefix_length = 0, .gateway = *gateway}};
  }
  out.host.mac.octets = {2, 0, 0, 0, 0, 2};  // where the port has none
  if (auto sound = net::check(out.host); !sound) return unusable("load: " + sound.error().what, sound.error().hint);
  return base::done{};
}

// An option that the target has no use for.
base::outcome check_uses(const CLI::App& options, load_scheme scheme) {
  const auto check = [&](std::span<const std::string_view> unused) -> base::outcome {
    for (const std::string_view name : unused)
      if (options.get_option(std::string(name))->count() != 0)
        return unusable(
            "load: " + std::string(name) + " means nothing to a target " + std::string(to_string(scheme)) + "://",
            "leave it out");
    return base::done{};
  };
  switch (scheme) {
    case load_scheme::srmp_udp:
      if (auto used = check(not_of_udp); !used) return used;
      return check(quic_option_names());
    case load_scheme::srmp_quic:
      return check(not_of_srmp_quic);
    case load_scheme::hq:
      if (auto used = check(not_of_hq); !used) return used;
      return check(not_of_hq_alone);
    case load_scheme::h3:
      return check(not_of_hq);
  }
  return base::done{};
}

base::outcome settle_srmp(const raw_options& raw, const load_target& target, load_options& out) {
  loadgen::load_settings& s = out.asked;
  if (!target.method.empty()) s.method = target.method;
  s.ask = target.method.empty() ? loadgen::load_ask::echo
          : s.method == "Echo"  ? loadgen::load_ask::rpc_echo
                                : loadgen::load_ask::rpc_call;
  if (raw.one_way) {
    if (s.ask != loadgen::load_ask::echo)
      return unusable("load: --one-way sends raw messages, and --target names a method");
    s.ask = loadgen::load_ask::one_way;
  }
  if (raw.size > loadgen::max_load_size)
    return unusable("load: --size must be 0 to " + std::to_string(loadgen::max_load_size));
  if (s.window > loadgen::max_load_window)
    return unusable("load: --streams must be 1 to " + std::to_string(loadgen::max_load_window) + " of SRMP");
  s.size = static_cast<std::uint32_t>(raw.size);
  if (raw.first_generation) s.peers = srmp::compatibility::first_generation();
  if (auto sound = loadgen::check(s); !sound) return unusable("load: " + sound.error().what, sound.error().hint);
  return base::done{};
}

// What clients over QUIC share.
base::outcome settle_connections(const CLI::App& options, load_options& out) {
  if (options.get_option("--connections")->count() == 0) out.asked.connections = default_quic_connections;
  if (options.get_option("--streams")->count() == 0) out.asked.window = default_quic_streams;
  loadgen::fetch_settings& s = out.quic.asked;
  s.target = out.asked.target;
  s.source = out.asked.source;
  s.first_port = out.asked.first_port;
  s.connections = out.asked.connections;
  s.window = out.asked.window;
  s.requests = out.asked.requests;
  s.duration_ns = out.asked.duration_ns;
  s.patience_ns = out.asked.patience_ns;
  return settle_quic(out.host.mtu, out.quic);
}

base::outcome settle_bodies(const CLI::App& options, const load_target& target, load_options& out) {
  out.quic.asked.path = target.path;
  if (target.scheme == load_scheme::h3) out.quic.asked.standing_streams = loadgen::h3_standing_streams;
  if (auto read = settle_data(out.quic); !read) return read;
  if (auto settled = settle_connections(options, out); !settled) return settled;
  if (auto sound = loadgen::check(out.quic.asked); !sound)
    return unusable("load: " + sound.error().what, sound.error().hint);
  return base::done{};
}

base::outcome settle_srmp_quic(const CLI::App& options, const raw_options& raw, const load_target& target,
                               load_options& out) {
  if (auto settled = settle_connections(options, out); !settled) return settled;
  loadgen::srmp_quic_settings& s = out.quic.messages;
  s.streams = out.asked.window;
  out.asked.window = raw.stream_window;
  if (auto settled = settle_srmp(raw, target, out); !settled) return settled;
  s.load = out.asked;
  s.server_name = out.quic.asked.server_name;
  s.version = out.quic.asked.version;
  s.endpoint = out.quic.asked.endpoint;
  static_cast<void>(loadgen::fit(s));
  if (auto sound = loadgen::check(s); !sound) return unusable("load: " + sound.error().what, sound.error().hint);
  return base::done{};
}

base::outcome settle(const CLI::App& options, const raw_options& raw, load_options& out) {
  auto target = parse_load_target(raw.target);
  if (!target) return target.error();
  out.scheme = target.value().scheme;
  if (auto used = check_uses(options, out.scheme); !used) return used;
  loadgen::load_settings& s = out.asked;
  s.target = target.value().where;
  // As many as were asked for take as long as they take.
  const double duration_s = s.requests != 0 && !raw.duration_given ? 0 : raw.duration_s;
  s.duration_ns = static_cast<std::uint64_t>(duration_s * 1e9);
  s.timeout_ns = static_cast<std::uint64_t>(raw.timeout_s * 1e9);
  s.patience_ns = static_cast<std::uint64_t>(raw.patience_s * 1e9);
  if (auto host = settle_host(raw, out); !host) return host;
  out.plan.burst_pkts = out.burst_pkts;
  out.plan.checksums = true;
  if (out.host.mtu != 1500) out.plan.mtu = out.host.mtu;
  switch (out.scheme) {
    case load_scheme::srmp_udp:
      return settle_srmp(raw, target.value(), out);
    case load_scheme::srmp_quic:
      return settle_srmp_quic(options, raw, target.value(), out);
    case load_scheme::hq:
    case load_scheme::h3:
      return settle_bodies(options, target.value(), out);
  }
  return base::done{};
}

}  // namespace

std::optional<int> parse_load_options(const invocation& call, load_options& out) {
  raw_options raw;
  out.asked.connections = default_connections;
  out.asked.window = default_streams;
  CLI::App options(
      "Ask a server, check every reply, and measure.\n\n"
      "srmp+udp://: SRMP over UDP. "
      "Without a method raw frames are sent, which an echo answers (serve: [srmp] answer = \"echo\");\n"
      "/Echo calls that method with JSON, /Api/All and others are called without arguments.\n\n"
      "srmp+quic://: the same over QUIC (ALPN srmp); each stream of a connection is an SRMP connection.\n\n"
      "h3://: GETs over HTTP/3, or POSTs with --data. hq://: bodies over QUIC (ALPN hq-interop, HTTP/0.9). Of /bytes/N "
      "size and content are "
      "checked, of other paths\n"
      "only that they end. Whose server it is is checked with --ca or --pin; without them whoever answers is\n"
      "believed.");
  add_target(options, raw, out);
  add_work(options, raw, out);
  add_quic_options(options, out.quic);
  add_port(options, out);
  add_common_options(options, out.common);
  if (const auto status = parse_options(options, "load", call)) return status;
  if (auto settled = settle(options, raw, out); !settled) return report(settled.error());
  return std::nullopt;
}

}  // namespace millrace::app
