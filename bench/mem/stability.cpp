// bench/mem/stability.cpp: pool_stability [OPERATIONS] - does anything grow, leak or change when pools are used for a
// long time?
//
// The published baseline's long-run sequence (get 16, 32, 64, 128, 256 bytes, give back in reverse) on the size
// classes, with a typed object, a 4 KiB block and a 64 KiB block sent and freed in between; 10^8 gets and gives unless
// told. Prints one JSON object and ends with 1 when objects are out, the resident memory grew, or the heap was called.
#include <rte_eal.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "buf/block_pool.hpp"
#include "buf/large_block_pool.hpp"
#include "mem/heap_counter.hpp"
#include "mem/object_pool.hpp"
#include "mem/size_class_pool.hpp"

namespace {

using namespace millrace;

constexpr std::array<std::size_t, 5> sizes = {16, 32, 64, 128, 256};

struct record {
  std::array<std::uint64_t, 10> words{};
};

struct pools {
  mem::size_class_pool small = std::move(mem::size_class_pool::make({.name = "small", .per_class = 64}).value());
  mem::object_pool<record> records = std::move(mem::object_pool<record>::make("records", 64).value());
  buf::block_pool blocks = std::move(buf::block_pool::make({.name = "blocks", .blocks_per_mempool = 255}).value());
  buf::large_block_pool large = std::move(buf::large_block_pool::make({.name = "large"}).value());

  [[nodiscard]] bool are_whole() {
    return small.is_whole() && records.is_whole() && blocks.is_whole() && large.is_whole();
  }
};

// Resident KiB, exact (statm lags behind by what each CPU has not added yet).
std::uint64_t resident_kib() {
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string word; file >> word;)
    if (word == "Rss:") {
      std::uint64_t kib = 0;
      file >> kib;
      return kib;
    }
  return 0;
}

// One round: 10 operations on the classes, 2 on each of the others. False when something was refused.
bool round_of(pools& all) noexcept {
  std::array<void*, sizes.size()> held{};
  for (std::size_t i = 0; i < sizes.size(); ++i) held[i] = all.small.get(sizes[i]);
  mem::pooled<record> one = all.records.make_pooled();
  rte_mbuf* block = all.blocks.alloc();
  buf::packet sent = all.large.send(all.large.alloc(), buf::large_block_bytes);
  const bool got = held.back() != nullptr && one && block != nullptr && sent;
  all.blocks.put(block);
  for (std::size_t i = sizes.size(); i-- > 0;) all.small.give(held[i], sizes[i]);
  return got;
}

constexpr std::uint64_t operations_a_round = 16;

struct seen {
  bool got_all = true;
  std::uint64_t before = 0;  // resident KiB
  std::uint64_t after = 0;
  mem::heap_tally tally;
};

void observe(pools& all, std::uint64_t rounds, seen& out) {
  out.before = resident_kib();
  {
    mem::heap_watch watch(out.tally);
    for (std::uint64_t i = 0; i < rounds; ++i) out.got_all = round_of(all) && out.got_all;
  }
  out.after = resident_kib();
}

int run(std::uint64_t operations) {
  pools all;
  const std::uint64_t rounds = operations / operations_a_round;
  // Every page that looking takes, of code and of data, and every element of the pools has been touched once.
  seen warm;
  observe(all, 1000, warm);
  seen measured;
  observe(all, rounds, measured);
  const auto& [got_all, before, after, tally] = measured;
  const mem::pool_figures small = all.small.figures();
  const bool whole = all.are_whole();
  std::printf(
      "{\"operations\":%llu,\"whole\":%s,\"refused\":%llu,\"high_water\":%u,\"rss_kib_before\":%llu,"
      "\"rss_kib_after\":%llu,\"heap_calls\":%llu}\n",
      static_cast<unsigned long long>(rounds * operations_a_round), whole ? "true" : "false",
      static_cast<unsigned long long>(small.refused), small.high_water, static_cast<unsigned long long>(before),
      static_cast<unsigned long long>(after), static_cast<unsigned long long>(tally.calls.get()));
  return got_all && whole && after <= before && tally.calls.get() == 0 && small.refused == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t operations = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000'000;
  const std::string prefix = "mrstable" + std::to_string(getpid());
  std::vector<std::string> words = {"stability", "--no-pci",  "--no-telemetry", "--log-level=*:4",         "-l",
                                    "0",         "--no-huge", "--no-shconf",    "--file-prefix=" + prefix, "-m",
                                    "64"};
  std::vector<char*> raw;
  for (std::string& word : words) raw.push_back(word.data());
  if (rte_eal_init(static_cast<int>(raw.size()), raw.data()) < 0) return 77;
  const int status = run(operations);
  rte_eal_cleanup();
  std::error_code ignored;
  std::filesystem::remove_all("/var/run/dpdk/" + prefix, ignored);
  return status;
}
