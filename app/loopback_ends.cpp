#include "app/loopback_ends.hpp"

#include "app/quic_server.hpp"
#include "loadgen/h3_load.hpp"
#include "loadgen/hq_load.hpp"

#include <fmt/format.h>

#include "crypto/random.hpp"
#include "env/lcore.hpp"
#include "loadgen/stream_method.hpp"

namespace millrace::app {
namespace {

using base::failure;
using base::outcome;

constexpr std::uint16_t srmp_port = default_srmp_port;
constexpr std::uint16_t quic_port = default_quic_port;
// Packets that a ring takes before the sender waits: as many as a NIC's has descriptors. What is in flight then stays
// in the cache; on a slow wire more are on their way.
constexpr std::uint32_t quic_in_flight = 512;
constexpr std::uint32_t quic_in_flight_slowly = 4096;
constexpr std::uint32_t quic_kept_pkts = 8192;  // of streams with holes: a window's worth
constexpr std::uint32_t most_kept_pkts = 65'536;
constexpr unsigned turns_a_step = 4;  // of each half: a burst in flight here is one that waits there
constexpr std::size_t ipv4_udp_headers = 28;
constexpr std::uint64_t stop_slack_ns = 1'000'000'000;
constexpr std::uint64_t other_end_ns = 500'000'000;  // a full ring: the kernel has taken the other end's CPU away

base::ip_address address(unsigned last) { return base::ip_address::parse("198.18.0." + std::to_string(last)).value(); }

// Nobody else is on these rings: addresses are ours at once, and nothing is announced.
net::host_config host_of(const loopback_options& options, std::uint8_t last) {
  net::host_config host;
  const std::uint8_t other = last == 1 ? 2 : 1;
  const auto mac = [](std::uint8_t of) {
    return net::wire::mac_address{{0x02, 0, 0, 0, 0, of}};
  };  // locally administered
  host.mac = mac(last);
  host.neighbours = {{address(other), mac(other)}};  // known: a wire may be slower than any patience with ARP
  host.mtu = options.mtu;
  host.addresses = {{address(last), 24}};
  host.link_local = false;
  host.dad_transmits = 0;
  host.announce = false;
  // A NIC would put them in and verify them; between two rings nothing can happen to a packet.
  if (!options.software_checksums) host.offload = {.tx_udp = true, .in_memory = true};
  return host;
}

std::uint64_t ns_of(double seconds) noexcept { return static_cast<std::uint64_t>(seconds * 1e9); }

// Long enough for what is in flight on a slow wire, there and back.
std::uint64_t patience_ns(const loopback_options& options) noexcept {
  return stop_slack_ns + 2 * (options.wire.delay_ns + options.wire.hold_back_ns);
}

pipeline::loop_settings loop_of(const loopback_options& options, bool may_sleep) noexcept {
  auto idle = static_cast<pipeline::idle_policy>(options.common.idle);
  if (!may_sleep && idle == pipeline::idle_policy::adaptive) idle = pipeline::idle_policy::poll;
  return {.burst_pkts = options.burst_pkts,
          .idle = idle,
          .tx_patience_ns = other_end_ns,
          .stop_patience_ns = patience_ns(options)};
}

// Replies that may wait to be acknowledged: every window, twice, and the blocks that are not full.
std::uint32_t reply_blocks(const loopback_options& options) {
  constexpr std::uint64_t block_bytes = 2048, least = 1024, most = 1u << 18;
  const std::uint64_t lines = std::uint64_t{options.connections} * options.streams;
  const std::uint64_t bytes = lines * options.window * (options.size + srmp::wire::long_header_size);
  return static_cast<std::uint32_t>(std::clamp(2 * bytes / block_bytes + 4 * lines, least, most));
}

// For what the options ask, and no more.
quic::endpoint::endpoint_settings endpoint_of(const loopback_options& options) {
  quic::endpoint::endpoint_settings s = quic_config::default_endpoint();
  const std::uint32_t connections = options.connections;
  s.connections = connections + 16;
  s.handshakes = connections + 16;
  s.streams = connections * (options.streams + 8u + (options.is_h3() ? loadgen::h3_standing_streams : 0u));
  s.sent_blocks = std::max(s.sent_blocks, 8 * connections);
  s.transport.streams_bidi = std::max<std::uint64_t>(options.streams, 16);
  s.transport.max_datagram_bytes = static_cast<std::uint16_t>(options.mtu - ipv4_udp_headers);
  s.transport.max_udp_payload = s.transport.max_datagram_bytes;
  s.transport.idle_timeout_ns = 30'000'000'000 + 4 * options.wire.delay_ns;
  s.sources.source_handshakes = s.sources.source_unproven = {0, 1};  // our own client is no stranger
  s.sources.retry = quic::endpoint::retry_mode::never;
  s.sources.most_half_open = connections + 16;
  return s;
}

loadgen::fetch_settings body_settings(const loopback_options& options) {
  loadgen::fetch_settings s;
  s.target = {address(1), quic_port};
  s.server_name = "localhost";
  s.connections = options.connections;
  s.window = options.streams;
  s.requests = options.requests;
  s.duration_ns = ns_of(options.duration_s);
  if (options.workload == loopback_workload::h3_json) {
    s.path = "/json";
  } else {
    s.path = "/bytes/" + std::to_string(options.size);
    s.expected_bytes = options.size;
    s.checks_pattern = true;
  }
  if (options.is_h3()) s.standing_streams = loadgen::h3_standing_streams;
  s.endpoint = endpoint_of(options);
  return s;
}

loadgen::load_settings echo_settings(const loopback_options& options) {
  loadgen::load_settings s;
  s.target = {address(1), srmp_port};
  s.connections = options.connections;
  s.window = options.streams;
  s.rate = options.rate;
  s.requests = options.requests;
  s.duration_ns = ns_of(options.duration_s);
  s.timeout_ns = ns_of(options.timeout_s) + 2 * options.wire.delay_ns;
  s.size = static_cast<std::uint32_t>(options.size);
  s.fill = options.fill;
  if (!options.method.empty()) {
    s.ask = options.method == "Echo" ? loadgen::load_ask::rpc_echo : loadgen::load_ask::rpc_call;
    s.method = options.method;
  }
  return s;
}

loadgen::srmp_quic_settings quic_echo_settings(const loopback_options& options) {
  loadgen::srmp_quic_settings s;
  s.load = echo_settings(options);
  s.load.target.port = quic_port;
  s.load.window = options.window;
  s.streams = options.streams;
  s.server_name = "localhost";
  s.endpoint = endpoint_of(options);
  static_cast<void>(loadgen::fit(s));
  return s;
}

serve_config server_config(const loopback_options& options, bool may_sleep) {
  serve_config config = default_config();
  interface_config& at = config.interfaces.front();
  at.own_mac = at.own_mtu = true;
  at.host = host_of(options, 1);
  config.srmp.port = srmp_port;
  const bool raw = options.workload == loopback_workload::srmp_echo && options.method.empty();
  config.srmp.answer = raw ? srmp_answer::echo : srmp_answer::rpc;
  config.srmp.amplification.bytes = {0, 0};  // our own client is no victim
  if (options.workload == loopback_workload::srmp_stream)
    config.srmp.rpc.max_items = static_cast<std::uint32_t>(options.size / stream_item(options) + 1);
  config.quic.port = options.is_quic() ? quic_port : 0;
  if (options.is_quic()) config.srmp.port = 0;
  config.quic.srmp = options.is_srmp_quic();
  config.quic.h3 = options.is_h3();
  config.quic.echo = false;
  config.quic.reply_blocks = reply_blocks(options);
  config.quic.endpoint = endpoint_of(options);
  config.quic.keylog.clear();
  config.loop = loop_of(options, may_sleep);
  return config;
}

template <class Settings>
Settings share_of(const Settings& all, std::uint16_t i, std::uint16_t n) {
  Settings s = all;
  const auto part = [&](std::uint64_t whole) { return whole * (i + 1u) / n - whole * i / n; };
  s.connections = static_cast<std::uint16_t>(part(all.connections));
  s.first_port = static_cast<std::uint16_t>(all.first_port + std::uint64_t{all.connections} * i / n);
  s.requests = part(all.requests);
  return s;
}

loadgen::stream_settings stream_settings(const loopback_options& options) {
  loadgen::stream_settings s;
  s.target = {address(1), srmp_port};
  s.connections = options.connections;
  s.window = options.streams;
  s.requests = options.requests;
  s.duration_ns = ns_of(options.duration_s);
  s.bytes = options.size;
  s.item = stream_item(options);
  s.method = stream_method_name;
  s.stall_ns = ns_of(options.timeout_s) + 2 * options.wire.delay_ns;
  s.linger_ns = 5 * options.wire.hold_back_ns;
  return s;
}

}  // namespace

std::size_t expected_endpoint_bytes(const loopback_options& options, std::size_t lcores) {
  if (!options.is_quic()) return 0;
  quic_config config;
  config.endpoint = endpoint_of(options);
  config.srmp = options.is_srmp_quic();
  config.h3 = options.is_h3();
  config.echo = false;
  config.reply_blocks = reply_blocks(options);
  return expected_quic_bytes(config, lcores) + lcores * (config.srmp
                                                             ? loadgen::memory_bytes(quic_echo_settings(options))
                                                             : loadgen::memory_bytes(body_settings(options)));
}

// An item is answered in one datagram, which holds a frame's header, the method's name and the data's length; in the
// data stands the item's place.
std::uint32_t largest_item(const loopback_options& options) noexcept {
  const std::size_t front = ipv4_udp_headers + srmp::wire::short_header_size +
                            rpc::wire::encoded_size(stream_method_name.size(), rpc::wire::form::plain, true, 0) +
                            loadgen::stream_pattern::front_size;
  return static_cast<std::uint32_t>(std::min<std::size_t>(options.mtu - front, loadgen::stream_pattern::max_item));
}

std::uint32_t stream_item(const loopback_options& options) noexcept {
  return options.item != 0 ? static_cast<std::uint32_t>(options.item) : largest_item(options);
}

std::uint32_t kept_packets(const loopback_options& options) noexcept {
  if (options.is_fetch()) return quic_kept_pkts;
  loadgen::srmp_quic_settings s = quic_echo_settings(options);
  return std::max(quic_kept_pkts, std::min(loadgen::fit(s), most_kept_pkts));
}

std::uint64_t most_in_flight(const loopback_options& options) noexcept {
  const std::uint64_t asked = std::uint64_t{options.connections} * options.streams;
  if (options.is_quic()) return options.wire.is_needed() ? quic_in_flight_slowly : quic_in_flight;
  if (options.workload == loopback_workload::srmp_stream) return asked * (options.size / stream_item(options) + 2);
  return asked * (options.size / (options.mtu - ipv4_udp_headers) + 1);
}

outcome check_ends(const loopback_options& options) {
  if (options.is_fetch()) return base::done{};
  if (options.is_srmp_quic()) {
    if (auto sound = check(quic_echo_settings(options)); !sound)
      return failure{"loopback: " + sound.error().what, sound.error().hint, true};
    return base::done{};
  }
  const bool streams = options.workload == loopback_workload::srmp_stream;
  if (options.item > largest_item(options))
    return failure{"loopback: --item: " + std::to_string(options.item) + " bytes do not fit a datagram of --mtu " +
                       std::to_string(options.mtu),
                   "at most " + std::to_string(largest_item(options)), true};
  auto sound = streams ? check(stream_settings(options)) : check(echo_settings(options));
  if (!sound) return failure{"loopback: " + sound.error().what, sound.error().hint, true};
  // A ring that cannot hold what the windows let is a run that measures its own drops.
  if (const std::uint64_t packets = most_in_flight(options); packets > most_ring_packets)
    return failure{
        "loopback: " + std::to_string(packets) + " packets would be in flight at once, more than " +
            std::to_string(most_ring_packets),
        streams ? "a smaller --size, or fewer --connections or --streams" : "fewer --connections or --streams", true};
  return base::done{};
}

base::result<std::unique_ptr<loopback_ends>> loopback_ends::make(const loopback_options& options, const ring_pair& pair,
                                                                 mem::packet_pool& pool,
                                                                 std::span<const unsigned> lcores, unsigned main) {
  auto made = std::make_unique<loopback_ends>();
  made->main_ = main;
  made->asked_echoes_ = echo_settings(options);
  made->asked_streams_ = stream_settings(options);
  made->asked_bodies_ = body_settings(options);
  made->asked_quic_echoes_ = quic_echo_settings(options);
  if (options.is_quic())
    if (auto tls = made->make_tls(options); !tls) return tls.error();
  if (auto server = made->make_server(options, pair, pool, lcores); !server) return server.error();
  const auto count = static_cast<std::uint16_t>(made->server_->loops());
  for (std::uint16_t i = 0; i < count; ++i)
    if (auto client = made->make_client(options, pair, pool, i, count); !client) return client.error();
  if (options.wire.is_needed()) made->add_wires(options);
  return made;
}

outcome loopback_ends::make_tls(const loopback_options& options) {
  auto trust = tls::client_trust::anybody();
  if (!trust) return trust.error();
  tls::client_settings client;
  client.trust = std::move(trust.value());
  client.protocols = {std::string(options.is_srmp_quic() ? pipeline::srmp_protocol
                                  : options.is_h3()      ? h3::protocol
                                                         : pipeline::hq_protocol)};
  auto context = tls::client_context::make(std::move(client));
  if (!context) return context.error();
  asked_bodies_.tls = asked_quic_echoes_.tls = std::move(context.value());
  return base::done{};
}

outcome loopback_ends::make_server(const loopback_options& options, const ring_pair& pair, mem::packet_pool& pool,
                                   std::span<const unsigned> lcores) {
  const port::port* const ports[] = {&pair.first()};
  auto server = appliance::make(server_config(options, !lcores.empty()), ports, lcores, pool, "loopback");
  if (!server) return server.error();
  server_ = std::move(server.value());
  if (rpc::method_table* methods = server_->methods())
    if (methods->add(stream_method_name, loadgen::answer_stream, &pattern_) != rpc::add_errc::ok)
      return failure{"the method that streams does not fit the server's table", ""};
  return base::done{};
}

outcome loopback_ends::make_client(const loopback_options& options, const ring_pair& pair, mem::packet_pool& pool,
                                   std::uint16_t which, std::uint16_t of) {
  pipeline::loop_interface at{
      .port = pair.second().id(), .rx_queue = which, .tx_queue = which, .host = host_of(options, 2)};
  at.host.instance = which;
  at.host.instances = of;
  std::array<std::uint8_t, sizeof at.host.seed> secret;
  if (!crypto::random_bytes(secret)) return failure{"the kernel gives no random bytes", ""};
  std::memcpy(&at.host.seed, secret.data(), sizeof at.host.seed);
  // Several clients on one lcore must not sleep for each other.
  auto loop = pipeline::service_loop::make(loop_of(options, server_->has_lcores() && of == 1), {&at, 1}, pool);
  if (!loop) return loop.error();
  clients_.push_back(std::move(loop.value()));
  const auto begin = [&]<class Load>(std::type_identity<Load>, auto& loads, auto&&... made_of) -> outcome {
    auto load = Load::make(made_of...);
    if (!load) return load.error();
    loads.push_back(std::move(load.value()));
    return loads.back()->open_on(*clients_.back());
  };
  if (options.workload == loopback_workload::srmp_stream)
    return begin(std::type_identity<loadgen::stream_load>{}, streams_, share_of(asked_streams_, which, of));
  if (options.workload == loopback_workload::quic_stream)
    return begin(std::type_identity<loadgen::hq_load>{}, bodies_, share_of(asked_bodies_, which, of), pool);
  if (options.is_h3())
    return begin(std::type_identity<loadgen::h3_load>{}, bodies_, share_of(asked_bodies_, which, of), pool);
  const auto with_rate = [&](loadgen::load_settings all) {
    loadgen::load_settings mine = share_of(all, which, of);
    mine.share = which;
    mine.shares = of;
    return mine;
  };
  if (!options.is_srmp_quic())
    return begin(std::type_identity<loadgen::srmp_load>{}, echoes_, with_rate(asked_echoes_));
  loadgen::srmp_quic_settings mine = asked_quic_echoes_;
  mine.load = with_rate(mine.load);
  return begin(std::type_identity<loadgen::srmp_quic_load>{}, quic_echoes_, mine, pool);
}

// One in each direction of each queue pair, with a seed of its own.
void loopback_ends::add_wires(const loopback_options& options) {
  pipeline::impairment_settings settings = options.wire;
  const auto lay = [&](pipeline::service_loop& to) {
    wires_.push_back(std::make_unique<pipeline::impairment>(settings));
    to.receive_through(0, wires_.back().get());
    ++settings.seed;
  };
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    lay(server_->loop(i));
    lay(*clients_[i]);
  }
}

