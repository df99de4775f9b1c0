// bench/quic/protect/one_rtt.hpp - 1-RTT packets to open and to seal, and IPsec-MB alone on the same bytes.
//
// Shape    a workload has `count` packets that go round, so that a packet is not in the first-level cache because it
//          was there a moment ago; all of them fit in the second. open and seal see the same sizes: first byte, 8 bytes
//          of connection ID, 2 of packet number; an ACK of two ranges and a STREAM frame that fills the rest; the tag.
// Owner    the workload owns all memory. Nothing of it is allocated inside a timed loop: heap_calls says so.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "crypto/ipsec_mb.hpp"
#include "mem/heap_counter.hpp"
#include "quic/protect/receive_keys.hpp"
#include "quic/protect/send_keys.hpp"
#include "quic/wire/frame_walker.hpp"

namespace millrace::bench_quic {

using quic::protect::cipher_suite;

inline constexpr std::uint32_t pn_offset = 9;
inline constexpr std::uint8_t pn_size = 2;
inline constexpr std::size_t header_size = pn_offset + pn_size;
inline constexpr std::size_t burst_size = 32;
inline constexpr std::uint8_t first_byte = 0x40 | (pn_size - 1);

inline void require(bool holds) {
  if (!holds) std::abort();
}

struct workload {
  crypto::engine engine = crypto::engine::make().value();
  quic::protect::key_context context;
  quic::protect::traffic_secret secret;
  quic::protect::send_keys send;
  quic::protect::receive_keys receive;
  std::size_t size;                   // of a packet
  std::size_t stride;                 // between packets, as buffers of a pool lie
  std::size_t count;                  // a multiple of burst_size
  std::vector<std::uint8_t> front;    // frames in front of the stream's data
  std::vector<std::uint8_t> data;     // the stream's, of each packet
  std::vector<std::uint8_t> sealed;   // all packets, as they came
  std::vector<std::uint8_t> packets;  // where they are worked on
  std::uint64_t next_pn = 0;

  explicit workload(std::size_t packet_size, cipher_suite suite = cipher_suite::aes_128_gcm_sha256)
      : context{quic::wire::version_1, suite}, size(packet_size), stride((packet_size + 127) / 64 * 64) {
    const std::array<std::uint8_t, 48> bytes{1, 2, 3};
    const std::size_t secret_size = crypto::hash_size(hash_of(suite));
    require(set_secret(suite, base::byte_view(bytes).first(secret_size), secret));
    count = std::clamp<std::size_t>(300'000 / stride / burst_size * burst_size, burst_size, 8 * burst_size);
    make_front();
    data.assign(count * stride, 0x5a);
    packets.assign(count * stride, 0);
    begin();
    for (std::size_t i = 0; i < count; ++i) require(seal(i) == quic::protect::seal_errc::ok);
    sealed = packets;
    begin();
  }

  // As if nothing had been sent or received yet.
  void begin() {
    require(send.install(engine, context, secret) && receive.install(engine, context, secret));
    next_pn = 0;
  }
  void restore() { std::memcpy(packets.data(), sealed.data(), sealed.size()); }

  [[nodiscard]] base::byte_span packet(std::size_t i) { return {packets.data() + i * stride, size}; }
  [[nodiscard]] std::size_t text_size() const { return size - header_size - crypto::aead_tag_size; }
  [[nodiscard]] std::array<base::byte_view, 2> pieces(std::size_t i) const {
    return {front, base::byte_view(data).subspan(i * stride, text_size() - front.size())};
  }
  void fill(quic::protect::seal_request& r, std::size_t i, std::span<const base::byte_view> payload) {
    r.out = packet(i);
    r.out[0] = first_byte;
    r.pn_offset = pn_offset;
    r.pn_size = pn_size;
    r.packet_number = next_pn++;
    r.payload = payload;
  }
  quic::protect::seal_request request(std::size_t i, std::span<const base::byte_view> payload) {
    quic::protect::seal_request r;
    fill(r, i, payload);
    return r;
  }
  quic::protect::seal_errc seal(std::size_t i) {
    const auto payload = pieces(i);
    auto r = request(i, payload);
    return send.seal(engine, r);
  }

 private:
  void make_front() {
    std::array<std::uint8_t, 64> room;
    base::byte_writer to(room);
    const std::array<quic::wire::packet_range, 2> ranges = {{{95, 100}, {88, 91}}};
    require(emit(to, quic::wire::ack_to_send{.ranges = ranges, .delay = 10}));
    require(emit(to, quic::wire::stream_header{.stream_id = 4, .offset = 1'000'000, .has_length = false}));
    front.assign(to.written().begin(), to.written().end());
  }
};

// What a receiver does with each frame at least: ranges counted, the end of the data noted.
struct received : quic::wire::frame_visitor {
  using frame_visitor::on;
  std::uint64_t acked = 0;
  std::uint64_t end = 0;
  bool on(const quic::wire::ack_frame& f) noexcept {
    quic::wire::ack_range_reader reader(f);
    quic::wire::packet_range range;
    while (reader.next(range)) acked += range.largest - range.smallest + 1;
    return true;
  }
  bool on(const quic::wire::stream_frame& f) noexcept {
    end = f.offset + f.data.size();
    return true;
  }
};

inline bool walk(base::byte_view packet, const quic::protect::opened_packet& opened) {
  const quic::wire::frame_rules rules(quic::wire::packet_type::one_rtt, quic::wire::sender::client);
  received visitor;
  const bool ok =
      static_cast<bool>(walk_frames(packet.subspan(opened.header_size, opened.payload_size), rules, visitor));
  benchmark::DoNotOptimize(visitor);
  return ok;
}

// The cipher alone, one call a packet, with keys, nonce and sizes at hand.
struct raw_cipher {
  crypto::aead_key key;
  IMB_MGR* manager;
  crypto::aead_algorithm algorithm;
  std::array<std::uint8_t, 12> nonce{4, 5, 6};
  std::array<std::uint8_t, 16> tag{};

