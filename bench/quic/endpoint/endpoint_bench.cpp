// Whole QUIC connections between two endpoints in one thread, without a loop, a port or a wire: what a datagram costs
// both of them, what a handshake costs the server, what an idle connection takes.
#include <random>

#include "base/body_pattern.hpp"
#include "pipeline/hq_server.hpp"
#include "support/eal_bench.hpp"
#include "support/quic_ends.hpp"
#include "tls/bare_handshake.hpp"

namespace {

using namespace millrace;
using bench::burst_pkts;
using bench::cpu_seconds;
using bench::start_ns;
using quic::conn::connection;
using quic::conn::live_stream;

mem::packet_pool& pool() {
  static auto made = [] {
    mem::packet_pool_config c;
    c.name = "bench_quic";
    c.packets = 16'383;
    c.data_room = 9'216;
    return mem::packet_pool::make(c);
  }();
  return made.value();
}

// Asks for one endless body and throws it away.
class reader final : public quic::conn::application {
 public:
  class line final : public quic::conn::send_source {
    std::string text_ = "GET /bytes/1000000000000000\r\n";

   public:
    [[nodiscard]] std::size_t size() const noexcept { return text_.size(); }
    unsigned borrow(std::uint64_t offset, std::size_t size,
                    std::span<base::byte_view, quic::conn::most_source_parts> parts) noexcept override {
      parts[0] = base::as_bytes(std::string_view(text_)).subspan(static_cast<std::size_t>(offset), size);
      return 1;
    }
    void released(std::uint64_t) noexcept override {}
  };
  line request;
  std::uint64_t bytes = 0;
  std::uint64_t established = 0;
  bool asks = true;

  void on_established(connection& c) noexcept override {
    ++established;
    if (!asks) return;
    live_stream* s = c.open(quic::stream::direction::bidirectional, start_ns);
    s->source = &request;
    c.write(*s, request.size());
    c.finish(*s);
  }
  void on_readable(connection& c, live_stream& s) noexcept override {
    for (base::byte_view v = s.recv.front(); !v.empty(); v = s.recv.front()) {
      bytes += v.size();
      c.consume(s, v.size());
    }
  }
};

// The newest ticket.
class ticket_keeper final : public quic::endpoint::client_memory {
 public:
  std::vector<std::uint8_t> session;
  std::uint64_t count = 0;
  void on_session(connection&, base::byte_view s) noexcept override {
    session.assign(s.begin(), s.end());
    ++count;
  }
  void on_token(connection&, base::byte_view) noexcept override {}
};

struct ends : bench::quic_ends {
  std::unique_ptr<pipeline::hq_server> hq = std::move(pipeline::hq_server::make(1024, nullptr).value());
  reader app;

