#include "app/load_quic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <type_traits>

#include "loadgen/h3_load.hpp"
#include "loadgen/hq_load.hpp"
#include "pipeline/hq_server.hpp"
#include "pipeline/service_loop.hpp"
#include "pipeline/srmp_session.hpp"

namespace millrace::app {
namespace {

using base::failure;
using loadgen::fetch_settings;
using loadgen::srmp_quic_settings;

// Ethernet, a VLAN tag, IPv6, UDP: what of a packet buffer is no UDP payload.
constexpr std::size_t headers_most = 14 + 4 + 40 + 8;
constexpr std::uint16_t smallest_datagram = 1200;

base::result<std::shared_ptr<const tls::client_trust>> trust_of(const load_quic_options& options) {
  if (!options.ca.empty()) return tls::client_trust::authorities_in(options.ca);
  if (options.pin.empty()) return tls::client_trust::anybody();
  auto pinned = tls::client_trust::pinned(options.pin);
  if (!pinned) return failure{"load: --pin '" + options.pin + "': " + pinned.error().what, pinned.error().hint, true};
  return pinned;
}

std::vector<std::string> cipher_names(const tls::algorithms& offered) {
  std::vector<std::string> out;
  for (const tls::cipher_suite suite : offered.suites)
    out.emplace_back(suite == tls::cipher_suite::aes_128_gcm_sha256   ? "aes128"
                     : suite == tls::cipher_suite::aes_256_gcm_sha384 ? "aes256"
                                                                      : "chacha20");
  return out;
}

std::string_view congestion_name(quic::recovery::congestion_kind kind) noexcept {
  switch (kind) {
    case quic::recovery::congestion_kind::cubic:
      return "cubic";
    case quic::recovery::congestion_kind::new_reno:
      return "new-reno";
    case quic::recovery::congestion_kind::bbr:
      return "bbr";
  }
  return "cubic";
}

template <class Number>
Number part_of(Number whole, std::size_t i, std::size_t n) noexcept {
  return static_cast<Number>(std::uint64_t{whole} * (i + 1) / n - std::uint64_t{whole} * i / n);
}

// Settings of generator `i` of `n`, with pools of the size of its share.
fetch_settings share_of(const fetch_settings& all, std::size_t i, std::size_t n) {
  fetch_settings s = all;
  s.connections = part_of(all.connections, i, n);
  s.first_port = static_cast<std::uint16_t>(all.first_port + std::uint64_t{all.connections} * i / n);
  s.port_step = all.connections;
  s.requests = part_of(all.requests, i, n);
  s.endpoint.lcore = static_cast<std::uint8_t>(i);
  static_cast<void>(fit(s));
  return s;
}

srmp_quic_settings share_of(const srmp_quic_settings& all, std::size_t i, std::size_t n) {
  srmp_quic_settings s = all;
  s.load.connections = part_of(all.load.connections, i, n);
  s.load.first_port = static_cast<std::uint16_t>(all.load.first_port + std::uint64_t{all.load.connections} * i / n);
  s.load.requests = part_of(all.load.requests, i, n);
  s.load.share = static_cast<std::uint16_t>(i);
  s.load.shares = static_cast<std::uint16_t>(n);
  s.endpoint.lcore = static_cast<std::uint8_t>(i);
  static_cast<void>(fit(s));
  return s;
}

template <class Settings>
quic_need need_of(const Settings& all, std::uint16_t connections, std::size_t lcores) {
  quic_need need;
  const std::size_t n = std::max<std::size_t>(1, std::min<std::size_t>(lcores, connections));
  for (std::size_t i = 0; i < n; ++i) {
    Settings s = share_of(all, i, n);
    need.packets += fit(s);
    need.memory_bytes += memory_bytes(s) + 65'536;  // and its key log
  }
  return need;
}

// What both schemes have.
void add_quic_workload(const load_quic_options& options, workload_parameters& out) {
  const quic::endpoint::endpoint_settings& e = options.asked.endpoint;
  out.add("quic_version", fmt::format("{:#010x}", options.asked.version));
  out.add("max_datagram", e.transport.max_datagram_bytes);
  out.add("congestion", congestion_name(e.transport.congestion));
  out.add("ciphers", cipher_names(options.offered));
  out.add("server_name", options.asked.server_name);
  out.add("insecure", options.ca.empty() && options.pin.empty());
}

}  // namespace

quic_need expected_quic(load_scheme scheme, const load_quic_options& options, std::size_t lcores) {
  return is_fetch(scheme) ? need_of(options.asked, options.asked.connections, lcores)
                          : need_of(options.messages, options.messages.load.connections, lcores);
}

base::result<std::unique_ptr<quic_clients>> quic_clients::make(load_scheme scheme, const load_quic_options& options) {
  auto made = std::make_unique<quic_clients>(scheme, options);
  auto trust = trust_of(options);
  if (!trust) return trust.error();
  made->trust_ = std::move(trust.value());
  const std::string path = options.keylog.empty() ? tls::key_log_file::path_of_environment() : options.keylog;
  if (path.empty()) return made;
  auto file = tls::key_log_file::open(path);
  if (!file) return file.error();
  made->key_log_ = std::move(file.value());
  made->logs_keys_ = true;
  return made;
}

base::result<std::shared_ptr<const tls::client_context>> quic_clients::make_context(std::string_view protocol) {
  tls::client_settings client;
  client.trust = trust_;
  client.protocols = {std::string(protocol)};
  client.offered = options_.offered;
  if (logs_keys_) {
    logs_.push_back(std::make_unique<log>());
    if (!logs_.back()->queue.has_room()) return failure{"no memory for the key log", ""};
    client.key_log = logs_.back()->queue.sink();
  }
  return tls::client_context::make(std::move(client));
}

base::outcome quic_clients::add(std::size_t i, std::size_t n, mem::packet_pool& pool, pipeline::service_loop& loop) {
  const std::size_t room = pool.data_room() > headers_most ? pool.data_room() - headers_most : 0;
  const auto max_udp_payload = static_cast<std::uint16_t>(std::max<std::size_t>(room, smallest_datagram));
  const auto begin = [&]<class Load>(std::type_identity<Load>, auto mine, std::string_view protocol,
                                     auto& loads) -> base::outcome {
    auto context = make_context(protocol);
    if (!context) return context.error();
    mine.tls = std::move(context.value());
    mine.endpoint.transport.max_udp_payload = max_udp_payload;
    auto load = Load::make(mine, pool);
    if (!load) return load.error();
    loads.push_back(std::move(load.value()));
    return loads.back()->open_on(loop);
  };
  using namespace loadgen;
  if (scheme_ == load_scheme::srmp_quic)
    return begin(std::type_identity<srmp_quic_load>{}, share_of(options_.messages, i, n), pipeline::srmp_protocol,
                 messages_);
  const fetch_settings mine = share_of(options_.asked, i, n);
  return scheme_ == load_scheme::h3 ? begin(std::type_identity<h3_load>{}, mine, h3::protocol, bodies_)
                                    : begin(std::type_identity<hq_load>{}, mine, pipeline::hq_protocol, bodies_);
}

bool quic_clients::write_key_log() noexcept {
  bool whole = true;
  for (const auto& one : logs_) whole &= key_log_.write_from(one->queue);
  return whole;
}

bool quic_clients::is_done() const noexcept {
  const auto done = [](const auto& one) { return one->is_done(); };
  return std::ranges::all_of(bodies_, done) && std::ranges::all_of(messages_, done);
}

std::string_view quic_clients::trust_text() const noexcept {
  return trust_->verifies()  ? "the server's certificate is checked with --ca"
         : trust_->has_pin() ? "the server's key is checked with --pin"
                             : "the server's certificate is not checked";
}

void add_fetch_workload(load_scheme scheme, const load_quic_options& options, workload_parameters& out) {
  const fetch_settings& s = options.asked;
  std::array<char, base::endpoint::max_text_size> text;
  out.add("target", std::string_view(text.data(), s.target.format_to(text)));
  out.add("ask", to_string(scheme));
  out.add("path", s.path);
  out.add("connections", s.connections);
  out.add("streams", s.window);
  out.add("requests", s.requests);
  out.add("duration", static_cast<double>(s.duration_ns) / 1e9);
  out.add("patience", static_cast<double>(s.patience_ns) / 1e9);
  out.add("requests_each", s.requests_each);
  out.add("resume", s.resumes);
  out.add("early_data", s.early_data);
  out.add("key_update", s.update_keys_every);
  out.add("migrate_every", static_cast<double>(s.migrate_every_ns) / 1e9);
  add_quic_workload(options, out);
}

void add_srmp_quic_workload(const load_quic_options& options, workload_parameters& out) {
  out.add("streams", options.messages.streams);
  out.add("window", options.messages.load.window);
  out.add("patience", static_cast<double>(options.messages.load.patience_ns) / 1e9);
  add_quic_workload(options, out);
}

}  // namespace millrace::app
