// A unit is what one lcore runs: a loop, its services, and the watch over its addresses. Units share nothing but the
// pool and the table of methods, which is only read.

#include "app/appliance.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <iterator>

#include "app/address_watch.hpp"
#include "app/appliance_stats.hpp"
#include "app/quic_server.hpp"
#include "app/version.hpp"
#include "crypto/random.hpp"
#include "env/lcore.hpp"
#include "pipeline/srmp_service.hpp"
#include "pipeline/udp_echo_service.hpp"
#include "rpc/builtin.hpp"

namespace millrace::app {
namespace {

using base::failure;
using base::outcome;
using pipeline::count;
using pipeline::figures;
using rpc_over_srmp = pipeline::srmp_service<rpc::service>;
using echo_over_srmp = pipeline::srmp_service<srmp::echo_handler>;
using kinds = std::vector<std::pair<std::string, std::uint64_t>>;

constexpr std::size_t ipv4_udp_headers = 28;
constexpr std::size_t ipv6_udp_headers = 48;

void add(kinds& to, std::string_view kind, std::uint64_t n) {
  if (n == 0) return;
  const auto known = std::find_if(to.begin(), to.end(), [&](const auto& one) { return one.first == kind; });
  if (known == to.end())
    to.emplace_back(kind, n);
  else
    known->second += n;
}

bool has_ipv6(const net::host_config& host) {
  return std::any_of(host.addresses.begin(), host.addresses.end(),
                     [](const net::host_address& a) { return a.address.family == base::ip_family::v6; });
}

struct unit {
  unsigned lcore = 0;
  srmp::echo_handler echoes;
  std::unique_ptr<rpc::service> calls;
  std::unique_ptr<rpc_over_srmp> srmp_calls;  // one of these two, or none
  std::unique_ptr<echo_over_srmp> srmp_echoes;
  std::unique_ptr<pipeline::udp_echo_service> echo;
  std::unique_ptr<quic_server> quic;
  address_watch watch;
  std::unique_ptr<pipeline::service_loop> loop;  // gone before what it calls
  const std::atomic<bool>* stop = nullptr;

  [[nodiscard]] const srmp::server_counters* served() const noexcept {
    return srmp_calls ? &srmp_calls->counters() : srmp_echoes ? &srmp_echoes->counters() : nullptr;
  }
  [[nodiscard]] const pipeline::sink_counters* sent() const noexcept {
    return srmp_calls ? &srmp_calls->sent() : srmp_echoes ? &srmp_echoes->sent() : nullptr;
  }
};

void add_srmp_errors(const unit& u, kinds& to) {
  if (const srmp::server_counters* s = u.served(); s != nullptr) {
    add(to, "srmp_truncated", s->truncated.get());
    add(to, "srmp_malformed", s->malformed.get());
    add(to, "srmp_stray_replies", s->stray_replies.get());
    add(to, "srmp_unanswered", s->unanswered.get());
    add(to, "srmp_reply_too_large", s->reply_too_large.get());
    add(to, "srmp_reply_no_buffer", s->reply_no_buffer.get());
    add(to, "srmp_withheld", u.sent()->withheld.get());
    add(to, "srmp_not_sent", u.sent()->not_sent.get());
  }
  if (!u.calls) return;
  const rpc::service_counters& c = u.calls->counters();
  add(to, "rpc_malformed", c.malformed.get());
  add(to, "rpc_bad_names", c.bad_names.get());
  add(to, "rpc_unknown", c.unknown.get());
  add(to, "rpc_unauthorized", c.unauthorized.get());
  add(to, "rpc_failed", c.failed.get());
  add(to, "rpc_streams_cut", c.streams_cut.get());
}

void add_host_errors(const net::host_figures& f, kinds& to) {
  add(to, "address_conflicts", f.address_conflicts.get());
  add(to, "neighbour_conflicts", f.neighbour_conflicts.get());
  add(to, "icmp_errors_received", f.errors_received.get());
  add(to, "icmp_errors_limited", f.errors_limited.get());
  add(to, "solicits_limited", f.solicits_limited.get());
  add(to, "reassembly_timeouts", f.reassembly_timeouts.get());
  add(to, "reassembly_evicted", f.reassembly_evicted.get());
  add(to, "no_packet", f.no_packet.get());
  add(to, "news_lost", f.news_lost.get());
}

}  // namespace

struct appliance::parts {
  serve_config config;
  std::vector<const port::port*> ports;
  std::unique_ptr<rpc::method_table> methods;
  std::string version{app::version()};
  rpc::server_facts facts;
  std::unique_ptr<quic_shared> quic;
  std::unique_ptr<service::site> site;  // outlives the exchanges of the units
  std::unique_ptr<appliance_stats> stats;
  std::vector<std::unique_ptr<unit>> units;
  pipeline::lcore_counters drained;
  bool own_lcores = false;
  bool running = false;
  std::uint64_t turned_cpu_ns = 0;  // CPU time of the calling lcore at its first slice(); 0 before
  alignas(64) std::atomic<bool> stop{false};

