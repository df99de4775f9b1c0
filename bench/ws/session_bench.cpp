// Messages through a session and back out, as an echo has them: packets of 1420 bytes that somebody else holds too, as
// a burst does; what comes out is freed where a connection would send it.
//
// Args     bytes of a message, in as many packets as it needs, or as many messages in a packet as fit. Beside the
// default
//          settings: _gathers_slices keeps the pieces of a message in several packets as slices, where the default
//          copies them into blocks; _sends_slices sends what came as it lies, where the default copies it.
// Limits   __limit_memcpy copies the same payloads, in the same pieces, out of the same packets.
// Note     nothing is written between two rounds: unmasking in place masks again what the round before unmasked.
#include <cstring>

#include "support/eal_bench.hpp"
#include "ws/endpoint.hpp"
#include "ws/wire/mask.hpp"

namespace {

using namespace millrace;

constexpr std::size_t packet_bytes = 1420;

mem::packet_pool& pool() {
  static auto made = mem::packet_pool::make({.name = "bench_ws", .packets = 4095, .data_room = 2048});
  return made.value();
}

class echoing final : public ws::message_handler {
 public:
  void on_message(ws::session& s, ws::message_kind kind, buf::chain&& whole) noexcept override {
    static_cast<void>(s.send(kind, std::move(whole)));
  }
};

class carrier final : public http::exchange {
  buf::mbuf_source blocks_{pool()};
  std::vector<http::field> fields_{{"sec-websocket-version", "13"}};
  std::size_t at_;

 public:
  std::vector<buf::packet> packets;
  std::uint64_t bytes = 0;

  // `messages` of `size` bytes each.
  carrier(std::size_t size, std::size_t messages) {
    std::vector<std::uint8_t> stream;
    for (std::size_t i = 0; i < messages; ++i) {
      const ws::wire::frame_header h{
          .payload_size = size, .mask_key = 0x9D27A135, .op = ws::wire::opcode::binary, .fin = true, .is_masked = true};
      std::array<std::uint8_t, ws::wire::max_header_size> front;
      const std::size_t n = ws::wire::emit_header(front.data(), h);
      stream.insert(stream.end(), front.begin(), front.begin() + static_cast<std::ptrdiff_t>(n));
      for (std::size_t k = 0; k < size; ++k) stream.push_back(static_cast<std::uint8_t>(k * 31));
    }
    for (std::size_t from = 0; from < stream.size(); from += packet_bytes) {
      buf::packet p = buf::packet::alloc(pool());
      static_cast<void>(
          p.append_copy(base::byte_view(stream).subspan(from, std::min(packet_bytes, stream.size() - from))));
      packets.push_back(std::move(p));
    }
    at_ = packets.size();
    request_.method = http::wire::method::connect;
    request_.protocol = "websocket";
    request_.fields = fields_;
  }
  void round() noexcept {
    at_ = 0;
    handler->on_body(*this);
  }

  std::uint64_t now_ns() const noexcept override { return 0; }
  base::byte_view front() const noexcept override {
    return at_ == packets.size() ? base::byte_view{} : packets[at_].first();
  }
  void consume(std::size_t) noexcept override { ++at_; }
  buf::slice take() noexcept override {
    const buf::packet& p = packets[at_++];
    return buf::slice::of(p, p.first());
  }
  bool is_body_over() const noexcept override { return false; }
  void refuse_body() noexcept override {}
  const buf::mbuf_source& blocks() const noexcept override { return blocks_; }
  void inform(const http::response_head&) noexcept override {}
  buf::flow write(buf::chain&& part) noexcept override {
    bytes += part.size();
    part.clear();
    return buf::flow::open;
  }
  void finish(std::span<const http::field>) noexcept override {}
  void wake() noexcept override {}
  void abort() noexcept override {}

 private:
  bool send(const http::response_head&, http::body&&, bool) noexcept override { return true; }
};

std::size_t messages_of(std::size_t size) { return std::max<std::size_t>(1, packet_bytes / (size + 8)); }

void run_echo(benchmark::State& state, const ws::settings& s) {
  const auto size = static_cast<std::size_t>(state.range(0));
  echoing handler;
  auto endpoint = std::move(ws::endpoint::make(s, handler).value());
  carrier x(size, messages_of(size));
  x.handler = endpoint.get();
  endpoint->on_request(x);
  x.round();
  const std::uint64_t each = x.bytes;
  if (each < size * messages_of(size)) {
    state.SkipWithError("messages do not come back");
    return;
  }
  for (auto _ : state) x.round();
  const auto messages = static_cast<std::int64_t>(messages_of(size)) * state.iterations();
  state.SetItemsProcessed(messages);
  state.SetBytesProcessed(messages * state.range(0));
  endpoint->on_end(x, http::exchange_end::complete);
}

void ws_echo(benchmark::State& state) { run_echo(state, {}); }
BENCHMARK(ws_echo)->Arg(125)->Arg(1024)->Arg(1400)->Arg(65'536);

void ws_echo_gathers_slices(benchmark::State& state) { run_echo(state, {.gather_copied_bytes = 0}); }
BENCHMARK(ws_echo_gathers_slices)->Arg(65'536);

void ws_echo_sends_slices(benchmark::State& state) { run_echo(state, {.copied_bytes = 0}); }
BENCHMARK(ws_echo_sends_slices)->Arg(125)->Arg(1024)->Arg(1400);

void ws_echo__limit_memcpy(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  const carrier x(size, messages_of(size));
  std::vector<std::uint8_t> to(x.packets.size() * packet_bytes);
  for (auto _ : state) {
    std::uint8_t* at = to.data();
    for (const buf::packet& p : x.packets) {
      const base::byte_view from = p.first();
      for (std::size_t k = 0; k < from.size(); k += size) {
        const std::size_t n = std::min(size, from.size() - k);
        std::memcpy(at, from.data() + k, n);
        at += n;
      }
    }
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
  }
  const auto messages = static_cast<std::int64_t>(messages_of(size)) * state.iterations();
  state.SetItemsProcessed(messages);
  state.SetBytesProcessed(messages * state.range(0));
}
BENCHMARK(ws_echo__limit_memcpy)->Arg(125)->Arg(1024)->Arg(1400)->Arg(65'536);

}  // namespace

MILLRACE_EAL_BENCH_MAIN("-m", "256")
