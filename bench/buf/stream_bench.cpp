// S1, section 4.2, without the network: a body of 1 and 8 MB through a pipe into a consumer that discards it. What is
// left is the cost of cutting, copying and handing over; the limit is the one copy, in pieces of 64 KiB.
#include <cstring>

#include "bench_pools.hpp"
#include "buf/content.hpp"
#include "buf/stream_sender.hpp"

namespace {

using namespace millrace;
using namespace millrace::bench_buf;

constexpr int small_body = 1 << 20;
constexpr int large_body = 8 << 20;

const std::vector<std::uint8_t>& body() {
  static const std::vector<std::uint8_t> bytes = payload(large_body);
  return bytes;
}

// Touches each segment and frees it; answers the sum, so that a benchmark can check what it moved.
std::size_t discard(buf::pipe& from) {
  std::size_t seen = 0;
  while (from.size() != 0) {
    const base::byte_view run = from.front();
    benchmark::DoNotOptimize(run[0]);
    seen += run.size();
    if (!from.consume(run.size())) break;
  }
  return seen;
}

struct memory_reader {
  base::byte_view left;
  static buf::bytes_read read(void* context, base::byte_span into) noexcept {
    auto* self = static_cast<memory_reader*>(context);
    const std::size_t count = std::min(into.size(), self->left.size());
    std::memcpy(into.data(), self->left.data(), count);
    self->left = self->left.subspan(count);
    return {count, self->left.empty() ? buf::read_state::end : buf::read_state::more};
  }
};

// The bytes that come out, before any timing.
bool arrives(buf::stream_sender& sender, std::size_t size) {
  buf::pipe through;
  std::size_t at = 0;
  for (bool more = true; more;) {
    more = sender.into(through) == buf::send_status::wait_credit;
    while (through.size() != 0) {
      const base::byte_view run = through.front();
      if (at + run.size() > size || !same(run, base::byte_view(body()).subspan(at, run.size()))) return false;
      at += run.size();
      if (!through.consume(run.size())) return false;
    }
  }
  return at == size;
}

void s1_4_2_stream_64k(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  {
    memory_reader from{base::byte_view(body()).first(size)};
    buf::block_filler filler(blocks_64k(), &from, memory_reader::read);
    buf::stream_sender sender(filler.source(), {.length = size});
    if (!arrives(sender, size)) state.SkipWithError("other bytes came out");
  }
  for (auto _ : state) {
    memory_reader from{base::byte_view(body()).first(size)};
    buf::block_filler filler(blocks_64k(), &from, memory_reader::read);
    buf::stream_sender sender(filler.source(), {.length = size});
    buf::pipe through({.pause_bytes = 128 << 10, .resume_bytes = 64 << 10});
    std::size_t seen = 0;
    while (sender.into(through) == buf::send_status::wait_credit) seen += discard(through);
    seen += discard(through);
    if (seen != size) state.SkipWithError("short");
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
  must_be_whole(state);
}
BENCHMARK(s1_4_2_stream_64k)->Arg(small_body)->Arg(large_body);

void copy_in_pieces(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  std::vector<std::uint8_t> block(buf::large_block_bytes);
  for (auto _ : state) {
    for (std::size_t at = 0; at < size; at += block.size()) {
      std::memcpy(block.data(), body().data() + at, block.size());
      benchmark::DoNotOptimize(block.data());
      benchmark::ClobberMemory();
    }
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
void s1_4_2_stream_64k__limit_memcpy(benchmark::State& state) { copy_in_pieces(state); }
BENCHMARK(s1_4_2_stream_64k__limit_memcpy)->Arg(small_body)->Arg(large_body);

// The caller cuts the body itself and hands over each piece.
void hand_cut(benchmark::State& state, std::size_t piece) {
  const auto size = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    buf::pipe through;
    std::size_t seen = 0;
    for (std::size_t at = 0; at < size; at += piece) {
      if (piece == buf::large_block_bytes) {
        buf::large_block block = blocks_64k().alloc();
        std::memcpy(block.bytes().data(), body().data() + at, piece);
        through.append(blocks_64k().send(std::move(block), buf::large_block_bytes));
      } else {
        buf::packet block = blocks_16k().alloc_packet();
        const base::byte_span room = block.append(static_cast<std::uint16_t>(piece));
        std::memcpy(room.data(), body().data() + at, piece);
        through.append(std::move(block));
      }
      seen += discard(through);
    }
    if (seen != size) state.SkipWithError("short");
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
  must_be_whole(state);
}
void s1_4_2_hand_cut_16k(benchmark::State& state) { hand_cut(state, 16 << 10); }
BENCHMARK(s1_4_2_hand_cut_16k)->Arg(small_body)->Arg(large_body);
void s1_4_2_hand_cut_16k__limit_memcpy(benchmark::State& state) { copy_in_pieces(state); }
BENCHMARK(s1_4_2_hand_cut_16k__limit_memcpy)->Arg(small_body)->Arg(large_body);
void s1_4_2_hand_cut_64k(benchmark::State& state) { hand_cut(state, 64 << 10); }
BENCHMARK(s1_4_2_hand_cut_64k)->Arg(small_body)->Arg(large_body);
void s1_4_2_hand_cut_64k__limit_memcpy(benchmark::State& state) { copy_in_pieces(state); }
BENCHMARK(s1_4_2_hand_cut_64k__limit_memcpy)->Arg(small_body)->Arg(large_body);

// All of it at once: needs the memory of all of it.
void s1_4_2_whole_send(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    buf::pipe through({.pause_bytes = 0}, blocks_16k());
    if (through.write(base::byte_view(body()).first(size)) != buf::flow::open) state.SkipWithError("not taken");
    if (discard(through) != size) state.SkipWithError("short");
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
  must_be_whole(state);
}
BENCHMARK(s1_4_2_whole_send)->Arg(small_body)->Arg(large_body);
void s1_4_2_whole_send__limit_memcpy(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  std::vector<std::uint8_t> to(size);
  for (auto _ : state) {
    std::memcpy(to.data(), body().data(), size);
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(s1_4_2_whole_send__limit_memcpy)->Arg(small_body)->Arg(large_body);

// Content that was loaded at the start: no byte moves.
void s1_4_2_content_64k(benchmark::State& state) {
  constexpr std::size_t size = small_body;
  {
    auto loaded = buf::content::load(blocks_64k(), base::byte_view(body()).first(size));
    if (!loaded) {
      state.SkipWithError("not loaded");
      return;
    }
    {
      buf::content_source from(loaded.value());
      buf::stream_sender sender(from.source(), {.length = size});
      if (!arrives(sender, size)) state.SkipWithError("other bytes came out");
    }
    for (auto _ : state) {
      buf::content_source from(loaded.value());
      buf::stream_sender sender(from.source(), {.length = size});
      buf::pipe through({.pause_bytes = 128 << 10, .resume_bytes = 64 << 10});
      std::size_t seen = 0;
      while (sender.into(through) == buf::send_status::wait_credit) seen += discard(through);
      seen += discard(through);
      if (seen != size) state.SkipWithError("short");
    }
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(size));
  must_be_whole(state);
}
BENCHMARK(s1_4_2_content_64k)->Arg(small_body);
void s1_4_2_content_64k__limit_memcpy(benchmark::State& state) { copy_in_pieces(state); }
BENCHMARK(s1_4_2_content_64k__limit_memcpy)->Arg(small_body);

}  // namespace