  // Rings have no MAC of their own: a locally administered one, by the port's number.
  [[nodiscard]] static std::array<std::uint8_t, 6> mac_of(const port::port_facts& port) {
    if (port.mac != port::mac_address{}) return port.mac;
    return {0x02, 0, 0, 0, static_cast<std::uint8_t>((port.id + 1) >> 8), static_cast<std::uint8_t>(port.id + 1)};
  }

  // MAC, MTU and offloads are the port's where the configuration says nothing.
  [[nodiscard]] net::host_config host_of(std::size_t interface, std::uint16_t instance, std::uint16_t instances,
                                         std::uint64_t seed) const {
    const interface_config& c = config.interfaces[interface];
    const port::port_plan& plan = ports[interface]->plan();
    net::host_config host = c.host;
    if (!c.own_mac) host.mac.octets = mac_of(plan.facts);
    if (!c.own_mtu) host.mtu = plan.facts.mtu;
    host.limits = config.limits;
    if (!host.offload.in_memory)
      host.offload = {.tx_ipv4 = plan.use.tx_ipv4_checksum, .tx_udp = plan.use.tx_udp_checksum};
    host.instance = instance;
    host.instances = instances;
    host.seed = seed;
    return host;
  }

  // What every interface carries in one packet, to callers of any family that it has addresses of.
  [[nodiscard]] std::size_t batch_bytes() const {
    std::size_t least = config.srmp.batch_bytes != 0 ? config.srmp.batch_bytes : SIZE_MAX;
    for (std::size_t i = 0; i < config.interfaces.size(); ++i) {
      const net::host_config host = host_of(i, 0, 1, 0);
      least = std::min(least, host.mtu - (has_ipv6(host) ? ipv6_udp_headers : ipv4_udp_headers));
    }
    return least;
  }

  // What every interface carries of a QUIC datagram, and what a packet takes.
  [[nodiscard]] quic_link link_of(const mem::packet_pool& pool) const {
    std::size_t least = UINT16_MAX;
    for (std::size_t i = 0; i < config.interfaces.size(); ++i) {
      const net::host_config host = host_of(i, 0, 1, 0);
      least = std::min<std::size_t>(least, host.mtu - (has_ipv6(host) ? ipv6_udp_headers : ipv4_udp_headers));
    }
    return {.datagram_bytes = static_cast<std::uint16_t>(least),
            .receive_bytes = static_cast<std::uint16_t>(std::min<std::size_t>(least, pool.data_room()))};
  }

  outcome make_quic(std::size_t lcores) {
    if (config.quic.port == 0) return base::done{};
    auto made = quic_shared::make(config.quic, lcores);
    if (!made) return made.error();
    quic = std::move(made.value());
    return base::done{};
  }

  outcome make_site(std::size_t lcores) {
    const std::vector<service::site_directory> directories = directories_of(config);
    if (directories.empty() || config.quic.port == 0 || !config.quic.h3) return base::done{};
    auto made = service::site::make(directories, config.http.limits, lcores);
    if (!made) return made.error();
    site = std::move(made.value());
    stats->add(*site);
    return base::done{};
  }

  outcome make_methods() {
    if (!serves_srmp() || config.srmp.answer != srmp_answer::rpc) return base::done{};
    methods = rpc::method_table::make();
    if (!methods) return failure{"no memory for the table of methods", ""};
    facts.version = version;
    if (rpc::add_builtins(*methods, facts) != rpc::add_errc::ok)
      return failure{"the built-in methods do not fit their table", ""};
    return base::done{};
  }

