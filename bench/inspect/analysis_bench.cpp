// What passive analysis costs a packet: a new connection's first Initial from frame to facts, a short header of a known
// connection, a datagram of nobody; and reassembly alone.
//
// Frames vary in ports and connection IDs as those of many connections do. `connections` says how many go round: 64 fit
// the first caches, 16384 do not.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <optional>
#include <vector>

#include "inspect/analyzer.hpp"
#include "mem/region.hpp"
#include "net/wire/headers.hpp"

namespace {

using namespace millrace;
using frame_bytes = std::vector<std::uint8_t>;

constexpr std::size_t datagram_size = 1200;

void require(bool holds) {
  if (!holds) std::abort();
}

crypto::engine& engine() {
  static std::optional<crypto::engine> made = crypto::engine::make();
  require(made.has_value());
  return *made;
}

struct nobody final : inspect::observer {
  void on_connection(const inspect::connection&) override {}
  void on_flow(const inspect::flow&) override {}
};

struct bed {
  inspect::analyzer_options options;
  mem::region memory;
  nobody told;
  inspect::analyzer analyzer;
  std::uint64_t now = 1'700'000'000'000'000'000;

  explicit bed(std::uint32_t flows)
      : options([&] {
          inspect::analyzer_options o;
          o.caps.max_flows = flows;
          o.seed = 42;
          return o;
        }()),
        memory(mem::region::make("bench", inspect::analyzer::bytes_needed(options.caps))),
        analyzer({memory.data(), memory.size_bytes()}, options, engine(), told) {}
  void give(const frame_bytes& frame) {
    analyzer.on_packet(frame, net::wire::link_type::ethernet, now += 100, static_cast<std::uint32_t>(frame.size()));
  }
};

frame_bytes udp_frame(std::uint32_t number, base::byte_view payload, bool from_server = false) {
  net::wire::frame_spec spec;
  const std::array<std::uint8_t, 4> client = {10, static_cast<std::uint8_t>(number >> 16),
                                              static_cast<std::uint8_t>(number >> 8),
                                              static_cast<std::uint8_t>(number)};
  const std::array<std::uint8_t, 4> server = {192, 0, 2, 1};
  spec.src = base::ip_address::v4(from_server ? server : client);
  spec.dst = base::ip_address::v4(from_server ? client : server);
  const auto port = static_cast<std::uint16_t>(40'000 + number % 20'000);
  spec.src_port = from_server ? 443 : port;
  spec.dst_port = from_server ? port : 443;
  frame_bytes out(net::wire::frame_headers_size(spec) + payload.size());
  base::byte_writer writer(out);
  require(net::wire::emit_frame(spec, payload, writer));
  return out;
}

std::array<std::uint8_t, 8> dcid_of(std::uint32_t number) {
  std::array<std::uint8_t, 8> id{};
  base::store_be64(id.data(), (std::uint64_t{number} + 1) * 0x9E37'79B9'7F4A'7C15);
  return id;
}

void append16(frame_bytes& to, std::size_t v) {
  to.push_back(static_cast<std::uint8_t>(v >> 8));
  to.push_back(static_cast<std::uint8_t>(v));
}

// A ClientHello of some 250 bytes with what a browser sends: SNI, ALPN, versions, groups, a key share, parameters.
frame_bytes client_hello() {
  frame_bytes extensions;
  const auto extension = [&](std::uint16_t type, const frame_bytes& body) {
    append16(extensions, type);
    append16(extensions, body.size());
    extensions.insert(extensions.end(), body.begin(), body.end());
  };
  const std::string_view name = "www.millrace.example";
  frame_bytes sni;
  append16(sni, name.size() + 3);
  sni.push_back(0);
  append16(sni, name.size());
  sni.insert(sni.end(), name.begin(), name.end());
  extension(0, sni);
  extension(10, {0, 8, 0x1A, 0x1A, 0, 29, 0, 23, 0, 24});
  extension(13, {0, 16, 4, 3, 8, 4, 4, 1, 5, 3, 8, 5, 5, 1, 8, 6, 6, 1});
  extension(16, {0, 3, 2, 'h', '3'});
  frame_bytes share = {0, 36, 0, 29, 0, 32};
  share.resize(38, 0x42);
  extension(51, share);
  extension(43, {4, 0x3A, 0x3A, 3, 4});
  extension(45, {1, 1});
  extension(27, {2, 0, 2});
  extension(57, {1, 4, 0x80, 0, 0x75, 0x30, 4, 4, 0x80, 0xF0, 0, 0, 5, 4, 0x80, 0x60, 0, 0, 8, 2, 0x40, 100, 15, 0});
  frame_bytes body = {3, 3};
  body.resize(34, 7);
  body.insert(body.end(), {0, 0, 8, 0x0A, 0x0A, 0x13, 1, 0x13, 2, 0x13, 3, 1, 0});
  append16(body, extensions.size());
  body.insert(body.end(), extensions.begin(), extensions.end());
  frame_bytes message = {1, 0};
  append16(message, body.size());
  message.insert(message.end(), body.begin(), body.end());
  return message;
}

// The first datagram of connection `number`; `pieces` CRYPTO frames hold its ClientHello, the last in front.
frame_bytes initial_frame(std::uint32_t number, std::size_t pieces) {
  const frame_bytes hello = client_hello();
  const std::array<std::uint8_t, 8> dcid = dcid_of(number);
  frame_bytes packet = {0xC3, 0, 0, 0, 1, 8};
  packet.insert(packet.end(), dcid.begin(), dcid.end());
  packet.insert(packet.end(), {0, 0});
  append16(packet, 0x4000 | (datagram_size - packet.size() - 2));
  const auto pn_offset = static_cast<std::uint32_t>(packet.size());
  packet.insert(packet.end(), {0, 0, 0, 1});
  const std::size_t step = (hello.size() + pieces - 1) / pieces;
  for (std::size_t n = pieces; n-- > 0;) {
    const std::size_t at = n * step;
    const std::size_t size = std::min(step, hello.size() - at);
    packet.push_back(6);
    append16(packet, 0x4000 | at);
    append16(packet, 0x4000 | size);
    packet.insert(packet.end(), hello.begin() + static_cast<std::ptrdiff_t>(at),
                  hello.begin() + static_cast<std::ptrdiff_t>(at + size));
  }
  packet.resize(datagram_size);
  quic::protect::packet_keys keys;
  require(quic::protect::derive_initial_keys(engine(), 1, dcid, quic::protect::side::client, keys));
  require(quic::protect::seal_initial(engine(), keys, packet, pn_offset, 4, 1));
  return udp_frame(number, packet);
}

frame_bytes short_packet() {
  frame_bytes payload(datagram_size, 0x55);
  payload[0] = 0x41;
  return payload;
}

// From an Ethernet frame of 1242 bytes to SNI, ALPN, JA4 and transport parameters of a new connection: decoding, two
// tables, key derivation, header protection, decryption, CRYPTO, ClientHello.
void inspect_client_initial(benchmark::State& state) {
  const auto connections = static_cast<std::uint32_t>(state.range(0));
  const auto pieces = static_cast<std::size_t>(state.range(1));
  std::vector<frame_bytes> frames;
  for (std::uint32_t n = 0; n < connections; ++n) frames.push_back(initial_frame(n, pieces));
  bed b(connections);
  std::uint32_t n = 0;
  for (auto _ : state) {
    b.give(frames[n]);
    if (++n == connections) {
      n = 0;
      state.PauseTiming();
      b.analyzer.finish();
      state.ResumeTiming();
    }
  }
  require(b.analyzer.count().hellos.get() == static_cast<std::uint64_t>(state.iterations()));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(inspect_client_initial)->ArgNames({"connections", "crypto_frames"})->Args({1024, 1})->Args({1024, 12});

// A short header of one of many known connections, from the Ethernet frame: decoding, flow, connection, counters.
void inspect_short_header(benchmark::State& state) {
  const auto connections = static_cast<std::uint32_t>(state.range(0));
  std::vector<frame_bytes> frames;
  bed b(connections);
  for (std::uint32_t n = 0; n < connections; ++n) {
    frames.push_back(udp_frame(n, short_packet(), true));
    b.give(initial_frame(n, 1));
  }
  std::uint32_t n = 0;
  for (auto _ : state) {
    b.give(frames[n]);
    if (++n == connections) n = 0;
  }
  require(b.analyzer.quic().pool().in_use() == connections);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(inspect_short_header)->ArgName("connections")->Arg(1)->Arg(64)->Arg(16384);

// The same without decoding and flow lookup: what it takes to give a short header to its connection once its flow is
// known.
void inspect_short_header_classification(benchmark::State& state) {
  inspect::limits caps;
  caps.max_flows = 1024;
  inspect::carver measure;
  {
    const inspect::quic_tracker size(measure, caps, {});
  }
  mem::region memory = mem::region::make("bench", measure.bytes());
  inspect::carver carve({memory.data(), memory.size_bytes()});
  inspect::counters count;
  nobody told;
  inspect::quic_tracker tracker(carve, caps, {&engine(), &count, &told, 7});
  const auto connections = static_cast<std::uint32_t>(state.range(0));
  std::vector<inspect::flow> flows(connections);
  std::vector<inspect::datagram> datagrams(connections);
  const frame_bytes payload = short_packet();
  for (std::uint32_t n = 0; n < connections; ++n) {
    const frame_bytes frame = initial_frame(n, 1);
    net::wire::decoded d;
    require(net::wire::decode_fast(frame, d));
    inspect::datagram& g = datagrams[n];
    g.payload = base::byte_view(frame).subspan(d.payload_offset, d.payload_length);
    g.src = {d.src, d.src_port};
    g.dst = {d.dst, d.dst_port};
    g.wire_payload = d.wire_payload_length;
    require(tracker.on_datagram(flows[n], g) == inspect::tracked::taken);
    g.payload = payload;
  }
  std::uint32_t n = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(tracker.on_datagram(flows[n], datagrams[n]));
    if (++n == connections) n = 0;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(inspect_short_header_classification)->ArgName("connections")->Arg(1)->Arg(64)->Arg(1024);

// A datagram of no QUIC on a new 5-tuple each time, with the table full: the cost of a flood.
void inspect_flood_of_strangers(benchmark::State& state) {
  constexpr std::uint32_t strangers = 65'536;
  bed b(4096);
  std::vector<frame_bytes> frames;
  const frame_bytes payload(18, 1);
  for (std::uint32_t n = 0; n < strangers; ++n) frames.push_back(udp_frame(n, payload));
  std::uint32_t n = 0;
  for (auto _ : state) {
    b.give(frames[n]);
    n = (n + 1) % strangers;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(inspect_flood_of_strangers);

// A ClientHello of 2 KB in pieces of 100 bytes, backwards.
void inspect_reassembly_backwards(benchmark::State& state) {
  inspect::limits caps;
  inspect::carver measure;
  {
    const inspect::crypto_reassembly size(measure, caps);
  }
  mem::region memory = mem::region::make("bench", measure.bytes());
  inspect::carver carve({memory.data(), memory.size_bytes()});
  inspect::crypto_reassembly store(carve, caps);
  const frame_bytes data(2000, 0x33);
  inspect::crypto_stream stream{};
  for (auto _ : state) {
    for (std::uint32_t at = 2000; at != 0; at -= 100)
      benchmark::DoNotOptimize(store.add(stream, at - 100, base::byte_view(data).subspan(at - 100, 100)));
    store.release(stream);
  }
  state.SetItemsProcessed(state.iterations() * 20);
}
BENCHMARK(inspect_reassembly_backwards);

}  // namespace

BENCHMARK_MAIN();
