// What a datagram costs the loop from the receive ring to the transmit ring: judged by the host, handed to a service,
// answered, headers written, sent. 32 requests come as one burst; time is per datagram (an iteration).
//
// Args     callers: of how many peers the burst's datagrams are. Replies to one peer share datagrams, so 1 is the best
//          case and 32 the worst. messages: in each datagram; 45 fill one of 1452 bytes.
// Rows     loop_srmp_echo: frames of 28 bytes. loop_rpc_echo: Echo of a small JSON object. loop_udp_echo: 28 bytes.
// Limit    __limit_io: the same bursts through the same rings, received and sent back as they are.
#include <cstdlib>
#include <vector>

#include "net/wire/headers.hpp"
#include "pipeline/service_loop.hpp"
#include "pipeline/srmp_service.hpp"
#include "pipeline/udp_echo_service.hpp"
#include "port/crossed_rings.hpp"
#include "port/port.hpp"
#include "rpc/builtin.hpp"
#include "rpc/service.hpp"
#include "support/eal_bench.hpp"

namespace {

using namespace millrace;
using bytes = std::vector<std::uint8_t>;

constexpr unsigned burst_pkts = 32;
constexpr std::uint16_t srmp_port = 5500;
constexpr std::uint16_t echo_port = 7;
const net::wire::mac_address server_mac{{2, 0, 0, 0, 0, 1}};
const net::wire::mac_address client_mac{{2, 0, 0, 0, 0, 2}};

template <class T>
T must(base::result<T> made) {
  if (made) return std::move(made.value());
  std::fprintf(stderr, "%s\n", made.error().what.c_str());
  std::abort();
}

mem::packet_pool& pool() {
  static mem::packet_pool made = must(mem::packet_pool::make({.name = "bench_loop", .packets = 16383}));
  return made;
}

// A cable whose near end the loop has and whose far end the benchmark plays.
class cable {
  port::crossed_rings rings_ = must(port::crossed_rings::make("bench" + std::to_string(made_++)));
  std::vector<port::port> ports_;
  static inline unsigned made_ = 0;

 public:
  cable() {
    for (const std::uint16_t id : {rings_.first(), rings_.second()}) {
      const port::port_facts facts = must(port::read_facts(id));
      const port::plan plan = must(port::make_plan({&facts, 1}, {}));
      ports_.push_back(must(port::port::open(plan.ports[0], pool())));
      if (!ports_.back().start()) std::abort();
    }
  }
  ~cable() { (void)take(); }
  cable(const cable&) = delete;
  cable& operator=(const cable&) = delete;
  [[nodiscard]] std::uint16_t near() const noexcept { return rings_.first(); }

