#include "app/load_hq.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "pipeline/hq_server.hpp"
#include "pipeline/service_loop.hpp"

namespace millrace::app {
namespace {

using base::failure;
using loadgen::hq_settings;

// Ethernet, a VLAN tag, IPv6, UDP: what of a packet buffer is no UDP payload.
constexpr std::size_t headers_most = 14 + 4 + 40 + 8;
constexpr std::uint16_t smallest_datagram = 1200;

base::result<std::shared_ptr<const tls::client_trust>> trust_of(const load_hq_options& options) {
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

}  // namespace

hq_settings hq_share(const hq_settings& all, std::size_t i, std::size_t n) {
  hq_settings s = all;
  const auto part = [&](std::uint64_t whole) { return whole * (i + 1) / n - whole * i / n; };
  s.connections = static_cast<std::uint16_t>(part(all.connections));
  s.first_port = static_cast<std::uint16_t>(all.first_port + std::uint64_t{all.connections} * i / n);
  s.port_step = all.connections;
  s.requests = part(all.requests);
  s.endpoint.lcore = static_cast<std::uint8_t>(i);
  static_cast<void>(fit(s));
  return s;
}

hq_need expected_hq(const hq_settings& all, std::size_t lcores) {
  hq_need need;
  const std::size_t n = std::max<std::size_t>(1, std::min<std::size_t>(lcores, all.connections));
  for (std::size_t i = 0; i < n; ++i) {
    hq_settings s = hq_share(all, i, n);
    need.packets += fit(s);
    need.memory_bytes += memory_bytes(s) + 65'536;  // and its key log
  }
  return need;
}

base::result<std::unique_ptr<hq_clients>> hq_clients::make(const load_hq_options& options) {
  auto made = std::make_unique<hq_clients>();
  made->options_ = options;
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

base::outcome hq_clients::add(std::size_t i, std::size_t n, mem::packet_pool& pool, pipeline::service_loop& loop) {
  tls::client_settings client;
  client.trust = trust_;
  client.protocols = {std::string(pipeline::hq_protocol)};
  client.offered = options_.offered;
  if (logs_keys_) {
    logs_.push_back(std::make_unique<log>());
    if (!logs_.back()->queue.has_room()) return failure{"no memory for the key log", ""};
    client.key_log = logs_.back()->queue.sink();
  }
  auto context = tls::client_context::make(std::move(client));
  if (!context) return context.error();
  hq_settings mine = hq_share(options_.asked, i, n);
  mine.tls = std::move(context.value());
  const std::size_t room = pool.data_room() > headers_most ? pool.data_room() - headers_most : 0;
  mine.endpoint.transport.max_udp_payload = static_cast<std::uint16_t>(std::max<std::size_t>(room, smallest_datagram));
  auto load = loadgen::hq_load::make(mine, pool);
  if (!load) return load.error();
  loads_.push_back(std::move(load.value()));
  return loads_.back()->open_on(loop);
}

bool hq_clients::write_key_log() noexcept {
  bool whole = true;
  for (const auto& one : logs_) whole &= key_log_.write_from(one->queue);
  return whole;
}

bool hq_clients::is_done() const noexcept {
  return std::all_of(loads_.begin(), loads_.end(), [](const auto& one) { return one->is_done(); });
}

std::string_view hq_clients::trust_text() const noexcept {
  return trust_->verifies()  ? "the server's certificate is checked with --ca"
         : trust_->has_pin() ? "the server's key is checked with --pin"
                             : "the server's certificate is not checked";
}

void add_hq_workload(const load_hq_options& options, workload_parameters& out) {
  const hq_settings& s = options.asked;
  std::array<char, base::endpoint::max_text_size> text;
  out.add("target", std::string_view(text.data(), s.target.format_to(text)));
  out.add("ask", "hq");
  out.add("path", s.path);
  out.add("connections", s.connections);
  out.add("streams", s.window);
  out.add("requests", s.requests);
  out.add("duration", static_cast<double>(s.duration_ns) / 1e9);
  out.add("patience", static_cast<double>(s.patience_ns) / 1e9);
  out.add("requests_each", s.requests_each);
  out.add("resume", s.resumes);
  out.add("early_data", s.early_data);
  out.add("quic_version", fmt::format("{:#010x}", s.version));
  out.add("key_update", s.update_keys_every);
  out.add("max_datagram", s.endpoint.transport.max_datagram_bytes);
  out.add("congestion", congestion_name(s.endpoint.transport.congestion));
  out.add("migrate_every", static_cast<double>(s.migrate_every_ns) / 1e9);
  out.add("ciphers", cipher_names(options.offered));
  out.add("server_name", s.server_name);
  out.add("insecure", options.ca.empty() && options.pin.empty());
}

}  // namespace millrace::app