  // `lasting`: connections do not time out and their keys do not rest, however long the others take to begin.
  static bench::quic_wish wish(std::uint16_t datagram_bytes, std::uint32_t connections, bool lasting) {
    bench::quic_wish w{pipeline::hq_protocol, &pool(), 9'000};
    quic::endpoint::endpoint_settings& s = w.endpoint;
    s.connections = connections;
    s.streams = 1024;
    s.sent_blocks = std::max(4096u, connections + 1024);  // each has an answer that was not acknowledged yet
    s.pieces = 16'384;
    s.sources.most_half_open = connections;
    s.transport.max_datagram_bytes = datagram_bytes;
    if (lasting) s.transport.idle_timeout_ns = s.rest_keys_after_ns = 0;
    return w;
  }
  explicit ends(std::uint16_t datagram_bytes, std::uint32_t connections = 16, bool lasting = false)
      : quic_ends(wish(datagram_bytes, connections, lasting)) {
    protocol = &app;
  }
  ~ends() {
    client.reset();
    server.reset();
  }
  void add_files() { static_cast<void>(server->add_application(pipeline::hq_protocol, *hq)); }

  // Connections that begin from now on have applications of their own.
  void add_echo(quic::conn::application& of_server, quic::conn::application& of_client) {
    protocol = &of_client;
    static_cast<void>(server->add_application(pipeline::hq_protocol, of_server));
  }
};

// ns of both ends a datagram of stream data, ACKs included; range: its size.
void quic_transfer(benchmark::State& state) {
  ends e(static_cast<std::uint16_t>(state.range(0)));
  e.add_files();
  e.connect(40'000);
  while (e.app.bytes < 50'000'000) e.step();  // the path's size is found, windows are open
  const std::uint64_t before = e.app.bytes;
  std::uint64_t turns = 0;
  for (auto _ : state) {
    const std::uint64_t goal = e.app.bytes + 32 * static_cast<std::uint64_t>(state.range(0));
    while (e.app.bytes < goal) {
      e.step();
      ++turns;
      if (turns % 8 == 0) e.now_ns += 1'000;
    }
  }
  const std::uint64_t bytes = e.app.bytes - before;
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
  state.counters["ns_datagram"] =
      benchmark::Counter(static_cast<double>(bytes) / static_cast<double>(state.range(0)) / 1e9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["drops"] = static_cast<double>(e.drops.total());
}
BENCHMARK(quic_transfer)->Arg(1452)->Arg(8972)->Unit(benchmark::kMicrosecond);

// The same bytes sealed and opened by IPsec-MB alone, 32 datagrams an iteration.
void quic_transfer__limit_ipsec_mb(benchmark::State& state) {
  crypto::engine engine = std::move(*crypto::engine::make());
  crypto::aead_key key;
  const std::array<std::uint8_t, 16> secret{1};
  crypto::set_aes128_gcm_key(engine, secret, key);
  const auto size = static_cast<std::size_t>(state.range(0)) - 30;
  std::vector<std::uint8_t> text(size), sealed(size + 16);
  const std::array<std::uint8_t, 12> nonce{};
  const std::array<std::uint8_t, 13> header{};
  bool good = true;
  for (auto _ : state)
    for (int i = 0; i < 32; ++i) {
      crypto::seal(engine, key, nonce, header, text, sealed.data());
      good &= crypto::open(engine, key, nonce, header, sealed, text.data());
    }
  if (!good) state.SkipWithError("a text does not open");
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * 32 * size));
}
BENCHMARK(quic_transfer__limit_ipsec_mb)->Arg(1452)->Arg(8972)->Unit(benchmark::kMicrosecond);

// The server's CPU time of one handshake, from the first Initial until the client has its ticket; `resumed` 1: by the
// ticket before.
void quic_handshake_server(benchmark::State& state) {
  ends e(1452, 64);
  ticket_keeper tickets;
  e.client->set_client_memory(&tickets);
  e.add_files();
  e.app.asks = false;
  e.measures_server = true;
  const bool resumed = state.range(0) != 0;
  std::uint16_t port = 20'000;
  const auto once = [&](base::byte_view session) {
    connection* c = e.connect(port++, session);
    const std::uint64_t goal = tickets.count + 1;
    while (tickets.count < goal || e.server->half_open() != 0) e.step();
    return c;
  };
  const auto end = [&](connection* c) {
    c->close(0, e.now_ns);
    e.client->touch(*c);
    while (e.client->connections() + e.server->connections() != 0) e.step();
  };
  end(once({}));
  std::uint64_t handshakes = 0;
  for (auto _ : state) {
    const std::vector<std::uint8_t> session = resumed ? tickets.session : std::vector<std::uint8_t>{};
    const double before = e.server_s;
    connection* c = once(session);
    state.SetIterationTime(e.server_s - before);
    end(c);
    ++handshakes;
  }
  if (e.server->events().get(quic::conn::event::resumed) != (resumed ? handshakes : 0))
    state.SkipWithError("not the handshakes that were meant");
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(quic_handshake_server)->ArgName("resumed")->Arg(0)->Arg(1)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(bench_tls::bare_handshake<true>)
    ->Name("quic_handshake_server__limit_gnutls")
    ->ArgName("resumed")
    ->Arg(0)
    ->Arg(1)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

// Takes DATAGRAM frames; the server's sends each back.
class echo final : public quic::conn::application {
 public:
  bool answers = false;
  std::uint64_t frames = 0;
  std::uint64_t refused = 0;
  void on_datagram(connection& c, base::byte_view bytes) noexcept override {
    ++frames;
    if (answers) refused += c.send_datagram(bytes) ? 0u : 1u;
  }
};

// A server with so many established connections, all of them in use: bursts of 32 datagrams of different connections,
// in random order, each of 64 bytes and answered with as many (of ten, all of them). ns of the server a packet that
// came, with its answer. The first ones of every connection are not counted: they find out path sizes and hand out IDs.
void quic_crowd(benchmark::State& state) {
  constexpr unsigned server_bursts = 256;
  const auto count = static_cast<std::uint32_t>(state.range(0));
  ends e(1452, count, true);
  echo at_server, at_client;
  at_server.answers = true;
  e.app.asks = false;
  e.add_echo(at_server, at_client);
  std::vector<connection*> all;
  all.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    all.push_back(e.connect(static_cast<std::uint16_t>(1'000 + i % 60'000)));
    if (all.back() == nullptr) return state.SkipWithError("no room for another connection");
    for (unsigned turns = 0; e.server->half_open() != 0 || !all.back()->is_confirmed(); ++turns) {
      if (turns > 100) return state.SkipWithError("a handshake does not end");
      e.step();
    }
  }
  std::mt19937 random(1);
  const std::array<std::uint8_t, 64> text{};
  const auto burst = [&] {
    for (std::uint32_t i = 0; i < std::min<std::uint32_t>(burst_pkts, count); ++i) {
      std::swap(all[i], all[i + random() % (count - i)]);
      if (all[i]->send_datagram(text)) e.client->touch(*all[i]);
    }
    while (e.pass(*e.client, *e.server) + e.pass(*e.server, *e.client) != 0) {
    }
    e.now_ns += 1'000;
    if (e.client->due_ns() <= e.now_ns) e.client->on_time(e.now_ns);
    const double began = cpu_seconds();
    if (e.server->due_ns() <= e.now_ns) e.server->on_time(e.now_ns);
    e.server_s += cpu_seconds() - began;
  };
  for (unsigned i = 0; i < count / 8; ++i) burst();
  e.measures_server = true;
  double server_s = 0;
  std::uint64_t received = 0;
  for (auto _ : state) {
    const double before_s = e.server_s;
    const std::uint64_t before = e.server->events().get(quic::conn::event::packets_received);
    for (unsigned i = 0; i < server_bursts; ++i) burst();
    state.SetIterationTime(e.server_s - before_s);
    server_s += e.server_s - before_s;
    received += e.server->events().get(quic::conn::event::packets_received) - before;
  }
  static double of_ten_ns = 0;
  const double each_ns = server_s / static_cast<double>(received) * 1e9;
  if (count == 10) of_ten_ns = each_ns;
  state.counters["ns_packet"] = each_ns;
  if (of_ten_ns != 0) state.counters["to_ten"] = each_ns / of_ten_ns;
  state.counters["drops"] = static_cast<double>(e.drops.total() + at_server.refused);
}
BENCHMARK(quic_crowd)
    ->Arg(10)
    ->Arg(1'000)
    ->Arg(100'000)
    ->Iterations(64)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

// Memory of an established connection in which nothing happens, in bytes: what pools and tables lend it.
void quic_idle_connection(benchmark::State& state) {
  constexpr std::uint32_t connections = 256;
  ends e(1452, connections);
  e.add_files();
  e.app.asks = false;
  for (std::uint16_t i = 0; i < connections; ++i) {
    e.connect(static_cast<std::uint16_t>(10'000 + i));
    while (e.app.established <= i || e.server->half_open() != 0) e.step();
  }
  const std::uint64_t until = e.now_ns + 10'000'000'000;
  while (e.now_ns < until) e.step();
  double held = 0;
  for (auto _ : state) {
    held = static_cast<double>(e.server->held_bytes()) / e.server->connections();
    benchmark::DoNotOptimize(held);
  }
  state.counters["bytes"] = held;
}
BENCHMARK(quic_idle_connection)->Iterations(1);

}  // namespace

MILLRACE_EAL_BENCH_MAIN("-m", "4096")
