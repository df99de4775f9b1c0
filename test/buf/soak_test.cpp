// Long-run stability: packets through allocate, chain, pipe, share and free, for as many as MILLRACE_SOAK_PACKETS says
// (scripts/soak asks for 10^8). Afterwards the pools are as they were at the start, the process is not a page larger
// and no heap call was made. Without the variable a short form runs, as a test.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "buf/limited_reader.hpp"
#include "mem/heap_counter.hpp"
#include "support/eal_main.hpp"
#include "support/packets.hpp"

namespace millrace::buf {
namespace {

constexpr std::uint64_t short_form = 400'000;
constexpr unsigned burst_pkts = 32;

std::uint64_t wanted_packets() {
  const char* text = std::getenv("MILLRACE_SOAK_PACKETS");
  return text == nullptr ? short_form : std::strtoull(text, nullptr, 10);
}

// Exact, unlike the counters of /proc/self/statm.
std::uint64_t resident_kib() {
  std::ifstream rollup("/proc/self/smaps_rollup");
  std::string word;
  while (rollup >> word)
    if (word == "Rss:") {
      std::uint64_t kib = 0;
      rollup >> kib;
      return kib;
    }
  return 0;
}

class workload {
  mem::packet_pool& packets_;
  pipe through_;
  std::array<chain, 64> held_;  // frames that their consumers keep for a while
  std::array<std::uint8_t, 300> copied_{};
  std::uint64_t state_ = 88172645463325252u;
  std::uint64_t in_ = 0;
  std::uint64_t out_ = 0;

  std::size_t below(std::size_t limit) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<std::size_t>(state_ % limit);
  }
  chain& slot() { return held_[below(held_.size())]; }

 public:
  std::uint64_t packets = 0;
  std::uint64_t refused = 0;

  workload(mem::packet_pool& packets_pool, mem::packet_pool& blocks)
      : packets_(packets_pool), through_({.pause_bytes = 60000, .resume_bytes = 20000}, blocks) {}

  [[nodiscard]] bool round() noexcept {
    rte_mbuf* burst[burst_pkts];
    if (!packets_.alloc_bulk(burst, burst_pkts)) {  // held frames pin many: let them go
      ++refused;
      for (chain& one : held_) one.clear();
      return true;
    }
    packets += burst_pkts;
    chain joined;
    for (unsigned i = 0; i < burst_pkts; ++i) {
      burst[i]->pkt_len = burst[i]->data_len = static_cast<std::uint16_t>(64 + below(1400));
      in_ += burst[i]->data_len;
      if (i % 2 == 0)
        through_.append(packet{burst[i]});
      else if (!joined.append(packet{burst[i]}))
        return false;
    }
    if (through_.append(std::move(joined)) == flow::exhausted) return false;
    const std::size_t count = below(copied_.size());
    if (through_.write(base::byte_view(copied_).first(count)) != flow::exhausted) in_ += count;
    while (through_.size() > 20000) {
      limited_reader body{through_, 1 + below(3000)};
      chain& frame = slot();
      if (!body.take(body.available() / 2, frame)) return false;
      out_ += frame.size();
      const std::uint64_t rest = body.available();
      if (body.drain() != 0) return false;
      out_ += rest;
      if (below(8) == 0 && !frame.empty()) {
        chain copy;
        if (frame.share(0, 1 + below(frame.size()), copy, packets_)) slot() = std::move(copy);
      }
    }
    return in_ == out_ + through_.size();
  }
};

TEST(soak, leaves_pools_and_process_as_they_were) {
  test::checked_pool packets(4095);
  test::checked_pool blocks(255, 4096);
  const std::uint64_t wanted = wanted_packets();
  std::uint64_t before_kib = 0;
  std::uint64_t calls = 0;
  std::uint64_t refused = 0;
  {
    workload work(*packets, *blocks);
    // Until every page that will be used has been: the caches fill, the pools turn over once.
    while (work.packets < short_form / 4) ASSERT_TRUE(work.round());
    before_kib = resident_kib();
    mem::heap_tally tally;
    {
      const mem::heap_watch watch(tally);
      bool right = true;
      while (right && work.packets < wanted) right = work.round();
      if (!right) FAIL() << "after " << work.packets << " packets";
    }
    calls = tally.calls.get();
    refused = work.refused;
    EXPECT_GE(work.packets, wanted);
  }
  const std::uint64_t after_kib = resident_kib();
  EXPECT_EQ(packets->in_use(), 0u);
  EXPECT_EQ(blocks->in_use(), 0u);
  if (mem::heap_counter_present()) {
    EXPECT_EQ(calls, 0u);
    EXPECT_LE(after_kib, before_kib);  // a sanitizer's own tables grow
  }
  std::printf("soak: %llu packets, %llu bursts refused, RSS %llu -> %llu KiB, heap calls %llu\n",
              static_cast<unsigned long long>(wanted), static_cast<unsigned long long>(refused),
              static_cast<unsigned long long>(before_kib), static_cast<unsigned long long>(after_kib),
              static_cast<unsigned long long>(calls));
}

}  // namespace
}  // namespace millrace::buf

MILLRACE_EAL_TEST_MAIN("-m", "64", "-l", "0")
