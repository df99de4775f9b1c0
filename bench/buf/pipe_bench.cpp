// S1, section 4.1: handing a packet through a pipe, writing a copy, committing without having to wait.
#include "buf/pipe.hpp"

#include <cstring>

#include "bench_pools.hpp"
#include "buf/limited_reader.hpp"

namespace {

using namespace millrace;
using namespace millrace::bench_buf;

// A packet of `size` bytes as it would come: one mbuf, or a 64 KiB block in its two mbufs.
buf::packet packet_of(base::byte_view bytes) {
  if (bytes.size() <= packets().data_room()) {
    buf::packet one = buf::packet::alloc(packets());
    return one.append_copy(bytes) ? std::move(one) : buf::packet{};
  }
  if (bytes.size() <= blocks_16k().block_bytes()) {
    buf::packet one = blocks_16k().alloc_packet();
    return one.append_copy(bytes) ? std::move(one) : buf::packet{};
  }
  buf::large_block block = blocks_64k().alloc();
  std::copy(bytes.begin(), bytes.end(), block.bytes().begin());
  return blocks_64k().send(std::move(block), static_cast<std::uint32_t>(bytes.size()));
}

// Ownership in, the bytes looked at, ownership out: the packet that goes round is never copied.
void s1_4_1_append_read(benchmark::State& state) {
  const std::vector<std::uint8_t> bytes = payload(static_cast<std::size_t>(state.range(0)));
  buf::packet whole = packet_of(bytes);
  {
    buf::pipe one;
    buf::chain frame;
    one.append(std::move(whole));
    std::vector<std::uint8_t> back(bytes.size());
    if (!one.take(bytes.size(), frame) || frame.copy_out(0, back) != bytes.size() || back != bytes)
      state.SkipWithError("other bytes came out");
    for (auto _ : state) {
      if (!frame.into_packet(whole, {})) state.SkipWithError("not unshared");
      one.append(std::move(whole));
      if (one.poll() != buf::read_status::data) state.SkipWithError("nothing to read");
      benchmark::DoNotOptimize(one.front().data());
      if (!one.take(bytes.size(), frame)) state.SkipWithError("short");
    }
  }
  state.SetItemsProcessed(state.iterations());
  must_be_whole(state);
}
BENCHMARK(s1_4_1_append_read)->Arg(64)->Arg(4096)->Arg(65536);

// What the same would cost with one copy.
void s1_4_1_append_read__limit_memcpy(benchmark::State& state) {
  const std::vector<std::uint8_t> from = payload(static_cast<std::size_t>(state.range(0)));
  std::vector<std::uint8_t> to(from.size());
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), from.size());
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(s1_4_1_append_read__limit_memcpy)->Arg(64)->Arg(4096)->Arg(65536);

// As a receiver does it: 32 mbufs from the pool, each appended, read in place, consumed and so freed. Time per 32.
void s1_4_1_append_read_burst(benchmark::State& state) {
  {
    buf::pipe one;
    rte_mbuf* burst[32];
    for (auto _ : state) {
      if (!packets().alloc_bulk(burst, 32)) state.SkipWithError("pool empty");
      for (rte_mbuf* m : burst) {
        m->pkt_len = m->data_len = 1200;
        one.append(buf::packet{m});
      }
      for (int i = 0; i < 32; ++i) {
        benchmark::DoNotOptimize(one.front().data());
        if (!one.consume(1200)) state.SkipWithError("short");
      }
    }
  }
  state.SetItemsProcessed(state.iterations() * 32);
  must_be_whole(state);
}
BENCHMARK(s1_4_1_append_read_burst);

void s1_4_1_append_read_burst__limit_mbuf_bulk(benchmark::State& state) {
  rte_mbuf* burst[32];
  for (auto _ : state) {
    if (!packets().alloc_bulk(burst, 32)) state.SkipWithError("pool empty");
    for (rte_mbuf* m : burst) m->pkt_len = m->data_len = 1200;
    benchmark::ClobberMemory();
    rte_pktmbuf_free_bulk(burst, 32);
  }
  state.SetItemsProcessed(state.iterations() * 32);
}
BENCHMARK(s1_4_1_append_read_burst__limit_mbuf_bulk);

