// What a letter between lcores costs: put and take of a burst on one core (the instructions) and across two (the cache
// lines), beside rte_ring's own calls on a ring of the same size.
#include <rte_ring.h>

#include <array>
#include <atomic>

#include "env/lcore.hpp"
#include "port/mailbox.hpp"
#include "support/eal_bench.hpp"

namespace {

using namespace millrace;

constexpr unsigned slots = 1024;
constexpr unsigned most = 64;

void keep(int*) noexcept {}

template <port::writers Who>
void put_and_take(benchmark::State& state) {
  auto made = port::mailbox<int>::make("bench", slots, Who, keep);
  if (!made) return state.SkipWithError("no mailbox");
  port::mailbox_sender<int> sender = made.value().open();
  const auto count = static_cast<std::size_t>(state.range(0));
  std::array<int, most> letters{};
  std::array<int*, most> out{};
  std::array<int*, most> in{};
  for (std::size_t i = 0; i < most; ++i) out[i] = &letters[i];
  if (sender.put({out.data(), count}) != count || made.value().take(in) != count || in[count - 1] != out[count - 1])
    return state.SkipWithError("letters were lost");
  for (auto _ : state) {
    unsigned took = sender.put({out.data(), count});
    benchmark::DoNotOptimize(took);
    took = made.value().take({in.data(), count});
    benchmark::DoNotOptimize(took);
  }
  if (made.value().waiting() != 0) state.SkipWithError("letters are left");
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

template <unsigned Flags>
void ring_put_and_take(benchmark::State& state) {
  rte_ring* ring = rte_ring_create("limit", slots, -1, Flags);
  if (ring == nullptr) return state.SkipWithError("no ring");
  const auto count = static_cast<unsigned>(state.range(0));
  std::array<int, most> letters{};
  std::array<void*, most> out{};
  std::array<void*, most> in{};
  for (std::size_t i = 0; i < most; ++i) out[i] = &letters[i];
  for (auto _ : state) {
    unsigned took = rte_ring_enqueue_burst(ring, out.data(), count, nullptr);
    benchmark::DoNotOptimize(took);
    took = rte_ring_dequeue_burst(ring, in.data(), count, nullptr);
    benchmark::DoNotOptimize(took);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  rte_ring_free(ring);
}

constexpr unsigned spsc = RING_F_SP_ENQ | RING_F_SC_DEQ;
constexpr unsigned mpsc = RING_F_SC_DEQ;
BENCHMARK(put_and_take<port::writers::single>)->Name("mailbox_single")->Arg(1)->Arg(8)->Arg(32)->Arg(64);
BENCHMARK(ring_put_and_take<spsc>)->Name("mailbox_single__limit_rte_ring")->Arg(1)->Arg(8)->Arg(32)->Arg(64);
BENCHMARK(put_and_take<port::writers::many>)->Name("mailbox_many")->Arg(1)->Arg(8)->Arg(32)->Arg(64);
BENCHMARK(ring_put_and_take<mpsc>)->Name("mailbox_many__limit_rte_ring")->Arg(1)->Arg(8)->Arg(32)->Arg(64);

// The other lcore writes as fast as the box lets it; an iteration takes one burst.
struct flood {
  port::mailbox_sender<int>* sender = nullptr;
  rte_ring* ring = nullptr;
  std::size_t burst = 0;
  std::atomic<bool> stop{false};
};

int write_letters(void* argument) {
  auto& job = *static_cast<flood*>(argument);
  static int letter = 0;
  std::array<int*, most> out{};
  out.fill(&letter);
  while (!job.stop.load(std::memory_order_relaxed)) {
    const unsigned took = job.sender != nullptr
                              ? job.sender->put({out.data(), job.burst})
                              : rte_ring_sp_enqueue_burst(job.ring, reinterpret_cast<void* const*>(out.data()),
                                                          static_cast<unsigned>(job.burst), nullptr);
    if (took == 0) env::pause();
  }
  return 0;
}

template <class Take>
void take_while_written(benchmark::State& state, flood& job, Take take) {
  const std::vector<unsigned> workers = env::worker_lcores();
  job.burst = static_cast<std::size_t>(state.range(0));
  if (workers.empty() || !env::launch(workers[0], write_letters, &job)) return state.SkipWithError("one lcore only");
  std::int64_t letters = 0;
  for (auto _ : state) {
    unsigned got = 0;
    while ((got = take()) == 0) env::pause();
    letters += got;
  }
  job.stop.store(true, std::memory_order_relaxed);
  env::wait(workers[0]);
  state.SetItemsProcessed(letters);
}

void mailbox_across(benchmark::State& state) {
  auto made = port::mailbox<int>::make("across", slots, port::writers::single, keep);
  if (!made) return state.SkipWithError("no mailbox");
  port::mailbox_sender<int> sender = made.value().open();
  flood job;
  job.sender = &sender;
  std::array<int*, most> in{};
  const auto count = static_cast<std::size_t>(state.range(0));
  take_while_written(state, job, [&] { return made.value().take({in.data(), count}); });
}
BENCHMARK(mailbox_across)->Arg(1)->Arg(8)->Arg(32)->Arg(64);

void ring_across(benchmark::State& state) {
  flood job;
  job.ring = rte_ring_create("across_limit", slots, -1, spsc);
  if (job.ring == nullptr) return state.SkipWithError("no ring");
  std::array<void*, most> in{};
  const auto count = static_cast<unsigned>(state.range(0));
  take_while_written(state, job, [&] { return rte_ring_sc_dequeue_burst(job.ring, in.data(), count, nullptr); });
  rte_ring_free(job.ring);
}
BENCHMARK(ring_across)->Name("mailbox_across__limit_rte_ring")->Arg(1)->Arg(8)->Arg(32)->Arg(64);

}  // namespace

MILLRACE_EAL_BENCH_MAIN("-m", "64", "--lcores", "(0-1)@(0-1)")
