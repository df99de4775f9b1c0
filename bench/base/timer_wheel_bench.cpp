// What a timer costs, beside the two structures everybody reaches for first.
//
// Args     timers armed at any time; deadlines are spread over the next 2^16 ticks, as time-outs of connections are.
// Limits   __limit_multimap keeps them in a std::multimap, __limit_heap in a binary heap that knows each timer's place.
// Rows     timer_move: another deadline for a timer, what a connection does with each packet it hears.
//          timer_turn: one tick of time; what is due is armed again, so the number stays. An iteration is one timer.
#include <benchmark/benchmark.h>

#include <map>
#include <random>
#include <vector>

#include "base/timer_wheel.hpp"

namespace {

using namespace millrace;

constexpr std::uint64_t span_ticks = 1u << 16;

struct randoms {
  std::vector<std::uint32_t> values = std::vector<std::uint32_t>(1u << 16);
  std::size_t at = 0;
  randoms() {
    std::mt19937 engine(5);
    for (std::uint32_t& v : values) v = static_cast<std::uint32_t>(engine());
  }
  std::uint64_t ahead() { return 1 + values[at++ & 0xFFFF] % span_ticks; }
  std::size_t below(std::size_t n) { return (std::uint64_t{values[at++ & 0xFFFF]} * n) >> 32; }
};

class wheel_timers {
  std::vector<base::timer_node> nodes_;
  base::timer_wheel wheel_;
  std::vector<base::timer_handle> handles_;

 public:
  explicit wheel_timers(std::size_t count) : nodes_(count), wheel_(nodes_, 0, 0), handles_(count) {}
  void arm(std::size_t which, std::uint64_t at) { handles_[which] = wheel_.arm(at, which); }
  void move(std::size_t which, std::uint64_t at) { wheel_.rearm(handles_[which], at); }
  [[nodiscard]] std::size_t size() const { return wheel_.size(); }
  std::size_t turn(std::uint64_t now, randoms& random) {
    return wheel_.turn(now, UINT32_MAX, [&](std::uint64_t which) { arm(which, now + random.ahead()); }).fired;
  }
};

class map_timers {
  std::multimap<std::uint64_t, std::size_t> due_;
  std::vector<std::multimap<std::uint64_t, std::size_t>::iterator> places_;

 public:
  explicit map_timers(std::size_t count) : places_(count) {}
  void arm(std::size_t which, std::uint64_t at) { places_[which] = due_.emplace(at, which); }
  void move(std::size_t which, std::uint64_t at) {
    auto node = due_.extract(places_[which]);  // no heap: the kindest way
    node.key() = at;
    places_[which] = due_.insert(std::move(node));
  }
  [[nodiscard]] std::size_t size() const { return due_.size(); }
  std::size_t turn(std::uint64_t now, randoms& random) {
    std::size_t fired = 0;
    for (; !due_.empty() && due_.begin()->first <= now; ++fired) move(due_.begin()->second, now + random.ahead());
    return fired;
  }
};

class heap_timers {
  struct entry {
    std::uint64_t at;
    std::size_t which;
  };
  std::vector<entry> heap_;
  std::vector<std::size_t> places_;

  void put(std::size_t i, const entry& e) {
    heap_[i] = e;
    places_[e.which] = i;
  }
  void settle(std::size_t i) {
    const entry e = heap_[i];
    for (; i != 0 && e.at < heap_[(i - 1) / 2].at; i = (i - 1) / 2) put(i, heap_[(i - 1) / 2]);
    for (std::size_t child = 2 * i + 1; child < heap_.size(); child = 2 * i + 1) {
      if (child + 1 < heap_.size() && heap_[child + 1].at < heap_[child].at) ++child;
      if (heap_[child].at >= e.at) break;
      put(i, heap_[child]);
      i = child;
    }
    put(i, e);
  }

 public:
  explicit heap_timers(std::size_t count) : places_(count) { heap_.reserve(count); }
  void arm(std::size_t which, std::uint64_t at) {
    heap_.push_back({at, which});
    places_[which] = heap_.size() - 1;
    settle(heap_.size() - 1);
  }
  void move(std::size_t which, std::uint64_t at) {
    heap_[places_[which]].at = at;
    settle(places_[which]);
  }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }
  std::size_t turn(std::uint64_t now, randoms& random) {
    std::size_t fired = 0;
    for (; heap_[0].at <= now; ++fired) move(heap_[0].which, now + random.ahead());
    return fired;
  }
};

template <class Timers>
void timer_move(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  Timers timers(count);
  randoms random;
  for (std::size_t i = 0; i < count; ++i) timers.arm(i, random.ahead());
  for (auto _ : state) timers.move(random.below(count), random.ahead());
  if (timers.size() != count) state.SkipWithError("timers were lost");
}

template <class Timers>
void timer_turn(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  Timers timers(count);
  randoms random;
  for (std::size_t i = 0; i < count; ++i) timers.arm(i, random.ahead());
  std::uint64_t now = 0;
  std::size_t fired = 0;
  for (auto _ : state) {  // one iteration is one timer: a turn is taken when all of the last one are accounted for
    for (; fired == 0;) fired = timers.turn(++now, random);
    --fired;
  }
  if (timers.size() != count) state.SkipWithError("timers were lost");
}

#define MILLRACE_TIMER_ROWS(row, limit, type) \
  BENCHMARK(row<type>)->Name(#row limit)->Arg(1'000)->Arg(100'000)->Arg(1'000'000)

MILLRACE_TIMER_ROWS(timer_move, "", wheel_timers);
MILLRACE_TIMER_ROWS(timer_move, "__limit_multimap", map_timers);
MILLRACE_TIMER_ROWS(timer_move, "__limit_heap", heap_timers);
MILLRACE_TIMER_ROWS(timer_turn, "", wheel_timers);
MILLRACE_TIMER_ROWS(timer_turn, "__limit_multimap", map_timers);
MILLRACE_TIMER_ROWS(timer_turn, "__limit_heap", heap_timers);

}  // namespace

BENCHMARK_MAIN();
