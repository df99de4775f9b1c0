// S2's buffer workloads (quic-bench-workloads.md sections 3 and 4) on mbufs. Rows without `shape_a` have their pools
// made before the timing ("shape B"); shape A makes a slab of 128 blocks in the loop, as published, and times mostly
// that.
#include <array>
#include <cstring>
#include <memory>

#include "base/varint.hpp"
#include "bench_pools.hpp"
#include "buf/pipe.hpp"

namespace {

using namespace millrace;
using namespace millrace::bench_buf;

constexpr std::size_t datagram = 1200;

rte_mbuf* alloc_for(std::size_t size) {
  if (size <= packets().data_room()) return packets().alloc();
  return size <= blocks_4k().block_bytes() ? blocks_4k().alloc() : blocks_16k().alloc();
}

// --- BufferWriteRead/N: copy N in, copy N out, give back ---

void s2_buffer_write_read(benchmark::State& state) {
  const std::vector<std::uint8_t> in = payload(static_cast<std::size_t>(state.range(0)));
  std::vector<std::uint8_t> out(in.size());
  const auto once = [&] {
    buf::packet one{alloc_for(in.size())};
    const bool fits = one.append_copy(in);
    std::memcpy(out.data(), one.first().data(), in.size());
    benchmark::ClobberMemory();
    return fits;
  };
  if (!once() || out != in) state.SkipWithError("other bytes came out");
  for (auto _ : state)
    if (!once()) state.SkipWithError("no room");
  state.SetBytesProcessed(state.iterations() * state.range(0) * 2);
  must_be_whole(state);
}
BENCHMARK(s2_buffer_write_read)->Arg(64)->Arg(256)->Arg(1200)->Arg(4096)->Arg(16384);

void s2_buffer_write_read__limit_memcpy(benchmark::State& state) {
  const std::vector<std::uint8_t> in = payload(static_cast<std::size_t>(state.range(0)));
  std::vector<std::uint8_t> middle(in.size());
  std::vector<std::uint8_t> out(in.size());
  for (auto _ : state) {
    std::memcpy(middle.data(), in.data(), in.size());
    benchmark::DoNotOptimize(middle.data());
    benchmark::ClobberMemory();
    std::memcpy(out.data(), middle.data(), in.size());
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * 2);
}
BENCHMARK(s2_buffer_write_read__limit_memcpy)->Arg(64)->Arg(256)->Arg(1200)->Arg(4096)->Arg(16384);

// The same with malloc's block instead of a pool's.
void s2_buffer_write_read__limit_malloc(benchmark::State& state) {
  const std::vector<std::uint8_t> in = payload(static_cast<std::size_t>(state.range(0)));
  std::vector<std::uint8_t> out(in.size());
  for (auto _ : state) {
    auto* block = static_cast<std::uint8_t*>(std::malloc(in.size()));
    std::memcpy(block, in.data(), in.size());
    benchmark::DoNotOptimize(block);
    benchmark::ClobberMemory();
    std::memcpy(out.data(), block, in.size());
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
    std::free(block);
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * 2);
}
BENCHMARK(s2_buffer_write_read__limit_malloc)->Arg(64)->Arg(256)->Arg(1200)->Arg(4096)->Arg(16384);

// N over segments of 2 KiB.
void s2_buffer_write_read_segments(benchmark::State& state) {
  const std::vector<std::uint8_t> in = payload(static_cast<std::size_t>(state.range(0)));
  std::vector<std::uint8_t> out(in.size());
  for (auto _ : state) {
    buf::chain one;
    if (!one.append_copy(in, packets()) || one.copy_out(0, out) != in.size()) state.SkipWithError("short");
    benchmark::ClobberMemory();
  }
  if (out != in) state.SkipWithError("other bytes came out");
  state.SetBytesProcessed(state.iterations() * state.range(0) * 2);
  must_be_whole(state);
}
BENCHMARK(s2_buffer_write_read_segments)->Arg(4096)->Arg(16384);
void s2_buffer_write_read_segments__limit_memcpy(benchmark::State& state) { s2_buffer_write_read__limit_memcpy(state); }
BENCHMARK(s2_buffer_write_read_segments__limit_memcpy)->Arg(4096)->Arg(16384);

void s2_buffer_write_read_shape_a(benchmark::State& state) {
  const std::vector<std::uint8_t> in = payload(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    std::array<std::unique_ptr<std::uint8_t[]>, 128> slab;
    for (auto& block : slab) block.reset(new std::uint8_t[2 * in.size() + 256]);
    std::memcpy(slab[127].get(), in.data(), in.size());
    benchmark::DoNotOptimize(slab[127].get());
    std::vector<std::uint8_t> out(in.size());
    std::memcpy(out.data(), slab[127].get(), in.size());
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * 2);
}
BENCHMARK(s2_buffer_write_read_shape_a)->Arg(64)->Arg(256)->Arg(1200)->Arg(4096)->Arg(16384);

// --- BufferEncodeVarInt: three integers behind each other ---

std::size_t write_fixed(std::uint8_t* at) {
  at[0] = 0x3F;
  base::store_be16(at + 1, 0x3FFF);
  base::store_be32(at + 3, 0x3FFFFFFF);
  return 7;
}
std::size_t write_varints(std::uint8_t* at) {
  std::uint64_t values[3] = {0x3F, 0x3FFF, 0x3FFFFFFF};
  benchmark::DoNotOptimize(values);  // the compiler would else write seven constant bytes
  std::size_t used = 0;
  for (const std::uint64_t v : values) used += base::encode_varint(at + used, v);
  return used;
}

template <class Write>
void encode_into_fresh(benchmark::State& state, Write write) {
  for (auto _ : state) {
    rte_mbuf* m = packets().alloc();
    auto* at = rte_pktmbuf_mtod(m, std::uint8_t*);
    m->pkt_len = m->data_len = static_cast<std::uint16_t>(write(at));
    benchmark::DoNotOptimize(at);
    benchmark::ClobberMemory();
    buf::free_packet(m);
  }
  state.SetItemsProcessed(state.iterations() * 3);
  must_be_whole(state);
}
bool encodes_known_bytes() {
  std::uint8_t fixed[24] = {};
  std::uint8_t varints[24] = {};
  const std::uint8_t known_fixed[7] = {0x3f, 0x3f, 0xff, 0x3f, 0xff, 0xff, 0xff};
  const std::uint8_t known_varints[7] = {0x3f, 0x7f, 0xff, 0xbf, 0xff, 0xff, 0xff};
  return write_fixed(fixed) == 7 && write_varints(varints) == 7 && std::memcmp(fixed, known_fixed, 7) == 0 &&
         std::memcmp(varints, known_varints, 7) == 0;
}
void s2_buffer_encode_varint(benchmark::State& state) {  // as published: fixed widths
  if (!encodes_known_bytes()) state.SkipWithError("other bytes");
  encode_into_fresh(state, write_fixed);
}
BENCHMARK(s2_buffer_encode_varint);
void s2_buffer_encode_varint_true(benchmark::State& state) { encode_into_fresh(state, write_varints); }
BENCHMARK(s2_buffer_encode_varint_true);
void s2_buffer_encode_varint_reused(benchmark::State& state) {
  rte_mbuf* m = packets().alloc();
  auto* at = rte_pktmbuf_mtod(m, std::uint8_t*);
  for (auto _ : state) {
    benchmark::DoNotOptimize(write_varints(at));
    benchmark::ClobberMemory();
  }
  buf::free_packet(m);
  state.SetItemsProcessed(state.iterations() * 3);
  must_be_whole(state);
}
BENCHMARK(s2_buffer_encode_varint_reused);
void mbuf_alone(benchmark::State& state) {
  for (auto _ : state) {
    rte_mbuf* m = rte_pktmbuf_alloc(packets().raw());
    benchmark::DoNotOptimize(m);
    rte_pktmbuf_free(m);
  }
}
void s2_buffer_encode_varint__limit_mbuf(benchmark::State& state) { mbuf_alone(state); }
BENCHMARK(s2_buffer_encode_varint__limit_mbuf);
void s2_buffer_encode_varint_true__limit_mbuf(benchmark::State& state) { mbuf_alone(state); }
BENCHMARK(s2_buffer_encode_varint_true__limit_mbuf);

// --- Buffer footprint: bytes of pool memory for one buffer of this size, from the pool's geometry ---

void s2_buffer_footprint(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  const std::vector<std::uint8_t> in(size / 2, 0xAB);
  const bool large = size > blocks_16k().block_bytes();
  const rte_mempool* raw = nullptr;
  for (auto _ : state) {
    buf::packet one;
    if (large) {
      buf::large_block block = blocks_64k().alloc();
      std::memcpy(block.bytes().data(), in.data(), in.size());
      one = blocks_64k().send(std::move(block), static_cast<std::uint32_t>(in.size()));
    } else {
      one = buf::packet{alloc_for(size)};
      if (!one.append_copy(in)) state.SkipWithError("no room");
    }
    raw = one.raw()->pool;
    benchmark::DoNotOptimize(one.first().data());
  }
  if (raw != nullptr) {
    const double mbuf_bytes = raw->header_size + raw->elt_size + raw->trailer_size;
    // A 64 KiB block is an element of its own, besides the mbufs that point into it.
    state.counters["bytes_per_buffer"] =
        large ? mbuf_bytes * 2 + static_cast<double>(blocks_64k().set().config().element_bytes) : mbuf_bytes;
    state.counters["cached_per_lcore"] = raw->cache_size;
  }
  must_be_whole(state);
}
BENCHMARK(s2_buffer_footprint)->Arg(1024)->Arg(4096)->Arg(16384)->Arg(65536);

// --- Buffer-chain growth: 256 bytes at a time until the total is reached ---

constexpr std::size_t growth_step = 256;

template <class Pool>
void chain_growth(benchmark::State& state, Pool& blocks, std::size_t block_bytes) {
  const auto total = static_cast<std::size_t>(state.range(0));
  std::array<std::uint8_t, growth_step> in;
  in.fill(0xCD);
  {
    buf::pipe one({.pause_bytes = 0}, blocks);
    const auto grow = [&] {
      for (std::size_t done = 0; done < total; done += in.size()) {
        const base::byte_span room = one.get_span(in.size());
        if (room.empty()) return false;
        std::memcpy(room.data(), in.data(), in.size());
        if (!one.advance(in.size())) return false;
      }
      return one.commit() == buf::flow::open && one.size() == total;
    };
    std::vector<std::uint8_t> out(total);
    if (!grow() || one.data().segments() != (total + block_bytes - 1) / block_bytes ||
        one.data().copy_out(0, out) != total || std::count(out.begin(), out.end(), 0xCD) != state.range(0))
      state.SkipWithError("other bytes came out");
    if (!one.consume(one.size())) state.SkipWithError("short");
    for (auto _ : state) {
      if (!grow()) state.SkipWithError("pool empty");
      benchmark::ClobberMemory();
      if (!one.consume(total)) state.SkipWithError("short");
    }
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
  must_be_whole(state);
}
void s2_chain_growth(benchmark::State& state) { chain_growth(state, blocks_4k(), 4096); }
BENCHMARK(s2_chain_growth)->Arg(4 << 10)->Arg(16 << 10)->Arg(64 << 10)->Arg(256 << 10);
void s2_chain_growth_2k(benchmark::State& state) { chain_growth(state, packets(), packets().data_room()); }
BENCHMARK(s2_chain_growth_2k)->Arg(4 << 10)->Arg(16 << 10)->Arg(64 << 10)->Arg(256 << 10);

void growth_by_memcpy(benchmark::State& state) {
  const auto total = static_cast<std::size_t>(state.range(0));
  std::array<std::uint8_t, growth_step> in;
  in.fill(0xCD);
  std::vector<std::uint8_t> to(total);
  for (auto _ : state) {
    for (std::size_t done = 0; done < total; done += in.size()) {
      std::memcpy(to.data() + done, in.data(), in.size());
      benchmark::ClobberMemory();
    }
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
void s2_chain_growth__limit_memcpy(benchmark::State& state) { growth_by_memcpy(state); }
BENCHMARK(s2_chain_growth__limit_memcpy)->Arg(4 << 10)->Arg(16 << 10)->Arg(64 << 10)->Arg(256 << 10);
void s2_chain_growth_2k__limit_memcpy(benchmark::State& state) { growth_by_memcpy(state); }
BENCHMARK(s2_chain_growth_2k__limit_memcpy)->Arg(4 << 10)->Arg(16 << 10)->Arg(64 << 10)->Arg(256 << 10);

// --- PacketProcessingSimulation: take, copy 1200 in, look at one byte, copy 64 out, give back with 1136 unread ---

struct simulation {
  std::vector<std::uint8_t> in = payload(datagram);
  std::array<std::uint8_t, 64> out{};
  void run(rte_mbuf* m) {
    auto* at = rte_pktmbuf_mtod(m, std::uint8_t*);
    m->pkt_len = m->data_len = datagram;
    std::memcpy(at, in.data(), datagram);
    benchmark::DoNotOptimize(at[0]);
    out.fill(0);
    benchmark::DoNotOptimize(out.data());
    std::memcpy(out.data(), at, out.size());
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  [[nodiscard]] bool is_right() const { return same(out, base::byte_view(in).first(out.size())); }
};

void s2_packet_processing_simulation(benchmark::State& state) {
  simulation work;
  for (auto _ : state) {
    rte_mbuf* m = packets().alloc();
    work.run(m);
    buf::free_packet(m);
  }
  if (!work.is_right()) state.SkipWithError("other bytes came out");
  state.SetItemsProcessed(state.iterations());
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(datagram));
  must_be_whole(state);
}
BENCHMARK(s2_packet_processing_simulation);

// Time per 32.
void s2_packet_processing_simulation_bulk(benchmark::State& state) {
  simulation work;
  rte_mbuf* burst[32];
  for (auto _ : state) {
    if (!packets().alloc_bulk(burst, 32)) state.SkipWithError("pool empty");
    for (rte_mbuf* m : burst) work.run(m);
    buf::free_bulk(burst, 32);
  }
  if (!work.is_right()) state.SkipWithError("other bytes came out");
  state.SetItemsProcessed(state.iterations() * 32);
  must_be_whole(state);
}
BENCHMARK(s2_packet_processing_simulation_bulk);

// The copies alone, into mbufs that are never given back: what is beyond this is the handling.
void s2_packet_processing_simulation__limit_memcpy(benchmark::State& state) {
  simulation work;
  rte_mbuf* m = packets().alloc();
  for (auto _ : state) work.run(m);
  buf::free_packet(m);
}
BENCHMARK(s2_packet_processing_simulation__limit_memcpy);
void s2_packet_processing_simulation_bulk__limit_memcpy(benchmark::State& state) {
  simulation work;
  rte_mbuf* burst[32];
  if (!packets().alloc_bulk(burst, 32)) state.SkipWithError("pool empty");
  for (auto _ : state)
    for (rte_mbuf* m : burst) work.run(m);
  buf::free_bulk(burst, 32);
}
BENCHMARK(s2_packet_processing_simulation_bulk__limit_memcpy);

// --- Per-packet buffer: take, copy 1200 in, copy 32 and 1168 out, give back; N packets, in bulks of 32 ---

void s2_per_packet_buffer(benchmark::State& state) {
  const std::vector<std::uint8_t> in(datagram, 0xAB);
  std::vector<std::uint8_t> out(datagram);
  rte_mbuf* burst[32];
  for (auto _ : state) {
    for (std::int64_t left = state.range(0); left > 0; left -= 32) {
      const auto count = static_cast<unsigned>(std::min<std::int64_t>(left, 32));
      if (!packets().alloc_bulk(burst, count)) state.SkipWithError("pool empty");
      for (unsigned i = 0; i < count; ++i) {
        auto* at = rte_pktmbuf_mtod(burst[i], std::uint8_t*);
        std::memcpy(at, in.data(), datagram);
        benchmark::ClobberMemory();
        std::memcpy(out.data(), at, 32);
        std::memcpy(out.data() + 32, at + 32, datagram - 32);
        benchmark::DoNotOptimize(out.data());
        benchmark::ClobberMemory();
      }
      buf::free_bulk(burst, count);
    }
  }
  if (out != in) state.SkipWithError("other bytes came out");
  state.SetItemsProcessed(state.iterations() * state.range(0));
  must_be_whole(state);
}
BENCHMARK(s2_per_packet_buffer)->Arg(10)->Arg(100)->Arg(1000);

void s2_per_packet_buffer__limit_memcpy(benchmark::State& state) {
  const std::vector<std::uint8_t> in(datagram, 0xAB);
  std::vector<std::uint8_t> out(datagram);
  std::vector<std::uint8_t> middle(32 * 2048);
  for (auto _ : state) {
    for (std::int64_t i = 0; i < state.range(0); ++i) {
      std::uint8_t* at = middle.data() + (i % 32) * 2048;
      std::memcpy(at, in.data(), datagram);
      benchmark::ClobberMemory();
      std::memcpy(out.data(), at, 32);
      std::memcpy(out.data() + 32, at + 32, datagram - 32);
      benchmark::DoNotOptimize(out.data());
      benchmark::ClobberMemory();
    }
  }
}
BENCHMARK(s2_per_packet_buffer__limit_memcpy)->Arg(10)->Arg(100)->Arg(1000);

}  // namespace