  // Calls and echoes are answered by the same objects over UDP and over QUIC.
  [[nodiscard]] bool serves_srmp() const noexcept {
    return config.srmp.port != 0 || (config.quic.port != 0 && config.quic.srmp);
  }

  outcome open_services(unit& u, std::size_t which, mem::packet_pool& pool) {
    quic_srmp answers{.calls = nullptr, .echoes = nullptr, .peers = config.srmp.peers};
    if (serves_srmp() && config.srmp.answer == srmp_answer::rpc) {
      u.calls = rpc::service::make(*methods, config.srmp.rpc);
      if (!u.calls) return failure{"no memory for calls of methods", "lower max-json-bytes in [rpc]"};
      answers.calls = u.calls.get();
    } else {
      answers.echoes = &u.echoes;
    }
    if (quic) {
      auto made = quic_server::make(*quic, which, link_of(pool), pool, answers,
                                    {.stats = stats.get(),
                                     .site = site.get(),
                                     .lcore = which,
                                     // What is left of the loop's patience is for goodbyes.
                                     .drain_ns = config.loop.stop_patience_ns / 5 * 4});
      if (!made) return made.error();
      u.quic = std::move(made.value());
      if (auto opened = u.loop->open(config.quic.port, u.quic->service()); !opened) return opened;
    }
    if (config.srmp.port != 0) {
      const srmp::service_settings settings{.batch_bytes = batch_bytes(), .peers = config.srmp.peers};
      pipeline::udp_service* service = nullptr;
      if (config.srmp.answer == srmp_answer::rpc) {
        u.srmp_calls = std::make_unique<rpc_over_srmp>(*u.calls, settings, config.srmp.amplification);
        service = u.srmp_calls.get();
      } else {
        u.srmp_echoes = std::make_unique<echo_over_srmp>(u.echoes, settings, config.srmp.amplification);
        service = u.srmp_echoes.get();
      }
      if (auto opened = u.loop->open(config.srmp.port, *service); !opened) return opened;
    }
    if (config.echo_port != 0) {
      u.echo = std::make_unique<pipeline::udp_echo_service>();
      if (auto opened = u.loop->open(config.echo_port, *u.echo); !opened) return opened;
    }
    return u.loop->attach(u.watch);
  }