// Copy in, commit, read back. Blocks of 16 KiB, so that 64 KiB is four copies.
void s1_4_1_write_copy(benchmark::State& state) {
  const std::vector<std::uint8_t> bytes = payload(static_cast<std::size_t>(state.range(0)));
  {
    buf::pipe one({}, blocks_16k());
    std::vector<std::uint8_t> back(bytes.size());
    one.write(bytes);
    if (one.data().copy_out(0, back) != bytes.size() || back != bytes) state.SkipWithError("other bytes came out");
    if (!one.consume(bytes.size())) state.SkipWithError("short");
    for (auto _ : state) {
      if (one.write(bytes) != buf::flow::open) state.SkipWithError("not taken");
      benchmark::DoNotOptimize(one.front().data());
      if (!one.consume(bytes.size())) state.SkipWithError("short");
    }
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
  must_be_whole(state);
}
BENCHMARK(s1_4_1_write_copy)->Arg(64)->Arg(4096)->Arg(65536);

void s1_4_1_write_copy__limit_memcpy(benchmark::State& state) {
  s1_4_1_append_read__limit_memcpy(state);
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(s1_4_1_write_copy__limit_memcpy)->Arg(64)->Arg(4096)->Arg(65536);

// A commit that could have to wait and need not.
void s1_4_1_commit_fast_path(benchmark::State& state) {
  buf::pipe one({}, packets());
  for (auto _ : state) {
    benchmark::DoNotOptimize(&one);
    benchmark::ClobberMemory();
    if (one.commit() != buf::flow::open) state.SkipWithError("paused");
  }
}
BENCHMARK(s1_4_1_commit_fast_path);

__attribute__((noinline)) int called(const void* with) noexcept {
  benchmark::DoNotOptimize(with);
  return 0;
}
void s1_4_1_commit_fast_path__limit_call(benchmark::State& state) {
  int object = 0;
  for (auto _ : state) {
    benchmark::ClobberMemory();
    if (called(&object) != 0) state.SkipWithError("never");
  }
}
BENCHMARK(s1_4_1_commit_fast_path__limit_call);

// With bytes behind it: 16 spans of 64 bytes filled and committed, then read. Time per 16.
void s1_4_1_commit_bytes(benchmark::State& state) {
  {
    buf::pipe one({}, packets());
    for (auto _ : state) {
      for (int i = 0; i < 16; ++i) {
        benchmark::DoNotOptimize(one.get_span(64).data());
        if (!one.advance(64) || one.commit() != buf::flow::open) state.SkipWithError("not taken");
      }
      if (!one.consume(1024)) state.SkipWithError("short");
    }
  }
  state.SetItemsProcessed(state.iterations() * 16);
  must_be_whole(state);
}
BENCHMARK(s1_4_1_commit_bytes);

// Frames of one length cut whole from a received mbuf, 16 of them, and freed. Time per 16.
void s1_4_1_take_frame(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  {
    buf::pipe one;
    buf::chain frame;
    for (auto _ : state) {
      rte_mbuf* m = packets().alloc();
      m->pkt_len = m->data_len = static_cast<std::uint16_t>(size * 16);
      one.append(buf::packet{m});
      for (int i = 0; i < 16; ++i) {
        if (!one.take(size, frame)) state.SkipWithError("short");
        benchmark::DoNotOptimize(frame.front().data());
      }
    }
  }
  state.SetItemsProcessed(state.iterations() * 16);
  must_be_whole(state);
}
BENCHMARK(s1_4_1_take_frame)->Arg(64)->Arg(128);

// A body handed out before it has arrived, read through its own window. Time per 16.
void s1_4_1_limited_body(benchmark::State& state) {
  {
    buf::pipe one;
    for (auto _ : state) {
      rte_mbuf* m = packets().alloc();
      m->pkt_len = m->data_len = 16 * 64;
      one.append(buf::packet{m});
      for (int i = 0; i < 16; ++i) {
        buf::limited_reader body{one, 64};
        if (body.poll() != buf::read_status::ended) state.SkipWithError("not there");
        benchmark::DoNotOptimize(body.window().run().data());
        if (body.drain() != 0) state.SkipWithError("short");
      }
    }
  }
  state.SetItemsProcessed(state.iterations() * 16);
  must_be_whole(state);
}
BENCHMARK(s1_4_1_limited_body);

}  // namespace
