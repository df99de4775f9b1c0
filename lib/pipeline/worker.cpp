// How a pass runs: every stream of the worker gets one turn, a turn is receive, work, transmit of one burst. Everything
// a turn needs is in this object or in registers; the only writes other cores look at are counters, each with one
// writer.
//
// What it costs is visible in mode io: 32 packets through two rings are some 31 ns, so a stamp of the clock (11 ns), a
// division or one more cache line shows at once. Hence one compiled loop a mode, measured passes apart from plain ones,
// and no lengths read in io.
#include "pipeline/worker.hpp"

#include <algorithm>

#include "port/port.hpp"

namespace millrace::pipeline {

using stats::drop_reason;

worker::worker(const worker_settings& settings, std::vector<worker_stream> streams, mem::packet_pool& pool)
    : slice_(choose(settings.mode, settings.exact_cycles)),
      pool_(&pool),
      burst_pkts_(settings.burst_pkts),
      tx_retries_(settings.tx_retries),
      idler_(settings.idle),
      stamp_cycles_(measure_stamp_cycles()),
      streams_(std::move(streams)) {
  if (settings.mode != forward_mode::parse) return;
  parse_ = std::make_unique<parse_work>();
  parse_->settings = settings.parse;
}

void worker::run(const std::atomic<bool>& stop) noexcept {
  const std::uint64_t before = env::thread_cpu_ns();
  {
    const mem::heap_watch watch(counters_.heap);
    while (!stop.load(std::memory_order_relaxed)) slice();
  }
  counters_.add(count::cpu_ns, env::thread_cpu_ns() - before);
}

// Tries the rest of the burst again, waiting longer each time; what is then left is dropped. Answers how many more
// went.
[[gnu::noinline]] unsigned worker::retry(const port::stream& to) noexcept {
  unsigned more = 0;
  for (unsigned round = 0; round < tx_retries_ && !burst_.empty(); ++round) {
    for (unsigned wait = 0; wait < 1u << std::min(round, 5u); ++wait) env::pause();
    counters_.add(count::tx_retries, 1);
    more += port::tx_burst(to.tx_port, to.tx_queue, burst_);
  }
  return more;
}

// Sends the burst, of `bytes` in all; answers how many packets went. The burst is empty afterwards.
template <forward_mode Mode>
inline unsigned worker::transmit(const port::stream& to, std::uint64_t bytes) noexcept {
  unsigned sent = port::tx_burst(to.tx_port, to.tx_queue, burst_);
  if (!burst_.empty()) [[unlikely]] {
    sent += retry(to);
    if constexpr (counts_bytes(Mode)) bytes -= burst_.bytes();
    burst_.drop_all(drop_reason::tx_ring_full, counters_.drops);
  }
  counters_.add(count::tx_pkts, sent);
  if constexpr (counts_bytes(Mode)) counters_.add(count::tx_bytes, bytes);
  return sent;
}

// A burst of fresh frames; answers their bytes, 0 when the pool has not enough left.
inline std::uint64_t worker::generate(worker_stream& s) noexcept {
  const std::uint64_t bytes = s.frames.fill(burst_, *pool_, burst_pkts_);
  if (bytes != 0) [[likely]]
    counters_.add(count::originated_pkts, burst_pkts_);
  else
    counters_.add(count::ungenerated_pkts, burst_pkts_);
  return bytes;
}

// What the mode does with the burst just received; answers the bytes left in it, 0 where nobody counts them.
template <forward_mode Mode>
inline std::uint64_t worker::work(worker_stream& s) noexcept {
  std::uint64_t received = 0;
  std::uint64_t left = 0;
  if constexpr (Mode == forward_mode::io) {
    return 0;
  } else if constexpr (Mode == forward_mode::mac) {
    left = set_addresses(burst_, s.addresses, received, counters_.drops);
  } else if constexpr (Mode == forward_mode::macswap) {
    left = swap_addresses(burst_, received, counters_.drops);
  } else if constexpr (Mode == forward_mode::parse) {
    left = parse_burst(burst_, *parse_, received, counters_);
  } else {
    received = burst_.bytes();
    burst_.drop_all(drop_reason::rx_only, counters_.drops);
  }
  counters_.add(count::rx_bytes, received);
  return left;
}

template <forward_mode Mode, class Meter>
inline unsigned worker::turn(worker_stream& s, Meter& meter) noexcept {
  unsigned moved = 0;
  std::uint64_t bytes = 0;
  if constexpr (receives(Mode)) {
    moved = port::rx_burst(s.link.rx_port, s.link.rx_queue, burst_, burst_pkts_);
    if (moved != 0) {
      meter.received(burst_);
      counters_.add(count::rx_pkts, moved);
      counters_.add(count::rx_bursts, 1);
      bytes = work<Mode>(s);
      meter.worked();
    } else {
      meter.nothing_received();
    }
  }
  if constexpr (generates(Mode)) {
    bytes = generate(s);
    meter.generated(burst_);
  }
  if (!burst_.empty()) {
    const unsigned sent = transmit<Mode>(s.link, bytes);
    meter.sent();
    if constexpr (generates(Mode)) moved += sent;
  }
  return moved;
}

template <forward_mode Mode, class Meter>
inline unsigned worker::pass(Meter& meter) noexcept {
  unsigned moved = 0;
  for (worker_stream& s : streams_) moved += turn<Mode>(s, meter);
  return moved;
}

inline void worker::after(unsigned moved) noexcept {
  if (moved != 0)
    idler_.on_work();
  else
    idler_.on_empty();
}

// Adds a measured pass to the figures; false when it was interrupted and left out.
inline bool worker::note_pass(std::uint64_t cycles, unsigned moved) noexcept {
  if (limit_.is_exceeded(cycles, moved)) [[unlikely]] {
    counters_.add(count::interrupted_passes, 1);
    return false;
  }
  counters_.add(count::measured_cycles, cycles);
  if (moved != 0) {
    counters_.add(count::measured_busy_cycles, cycles);
    counters_.add(count::measured_pkts, moved);
  }
  return true;
}

template <forward_mode Mode>
[[gnu::noinline]] void worker::measured_pass() noexcept {
  stage_meter meter(stamp_cycles_);
  const unsigned moved = pass<Mode>(meter);
  after(moved);
  if (note_pass(meter.elapsed(), moved)) meter.report(counters_);
}

template <forward_mode Mode, bool Exact>
void worker::slice_of() noexcept {
  no_meter none;
  for (unsigned stride = 0; stride < passes_per_slice / sample_stride; ++stride) {
    if constexpr (Exact) {
      // One stamp a pass: the end of one is the beginning of the next, idling included.
      std::uint64_t last = env::read_tsc();
      for (unsigned i = 1; i < sample_stride; ++i) {
        const unsigned moved = pass<Mode>(none);
        after(moved);
        const std::uint64_t now = env::read_tsc();
        note_pass(now - last, moved);
        last = now;
      }
    } else {
      for (unsigned i = 1; i < sample_stride; ++i) after(pass<Mode>(none));
    }
    measured_pass<Mode>();
  }
}

template <forward_mode Mode>
worker::slice_function worker::choose_for(bool exact) noexcept {
  return exact ? &worker::slice_of<Mode, true> : &worker::slice_of<Mode, false>;
}

worker::slice_function worker::choose(forward_mode mode, bool exact) noexcept {
  switch (mode) {
    case forward_mode::io:
      return choose_for<forward_mode::io>(exact);
    case forward_mode::mac:
      return choose_for<forward_mode::mac>(exact);
    case forward_mode::macswap:
      return choose_for<forward_mode::macswap>(exact);
    case forward_mode::rxonly:
      return choose_for<forward_mode::rxonly>(exact);
    case forward_mode::txonly:
      return choose_for<forward_mode::txonly>(exact);
    case forward_mode::flowgen:
      return choose_for<forward_mode::flowgen>(exact);
    case forward_mode::parse:
      return choose_for<forward_mode::parse>(exact);
  }
  return choose_for<forward_mode::io>(exact);
}

}  // namespace millrace::pipeline