  outcome make_unit(unsigned lcore, std::uint16_t instance, std::uint16_t instances, std::uint64_t seed,
                    mem::packet_pool& pool) {
    std::vector<pipeline::loop_interface> interfaces;
    for (std::size_t i = 0; i < ports.size(); ++i)
      interfaces.push_back({.port = ports[i]->id(),
                            .rx_queue = instance,
                            .tx_queue = instance,
                            .host = host_of(i, instance, instances, seed)});
    auto made = std::make_unique<unit>();
    made->lcore = lcore;
    made->stop = &stop;
    auto loop = pipeline::service_loop::make(config.loop, interfaces, pool);
    if (!loop) return loop.error();
    made->loop = std::move(loop.value());
    if (auto opened = open_services(*made, instance, pool); !opened) return opened;
    stats->add(lcore, *made->loop, made->quic.get());
    units.push_back(std::move(made));
    return base::done{};
  }
};

appliance::appliance(std::unique_ptr<parts> made) noexcept : parts_(std::move(made)) {}
appliance::~appliance() { stop(); }

base::result<std::unique_ptr<appliance>> appliance::make(const serve_config& config,
                                                         std::span<const port::port* const> ports,
                                                         std::span<const unsigned> lcores, mem::packet_pool& pool,
                                                         const std::string& name) {
  if (ports.size() != config.interfaces.size())
    return failure{fmt::format("{} interfaces are configured for {} ports", config.interfaces.size(), ports.size()), "",
                   true};
  auto made = std::make_unique<parts>();
  made->config = config;
  made->ports.assign(ports.begin(), ports.end());
  made->own_lcores = !lcores.empty();
  made->stats = std::make_unique<appliance_stats>(pool, std::string(app::version()));
  std::uint64_t seed = 0;
  std::array<std::uint8_t, sizeof seed> secret;
  if (!crypto::random_bytes(secret)) return failure{"the kernel gives no random bytes", ""};
  std::memcpy(&seed, secret.data(), sizeof seed);
  if (auto methods = made->make_methods(); !methods) return methods.error();
  const std::vector<unsigned> places = lcores.empty() ? std::vector<unsigned>{env::current_lcore()}
                                                      : std::vector<unsigned>(lcores.begin(), lcores.end());
  const auto instances = static_cast<std::uint16_t>(places.size());
  if (auto quic = made->make_quic(places.size()); !quic) return quic.error();
  if (auto site = made->make_site(places.size()); !site) return site.error();
  for (std::uint16_t i = 0; i < instances; ++i)
    if (auto unit = made->make_unit(places[i], i, instances, seed, pool); !unit) return unit.error();
  std::vector<pipeline::service_loop*> loops;
  for (const auto& u : made->units) loops.push_back(u->loop.get());
  if (auto joined = pipeline::service_loop::join(loops, name); !joined) return joined.error();
  return std::unique_ptr<appliance>(new appliance(std::move(made)));
}

outcome appliance::start() {
  parts& p = *parts_;
  if (p.running || !p.own_lcores) return base::done{};
  p.stop.store(false);
  p.running = true;
  for (const auto& u : p.units) {
    const auto body = [](void* argument) {
      const auto* mine = static_cast<const unit*>(argument);
      mine->loop->run(*mine->stop);
      return 0;
    };
    if (env::launch(u->lcore, body, u.get())) continue;
    stop();
    return failure{fmt::format("lcore {} cannot be started", u->lcore), ""};
  }
  return base::done{};
}

void appliance::slice(unsigned turns) noexcept {
  parts& p = *parts_;
  if (p.own_lcores) return;
  if (p.turned_cpu_ns == 0) p.turned_cpu_ns = env::thread_cpu_ns();
  p.running = true;
  pipeline::service_loop& loop = *p.units.front()->loop;
  const mem::heap_watch watch(loop.counters().heap);
  loop.turns(turns);
}

void appliance::stop() noexcept {
  if (!parts_ || !std::exchange(parts_->running, false)) return;
  parts& p = *parts_;
  p.stop.store(true);
  if (p.own_lcores) {
    for (const auto& u : p.units) env::wait(u->lcore);
    return;
  }
  pipeline::service_loop& loop = *p.units.front()->loop;
  {
    const mem::heap_watch watch(loop.counters().heap);
    loop.finish();
  }
  loop.counters().add(count::cpu_ns, env::thread_cpu_ns() - std::exchange(p.turned_cpu_ns, 0));
}

std::uint64_t appliance::drain() noexcept {
  buf::burst packets;
  std::uint64_t found = 0;
  for (const port::port* one : parts_->ports) {
    if (!one->facts().is_software_ring()) continue;  // a device takes its packets back itself when it is closed
    for (std::uint16_t queue = 0; queue < one->plan().rxq; ++queue)
      while (port::rx_burst(one->id(), queue, packets, buf::burst::capacity) != 0) {
        found += packets.size();
        packets.free_all();
      }
  }
  parts_->drained.add(count::rx_pkts, found);
  parts_->drained.add(count::held_pkts, found);
  return found;
}

rpc::method_table* appliance::methods() noexcept { return parts_->methods.get(); }
bool appliance::has_lcores() const noexcept { return parts_->own_lcores; }
pipeline::service_loop& appliance::loop(std::size_t which) noexcept { return *parts_->units[which]->loop; }
std::size_t appliance::loops() const noexcept { return parts_->units.size(); }
unsigned appliance::lcore_of(std::size_t loop) const noexcept { return parts_->units[loop]->lcore; }
figures appliance::of_loop(std::size_t loop) const noexcept { return parts_->units[loop]->loop->total(); }

figures appliance::total() const noexcept {
  figures sum = pipeline::read(parts_->drained);
  for (const auto& u : parts_->units) sum += u->loop->total();
  return sum;
}

void appliance::keep_up() noexcept {
  if (parts_->quic) static_cast<void>(parts_->quic->write_key_log());
  if (parts_->site) static_cast<void>(parts_->site->reap());
}

outcome appliance::reload() { return parts_->site ? parts_->site->reload() : outcome(base::done{}); }
bool appliance::has_directories() const noexcept { return parts_->site != nullptr; }
std::string appliance::describe_directories() const { return parts_->site ? parts_->site->describe() : std::string{}; }

std::string appliance::spki_pin() const { return parts_->quic ? parts_->quic->spki_pin() : std::string{}; }

std::uint64_t appliance::handshake_heap_calls() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& u : parts_->units)
    if (u->quic) sum += u->quic->endpoint().handshake_heap_calls();
  return sum;
}