outcome loopback_ends::start() {
  cpu_ns_ = env::thread_cpu_ns();
  return server_->start();
}

void loopback_ends::step() noexcept {
  for (const auto& client : clients_) {
    const mem::heap_watch watch(client->counters().heap);
    client->turns(turns_a_step);
  }
  if (!server_->has_lcores()) server_->slice(turns_a_step);
}

bool loopback_ends::is_done() const noexcept {
  for (const auto& one : echoes_)
    if (!one->is_done()) return false;
  for (const auto& one : streams_)
    if (!one->is_done()) return false;
  for (const auto& one : bodies_)
    if (!one->is_done()) return false;
  for (const auto& one : quic_echoes_)
    if (!one->is_done()) return false;
  return true;
}

void loopback_ends::tell_to_stop() noexcept {
  for (const auto& client : clients_) {
    const mem::heap_watch watch(client->counters().heap);
    client->tell_services_to_stop();
  }
}

void loopback_ends::finish() noexcept {
  server_->stop();
  for (const auto& client : clients_) {
    const mem::heap_watch watch(client->counters().heap);
    client->finish();
  }
  if (server_->has_lcores())  // else it has counted the time of this lcore
    clients_.front()->counters().add(pipeline::count::cpu_ns, env::thread_cpu_ns() - cpu_ns_);
}

