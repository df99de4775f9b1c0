#include "app/engine_run.hpp"

#include <chrono>
#include <thread>

#include "app/signals.hpp"

namespace millrace::app {
namespace {

using clock = std::chrono::steady_clock;

constexpr auto control_pause = std::chrono::milliseconds(5);

double seconds_since(clock::time_point start) { return std::chrono::duration<double>(clock::now() - start).count(); }

void print_period(const engine_run& run, std::vector<pipeline::figures>& last, double at_s, double period_s) {
  const std::string text =
      period_text(at_s, read_window(run.engine, last, period_s, run.bytes_counted), read_pool(run.pool));
  std::fputs(text.c_str(), run.people);
  std::fflush(run.people);
  last.clear();
  for (std::size_t i = 0; i < run.engine.workers(); ++i) last.push_back(run.engine.of_worker(i));
}

}  // namespace

base::result<double> run_engine(const engine_run& run) {
  std::vector<pipeline::figures> last(run.engine.workers());
  if (run.duration_s == 0) {
    std::fputs("running until SIGINT (Ctrl-C) or SIGTERM\n", run.people);
    std::fflush(run.people);
  }
  const clock::time_point start = clock::now();
  if (auto started = run.engine.start(); !started) return started.error();
  double now = 0;
  double printed = 0;
  for (;;) {
    if (run.engine.has_lcores())
      std::this_thread::sleep_for(control_pause);
    else
      run.engine.turn();
    now = seconds_since(start);
    if (stop_requested() || (run.duration_s > 0 && now >= run.duration_s)) break;
    if (run.engine.has_lcores()) run.pool.sample();
    if (run.stats_period_s > 0 && now - printed >= run.stats_period_s) {
      print_period(run, last, now, now - printed);
      printed = now;
    }
  }
  run.pool.sample();
  run.engine.stop();
  return seconds_since(start);
}

void read_end(pipeline::engine& engine, const std::deque<port::port>& ports, double seconds, bool bytes_counted,
              fwd_end& end) {
  end.window = read_window(engine, {}, seconds, bytes_counted);
  engine.drain();
  end.total = engine.total();
  end.driver_errors = driver_errors(ports);
  for (const port::port& p : ports) end.ports.push_back({p.facts().name, p.stats()});
}

pool_reading read_pool(mem::packet_pool& pool) {
  const std::uint32_t in_use = pool.sample();
  return {pool.name(), pool.size(), in_use, pool.high_water(), pool.refused()};
}

}  // namespace millrace::app
