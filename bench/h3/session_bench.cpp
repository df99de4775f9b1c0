// Whole HTTP/3 exchanges between our client and our server in one thread, without a loop, a port or a wire: what a
// small GET costs both ends, QUIC and its cryptography included, and the server alone; what a streamed body does.
#include <ctime>

#include "buf/large_block_pool.hpp"
#include "h3/client.hpp"
#include "h3/server.hpp"
#include "mem/packet_pool.hpp"
#include "support/eal_bench.hpp"
#include "tls/context.hpp"

namespace {

using namespace millrace;

constexpr std::int64_t epoch_ns = 1'790'000'000'000'000'000;
constexpr std::size_t burst_pkts = 32;
constexpr std::uint16_t most_datagram = 1452;

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

mem::packet_pool& pool(bool for_answers) {
  static const auto make = [](const char* name) {
    mem::packet_pool_config c;
    c.name = name;
    c.packets = 16'383;
    c.data_room = 2048;
    return mem::packet_pool::make(c);
  };
  static auto received = make("bench_h3_rx");
  static auto answers = make("bench_h3_tx");
  return for_answers ? answers.value() : received.value();
}

buf::large_block_pool& blocks() {
  static auto made = buf::large_block_pool::make({.name = "bench_h3_body"});
  return made.value();
}

// Answers "/" with 1 KiB and everything else with a body without end, in blocks of 64 KiB that are sent as they are.
class answering final : public http::exchange_handler {
  std::array<std::uint8_t, 1000> text_{};

  static buf::pull_status pull(void*, std::uint32_t most, buf::packet& out) noexcept {
    buf::large_block block = blocks().alloc();
    if (!block) return buf::pull_status::no_memory;
    buf::packet made = blocks().send(std::move(block), most);
    if (!made) return buf::pull_status::no_memory;
    out = std::move(made);
    return buf::pull_status::block;
  }

 public:
  void on_request(http::exchange& x) noexcept override {
    static constexpr std::array<http::field, 3> fields{
        {{"content-type", "application/json"}, {"server", "millrace"}, {"cache-control", "no-cache"}}};
    if (x.request().path != "/") {
      static_cast<void>(x.respond({http::wire::status_code::ok, fields}, http::pulled_body{{nullptr, pull}, {}}));
      return;
    }
    buf::chain body;
    static_cast<void>(body.append_copy(text_, x.blocks()));
    static_cast<void>(x.respond({http::wire::status_code::ok, fields}, std::move(body)));
  }
};

// Asks again whenever an answer has come, on each connection as many at a time.
class asking final : public h3::response_observer, public h3::client_events {
 public:
  h3::client* client = nullptr;
  std::string_view path = "/";
  unsigned streams = 32;
  std::uint64_t done = 0, failed = 0, bytes = 0, now_ns = 0;

  void ask(quic::conn::connection& c) noexcept {
    const std::array<http::field, 5> fields{
        {{":method", "GET"}, {":scheme", "https"}, {":authority", "localhost"}, {":path", path}, {"accept", "*/*"}}};
    static_cast<void>(client->request(c, {.fields = fields, .observer = this}, now_ns));
  }
  void on_connected(quic::conn::connection& c) noexcept override {
    for (unsigned i = 0; i < streams; ++i) ask(c);
  }
  void on_streams_available(quic::conn::connection& c) noexcept override {
    while (client->open_requests() < client->limits().exchanges && c.open_streams() < streams + 6) {
      const std::uint32_t before = client->open_requests();
      ask(c);
      if (client->open_requests() == before) return;
    }
  }
  void on_response(h3::asked&) noexcept override {}
  void on_body(h3::asked& a) noexcept override {
    for (base::byte_view v = a.front(); !v.empty(); v = a.front()) {
      bytes += v.size();
      a.consume(v.size());
    }
  }
  void on_end(h3::asked& a, h3::request_end e) noexcept override {
    ++(e == h3::request_end::complete ? done : failed);
    if (!a.connection().is_closing() && e == h3::request_end::complete) ask(a.connection());
  }
};

struct ends {
  crypto::engine client_engine = std::move(*crypto::engine::make());
  crypto::engine server_engine = std::move(*crypto::engine::make());
  answering handler;
  asking asker;
  std::unique_ptr<h3::server> server_app;
  std::unique_ptr<h3::client> client_app;
  std::shared_ptr<const tls::client_context> context;
  std::unique_ptr<quic::endpoint::quic_endpoint> client, server;
  stats::drop_counters drops;
  std::uint64_t now_ns = 1'000'000'000;
  double server_s = 0;          // CPU time of the server's half
  bool measures_server = true;  // which costs a system call each time