std::uint64_t loopback_ends::handshake_heap_calls() const noexcept {
  std::uint64_t sum = server_->handshake_heap_calls();
  for (const auto& one : bodies_) sum += one->endpoint().handshake_heap_calls();
  for (const auto& one : quic_echoes_) sum += one->endpoint().handshake_heap_calls();
  return sum;
}

std::string loopback_ends::describe() const {
  std::string text = server_->describe();
  text += "lcore " + std::to_string(main_) + ": " + std::to_string(clients_.size()) + " client" +
          (clients_.size() == 1 ? "" : "s") + (server_->has_lcores() ? "" : ", and the server, in turn") + "\n";
  return text;
}

std::string loopback_ends::wires_text() const {
  if (wires_.empty()) return {};
  std::uint64_t taken = 0, lost = 0, held_back = 0, overtaken = 0, full = 0;
  for (const auto& one : wires_) {
    const pipeline::impairment_figures& f = one->figures();
    taken += f.taken.get();
    lost += f.lost.get();
    held_back += f.held_back.get();
    overtaken += f.overtaken.get();
    full += f.full.get();
  }
  std::string text = fmt::format("  wires     {} packets, {} lost, {} held back, of which {} were overtaken", taken,
                                 lost, held_back, overtaken);
  if (full != 0) text += fmt::format("; full {} times", full);
  return text + "\n";
}

std::vector<loopback_ends::half> loopback_ends::halves() const {
  std::vector<half> all;
  for (std::size_t i = 0; i < server_->loops(); ++i) all.push_back({server_->lcore_of(i), true, server_->of_loop(i)});
  half clients{main_, false, {}};
  for (const auto& client : clients_) clients.did += client->total();
  all.push_back(clients);
  return all;
}

}  // namespace millrace::app
