#include "app/loopback_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "app/startup.hpp"
#include "buf/burst.hpp"
#include "loadgen/load_settings.hpp"
#include "loadgen/traffic.hpp"
#include "pipeline/hq_server.hpp"

namespace millrace::app {
namespace {

using base::failure;
using base::outcome;

constexpr std::string_view workload_words = "io|srmp-echo|srmp-stream|quic-stream|h3-get|h3-json";
// What the design names besides: said so instead of "unknown".
constexpr std::array planned_workloads = std::to_array<std::string_view>({"http1-json", "http1-stream", "ws-echo"});
constexpr std::uint16_t smallest_mtu = 576;  // RFC 791: what every host takes
constexpr std::uint16_t largest_mtu = 9216;
constexpr std::uint32_t io_frame = 64;
constexpr std::uint32_t echo_payload = 28;
constexpr std::uint32_t stream_bytes = 256 * 1024;
constexpr std::uint32_t most_stream_bytes = 1u << 30;
constexpr std::uint64_t body_bytes = 1u << 30;
constexpr std::uint64_t small_body_bytes = 1024;
constexpr std::uint16_t h3_connections = 64;
constexpr std::uint16_t h3_streams = 8;
constexpr std::uint16_t smallest_quic_mtu = 1228;
constexpr double longest_delay_ms = 10'000;

constexpr unsigned of(loopback_workload workload) noexcept { return 1u << static_cast<unsigned>(workload); }
constexpr unsigned echo = of(loopback_workload::srmp_echo);
constexpr unsigned stream = of(loopback_workload::srmp_stream);
constexpr unsigned quic =
    of(loopback_workload::quic_stream) | of(loopback_workload::h3_get) | of(loopback_workload::h3_json);

// Which workloads an option means something to; options that are not here mean something to all.
struct use {
  std::string_view option;
  unsigned workloads;
};
constexpr std::array uses = std::to_array<use>({
    {"--transport", echo | stream},
    {"--item", stream},
    {"--mtu", echo | stream | quic},
    {"--connections", echo | stream | quic},
    {"--streams", echo | stream | quic},
    {"--method", echo},
    {"--fill", echo},
    {"--rate", echo},
    {"--requests", echo | stream | quic},
    {"--timeout", echo | stream},
    {"--loss", echo | stream | quic},
    {"--reorder", echo | stream | quic},
    {"--delay", echo | stream | quic},
    {"--seed", echo | stream | quic},
    {"--checksums", echo | stream | quic},
});

std::optional<loopback_workload> read_workload(std::string_view word) noexcept {
  for (const auto one : {loopback_workload::io, loopback_workload::srmp_echo, loopback_workload::srmp_stream,
                         loopback_workload::quic_stream, loopback_workload::h3_get, loopback_workload::h3_json})
    if (to_string(one) == word) return one;
  return std::nullopt;
}

void add_workload(CLI::App& options, loopback_options& out) {
  options
      .add_option_function<std::string>(
          "--workload",
          [&out](const std::string& word) {
            if (const auto known = read_workload(word)) {
              out.workload = *known;
              return;
            }
            const bool planned = std::ranges::find(planned_workloads, word) != planned_workloads.end();
            throw CLI::ValidationError("--workload", "'" + word + "' is " +
                                                         (planned ? "not there yet; there are " : "none of ") +
                                                         std::string(workload_words));
          },
          "io: packets circulate between two ports; srmp-echo: a server answers each message with itself, over "
          "--transport; "
          "srmp-stream: "
          "it answers each request with a stream; quic-stream: it sends bodies over QUIC; h3-get: over HTTP/3; "
          "h3-json: it answers with JSON over HTTP/3")
      ->type_name("WORD")
      ->default_str("srmp-echo");
  options
      .add_option_function<std::string>(
          "--transport",
          [&out](const std::string& word) {
            if (word == "tcp")
              throw CLI::ValidationError("--transport", "SRMP over 'tcp' is not there yet; there are udp and quic");
            if (word != "udp" && word != "quic")
              throw CLI::ValidationError("--transport", "'" + word + "' is none of udp, quic");
            out.transport = word == "quic" ? loopback_transport::quic : loopback_transport::udp;
          },
          "what carries SRMP: udp, quic (srmp-echo alone)")
      ->type_name("WORD")
      ->default_str("udp");
}

void add_load(CLI::App& options, loopback_options& out) {
  add_size(options, "--size", out.size,
           "bytes of a message's payload (srmp-echo: 28), of a stream (srmp-stream: 256K), of a frame (io: 64), of a "
           "body (quic-stream: 1G, h3-get: 1K)")
      ->default_str("");
  add_size(options, "--item", out.item, "bytes of a stream's item; 0: what fills a datagram");
  options.add_option("--connections", out.connections, "connections of the client")
      ->check(CLI::Range(1, int{loadgen::max_load_connections}))
      ->type_name("N")
      ->default_str("srmp-echo: 4, filled 32; h3-get, h3-json: 64; else 1");
  options.add_option("--streams", out.streams, "requests, or streams, in flight of one connection")
      ->check(CLI::Range(1, int{loadgen::max_load_window}))
      ->type_name("N")
      ->default_str("srmp-echo: 64, filled 255, over quic 1; h3-get, h3-json: 8; else 1");
  options
      .add_option("--window", out.window, "of SRMP over quic, whose --streams are streams: requests in flight of one")
      ->check(CLI::Range(1, int{loadgen::max_load_window}))
      ->type_name("N")
      ->capture_default_str();
  options
      .add_option("--method", out.method, "call this rpc method with JSON arguments, e.g. Echo, instead of raw frames")
      ->type_name("NAME");
  options.add_flag("--fill", out.fill, "fill datagrams with messages; else each message has its own");
  add_rate(options, "--rate", out.rate, "messages a second, each timed from when it was meant; 0: as windows let");
  add_count(options, "--requests", out.requests, "messages or streams to send; 0: until time is up");
  add_seconds(options, "--duration", out.duration_s, "how long to run; 0: until stopped");
  add_seconds(options, "--timeout", out.timeout_s,
              "how long a request waits for its reply; how long a stream may be silent (0.1 on a bad wire)")
      ->default_str("1");
  options.add_option("--burst", out.burst_pkts, "packets of one receive")
      ->check(CLI::Range(1u, 256u))
      ->capture_default_str();
}

void add_wire(CLI::App& options, loopback_options& out) {
  options.add_option("--mtu", out.mtu, "MTU of both ends")
      ->check(CLI::Range(int{smallest_mtu}, int{largest_mtu}))
      ->type_name("BYTES")
      ->capture_default_str();
  options
      .add_option_function<std::string>(
          "--checksums",
          [&out](const std::string& word) {
            out.software_checksums = word == "software";
            if (word != "software" && word != "offload")
              throw CLI::ValidationError("--checksums", "'" + word + "' is none of offload|software");
          },
          "of UDP. offload: packets are marked as sound, as by a NIC or a kernel's loopback; software: computed and "
          "verified by both ends")
      ->type_name("WORD")
      ->default_str("offload");
  add_percent(options, "--loss", out.wire.loss_percent, "packets lost, in each direction");
  add_percent(options, "--reorder", out.wire.reorder_percent,
              "packets held back for 200 us, so that later ones overtake them, in each direction");
  options
      .add_option_function<double>(
          "--delay", [&out](double ms) { out.wire.delay_ns = static_cast<std::uint64_t>(ms * 1e6); },
          "delay of each direction in ms")
      ->check(CLI::Range(0.0, longest_delay_ms))
      ->type_name("MS")
      ->default_str("0");
  options.add_option("--seed", out.wire.seed, "of what is lost and reordered: equal seeds, equal fates")
      ->type_name("N")
      ->capture_default_str();
}

outcome check_uses(const CLI::App& options, const loopback_options& out) {
  for (const use& one : uses)
    if ((one.workloads & of(out.workload)) == 0 && options.get_option(std::string(one.option))->count() != 0)
      return failure{"loopback: " + std::string(one.option) + " means nothing to --workload " +
                         std::string(to_string(out.workload)),
                     "leave it out", true};
  const auto is_given = [&](const char* option) { return options.get_option(option)->count() != 0; };
  if (out.transport == loopback_transport::quic && out.workload == loopback_workload::srmp_stream)
    return failure{"loopback: --transport quic: srmp-stream counts what datagrams lose, and over QUIC none is lost",
                   "--workload srmp-echo --transport quic, or srmp-stream over udp", true};
  if (out.is_srmp_quic() && is_given("--fill"))
    return failure{"loopback: --fill is of datagrams, and QUIC fills its own", "leave it out", true};
  if (!out.is_srmp_quic() && is_given("--window"))
    return failure{"loopback: --window is of streams of SRMP over QUIC", "--transport quic, or --streams", true};
  return base::done{};
}

// RFC 9000 14: 1200 bytes, and the headers of IPv4 and UDP.
outcome check_quic_mtu(const loopback_options& out) {
  if (out.mtu >= smallest_quic_mtu) return base::done{};
  return failure{"loopback: --mtu: QUIC needs datagrams of 1200 bytes, and so an MTU of " +
                     std::to_string(smallest_quic_mtu) + " at least",
                 "", true};
}

outcome check_size(const std::string& option, std::uint64_t bytes, std::uint64_t least, std::uint64_t most) {
  if (bytes >= least && bytes <= most) return base::done{};
  return failure{"loopback: " + option + ": " + std::to_string(bytes) + " is not from " + std::to_string(least) +
                     " to " + std::to_string(most),
                 "", true};
}

outcome settle(const CLI::App& options, loopback_options& out) {
  if (auto sound = check_uses(options, out); !sound) return sound.error();
  if (options.get_option("--timeout")->count() == 0)
    out.timeout_s = out.workload == loopback_workload::srmp_stream && out.wire.is_needed() ? 0.1 : 1;
  if (out.timeout_s <= 0) return failure{"loopback: --timeout must be above 0", "", true};
  const bool sized = options.get_option("--size")->count() != 0;
  switch (out.workload) {
    case loopback_workload::io:
      if (!sized) out.size = io_frame;
      return check_size("--size", out.size, loadgen::min_frame_size, loadgen::max_frame_size);
    case loopback_workload::srmp_echo:
      if (!sized) out.size = echo_payload;
      // Filled datagrams hold some 46 messages: a window of a few bursts of them is thousands of messages.
      if (out.connections == 0) out.connections = out.fill ? 32 : 4;
      if (out.streams == 0) out.streams = out.is_srmp_quic() ? 1 : out.fill ? 255 : 64;
      if (out.is_srmp_quic())
        if (auto fits = check_quic_mtu(out); !fits) return fits;
      return check_size("--size", out.size, 0, loadgen::max_load_size);
    case loopback_workload::srmp_stream:
      if (!sized) out.size = stream_bytes;
      if (out.connections == 0) out.connections = 1;
      if (out.streams == 0) out.streams = 1;
      return check_size("--size", out.size, 1, most_stream_bytes);
    case loopback_workload::quic_stream:
      if (!sized) out.size = body_bytes;
      if (out.connections == 0) out.connections = 1;
      if (out.streams == 0) out.streams = 1;
      if (auto fits = check_quic_mtu(out); !fits) return fits;
      return check_size("--size", out.size, 1, pipeline::max_pattern_body);
    case loopback_workload::h3_get:
    case loopback_workload::h3_json:
      if (!sized) out.size = small_body_bytes;
      if (out.connections == 0) out.connections = h3_connections;
      if (out.streams == 0) out.streams = h3_streams;
      if (auto fits = check_quic_mtu(out); !fits) return fits;
      if (sized && out.workload == loopback_workload::h3_json)
        return failure{"loopback: --size means nothing to --workload h3-json", "leave it out", true};
      return check_size("--size", out.size, 0, pipeline::max_pattern_body);
  }
  return base::done{};
}

}  // namespace

std::string_view to_string(loopback_workload workload) noexcept {
  switch (workload) {
    case loopback_workload::io:
      return "io";
    case loopback_workload::srmp_echo:
      return "srmp-echo";
    case loopback_workload::srmp_stream:
      return "srmp-stream";
    case loopback_workload::quic_stream:
      return "quic-stream";
    case loopback_workload::h3_get:
      return "h3-get";
    case loopback_workload::h3_json:
      return "h3-json";
  }
  return "io";
}

std::optional<int> parse_loopback_options(const invocation& call, loopback_options& out) {
  CLI::App options("server and client in one process, joined by rings in memory: no NIC, no network, no rights");
  add_workload(options, out);
  add_load(options, out);
  add_wire(options, out);
  add_common_options(options, out.common);
  if (const auto status = parse_options(options, "loopback", call)) return status;
  if (auto settled = settle(options, out); !settled) return report(settled.error());
  return std::nullopt;
}

}  // namespace millrace::app
