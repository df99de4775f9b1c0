// What a host costs a UDP packet, there and back: headers judged, checksums both ways, route and neighbour looked up,
// headers written. Beside it the raw limit: the same bytes summed twice and the headers copied, with no thought at all.

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <vector>

#include "net/host.hpp"
#include "net/wire/arp.hpp"
#include "net/wire/checksum.hpp"

namespace {

using namespace millrace;
using namespace millrace::net;

using bytes = std::vector<std::uint8_t>;

class one_frame final : public frame_sink {
  std::array<std::uint8_t, 9216> room_;

 public:
  std::uint64_t taken = 0;
  [[nodiscard]] base::byte_span take(std::size_t size) noexcept override {
    ++taken;
    return {room_.data(), size};
  }
};

constexpr std::uint16_t port = 5500;
constexpr std::uint64_t start_ns = 1'000'000'000;

base::ip_address address(bool v6, unsigned last) {
  base::ip_address a = base::ip_address::parse(v6 ? "2001:db8:18::" : "198.18.0.0").value();
  base::store_be16(a.octets.data() + (v6 ? 14 : 2), static_cast<std::uint16_t>(last));
  return a;
}
wire::mac_address mac(unsigned last) {
  return {{2, 0, 0, 0, static_cast<std::uint8_t>(last >> 8), static_cast<std::uint8_t>(last)}};
}

std::unique_ptr<host> make_host(unsigned last) {
  host_config c;
  c.mac = mac(last);
  c.addresses = {{address(false, last), 16}, {address(true, last), 64}};
  c.routes = {{base::ip_address::parse("0.0.0.0").value(), 0, address(false, 0xFE)},
              {base::ip_address::parse("::").value(), 0, address(true, 0xFE)}};
  c.dad_transmits = 0;
  c.announce = false;
  c.seed = 0x0123'4567'89AB'CDEF;
  c.limits.reachable_ns = UINT64_MAX / 2;
  c.limits.neighbour_answers = {};
  c.limits.echo_replies = {};
  auto made = host::make(c);
  if (!made) std::abort();
  made.value()->start(start_ns);
  made.value()->open_port(port);
  return std::move(made.value());
}

bytes request_of(bool v6, unsigned peer, std::size_t size) {
  wire::frame_spec spec;
  spec.dst_mac = mac(1);
  spec.src_mac = mac(peer);
  spec.src = address(v6, peer);
  spec.dst = address(v6, 1);
  spec.src_port = 4000;
  spec.dst_port = port;
  bytes out(wire::frame_headers_size(spec) + size);
  base::byte_writer writer(out);
  if (!wire::emit_frame(spec, bytes(size, 'x'), writer)) std::abort();
  return out;
}

// Peers that the host has resolved, with a request of each.
struct scene {
  std::unique_ptr<host> h = make_host(1);
  one_frame sink;
  std::vector<bytes> requests;
  bytes reply;

