// Frames: a client's Initial as browsers fill it, 1-RTT packets of one and of two buffers, ACKs of few and many ranges,
// STREAM, transport parameters.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <vector>

#include "quic/wire/ack_ranges.hpp"
#include "quic/wire/frame_segments.hpp"
#include "quic/wire/transport_parameters.hpp"
#include "support/raw_limits.hpp"

namespace {

using namespace millrace;
using namespace millrace::quic::wire;

// 1162 bytes of frames: `pieces` CRYPTO frames that share 600 bytes of hello, then PADDING.
std::vector<std::uint8_t> client_payload(std::size_t pieces) {
  std::vector<std::uint8_t> out(1162, 0);
  const std::vector<std::uint8_t> hello(600, 0x48);
  base::byte_writer to(out);
  const std::size_t each = hello.size() / pieces;
  for (std::size_t i = 0; i < pieces; ++i)
    if (!emit(to, crypto_frame{i * each, base::byte_view(hello).subspan(i * each, each)})) std::abort();
  return out;
}

struct crypto_bytes : frame_visitor {
  using frame_visitor::on;
  std::size_t total = 0;
  bool on(const crypto_frame& f) noexcept {
    total += f.data.size();
    return true;
  }
};

void walk_initial(benchmark::State& state) {
  const auto payload = client_payload(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    crypto_bytes visitor;
    benchmark::DoNotOptimize(walk_frames(payload, packet_type::initial, visitor));
    benchmark::DoNotOptimize(visitor.total);
  }
}

// S2's ACK: largest 100, delay 10, a first range of 5, a gap of 2, a range of 3.
constexpr std::array<std::uint8_t, 8> s2_ack = {0x02, 0x40, 0x64, 0x0a, 0x01, 0x05, 0x02, 0x03};
constexpr std::array<packet_range, 2> s2_ranges = {packet_range{95, 100}, packet_range{88, 91}};

void s2_ack_encode(benchmark::State& state) {
  const ack_to_send ack{.ranges = s2_ranges, .delay = 10};
  std::array<std::uint8_t, 64> room{};
  base::byte_writer first(room);
  if (!emit(first, ack) || !std::ranges::equal(first.written(), s2_ack)) state.SkipWithError("not the published bytes");
  for (auto _ : state) {
    base::byte_writer out(room);
    benchmark::DoNotOptimize(emit(out, ack));
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}

struct acknowledged : frame_visitor {
  using frame_visitor::on;
  std::uint64_t ranges = 0;
  std::uint64_t last = 0;
  bool on(const ack_frame& f) noexcept {
    ack_range_reader reader(f);
    packet_range range;
    while (reader.next(range)) {
      ++ranges;
      last = range.smallest;
    }
    return true;
  }
};

// From the type on, with the dispatch over all frames, every range read.
void s2_ack_decode(benchmark::State& state) {
  acknowledged check;
  if (!walk_frames(s2_ack, packet_type::initial, check) || check.ranges != 2 || check.last != 88)
    state.SkipWithError("not the published ranges");
  std::array<std::uint8_t, 8> bytes = s2_ack;
  for (auto _ : state) {
    benchmark::DoNotOptimize(bytes);
    acknowledged visitor;
    benchmark::DoNotOptimize(walk_frames(bytes, packet_type::initial, visitor));
    benchmark::DoNotOptimize(visitor);
  }
  state.SetItemsProcessed(state.iterations());
}

void copy_8(benchmark::State& state) { raw_limit::copy(state, s2_ack.size()); }

// S2's STREAM frame: stream 4, offset 0 which is written, 256 bytes behind their length.
constexpr std::array<std::uint8_t, 5> s2_stream_start = {0x0e, 0x04, 0x00, 0x41, 0x00};
constexpr std::size_t s2_stream_data = 256;

// The payload stays where it lies, for the cipher to read it there: its header is all there is to write.
void s2_stream_encode_header(benchmark::State& state) {
  stream_header h{.stream_id = 4, .size = s2_stream_data, .has_offset = true};
  std::array<std::uint8_t, 64> room{};
  base::byte_writer first(room);
  if (!emit(first, h) || !std::ranges::equal(first.written(), s2_stream_start))
    state.SkipWithError("not the published bytes");
  for (auto _ : state) {
    benchmark::DoNotOptimize(h);
    base::byte_writer out(room);
    benchmark::DoNotOptimize(emit(out, h));
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}

void s2_stream_encode_copy(benchmark::State& state) {
  const std::vector<std::uint8_t> data(s2_stream_data, 0x5A);
  stream_frame f{.stream_id = 4, .data = data, .has_offset = true};
  std::vector<std::uint8_t> room(512);
  base::byte_writer first(room);
  if (!emit(first, f) || first.size() != s2_stream_start.size() + s2_stream_data ||
      !std::ranges::equal(first.written().first(s2_stream_start.size()), s2_stream_start))
    state.SkipWithError("not the published bytes");
  for (auto _ : state) {
    benchmark::DoNotOptimize(f);
    base::byte_writer out(room);
    benchmark::DoNotOptimize(emit(out, f));
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations());
}

void copy_5(benchmark::State& state) { raw_limit::copy(state, s2_stream_start.size()); }
void copy_261(benchmark::State& state) { raw_limit::copy(state, s2_stream_start.size() + s2_stream_data); }

// What most packets of a transfer hold: an ACK, and a STREAM frame that fills the rest of 1162 bytes.
std::vector<std::uint8_t> one_rtt_payload() {
  std::vector<std::uint8_t> out(1162, 0x5A);
  base::byte_writer to(out);
  if (!emit(to, ack_to_send{.ranges = s2_ranges, .delay = 10}) ||
      !emit(to, stream_header{.stream_id = 4, .offset = 1'000'000, .has_length = false}))
    std::abort();
  return out;
}

struct stream_bytes : frame_visitor {
  using frame_visitor::on;
  std::uint64_t acked = 0;
  std::uint64_t end = 0;
  bool on(const ack_frame& f) noexcept {
    ack_range_reader reader(f);
    packet_range range;
    while (reader.next(range)) acked += range.largest - range.smallest + 1;
    return true;
  }
  bool on(const stream_frame& f) noexcept {
    end = f.offset + f.data.size();
    return true;
  }
};

void walk_one_rtt(benchmark::State& state) {
  const std::vector<std::uint8_t> payload = one_rtt_payload();
  for (auto _ : state) {
    stream_bytes visitor;
    benchmark::DoNotOptimize(walk_frames(payload, frame_rules(packet_type::one_rtt, sender::client), visitor));
    benchmark::DoNotOptimize(visitor);
  }
}

// The same payload in two buffers: the STREAM frame lies across.
void walk_one_rtt_segments(benchmark::State& state) {
  const std::vector<std::uint8_t> payload = one_rtt_payload();
  const base::byte_view all(payload);
  const std::array<base::byte_view, 2> parts = {all.first(600), all.subspan(600)};
  for (auto _ : state) {
    stream_bytes visitor;
    benchmark::DoNotOptimize(
        walk_frames(base::segments(parts), frame_rules(packet_type::one_rtt, sender::client), visitor));
    benchmark::DoNotOptimize(visitor);
  }
}

// The bytes in front of the data.
void copy_header(benchmark::State& state) { raw_limit::copy(state, 14); }

// A packet number that follows the largest, and one after every gap of one packet, which pushes out the oldest range.
void add_packet(benchmark::State& state) {
  const std::uint64_t step = static_cast<std::uint64_t>(state.range(0));
  ack_ranges<> set;
  std::uint64_t number = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(number += step);
    benchmark::DoNotOptimize(set.add(number));
  }
}

void store_number(benchmark::State& state) { raw_limit::store_each(state, 1, 8); }

std::vector<packet_range> ranges(std::size_t count) {
  std::vector<packet_range> out;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t top = 100'000 + 10 * (count - i);
    out.push_back({top - i % 5, top});
  }
  return out;
}

void emit_ack(benchmark::State& state) {
  const auto all = ranges(static_cast<std::size_t>(state.range(0)));
  const ack_to_send ack{.ranges = all, .delay = 125};
  std::array<std::uint8_t, 2048> room{};
  for (auto _ : state) {
    base::byte_writer out(room);
    benchmark::DoNotOptimize(emit(out, ack));
    benchmark::ClobberMemory();
  }
}

// As many bytes as such a frame has.
void copy_ack(benchmark::State& state) {
  const auto all = ranges(static_cast<std::size_t>(state.range(0)));
  std::array<std::uint8_t, 2048> room{};
  base::byte_writer out(room);
  if (!emit(out, ack_to_send{.ranges = all, .delay = 125})) state.SkipWithError("no room");
  raw_limit::copy(state, out.size());
}

// Judging the frame and walking its ranges, as loss detection does.
void parse_ack(benchmark::State& state) {
  const auto all = ranges(static_cast<std::size_t>(state.range(0)));
  std::array<std::uint8_t, 2048> room{};
  base::byte_writer out(room);
  if (!emit(out, ack_to_send{.ranges = all, .delay = 125})) std::abort();
  for (auto _ : state) {
    base::byte_reader in(out.written().subspan(1));
    ack_frame f;
    benchmark::DoNotOptimize(parse(in, frame_ack, f));
    ack_range_reader reader(f);
    packet_range range;
    while (reader.next(range)) benchmark::DoNotOptimize(range);
  }
}

transport_parameters typical() {
  static const std::vector<std::uint8_t> cid(8, 0x33);
  static const std::vector<std::uint8_t> versions = {0, 0, 0, 1, 0x6b, 0x33, 0x43, 0xcf};
  transport_parameters p;
  p.max_idle_timeout_ms = 30000;
  p.max_udp_payload_size = 1472;
  p.initial_max_data = 15728640;
  p.initial_max_stream_data_bidi_local = p.initial_max_stream_data_bidi_remote = p.initial_max_stream_data_uni =
      6291456;
  p.initial_max_streams_bidi = 100;
  p.initial_max_streams_uni = 103;
  p.initial_source_connection_id = cid;
  p.version_information = {version_1, versions};
  p.max_datagram_frame_size = 65536;
  for (const transport_parameter id :
       {transport_parameter::max_idle_timeout, transport_parameter::max_udp_payload_size,
        transport_parameter::initial_max_data, transport_parameter::initial_max_stream_data_bidi_local,
        transport_parameter::initial_max_stream_data_bidi_remote, transport_parameter::initial_max_stream_data_uni,
        transport_parameter::initial_max_streams_bidi, transport_parameter::initial_max_streams_uni,
        transport_parameter::initial_source_connection_id, transport_parameter::version_information,
        transport_parameter::max_datagram_frame_size, transport_parameter::grease_quic_bit})
    p.set(id);
  return p;
}

void emit_parameters(benchmark::State& state) {
  const transport_parameters p = typical();
  std::array<std::uint8_t, 512> room{};
  for (auto _ : state) {
    base::byte_writer out(room);
    benchmark::DoNotOptimize(emit(out, p, sender::client));
    benchmark::ClobberMemory();
  }
}

void parse_parameters(benchmark::State& state) {
  std::array<std::uint8_t, 512> room{};
  base::byte_writer out(room);
  if (!emit(out, typical(), sender::client)) std::abort();
  transport_parameters p;
  for (auto _ : state) {
    benchmark::DoNotOptimize(parse(out.written(), sender::client, parameter_encoding::varints, p));
    benchmark::DoNotOptimize(p);
  }
}

BENCHMARK(walk_initial)->Name("quic_walk_initial")->Arg(1)->Arg(8)->Arg(30);
BENCHMARK(emit_ack)->Name("quic_emit_ack")->Arg(1)->Arg(4)->Arg(32)->Arg(256);
BENCHMARK(parse_ack)->Name("quic_parse_ack")->Arg(1)->Arg(4)->Arg(32)->Arg(256);
BENCHMARK(copy_ack)->Name("quic_emit_ack__limit_memcpy")->Arg(1)->Arg(4)->Arg(32)->Arg(256);
BENCHMARK(copy_ack)->Name("quic_parse_ack__limit_memcpy")->Arg(1)->Arg(4)->Arg(32)->Arg(256);
BENCHMARK(s2_ack_encode);
BENCHMARK(copy_8)->Name("s2_ack_encode__limit_memcpy");
BENCHMARK(s2_ack_decode);
BENCHMARK(copy_8)->Name("s2_ack_decode__limit_memcpy");
BENCHMARK(s2_stream_encode_header);
BENCHMARK(copy_5)->Name("s2_stream_encode_header__limit_memcpy");
BENCHMARK(s2_stream_encode_copy);
BENCHMARK(copy_261)->Name("s2_stream_encode_copy__limit_memcpy");
BENCHMARK(walk_one_rtt)->Name("quic_walk_1_rtt");
BENCHMARK(copy_header)->Name("quic_walk_1_rtt__limit_memcpy");
BENCHMARK(walk_one_rtt_segments)->Name("quic_walk_1_rtt_two_segments");
BENCHMARK(copy_header)->Name("quic_walk_1_rtt_two_segments__limit_memcpy");
BENCHMARK(add_packet)->Name("quic_ack_ranges_add/in_order")->Arg(1);
BENCHMARK(store_number)->Name("quic_ack_ranges_add__limit_store/in_order")->Arg(1);
BENCHMARK(add_packet)->Name("quic_ack_ranges_add/gaps")->Arg(2);
BENCHMARK(store_number)->Name("quic_ack_ranges_add__limit_store/gaps")->Arg(2);
BENCHMARK(emit_parameters)->Name("quic_emit_transport_parameters");
BENCHMARK(parse_parameters)->Name("quic_parse_transport_parameters");

}  // namespace
