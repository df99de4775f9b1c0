// The rows of S1's section 4.4 that take frames off a pipe: a header and the reader of its payload, and a whole frame.
//
// Args     the payload's bytes: 64, 4096, 65536; each frame's flags, sequence and lowest bits of length are its own.
// Method   frames lie glued together in a few packets that stay in cache, as bytes just received do, and are appended
//          to the pipe again and again (a reference kept here brings them back). Small frames share a packet, the
//          largest take two; appending and giving back is part of the time, also of the limits.
// Limits   the same bytes off the same pipe by a reader that knows their sizes beforehand: __limit_consume,
// __limit_take. Heap     counted over the timed part; the counter `heap_calls` has to be 0.
#include <array>
#include <random>
#include <vector>

#include "mem/heap_counter.hpp"
#include "srmp/frame_pump.hpp"
#include "support/eal_bench.hpp"

namespace {

using namespace millrace;

constexpr std::uint16_t room = 33'000;
constexpr std::size_t packets = 8;

// Never destroyed: EAL, whose memory it is, ends before static objects do.
mem::packet_pool& pool() {
  static auto* made =
      new auto(mem::packet_pool::make({.name = "pump", .packets = 255, .cache = 32, .data_room = room}));
  return made->value();
}

// Frames in packets, over and over.
class source {
  std::vector<rte_mbuf*> mbufs_;
  std::vector<std::uint16_t> sizes_;
  std::vector<srmp::wire::frame_header> headers_;
  std::size_t next_mbuf_ = 0;
  std::size_t next_frame_ = 0;

 public:
  explicit source(std::uint32_t payload_size) {
    std::mt19937 random(payload_size);
    std::vector<std::uint8_t> bytes;
    while (mbufs_.size() < packets) {
      // One packet, or two for one frame, with whole frames.
      bytes.clear();
      do {
        const auto size = static_cast<std::uint32_t>(payload_size + random() % 4);
        std::uint8_t opening[srmp::wire::long_header_size];
        const auto flags = static_cast<std::uint8_t>(random());
        const auto seq = static_cast<std::uint8_t>(random());
        const std::size_t used = srmp::wire::emit_header(opening, flags, seq, size);
        headers_.push_back({flags, seq, static_cast<std::uint16_t>(used), size});
        bytes.insert(bytes.end(), opening, opening + used);
        bytes.resize(bytes.size() + size, 0x5A);
      } while (bytes.size() + payload_size + 16 <= room);
      for (base::byte_view left(bytes); !left.empty();) {
        const auto here = static_cast<std::uint16_t>(std::min<std::size_t>(left.size(), room));
        mbufs_.push_back(pool().alloc());
        sizes_.push_back(here);
        std::memcpy(rte_pktmbuf_mtod(mbufs_.back(), void*), left.data(), here);
        left = left.subspan(here);
      }
    }
  }
  ~source() {
    for (rte_mbuf* m : mbufs_) rte_pktmbuf_free(m);
  }
  source(const source&) = delete;
  source& operator=(const source&) = delete;

  // Appends until the next frame is there. Answers its header, as it was written.
  const srmp::wire::frame_header& offer(buf::pipe& into) {
    const srmp::wire::frame_header& next = headers_[next_frame_];
    next_frame_ = next_frame_ + 1 == headers_.size() ? 0 : next_frame_ + 1;
    while (into.size() < next.frame_size()) {
      rte_mbuf* m = mbufs_[next_mbuf_];
      rte_mbuf_refcnt_set(m, 2);
      m->data_off = RTE_PKTMBUF_HEADROOM;
      m->data_len = sizes_[next_mbuf_];
      m->pkt_len = sizes_[next_mbuf_];
      next_mbuf_ = next_mbuf_ + 1 == mbufs_.size() ? 0 : next_mbuf_ + 1;
      into.append(buf::packet(m));
    }
    return next;
  }
};

// Runs `one(pump, stream, taken, expected)` for every frame; it answers false when the frame is not what was written.
template <class One>
void run(benchmark::State& state, One one) {
  mem::heap_tally tally;
  {
    source frames(static_cast<std::uint32_t>(state.range(0)));
    buf::pipe stream({.pause_bytes = 0, .pause_segments = 0});
    srmp::frame_pump pump(stream);
    srmp::whole_frame taken;
    const mem::heap_watch watch(tally);
    for (auto _ : state) {
      const srmp::wire::frame_header& expected = frames.offer(stream);
      if (!one(pump, stream, taken, expected)) [[unlikely]] {
        state.SkipWithError("not the frame that was written");
        break;
      }
    }
    stream.complete_reader();
  }
  if (!pool().is_whole()) state.SkipWithError("packets leaked");
  state.counters["heap_calls"] = static_cast<double>(tally.calls.get());
}

// The body is read at once and unlooked at.
void s1_4_4_header_first_bind(benchmark::State& state) {
  run(state, [](srmp::frame_pump& pump, buf::pipe&, srmp::whole_frame&, const srmp::wire::frame_header& expected) {
    srmp::wire::frame_header header;
    if (pump.next_header(header) != srmp::pump_status::ready || header != expected) return false;
    return pump.body().consume(header.payload_size);
  });
}
BENCHMARK(s1_4_4_header_first_bind)->Arg(64)->Arg(4096)->Arg(65536);

void s1_4_4_header_first_bind__limit_consume(benchmark::State& state) {
  run(state, [](srmp::frame_pump&, buf::pipe& stream, srmp::whole_frame&, const srmp::wire::frame_header& expected) {
    return stream.consume(expected.frame_size());
  });
}
BENCHMARK(s1_4_4_header_first_bind__limit_consume)->Arg(64)->Arg(4096)->Arg(65536);

// Each frame replaces the one before, which is given back thereby.
void s1_4_4_whole_frame_cut(benchmark::State& state) {
  run(state,
      [](srmp::frame_pump& pump, buf::pipe&, srmp::whole_frame& taken, const srmp::wire::frame_header& expected) {
        return pump.next_whole(taken) == srmp::pump_status::ready && taken.header == expected;
      });
}
BENCHMARK(s1_4_4_whole_frame_cut)->Arg(64)->Arg(4096)->Arg(65536);

void s1_4_4_whole_frame_cut__limit_take(benchmark::State& state) {
  run(state, [](srmp::frame_pump&, buf::pipe& stream, srmp::whole_frame& taken,
                const srmp::wire::frame_header& expected) { return stream.take(expected.frame_size(), taken.bytes); });
}
BENCHMARK(s1_4_4_whole_frame_cut__limit_take)->Arg(64)->Arg(4096)->Arg(65536);

}  // namespace

MILLRACE_EAL_BENCH_MAIN("-m", "64")