  explicit raw_cipher(workload& w)
      : manager(w.engine.cipher_manager()), algorithm(quic::protect::aead_of(w.context.suite)) {
    const std::array<std::uint8_t, 32> bytes{1, 2, 3};
    set_aead_key(w.engine, algorithm, base::byte_view(bytes).first(crypto::key_size(algorithm)), key);
  }
  [[nodiscard]] const gcm_key_data* schedule() const {
    return reinterpret_cast<const gcm_key_data*>(key.schedule.data());
  }
  void seal(const std::uint8_t* header, const std::uint8_t* from, std::uint8_t* to, std::size_t size) {
    gcm_context_data context;
    if (algorithm == crypto::aead_algorithm::aes_128_gcm) {
      IMB_AES128_GCM_ENC(manager, schedule(), &context, to, from, size, nonce.data(), header, header_size, to + size,
                         16);
    } else if (algorithm == crypto::aead_algorithm::aes_256_gcm) {
      IMB_AES256_GCM_ENC(manager, schedule(), &context, to, from, size, nonce.data(), header, header_size, to + size,
                         16);
    } else {
      chacha20_poly1305_context_data chacha;
      IMB_CHACHA20_POLY1305_INIT(manager, key.schedule.data(), &chacha, nonce.data(), header, header_size);
      IMB_CHACHA20_POLY1305_ENC_UPDATE(manager, key.schedule.data(), &chacha, to, from, size);
      IMB_CHACHA20_POLY1305_ENC_FINALIZE(manager, &chacha, to + size, 16);
    }
  }
  // In place; the tag is left to compare.
  void open(std::uint8_t* packet, std::size_t size) {
    gcm_context_data context;
    std::uint8_t* const text = packet + header_size;
    if (algorithm == crypto::aead_algorithm::aes_128_gcm) {
      IMB_AES128_GCM_DEC(manager, schedule(), &context, text, text, size, nonce.data(), packet, header_size, tag.data(),
                         16);
    } else if (algorithm == crypto::aead_algorithm::aes_256_gcm) {
      IMB_AES256_GCM_DEC(manager, schedule(), &context, text, text, size, nonce.data(), packet, header_size, tag.data(),
                         16);
    } else {
      chacha20_poly1305_context_data chacha;
      IMB_CHACHA20_POLY1305_INIT(manager, key.schedule.data(), &chacha, nonce.data(), packet, header_size);
      IMB_CHACHA20_POLY1305_DEC_UPDATE(manager, key.schedule.data(), &chacha, text, text, size);
      IMB_CHACHA20_POLY1305_DEC_FINALIZE(manager, &chacha, tag.data(), 16);
    }
  }
};

// Runs `turn` once an iteration, and before each round over all packets `renew`, which is not timed. `turn` takes the
// number of a packet and works on `step` of them. Says what the heap was asked for.
template <class Turn, class Renew>
void go_round(benchmark::State& state, const workload& w, std::size_t step, Turn turn, Renew renew) {
  mem::heap_tally tally;
  bool ok = true;
  std::size_t i = w.count;
  for (auto _ : state) {
    if (i == w.count) {
      state.PauseTiming();
      renew();
      i = 0;
      state.ResumeTiming();
    }
    ok &= turn(i);
    i += step;
  }
  if (!ok) state.SkipWithError("a packet was refused");
  renew();
  {
    const mem::heap_watch watch(tally);
    for (i = 0; i < w.count; i += step) ok &= turn(i);
  }
  state.counters["heap_calls"] = static_cast<double>(tally.calls.get());
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(step));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(step * w.size));
}

}  // namespace millrace::bench_quic
