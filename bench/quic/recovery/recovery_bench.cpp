// What a packet costs loss recovery: kept when it leaves, found when it is acknowledged.
#include <benchmark/benchmark.h>

#include <vector>

#include "base/byte_writer.hpp"
#include "quic/recovery/recovery.hpp"

namespace {

using namespace millrace;
using namespace millrace::quic;
using namespace millrace::quic::recovery;

constexpr auto app = packet_space::application;

struct nobody {
  std::uint64_t sum = 0;
  void on_acked(packet_space, const sent_token& t) noexcept { sum += t.value; }
  void on_lost(packet_space, const sent_token& t) noexcept { sum ^= t.value; }
};

// An ACK frame of some ranges, parsed, over bytes it owns.
struct frame {
  std::array<std::uint8_t, 1024> bytes{};
  wire::ack_frame ack;
  void make(std::span<const wire::packet_range> ranges) noexcept {
    base::byte_writer out(bytes);
    if (!wire::emit(out, {.ranges = ranges})) std::abort();
    base::byte_reader in(base::byte_view(bytes).first(out.written().size()));
    std::uint64_t type = 0;
    if (!in.varint(type) || !parse(in, static_cast<wire::frame_type>(type), ack)) std::abort();
  }
};

void keep(loss_recovery& r, std::uint64_t now_ns) noexcept {
  if (!r.reserve(app, 1)) std::abort();
  sent_packet p;
  p.sent_ns = now_ns;
  p.bytes = 1200;
  p.eliciting = true;
  const sent_token token{.kind = 8, .length = 1170, .slot = 4, .value = now_ns};
  r.on_sent(app, r.next_number(app), p, {&token, 1});
}

// `window` packets in flight, one ACK for `state.range(1)` of them: an item is one packet sent and acknowledged.
void recovery_send_and_ack(benchmark::State& state, congestion_kind kind) {
  const auto window = static_cast<std::uint64_t>(state.range(0));
  const auto each = static_cast<std::uint64_t>(state.range(1));
  sent_pool pool(1024);
  loss_recovery r({.kind = kind, .congestion = {.initial_window = window * 1200}, .use_ecn = false, .skip_seed = 0},
                  pool);
  r.on_handshake_confirmed();
  nobody owner;
  std::uint64_t now_ns = second;
  std::uint64_t acked = 0;  // numbers below are
  wire::ack_frame f;        // of one range; what parsing it costs is measured with the frames
  f.first_range = each - 1;
  for (std::uint64_t i = 0; i < window; ++i) keep(r, now_ns += 100);
  for (auto _ : state) {
    f.largest = acked + each - 1;
    if (r.on_ack(app, f, 0, now_ns, owner) != ack_fault::none) std::abort();
    acked += each;
    for (std::uint64_t i = 0; i < each; ++i) keep(r, now_ns += 100);
    benchmark::DoNotOptimize(r.timer());
  }
  benchmark::DoNotOptimize(owner.sum);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(each));
}

// The least for the same effect: 64 bytes written when a packet leaves, and read when it is acknowledged.
void write_and_read_64(benchmark::State& state) {
  const auto window = static_cast<std::size_t>(state.range(0));
  const auto each = static_cast<std::size_t>(state.range(1));
  struct alignas(64) record {
    std::uint64_t word[8];
  };
  std::vector<record> ring(window);
  std::size_t at = 0;
  std::uint64_t sum = 0;
  for (auto _ : state) {
    for (std::size_t i = 0; i < each; ++i) {
      record& r = ring[at];
      for (const std::uint64_t word : r.word) sum += word;
      for (std::uint64_t& word : r.word) word = sum;
      at = at + 1 == window ? 0 : at + 1;
    }
    benchmark::ClobberMemory();
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(each));
}

// An ACK of 32 ranges over a window of 1000 packets of which every eighth range is new.
void ack_of_32_ranges(benchmark::State& state) {
  sent_pool pool(1024);
  sent_packets sent(pool);
  std::uint64_t number = 0;
  const auto more = [&](std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      if (!sent.reserve(0)) std::abort();
      sent.on_sent(number++, {.sent_ns = number, .bytes = 1200, .eliciting = true}, {});
    }
  };
  struct {
    std::uint64_t bytes = 0;
    void acked(const sent_report& r) noexcept { bytes += r.packet.bytes; }
    void spurious(const sent_report&) noexcept {}
    void lost(const sent_report& r) noexcept { bytes ^= r.packet.bytes; }
  } sum;
  more(1000);
  frame f;
  std::array<wire::packet_range, 32> ranges;
  for (auto _ : state) {
    // 31 packets of each 32 arrived, over the last 1000.
    for (std::uint64_t i = 0; i < 32; ++i) {
      const std::uint64_t top = number - 1 - 31 * i;
      ranges[i] = {top - 29, top};
    }
    f.make(ranges);
    if (sent.on_ack(f.ack.largest, wire::ack_range_reader(f.ack), sum) != ack_fault::none) std::abort();
    sent.detect_lost({.now_ns = number}, sum);  // the one in 31 that nobody acknowledges leaves, too
    more(31);
  }
  benchmark::DoNotOptimize(sum.bytes);
}

