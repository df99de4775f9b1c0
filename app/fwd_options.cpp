#include "app/fwd_options.hpp"

#include <CLI/CLI.hpp>
#include <functional>

#include "app/startup.hpp"
#include "buf/burst.hpp"

namespace millrace::app {
namespace {

constexpr std::uint32_t default_flows = 64;
constexpr unsigned most_seed_bursts = 65536;             // more is a run of its own, before the one that was asked for
constexpr std::uint16_t largest_untouched_frame = 1514;  // what an MTU of 1500 takes

using base::failure;
using base::outcome;

// A word of a fixed vocabulary; `read` answers nullopt for any other.
template <class Value, class Read>
void add_word(CLI::App& options, const std::string& name, Value& value, const std::string& words,
              const std::string& what, Read read, const std::string& by_default) {
  options
      .add_option_function<std::string>(
          name,
          [&value, name, words, read](const std::string& text) {
            const std::optional<Value> parsed = read(text);
            if (!parsed) throw CLI::ValidationError(name, "'" + text + "' is none of " + words);
            value = *parsed;
          },
          what + ": " + words)
      ->type_name("WORD")
      ->default_str(by_default);
}

std::optional<pipeline::verify_level> read_verify(std::string_view word) {
  if (word == "none") return pipeline::verify_level::none;
  if (word == "ip") return pipeline::verify_level::ip;
  if (word == "full") return pipeline::verify_level::full;
  return std::nullopt;
}

void add_forwarding(CLI::App& options, fwd_options& out) {
  pipeline::worker_settings& work = out.engine.work;
  add_word(options, "--mode", work.mode, "io|mac|macswap|rxonly|txonly|flowgen|parse",
           "what happens to each packet (docs/command-line.md explains the modes)", pipeline::parse_forward_mode, "io");
  options.add_option("--burst", work.burst_pkts, "packets of one receive or transmit")
      ->check(CLI::Range(1u, buf::burst::capacity))
      ->capture_default_str();
  add_word(options, "--topology", out.engine.topology, "paired|chained|loop", "which port sends what another received",
           port::parse_topology, "paired");
  options.add_option("--tx-retries", work.tx_retries, "tries after a transmit took only a part, then it is a drop")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  options.add_flag("--record-core-cycles", work.exact_cycles,
                   "stamp every pass for cycles and busy time; without it one pass of 64 is stamped");
  add_word(options, "--verify", work.parse.verify, "none|ip|full", "checksums that parse verifies", read_verify,
           "full");
  options.add_option("--srmp-port", work.parse.ports.srmp, "UDP port of SRMP, for parse and for generated frames")
      ->check(CLI::Range(1, 65535))
      ->type_name("PORT")
      ->capture_default_str();
  options
      .add_option_function<std::vector<std::uint16_t>>(
          "--quic-port",
          [&work](const std::vector<std::uint16_t>& ports) {
            work.parse.ports.quic.clear();
            for (const std::uint16_t port : ports)
              if (!work.parse.ports.quic.push_back(port))
                throw CLI::ValidationError("--quic-port", "at most " + std::to_string(pipeline::max_quic_ports));
          },
          "UDP ports on which a short header is taken for QUIC")
      ->type_name("PORT ...")
      ->default_str("443 4433 8443");
}

void add_ports(CLI::App& options, fwd_options& out) {
  const auto queues = CLI::Range(1, 1024);
  options.add_option("--rxq", out.plan.rxq, "receive queues of each port")->check(queues)->capture_default_str();
  options.add_option("--txq", out.plan.txq, "transmit queues of each port")->check(queues)->capture_default_str();
  options.add_option("--rxd", out.plan.rxd, "descriptors of a receive queue; 0: the driver's wish, else 1024")
      ->check(CLI::Range(0, 65535));
  options.add_option("--txd", out.plan.txd, "descriptors of a transmit queue; 0: the driver's wish, else 1024")
      ->check(CLI::Range(0, 65535));
  options.add_option("--mtu", out.plan.mtu, "MTU of the ports; 0: as it is")->check(CLI::Range(0, 65535));
  options.add_option("--mbufs", out.plan.mbufs, "packets of the pool; 0: derived from queues, caches and bursts");
}

void add_traffic(CLI::App& options, fwd_options& out) {
  options
      .add_option_function<unsigned>(
          "--tx-first", [&out](unsigned n) { out.tx_first = n; },
          "bursts put into every transmit queue before the start; modes that forward seed rings without asking")
      ->check(CLI::Range(0u, most_seed_bursts))
      ->type_name("N");
  options.add_option("--traffic", out.traffic, "kinds of frames that are made: quic,srmp,udp,tcp")
      ->type_name("LIST")
      ->capture_default_str();
  options.add_option("--flows", out.frames.flows, "flows among them")
      ->check(CLI::Range(1u, loadgen::max_flows))
      ->capture_default_str();
  options
      .add_option_function<std::string>(
          "--size",
          [&out](const std::string& text) {
            const auto bytes = parse_size(text);
            if (!bytes || *bytes > loadgen::max_frame_size)
              throw CLI::ValidationError(
                  "--size", "'" + text + "' is no frame size up to " + std::to_string(loadgen::max_frame_size));
            out.frames.frame_size = static_cast<std::uint32_t>(*bytes);
          },
          "bytes of every frame, without FCS; 0: as large as its kind usually is")
      ->type_name("BYTES")
      ->default_str("0");
  add_seconds(options, "--duration", out.duration_s, "how long to run; 0: until stopped");
}

outcome settle(fwd_options& out) {
  auto kinds = loadgen::parse_traffic_kinds(out.traffic);
  if (!kinds) return kinds.error();
  out.frames.kinds = kinds.value();
  out.frames.srmp_port = out.engine.work.parse.ports.srmp;
  if (auto sound = loadgen::check(out.frames); !sound) return sound.error();
  out.engine.work.idle = static_cast<pipeline::idle_policy>(out.common.idle);
  out.plan.burst_pkts = out.engine.work.burst_pkts;
  out.plan.checksums = out.engine.work.mode == pipeline::forward_mode::parse &&
                       out.engine.work.parse.verify != pipeline::verify_level::none;
  // Frames that the usual MTU does not take need one that does, in ports and in buffers.
  if (out.plan.mtu == 0 && out.frames.frame_size > largest_untouched_frame)
    out.plan.mtu = static_cast<std::uint16_t>(out.frames.frame_size - pipeline::ethernet_header_bytes);
  return base::done{};
}

}  // namespace

static_assert(static_cast<int>(idle_policy::poll) == static_cast<int>(pipeline::idle_policy::poll) &&
                  static_cast<int>(idle_policy::adaptive) == static_cast<int>(pipeline::idle_policy::adaptive),
              "the option's policies are the engine's");

std::optional<int> parse_fwd_options(const invocation& call, fwd_options& out) {
  CLI::App options("forward packets between ports, as testpmd does, and measure it");
  out.frames.flows = default_flows;
  add_forwarding(options, out);
  add_ports(options, out);
  add_traffic(options, out);
  add_common_options(options, out.common);
  if (const auto status = parse_options(options, "fwd", call)) return status;
  if (auto settled = settle(out); !settled) return report(settled.error());
  return std::nullopt;
}

}  // namespace millrace::app