  // A burst of these frames, and what came back, freed; answers how many packets.
  void put(const std::vector<bytes>& frames) {
    buf::burst out;
    if (!out.fill(pool(), static_cast<unsigned>(frames.size()))) std::abort();
    for (unsigned i = 0; i < out.size(); ++i) {
      (void)out.set_length(i, static_cast<std::uint16_t>(frames[i].size()));
      std::memcpy(out.writable_first(i).data(), frames[i].data(), frames[i].size());
    }
    if (port::tx_burst(rings_.second(), 0, out) != frames.size()) std::abort();
  }
  unsigned take() {
    buf::burst in;
    const unsigned got = port::rx_burst(rings_.second(), 0, in, buf::burst::capacity);
    in.free_all();
    return got;
  }
};

base::ip_address address(unsigned last) { return base::ip_address::parse("198.18.0." + std::to_string(last)).value(); }

std::vector<bytes> frames_of(std::uint16_t port, unsigned callers, const bytes& payload) {
  std::vector<bytes> out;
  for (unsigned i = 0; i < burst_pkts; ++i) {
    net::wire::frame_spec spec;
    spec.dst_mac = server_mac;
    spec.src_mac = client_mac;
    spec.src = address(2);
    spec.dst = address(1);
    spec.src_port = static_cast<std::uint16_t>(40000 + i % callers);
    spec.dst_port = port;
    bytes frame(net::wire::frame_headers_size(spec) + payload.size());
    base::byte_writer writer(frame);
    if (!net::wire::emit_frame(spec, payload, writer)) std::abort();
    out.push_back(std::move(frame));
  }
  return out;
}

bytes requests(unsigned messages, const bytes& payload) {
  bytes out;
  for (unsigned i = 0; i < messages; ++i) {
    const std::size_t at = out.size();
    out.resize(at + srmp::wire::short_header_size + payload.size());
    (void)srmp::wire::emit_frame(base::byte_span(out).subspan(at), 1, static_cast<std::uint8_t>(i), payload);
  }
  return out;
}

std::unique_ptr<pipeline::service_loop> make_loop(const cable& c) {
  pipeline::loop_interface at;
  at.port = c.near();
  at.host.mac = server_mac;
  at.host.addresses = {{address(1), 24}};
  at.host.neighbours = {{address(2), client_mac}};
  at.host.announce = false;
  at.host.seed = 42;
  return must(pipeline::service_loop::make({.idle = pipeline::idle_policy::poll}, {&at, 1}, pool()));
}

void run(benchmark::State& state, pipeline::udp_service& service, std::uint16_t port, const bytes& payload,
         std::uint64_t messages) {
  cable c;
  auto loop = make_loop(c);
  if (!loop->open(port, service)) std::abort();
  const std::vector<bytes> frames = frames_of(port, static_cast<unsigned>(state.range(0)), payload);
  loop->turn();
  (void)c.take();
  std::uint64_t answers = 0;
  while (state.KeepRunningBatch(burst_pkts)) {
    c.put(frames);
    loop->turn();
    answers += c.take();
  }
  if (answers == 0 || loop->total().dropped() != 0) state.SkipWithError("not answered");
  state.counters["messages"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * static_cast<double>(messages), benchmark::Counter::kIsRate);
  loop->finish();
}

void loop_srmp_echo(benchmark::State& state) {
  srmp::echo_handler handler;
  pipeline::srmp_service<srmp::echo_handler> service(handler, {.batch_bytes = 1452}, {});
  const auto messages = static_cast<unsigned>(state.range(1));
  run(state, service, srmp_port, requests(messages, bytes(28, 'x')), messages);
}
BENCHMARK(loop_srmp_echo)->ArgNames({"callers", "messages"})->ArgsProduct({{1, 32}, {1, 45}});

void loop_rpc_echo(benchmark::State& state) {
  auto table = rpc::method_table::make();
  if (rpc::add_builtins(*table, {}) != rpc::add_errc::ok) std::abort();
  auto calls = rpc::service::make(*table, {});
  pipeline::srmp_service<rpc::service> service(*calls, {.batch_bytes = 1452}, {});
  bytes call(256);
  call.resize(rpc::wire::emit(call, "Echo", base::as_bytes(std::string_view(R"({"id":7,"text":"hello"})"))));
  const auto messages = static_cast<unsigned>(state.range(1));
  run(state, service, srmp_port, requests(messages, call), messages);
}
BENCHMARK(loop_rpc_echo)->ArgNames({"callers", "messages"})->ArgsProduct({{1, 32}, {1, 30}});

void loop_udp_echo(benchmark::State& state) {
  pipeline::udp_echo_service service;
  run(state, service, echo_port, bytes(28, 'x'), 1);
}
BENCHMARK(loop_udp_echo)->ArgNames({"callers"})->Arg(1);

void run_io(benchmark::State& state, std::uint16_t port, const bytes& payload) {
  cable c;
  const std::vector<bytes> frames = frames_of(port, static_cast<unsigned>(state.range(0)), payload);
  buf::burst packets;
  while (state.KeepRunningBatch(burst_pkts)) {
    c.put(frames);
    (void)port::rx_burst(c.near(), 0, packets, burst_pkts);
    (void)port::tx_burst(c.near(), 0, packets);
    (void)c.take();
  }
}
void loop_srmp_echo__limit_io(benchmark::State& state) {
  run_io(state, srmp_port, requests(static_cast<unsigned>(state.range(1)), bytes(28, 'x')));
}
BENCHMARK(loop_srmp_echo__limit_io)->ArgNames({"callers", "messages"})->ArgsProduct({{1, 32}, {1, 45}});
void loop_udp_echo__limit_io(benchmark::State& state) { run_io(state, echo_port, bytes(28, 'x')); }
BENCHMARK(loop_udp_echo__limit_io)->ArgNames({"callers"})->Arg(1);

}  // namespace