appliance_readiness appliance::readiness() const {
  appliance_readiness now{.settled = true, .addresses = {}};
  for (const auto& u : parts_->units) now.settled &= u->watch.is_settled();
  for (std::size_t i = 0; i < parts_->config.interfaces.size(); ++i) {
    const auto& addresses = parts_->config.interfaces[i].host.addresses;
    for (std::size_t a = 0; a < addresses.size(); ++a) {
      bool ours = true;
      for (const auto& u : parts_->units) ours &= u->watch.is_settled() && !u->watch.is_duplicate(i, a);
      now.addresses.emplace_back(to_text(addresses[a]), ours);
    }
  }
  return now;
}

appliance_messages appliance::messages() const noexcept {
  appliance_messages sum;
  for (const auto& u : parts_->units) {
    if (const srmp::server_counters* s = u->served()) sum.srmp += s->requests.get() + s->one_ways.get();
    if (u->echo) sum.echo += u->echo->echoed();
    if (!u->quic) continue;
    sum.srmp_quic += u->quic->messages();
    sum.hq += u->quic->bodies();
    sum.echo_quic += u->quic->echoed_streams();
  }
  return sum;
}

std::string appliance::protocols() const {
  return parts_->quic ? fmt::format("{}", fmt::join(parts_->quic->protocols(), ",")) : std::string{};
}

kinds appliance::errors() const {
  kinds found;
  for (const auto& u : parts_->units) {
    add_srmp_errors(*u, found);
    if (u->quic) u->quic->add_errors(found);
    for (std::size_t i = 0; i < u->loop->interfaces(); ++i) add_host_errors(u->loop->host(i).figures(), found);
  }
  if (parts_->site) add(found, "site_reload_failures", parts_->site->reload_failures());
  return found;
}

std::string appliance::describe() const {
  const parts& p = *parts_;
  std::string text;
  const auto out = std::back_inserter(text);
  for (std::size_t i = 0; i < p.ports.size(); ++i) {
    const net::host_config host = p.host_of(i, 0, 1, 0);
    fmt::format_to(out, "interface {}: port {} {}, {}, MTU {}", i, p.ports[i]->id(), p.ports[i]->facts().name,
                   to_text(host.mac), host.mtu);
    if (host.vlan) fmt::format_to(out, ", VLAN {}", *host.vlan);
    fmt::format_to(out, ", checksums put in by {}:",
                   host.offload.in_memory ? "nobody (rings in memory)"
                   : host.offload.tx_udp  ? "the port"
                                          : "software");
    for (const net::host_address& a : host.addresses) fmt::format_to(out, " {}", to_text(a));
    text += '\n';
  }
  for (std::size_t i = 0; i < p.units.size(); ++i)
    fmt::format_to(out, "lcore {}: queue {} of every port\n", p.units[i]->lcore, i);
  if (p.config.srmp.port != 0)
    fmt::format_to(out, "SRMP on UDP port {}: {}, {} bytes a datagram of replies\n", p.config.srmp.port,
                   p.config.srmp.answer == srmp_answer::rpc ? "calls of methods" : "echo", p.batch_bytes());
  if (p.quic)
    fmt::format_to(out, "QUIC on UDP port {}: {}; {} files; {} certificate, pin {}\n", p.config.quic.port,
                   fmt::join(p.quic->protocols(), ", "), p.quic->files(),
                   p.quic->is_self_signed() ? "a self-signed" : "the configured", p.quic->spki_pin());
  text += describe_directories();
  if (p.config.echo_port != 0) fmt::format_to(out, "echo on UDP port {}\n", p.config.echo_port);
  return text;
}

}  // namespace millrace::app
