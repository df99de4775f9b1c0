#include "app/inspect_live.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <memory>
#include <vector>

#include "app/signals.hpp"
#include "buf/burst.hpp"
#include "env/clock.hpp"
#include "env/lcore.hpp"
#include "pipeline/idle.hpp"
#include "port/port.hpp"

namespace millrace::app {
namespace {

constexpr std::size_t longest_frame = 65'536;

static_assert(static_cast<int>(idle_policy::poll) == static_cast<int>(pipeline::idle_policy::poll) &&
                  static_cast<int>(idle_policy::adaptive) == static_cast<int>(pipeline::idle_policy::adaptive),
              "one order, so that a cast translates");

// Time of day from the time stamp counter: one reading of the clock at the start, none later.
class wall_clock {
  std::uint64_t tsc_ = env::read_tsc();
  std::uint64_t ns_ = static_cast<std::uint64_t>(env::wall_now_ns());
  double ns_per_cycle_ = 1e9 / static_cast<double>(env::tsc_hz());

 public:
  [[nodiscard]] std::uint64_t now() const noexcept {
    return ns_ + static_cast<std::uint64_t>(static_cast<double>(env::read_tsc() - tsc_) * ns_per_cycle_);
  }
};

struct watched_queue {
  std::uint16_t port = 0;
  std::uint16_t queue = 0;
};

struct loop_state {
  std::vector<watched_queue> queues;
  std::vector<std::uint8_t> scratch = std::vector<std::uint8_t>(longest_frame);
  buf::burst burst;
  std::uint64_t turns = 0;
  std::uint64_t busy_turns = 0;
};

// One turn over all queues; answers the frames that came.
unsigned turn(loop_state& s, inspect::analyzer& a, std::uint64_t now, mem::heap_tally& heap) {
  const mem::heap_watch watched(heap);
  unsigned frames = 0;
  for (const watched_queue& q : s.queues) {
    const unsigned got = port::rx_burst(q.port, q.queue, s.burst, buf::default_burst_pkts);
    for (unsigned n = 0; n < got; ++n) {
      if (n + 1 < got) s.burst.prefetch_data(n + 1);
      const base::byte_view frame = s.burst.flat(n, s.scratch);
      const std::uint32_t size = s.burst.length(n);
      if (frame.size() == size)
        a.on_packet(frame, net::wire::link_type::ethernet, now, size);
      else
        a.refuse(stats::drop_reason::l2_oversized, size);
    }
    s.burst.free_all();
    frames += got;
  }
  ++s.turns;
  s.busy_turns += frames != 0 ? 1 : 0;
  return frames;
}

void print_period(std::FILE* out, double seconds, std::uint64_t frames, std::uint64_t bytes,
                  const inspect::analyzer& a) {
  fmt::print(out, "{:.3f} Mpps, {:.3f} Gbit/s, {} flows, {} QUIC connections, {} dropped in all\n",
             static_cast<double>(frames) / seconds / 1e6, static_cast<double>(bytes) * 8 / seconds / 1e9,
             a.flows().pool().in_use(), a.quic().pool().in_use(), a.count().drops.total());
  std::fflush(out);
}

void loop(const live_options& o, loop_state& s, inspect::analyzer& a, mem::heap_tally& heap, std::FILE* people) {
  const wall_clock clock;
  pipeline::idler idle(static_cast<pipeline::idle_policy>(o.idle));
  const auto in_ns = [](double seconds) { return static_cast<std::uint64_t>(seconds * 1e9); };
  const std::uint64_t begin = clock.now();
  std::uint64_t last_frame = begin;
  std::uint64_t last_line = begin;
  std::uint64_t shown_frames = 0;
  std::uint64_t shown_bytes = 0;
  while (!stop_requested()) {
    const std::uint64_t now = clock.now();
    if (turn(s, a, now, heap) != 0) {
      last_frame = now;
      idle.on_work();
    } else {
      a.on_time(now);
      idle.on_empty();
    }
    if (o.duration_s > 0 && now - begin >= in_ns(o.duration_s)) break;
    if (o.idle_exit_s > 0 && now - last_frame >= in_ns(o.idle_exit_s)) break;
    if (o.stats_period_s <= 0 || now - last_line < in_ns(o.stats_period_s)) continue;
    const std::uint64_t frames = a.count().packets.get();
    const std::uint64_t bytes = a.count().bytes.get();
    print_period(people, static_cast<double>(now - last_line) / 1e9, frames - shown_frames, bytes - shown_bytes, a);
    shown_frames = frames;
    shown_bytes = bytes;
    last_line = now;
  }
}

}  // namespace

port::plan_request live_plan_request() {
  port::plan_request wish;
  wish.budget_pkts = buf::burst::capacity;
  return wish;
}

base::outcome watch_ports(const live_options& o, inspect::analyzer& a, mem::heap_tally& heap, std::FILE* people,
                          run_result& result) {
  const auto facts = port::discover();
  if (!facts) return facts.error();
  port::plan_request wish = live_plan_request();
  wish.workers = {{env::main_lcore(), env::socket_of_lcore(env::main_lcore())}};
  const auto plan = port::make_plan(facts.value(), wish);
  if (!plan) return plan.error();
  fmt::print(stderr, "{}", port::describe(plan.value()));
  auto pool = mem::packet_pool::make(plan.value().pool);
  if (!pool) return pool.error();
  std::vector<port::port> ports;
  loop_state state;
  for (const port::port_plan& p : plan.value().ports) {
    auto opened = port::port::open(p, pool.value());
    if (!opened) return opened.error();
    ports.push_back(std::move(opened.value()));
    if (auto started = ports.back().start(); !started) return started;
    for (std::uint16_t q = 0; q < p.rxq; ++q) state.queues.push_back({ports.back().id(), q});
  }
  const auto begin = std::chrono::steady_clock::now();
  loop(o, state, a, heap, people);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  pool.value().sample();
  for (const port::port& p : ports) {
    const port::port_stats s = p.stats();
    if (s.rx_missed != 0) result.add_error("rx_missed", s.rx_missed);
    if (s.rx_no_mbuf != 0) result.add_error("rx_no_mbuf", s.rx_no_mbuf);
  }
  const mem::packet_pool& p = pool.value();
  result.mempools.push_back({p.name(), p.size(), p.in_use(), p.high_water(), p.refused()});
  result.lcores.push_back(
      {env::main_lcore(),
       state.turns == 0 ? 0 : 100.0 * static_cast<double>(state.busy_turns) / static_cast<double>(state.turns),
       static_cast<double>(a.count().packets.get()) / seconds / 1e6});
  return base::done{};
}

}  // namespace millrace::app
