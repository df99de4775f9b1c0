// What a message costs the client's lcore, both ways: made, sent through a loop onto a ring, its reply received,
// judged, counted. The server is a mirror: it turns each datagram round where it lies and sets the reply bits, which
// is a fraction of what a server does; load_mirror_alone says how much, to be taken off.
//
// Args     connections; window of each; messages a datagram: 1, or filled (45 of 28 bytes).
// Time     of one message (an iteration).
#include <cstdlib>
#include <memory>
#include <vector>

#include "loadgen/load_messages.hpp"
#include "loadgen/srmp_load.hpp"
#include "pipeline/service_loop.hpp"
#include "port/crossed_rings.hpp"
#include "port/port.hpp"
#include "stats/latency_histogram.hpp"
#include "support/eal_bench.hpp"

namespace {

using namespace millrace;

constexpr std::uint16_t srmp_port = 5500;
constexpr std::size_t ip_at = 14;
constexpr std::size_t udp_at = ip_at + 20;
constexpr std::size_t payload_at = udp_at + 8;
const net::wire::mac_address server_mac{{2, 0, 0, 0, 0, 1}};
const net::wire::mac_address client_mac{{2, 0, 0, 0, 0, 2}};

template <class T>
T must(base::result<T> made) {
  if (made) return std::move(made.value());
  std::fprintf(stderr, "%s\n", made.error().what.c_str());
  std::abort();
}

mem::packet_pool& pool() {
  static mem::packet_pool made = must(mem::packet_pool::make({.name = "bench", .packets = 16383}));
  return made;
}

base::ip_address address(unsigned last) { return base::ip_address::parse("198.18.0." + std::to_string(last)).value(); }

// Addresses and ports exchanged, every frame a reply; the checksum follows (RFC 1624: each flag adds 0x8000 to its
// word, for frames of even size).
void turn_round(base::byte_span frame) {
  std::uint8_t* const p = frame.data();
  for (std::size_t i = 0; i < 6; ++i) std::swap(p[i], p[6 + i]);
  for (std::size_t i = 0; i < 4; ++i) std::swap(p[ip_at + 12 + i], p[ip_at + 16 + i]);
  std::swap(p[udp_at], p[udp_at + 2]);
  std::swap(p[udp_at + 1], p[udp_at + 3]);
  std::uint32_t sum = static_cast<std::uint16_t>(~base::load_be16(p + udp_at + 6));
  for (std::size_t at = payload_at; at + 4 <= frame.size(); at += 4u + base::load_le16(p + at + 2)) {
    p[at] |= 0x80;
    sum += 0x8000;
  }
  sum = (sum & 0xFFFF) + (sum >> 16);
  sum = (sum & 0xFFFF) + (sum >> 16);
  base::store_be16(p + udp_at + 6, static_cast<std::uint16_t>(~sum));
}

class mirrored_client {
  port::crossed_rings rings_ = must(port::crossed_rings::make("bench" + std::to_string(made_++)));
  std::vector<port::port> ports_;
  static inline unsigned made_ = 0;

 public:
  std::unique_ptr<pipeline::service_loop> loop;
  std::unique_ptr<loadgen::srmp_load> load;

  explicit mirrored_client(const loadgen::load_settings& settings) {
    for (const std::uint16_t id : {rings_.first(), rings_.second()}) {
      const port::port_facts facts = must(port::read_facts(id));
      const port::plan plan = must(port::make_plan({&facts, 1}, {}));
      ports_.push_back(must(port::port::open(plan.ports[0], pool())));
      if (!ports_.back().start()) std::abort();
    }
    pipeline::loop_interface at;
    at.port = rings_.first();
    at.host.mac = client_mac;
    at.host.addresses = {{address(2), 24}};
    at.host.neighbours = {{address(1), server_mac}};
    at.host.announce = false;
    at.host.seed = 42;
    loop = must(pipeline::service_loop::make({.idle = pipeline::idle_policy::poll}, {&at, 1}, pool()));
    load = must(loadgen::srmp_load::make(settings));
    if (!load->open_on(*loop)) std::abort();
  }
  ~mirrored_client() {
    buf::burst left;
    while (port::rx_burst(rings_.first(), 0, left, 512) + port::rx_burst(rings_.second(), 0, left, 0) != 0)
      left.free_all();
    while (port::rx_burst(rings_.second(), 0, left, 512) != 0) left.free_all();
  }
  mirrored_client(const mirrored_client&) = delete;
  mirrored_client& operator=(const mirrored_client&) = delete;