  scene(bool v6, std::size_t size, unsigned peers) : reply(128 + size) {
    for (unsigned i = 0; i < peers; ++i) {
      requests.push_back(request_of(v6, 256 + i, size));
      const base::ip_address peer = address(v6, 256 + i);
      neighbour* n = h->neighbours().obtain(peer, start_ns);
      if (n == nullptr ||
          h->neighbours().on_answer({.ip = peer, .mac = mac(256 + i), .solicited = true, .overrides = true},
                                    start_ns) != learned::accepted)
        std::abort();
    }
  }
  // One request taken, one reply written. True when both went as they should.
  bool turn(std::size_t i, std::uint64_t now) noexcept {
    udp_delivery d;
    if (h->receive(requests[i], {}, now, sink, d).what != rx_what::deliver) return false;
    const std::size_t headers = h->headers_size(d.local.address.family);
    const udp_flow flow{.local = d.local, .remote = d.remote};
    return h->send_udp(flow, base::byte_span(reply).first(headers), base::segments({&d.payload, 1}), now, sink).what ==
           tx_what::ready;
  }
};

void run_echo(benchmark::State& state, bool v6) {
  const auto size = static_cast<std::size_t>(state.range(0));
  const auto peers = static_cast<unsigned>(state.range(1));
  scene s(v6, size, peers);
  for (std::size_t i = 0; i < peers; ++i)
    if (!s.turn(i, start_ns)) state.SkipWithError("a request was not answered");
  std::size_t i = 0;
  bool sound = true;
  for (auto _ : state) {
    sound &= s.turn(i, start_ns);
    benchmark::ClobberMemory();
    i = i + 1 == peers ? 0 : i + 1;
  }
  if (!sound || s.h->figures().dropped.get() != 0 || s.h->frames_held() != 0 || s.sink.taken != 0)
    state.SkipWithError("something was dropped, kept or said");
}

void host_udp_ipv4(benchmark::State& state) { run_echo(state, false); }
void host_udp_ipv6(benchmark::State& state) { run_echo(state, true); }

// Both packets' bytes summed, one packet's headers copied.
void run_limit(benchmark::State& state, bool v6) {
  const auto size = static_cast<std::size_t>(state.range(0));
  const auto peers = static_cast<unsigned>(state.range(1));
  scene s(v6, size, peers);
  std::size_t i = 0;
  for (auto _ : state) {
    const bytes& in = s.requests[i];
    std::memcpy(s.reply.data(), in.data(), in.size() - size);
    std::uint64_t sum = wire::sum_words(base::byte_view(in).subspan(14));
    sum += wire::sum_words(base::byte_view(in).last(size));
    benchmark::DoNotOptimize(sum);
    benchmark::ClobberMemory();
    i = i + 1 == peers ? 0 : i + 1;
  }
}
void host_udp_ipv4__limit_sum(benchmark::State& state) { run_limit(state, false); }
void host_udp_ipv6__limit_sum(benchmark::State& state) { run_limit(state, true); }

#define SIZES ->Args({28, 1})->Args({28, 64})->Args({28, 512})->Args({1200, 64})
BENCHMARK(host_udp_ipv4) SIZES;
BENCHMARK(host_udp_ipv4__limit_sum) SIZES;
BENCHMARK(host_udp_ipv6) SIZES;
BENCHMARK(host_udp_ipv6__limit_sum) SIZES;

void host_arp_answer(benchmark::State& state) {
  const auto h = make_host(1);
  one_frame sink;
  bytes frame(60);
  base::byte_writer writer(frame);
  if (!emit(wire::ethernet_header{wire::broadcast_mac, mac(9), wire::ethertype::arp}, writer) ||
      !emit(wire::arp_packet{.operation = wire::arp_operation::request,
                             .sender_mac = mac(9),
                             .target_mac = {},
                             .sender = address(false, 9),
                             .target = address(false, 1)},
            writer))
    std::abort();
  udp_delivery d;
  for (auto _ : state) {
    if (h->receive(frame, {}, start_ns, sink, d).what != rx_what::consumed) state.SkipWithError("not answered");
  }
  if (sink.taken != static_cast<std::uint64_t>(state.iterations())) state.SkipWithError("an answer is missing");
}
BENCHMARK(host_arp_answer);

void host_arp_answer__limit_memcpy(benchmark::State& state) {
  const bytes in(60, 1);
  bytes out(60);
  for (auto _ : state) {
    std::memcpy(out.data(), in.data(), 60);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(host_arp_answer__limit_memcpy);

// A datagram of so many bytes in fragments of 1480; time is the datagram's.
void host_reassembly(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  const auto from = make_host(9);
  const auto to = make_host(1);
  struct list final : frame_sink {
    std::vector<bytes> frames;
    [[nodiscard]] base::byte_span take(std::size_t room) noexcept override {
      frames.emplace_back(room);
      return frames.back();
    }
  } sink;
  one_frame other;
  static_cast<void>(from->neighbours().obtain(address(false, 1), start_ns));
  static_cast<void>(from->neighbours().on_answer(
      {.ip = address(false, 1), .mac = mac(1), .solicited = true, .overrides = true}, start_ns));
  bytes whole(42 + size, 'x');
  const udp_flow flow{.local = {address(false, 9), 4000}, .remote = {address(false, 1), port}};
  if (from->send_udp(flow, whole, start_ns, sink).what != tx_what::kept) std::abort();
  udp_delivery d;
  for (auto _ : state) {
    std::size_t delivered = 0;
    for (const bytes& frame : sink.frames)
      delivered += to->receive(frame, {}, start_ns, other, d).what == rx_what::deliver ? d.payload.size() : 0;
    if (delivered != size) state.SkipWithError("not put together");
  }
  if (to->fragments().in_use() != 0) state.SkipWithError("fragments are left");
}
BENCHMARK(host_reassembly)->Arg(2000)->Arg(9000)->Arg(60000);

// Copied twice (to its place, then to one run) and summed once.
void host_reassembly__limit_memcpy(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  const bytes in(size, 1);
  bytes middle(size);
  bytes out(size);
  for (auto _ : state) {
    std::memcpy(middle.data(), in.data(), size);
    benchmark::ClobberMemory();
    std::memcpy(out.data(), middle.data(), size);
    benchmark::DoNotOptimize(wire::sum_words(out));
    benchmark::ClobberMemory();
  }
}
BENCHMARK(host_reassembly__limit_memcpy)->Arg(2000)->Arg(9000)->Arg(60000);

}  // namespace
