#include "app/serve_options.hpp"

#include <CLI/CLI.hpp>

#include "app/startup.hpp"

namespace millrace::app {
namespace {

using base::ip_address;

static_assert(static_cast<int>(idle_policy::poll) == static_cast<int>(pipeline::idle_policy::poll) &&
                  static_cast<int>(idle_policy::adaptive) == static_cast<int>(pipeline::idle_policy::adaptive),
              "the option's policies are the loop's");

// What the command line says; only what was given counts.
struct overrides {
  std::vector<net::host_address> addresses;
  std::vector<ip_address> gateways;
  std::uint16_t srmp_port = default_srmp_port;
  std::uint16_t echo_port = 0;
  std::uint16_t quic_port = default_quic_port;
  std::string cert, key, root, keylog, qlog, retry;
  double duration_s = 0;
};

// One value each time the option is given, `read` as `wanted`.
template <class Value, class Read>
void add_repeatable(CLI::App& options, const std::string& name, std::vector<Value>& to, const std::string& what,
                    const std::string& type, const std::string& wanted, Read read) {
  options
      .add_option_function<std::vector<std::string>>(
          name,
          [&to, name, wanted, read](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              const std::optional<Value> value = read(text);
              if (!value) throw CLI::ValidationError(name, "'" + text + "' is not " + wanted);
              to.push_back(*value);
            }
          },
          what)
      ->type_name(type)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_options(CLI::App& options, serve_options& out, overrides& given) {
  options.add_option("--config", out.config_file, "the configuration, a TOML file (docs/configuration.md)")
      ->type_name("FILE");
  options.add_flag("--check", out.check, "only say whether the configuration can work; starts nothing");
  options.add_flag("--print-config", out.print_config, "print the effective configuration as TOML, every limit in it");
  add_repeatable(options, "--address", given.addresses,
                 "an address of the first port, with its prefix; may be repeated (198.18.0.1/24, 2001:db8:18::1/64)",
                 "CIDR", "an address with its prefix like 198.18.0.1/24", parse_cidr);
  add_repeatable(options, "--gateway", given.gateways,
                 "the first port's way to everywhere else; may be repeated, once an IP version", "ADDR",
                 "an address like 198.18.0.254", ip_address::parse);
  const auto ports = CLI::Range(0, 65535);
  options.add_option("--srmp-port", given.srmp_port, "UDP port of SRMP; 0: none")
      ->check(ports)
      ->type_name("PORT")
      ->capture_default_str();
  options.add_option("--quic-port", given.quic_port, "UDP port of QUIC (h3, hq-interop, srmp, echo); 0: none")
      ->check(ports)
      ->type_name("PORT")
      ->capture_default_str();
  options.add_option("--cert", given.cert, "certificate chain of QUIC's TLS, PEM; without, a self-signed one is made")
      ->type_name("FILE");
  options.add_option("--key", given.key, "its private key, PEM")->type_name("FILE");
  options
      .add_option("--root", given.root,
                  "serve the files below this directory at /, over HTTP/3 and hq-interop; SIGHUP loads them again")
      ->type_name("DIR");
  options.add_option("--keylog", given.keylog, "append TLS secrets to this file (SSLKEYLOGFILE)")->type_name("FILE");
  options.add_option("--qlog", given.qlog, "write qlog of each QUIC connection into this directory")->type_name("DIR");
  options.add_option("--retry", given.retry, "whether QUIC clients must first show that they receive at their address")
      ->check(CLI::IsMember({"never", "automatic", "always"}))
      ->type_name("WHEN")
      ->default_str("automatic");
  options.add_option("--echo-port", given.echo_port, "UDP port whose datagrams are sent back; 0: none")
      ->check(ports)
      ->type_name("PORT")
      ->capture_default_str();
  add_seconds(options, "--duration", given.duration_s, "how long to run; 0: until stopped");
  add_common_options(options, out.common);
}

bool is_given(const CLI::App& options, const char* name) { return options.get_option(name)->count() != 0; }

void set_addresses(const std::vector<net::host_address>& addresses, config_read& to) {
  to.config.interfaces[0].host.addresses = addresses;
  to.origins.erase("interface.0.address");
  to.origins.set("interface.0.address", "--address");
  for (std::size_t i = 0; i < addresses.size(); ++i)
    to.origins.set("interface.0.address." + std::to_string(i), "--address " + to_text(addresses[i]));
}

// In place of the file's gateways; its other routes stay.
void set_gateways(const std::vector<ip_address>& gateways, config_read& to) {
  std::vector<std::pair<net::host_route, std::string>> routes;
  for (const ip_address& g : gateways) routes.emplace_back(default_route(g), "--gateway " + to_text(g));
  std::vector<net::host_route>& of_host = to.config.interfaces[0].host.routes;
  for (std::size_t i = 0; i < of_host.size(); ++i)
    if (!is_default_route(of_host[i]))
      routes.emplace_back(of_host[i], to.origins.of("interface.0.route." + std::to_string(i)));
  to.origins.erase("interface.0.route");
  of_host.clear();
  for (const auto& [route, place] : routes) {
    to.origins.set("interface.0.route." + std::to_string(of_host.size()), place);
    of_host.push_back(route);
  }
}

void override_config(const CLI::App& options, const overrides& given, const common_options& common, config_read& to) {
  serve_config& c = to.config;
  if (is_given(options, "--address")) set_addresses(given.addresses, to);
  if (is_given(options, "--gateway")) set_gateways(given.gateways, to);
  if (is_given(options, "--srmp-port")) {
    c.srmp.port = given.srmp_port;
    to.origins.set("srmp-port", "--srmp-port " + std::to_string(given.srmp_port));
  }
  if (is_given(options, "--echo-port")) {
    c.echo_port = given.echo_port;
    to.origins.set("echo-port", "--echo-port " + std::to_string(given.echo_port));
  }
  if (is_given(options, "--quic-port")) {
    c.quic.port = given.quic_port;
    to.origins.set("quic-port", "--quic-port " + std::to_string(given.quic_port));
  }
  const auto take = [&](const char* option, const char* path, const std::string& value, std::string& into) {
    if (!is_given(options, option)) return;
    into = value;
    to.origins.set(path, std::string(option) + " " + value);
  };
  take("--cert", "quic.cert", given.cert, c.quic.cert);
  take("--key", "quic.key", given.key, c.quic.key);
  take("--root", "quic.root", given.root, c.quic.root);
  take("--keylog", "quic.keylog", given.keylog, c.quic.keylog);
  take("--qlog", "quic.qlog", given.qlog, c.quic.qlog);
  if (is_given(options, "--retry")) {
    using quic::endpoint::retry_mode;
    c.quic.endpoint.sources.retry = given.retry == "always"  ? retry_mode::always
                                    : given.retry == "never" ? retry_mode::never
                                                             : retry_mode::automatic;
    to.origins.set("quic.retry", "--retry " + given.retry);
  }
  if (is_given(options, "--duration")) c.duration_s = given.duration_s;
  if (is_given(options, "--stats-period")) c.stats_period_s = common.stats_period_s;
  if (is_given(options, "--idle")) c.loop.idle = static_cast<pipeline::idle_policy>(common.idle);
}

}  // namespace

std::optional<int> parse_serve_options(const invocation& call, serve_options& out) {
  CLI::App options("answer on a network: ARP, ping, UDP echo, SRMP calls, QUIC with bodies and SRMP");
  overrides given;
  add_options(options, out, given);
  if (const auto status = parse_options(options, "serve", call)) return status;
  config_read read{default_config(), {}};
  if (!out.config_file.empty()) {
    auto file = read_config(out.config_file);
    if (!file) return report(file.error());
    read = std::move(file.value());
  }
  override_config(options, given, out.common, read);
  if (auto fine = check_config(read.config, read.origins); !fine) return report(fine.error());
  out.config = std::move(read.config);
  out.origins = std::move(read.origins);
  out.common.stats_period_s = out.config.stats_period_s;
  out.common.idle = static_cast<idle_policy>(out.config.loop.idle);
  return std::nullopt;
}

}  // namespace millrace::app