  void mirror() {
    buf::burst b;
    while (port::rx_burst(rings_.second(), 0, b, 64) != 0) {
      for (unsigned i = 0; i < b.size(); ++i) turn_round(b.writable_first(i));
      while (!b.empty() && port::tx_burst(rings_.second(), 0, b) != 0) {
      }
      b.free_all();
    }
  }
};

loadgen::load_settings settings_of(const benchmark::State& state) {
  loadgen::load_settings s;
  s.target = {address(1), srmp_port};
  s.connections = static_cast<std::uint16_t>(state.range(0));
  s.window = static_cast<std::uint16_t>(state.range(1));
  s.fill = state.range(2) != 1;
  return s;
}

// Closed loop, or a rate that is always due.
void run(benchmark::State& state, std::uint64_t rate) {
  loadgen::load_settings s = settings_of(state);
  s.rate = rate;
  mirrored_client c(s);
  const auto step = [&] {
    c.loop->turn();
    c.mirror();
  };
  for (int i = 0; i < 1000; ++i) step();
  const loadgen::load_figures before = c.load->figures();
  constexpr std::uint64_t batch = 1 << 18;
  while (state.KeepRunningBatch(batch)) {
    const std::uint64_t until = c.load->figures().replies + batch;
    while (c.load->figures().replies < until)
      for (int i = 0; i < 64; ++i) step();
  }
  const loadgen::load_figures after = c.load->figures();
  if (after.errors != before.errors) state.SkipWithError("errors");
  state.counters["messages"] =
      benchmark::Counter(static_cast<double>(after.replies - before.replies), benchmark::Counter::kIsRate);
  state.counters["a_datagram"] = static_cast<double>(after.sent) / static_cast<double>(after.datagrams_sent);
}

void load_closed_loop(benchmark::State& state) { run(state, 0); }
void load_open_loop(benchmark::State& state) { run(state, 1'000'000'000); }

// One datagram turned round over and over.
void load_mirror_alone(benchmark::State& state) {
  const auto messages = static_cast<std::size_t>(state.range(0));
  const std::size_t frame_size = 4 + 28;
  std::vector<std::uint8_t> frame(payload_at + messages * frame_size);
  for (std::size_t i = 0; i < messages; ++i) base::store_le16(frame.data() + payload_at + i * frame_size + 2, 28);
  while (state.KeepRunningBatch(static_cast<std::int64_t>(messages))) {
    turn_round(frame);
    benchmark::ClobberMemory();
  }
}

void load_judge(benchmark::State& state) {
  loadgen::load_settings s;
  s.size = static_cast<std::uint32_t>(state.range(0));
  const loadgen::load_messages m(s);
  std::vector<std::uint8_t> payload(m.size());
  std::uint64_t n = 0;
  const srmp::wire::frame f{{0x81, 1, 4, s.size}, payload};
  for (auto _ : state) {
    const auto stamp = loadgen::load_stamp::of(n, n);
    m.write(payload, stamp);
    if (m.judge(f, stamp) != loadgen::load_verdict::right) state.SkipWithError("wrong");
    ++n;
  }
}

void latency_record(benchmark::State& state) {
  const auto h = std::make_unique<stats::latency_histogram>();
  std::uint64_t value = 1;
  for (auto _ : state) {
    value = value * 6364136223846793005u + 1442695040888963407u;
    h->record(value >> 44);  // up to a millisecond
  }
  benchmark::DoNotOptimize(h->max());
}

BENCHMARK(load_closed_loop)
    ->ArgNames({"connections", "window", "messages"})
    ->Args({1, 64, 1})
    ->Args({16, 32, 1})
    ->Args({64, 8, 1})
    ->Args({1, 230, 46})
    ->Args({16, 230, 46})
    ->Args({64, 230, 46});
BENCHMARK(load_open_loop)->ArgNames({"connections", "window", "messages"})->Args({16, 32, 1})->Args({16, 230, 46});
BENCHMARK(load_mirror_alone)->ArgName("messages")->Arg(1)->Arg(46);
BENCHMARK(load_judge)->ArgName("size")->Arg(28)->Arg(1400);
BENCHMARK(latency_record);

}  // namespace

MILLRACE_EAL_BENCH_MAIN("-m", "256")