// What a peer can make an ACK frame cost that acknowledges nothing new: it names a packet in the middle of all blocks
// that a space may have, again and again.
void ack_that_finds_nothing(benchmark::State& state) {
  const auto blocks = static_cast<std::uint32_t>(state.range(0));
  sent_pool pool(blocks);
  sent_packets sent(pool, blocks);
  std::uint64_t number = 0;
  while (sent.reserve(0)) {
    sent.on_sent(number, {.sent_ns = second, .bytes = 1200, .eliciting = true}, {});
    ++number;
  }
  struct {
    void acked(const sent_report&) noexcept {}
    void spurious(const sent_report&) noexcept {}
  } nobody_asks;
  const wire::packet_range range{number / 2, number / 2};
  frame f;
  f.make({&range, 1});
  for (auto _ : state)
    if (sent.on_ack(f.ack.largest, wire::ack_range_reader(f.ack), nobody_asks) != ack_fault::none) std::abort();
}

// The same frame, read: no look at any packet.
void read_32_ranges(benchmark::State& state) {
  frame f;
  std::array<wire::packet_range, 32> ranges;
  for (std::uint64_t i = 0; i < 32; ++i) ranges[i] = {1000 - 31 * i, 1000 - 31 * i + 29};
  std::uint64_t sum = 0;
  for (auto _ : state) {
    f.make(ranges);
    wire::ack_range_reader in(f.ack);
    wire::packet_range range;
    while (in.next(range)) sum += range.largest;
  }
  benchmark::DoNotOptimize(sum);
}

// One ACK for 32 packets, in the phase a controller spends its life in.
void congestion_on_ack(benchmark::State& state, congestion_kind kind) {
  congestion c(kind, {.initial_window = 1'200'000});
  c.on_loss({.now_ns = second, .lost_bytes = 1200, .largest_lost_sent_ns = second - 1, .in_flight = 1'000'000});
  ack_event e;
  e.now_ns = 2 * second;
  e.acked_bytes = e.growth_bytes = 32 * 1200;
  e.in_flight = e.prior_in_flight = 800'000;
  e.smoothed_rtt_ns = e.latest_rtt_ns = 20 * ms;
  std::uint64_t acks = 0;
  for (auto _ : state) {
    e.now_ns += 100 * us;
    e.delivered_bytes += e.acked_bytes;
    e.rate = {.delivered_bytes = 1'000'000, .interval_ns = 20 * ms, .prior_bytes = e.delivered_bytes - 1'000'000};
    c.on_ack(e);
    benchmark::DoNotOptimize(c.pacing_rate(20 * ms));
    if (++acks % 4096 == 0)  // or the window would grow without end
      c.on_loss({.now_ns = e.now_ns, .lost_bytes = 1200, .largest_lost_sent_ns = e.now_ns, .in_flight = 800'000});
  }
}

BENCHMARK_CAPTURE(recovery_send_and_ack, 0, congestion_kind::cubic)
    ->Name("recovery_send_and_ack")
    ->Args({1000, 2})
    ->Args({1000, 32})
    ->Args({10'000, 32});
BENCHMARK_CAPTURE(recovery_send_and_ack, new_reno, congestion_kind::new_reno)->Args({1000, 32});
BENCHMARK_CAPTURE(recovery_send_and_ack, bbr, congestion_kind::bbr)->Args({1000, 32});
BENCHMARK(write_and_read_64)
    ->Name("recovery_send_and_ack__limit_write_and_read")
    ->Args({1000, 2})
    ->Args({1000, 32})
    ->Args({10'000, 32});
BENCHMARK(ack_of_32_ranges);
BENCHMARK(ack_that_finds_nothing)->Arg(64)->Arg(1024)->Arg(4096);
BENCHMARK(read_32_ranges)->Name("ack_of_32_ranges__limit_read_frame");
BENCHMARK_CAPTURE(congestion_on_ack, cubic, congestion_kind::cubic);
BENCHMARK_CAPTURE(congestion_on_ack, new_reno, congestion_kind::new_reno);
BENCHMARK_CAPTURE(congestion_on_ack, bbr, congestion_kind::bbr);

}  // namespace