  explicit ends(std::string_view path, unsigned streams) {
    h3::settings h;
    h.connections = 64;
    asker.path = path;
    asker.streams = streams;
    server_app = std::move(h3::server::make(h, handler, pool(true)).value());
    client_app = std::move(h3::client::make(h, pool(true), &asker).value());
    asker.client = client_app.get();
    quic::endpoint::endpoint_settings s;
    s.connections = 64;
    s.handshakes = 64;
    s.streams = 8192;
    s.sent_blocks = 8192;
    s.source_slots = 64;
    s.sources.retry = quic::endpoint::retry_mode::never;
    s.sources.source_handshakes = s.sources.source_unproven = {0, 1};
    s.transport.max_datagram_bytes = most_datagram;
    quic::endpoint::endpoint_keys keys;
    keys.cid[0] = 1;
    client =
        std::move(quic::endpoint::quic_endpoint::make(s, keys, client_engine, pool(false), now_ns, epoch_ns).value());
    keys.cid[0] = 2;
    server =
        std::move(quic::endpoint::quic_endpoint::make(s, keys, server_engine, pool(false), now_ns, epoch_ns).value());
    tls::self_signed_settings pem;
    pem.now_ns = epoch_ns;
    tls::server_settings ts;
    ts.credentials = tls::server_credentials::self_signed(pem).value();
    ts.protocols = {{std::string(h3::protocol), ""}};
    ts.offered.suites = {tls::cipher_suite::aes_128_gcm_sha256};
    ts.ticket_secret = std::string(32, 't');
    server->serve(tls::server_context::make(std::move(ts)).value());
    tls::client_settings tc;
    tc.trust = tls::client_trust::anybody().value();
    tc.protocols = {std::string(h3::protocol)};
    tc.offered.suites = {tls::cipher_suite::aes_128_gcm_sha256};
    context = tls::client_context::make(std::move(tc)).value();
    static_cast<void>(server_app->serve_on(*server));
    static_cast<void>(client_app->use(*client));
  }
  ~ends() {
    client->close_all(0, now_ns);
    server->close_all(0, now_ns);
    client.reset();
    server.reset();
  }
  void connect(std::uint16_t port) {
    quic::endpoint::client_request r;
    const std::uint8_t us[] = {198, 18, 0, 2}, them[] = {198, 18, 0, 1};
    r.address = {{base::ip_address::v4(us), port}, {base::ip_address::v4(them), 443}};
    r.server_name = "localhost";
    r.protocol = client_app.get();
    r.context = context;
    r.early_data = false;
    static_cast<void>(client->connect(r, now_ns));
  }
  std::size_t pass(quic::endpoint::quic_endpoint& from, quic::endpoint::quic_endpoint& to) {
    std::array<buf::packet, burst_pkts> packets;
    std::array<quic::conn::datagram_in, burst_pkts> in;
    const bool from_server = &from == server.get();
    const double began = measures_server ? cpu_seconds() : 0;
    std::size_t count = 0;
    for (; count < burst_pkts; ++count) {
      packets[count] = buf::packet::alloc(pool(false));
      const base::byte_span room = packets[count].append(2000);
      quic::conn::datagram_out out;
      const std::size_t size = from.poll(room, now_ns, out);
      if (size == 0) break;
      in[count] = {};
      in[count].whole = &packets[count];
      in[count].bytes = room.first(size);
      in[count].address = {out.address.remote, out.address.local};
    }
    const double middle = measures_server ? cpu_seconds() : 0;
    if (count != 0) static_cast<void>(to.on_datagrams(std::span(in).first(count), now_ns, drops));
    if (measures_server) server_s += from_server ? middle - began : cpu_seconds() - middle;
    return count;
  }
  void step() {
    asker.now_ns = now_ns;
    const bool moved = pass(*client, *server) + pass(*server, *client) != 0;
    now_ns = moved ? now_ns + 1'000 : std::max(now_ns + 1'000, std::min(client->due_ns(), server->due_ns()));
    if (client->due_ns() <= now_ns) client->on_time(now_ns);
    if (server->due_ns() <= now_ns) server->on_time(now_ns);
  }
};

// Requests a second of both ends together; range: connections. server_ns: what one costs the server.
void h3_get_1k(benchmark::State& state) {
  ends e("/", 32);
  for (int i = 0; i < state.range(0); ++i) e.connect(static_cast<std::uint16_t>(40'000 + i));
  while (e.asker.done < 5'000) e.step();
  const std::uint64_t before = e.asker.done;
  const double server = e.server_s;
  for (auto _ : state) {
    const std::uint64_t goal = e.asker.done + 100;
    while (e.asker.done < goal) e.step();
  }
  const auto done = static_cast<double>(e.asker.done - before);
  state.SetItemsProcessed(static_cast<std::int64_t>(done));
  state.counters["server_ns"] = (e.server_s - server) * 1e9 / done;
  state.counters["failed"] = static_cast<double>(e.asker.failed);
}
BENCHMARK(h3_get_1k)->Arg(1)->Arg(16)->Unit(benchmark::kMicrosecond);

// A body pulled without end; beside bench_quic_endpoint's quic_transfer/1452, which is the same bytes without HTTP.
void h3_stream(benchmark::State& state) {
  ends e("/endless", 1);
  e.measures_server = false;
  e.connect(40'000);
  while (e.asker.bytes < 50'000'000) e.step();
  const std::uint64_t before = e.asker.bytes;
  for (auto _ : state) {
    const std::uint64_t goal = e.asker.bytes + 64 * 1024;
    while (e.asker.bytes < goal) e.step();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(e.asker.bytes - before));
}
BENCHMARK(h3_stream)->Unit(benchmark::kMicrosecond);

}  // namespace

MILLRACE_EAL_BENCH_MAIN("-m", "1024")
