#include "app/serve_ports.hpp"

#include "app/quic_server.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/startup.hpp"
#include "env/eal_args.hpp"
#include "env/text_file.hpp"
#include "port/packet_socket.hpp"
#include "service/site_tree.hpp"

namespace millrace::app {
namespace {

using base::failure;
using port::port_facts;

// What a loop may hold of an interface besides descriptors, caches and bursts in flight: a full queue of packets to
// send, fresh ones at hand, and the letters between loops.
constexpr std::uint32_t held_pkts_an_interface = buf::burst::capacity + 64;
constexpr std::uint32_t letters_a_loop = 256;

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 6 && text.find_first_not_of("0123456789") == std::string::npos;
}

bool is_meant(const port_facts& port, const std::string& wanted) {
  return port.name == wanted || (is_number(wanted) && port.id == std::stoul(wanted));
}

std::string names_of(std::span<const port_facts> there) {
  std::string all;
  for (const port_facts& one : there) env::add_item(all, fmt::format("{} {}", one.id, one.name));
  return all;
}

base::result<std::vector<port_facts>> choose_ports(const serve_config& config, const config_origins& origins,
                                                   std::span<const port_facts> there) {
  std::vector<port_facts> chosen;
  for (std::size_t i = 0; i < config.interfaces.size(); ++i) {
    const std::string& wanted = config.interfaces[i].port;
    const std::string place = origins.of(fmt::format("interface.{}.port", i));
    const auto found =
        std::find_if(there.begin(), there.end(), [&](const port_facts& one) { return is_meant(one, wanted); });
    if (found == there.end())
      return failure{fmt::format("{}: there is no port {}", place, wanted), "ports are: " + names_of(there), true};
    const auto before =
        std::find_if(chosen.begin(), chosen.end(), [&](const auto& one) { return one.id == found->id; });
    if (before != chosen.end())
      return failure{
          fmt::format("{}: port {} is port {} {}, which another interface has", place, wanted, found->id, found->name),
          "", true};
    chosen.push_back(*found);
  }
  return chosen;
}

base::result<std::vector<port::worker_place>> choose_workers(const serve_config& config, const config_origins& origins,
                                                             std::span<const port::worker_place> workers,
                                                             const port::worker_place& main) {
  std::vector<port::worker_place> chosen;
  if (workers.empty()) {
    if (config.lcores.size() > 1 || (config.lcores.size() == 1 && config.lcores[0] != main.lcore))
      return failure{fmt::format("{}: lcore {} alone was given to EAL", origins.of("lcores"), main.lcore),
                     "give EAL more, for example -l 0-3", true};
    return std::vector<port::worker_place>{};
  }
  if (config.lcores.empty()) return std::vector<port::worker_place>(workers.begin(), workers.end());
  for (std::size_t i = 0; i < config.lcores.size(); ++i) {
    const unsigned wanted = config.lcores[i];
    const auto found = std::find_if(workers.begin(), workers.end(), [&](const auto& w) { return w.lcore == wanted; });
    if (found == workers.end()) {
      std::string all;
      for (const port::worker_place& w : workers) env::add_item(all, std::to_string(w.lcore));
      const char* why = wanted == main.lcore ? "is the main lcore, which is control plane" : "is none of EAL's";
      return failure{fmt::format("{}: lcore {} {}", origins.of(fmt::format("lcores.{}", i)), wanted, why),
                     "worker lcores are: " + all, true};
    }
    chosen.push_back(*found);
  }
  return chosen;
}

port::plan_request make_wish(const serve_config& config, std::size_t loops) {
  port::plan_request wish;
  wish.rxq = wish.txq = static_cast<std::uint16_t>(loops);
  wish.rxd = config.pool.rxd;
  wish.txd = config.pool.txd;
  wish.burst_pkts = config.loop.burst_pkts;
  wish.cache_pkts = config.pool.cache_pkts;
  for (const interface_config& c : config.interfaces) wish.mtus.push_back(c.own_mtu ? c.host.mtu : std::uint16_t{0});
  wish.budget_pkts = static_cast<std::uint32_t>(
      loops * (config.interfaces.size() * held_pkts_an_interface + (loops > 1 ? letters_a_loop : 0)));
  wish.mbufs = config.pool.packets;
  wish.chains = false;
  wish.checksums = wish.tx_checksums = config.pool.checksum_offload;
  return wish;
}

std::size_t expected_workers(const env::eal_vector& given) {
  const std::size_t lcores = expected_lcores(given);
  return lcores > 1 ? lcores - 1 : 1;
}

// Of the tables of one host; the sizes of entries are roundings up of the room's.
std::size_t host_bytes(const serve_config& config, const net::host_config& host) {
  const net::host_limits& l = config.limits;
  return l.reassembly_bytes + 65536 * 2 + std::size_t{l.reassembly_datagrams} * 512 + std::size_t{l.neighbours} * 256 +
         std::size_t{l.pending_frames} * (host.mtu + 256) + std::size_t{l.path_mtus} * 128 + 65536;
}

// Twice what the files take now: a reload has the former ones beside the new ones. What cannot be read is told later.
std::size_t expected_site_bytes(const serve_config& config) {
  const std::vector<service::site_directory> directories = directories_of(config);
  if (directories.empty() || config.quic.port == 0 || !config.quic.h3) return 0;
  const auto found = service::scan(directories, config.http.limits);
  return found ? 2 * service::tree_memory_bytes(found.value().bytes) : 0;
}

}  // namespace

base::result<serve_plan> plan_serve(const serve_config& config, const config_origins& origins,
                                    std::span<const port_facts> there, std::span<const port::worker_place> workers,
                                    const port::worker_place& main) {
  auto ports = choose_ports(config, origins, there);
  if (!ports) return ports.error();
  auto chosen = choose_workers(config, origins, workers, main);
  if (!chosen) return chosen.error();
  std::vector<port::worker_place>& loops = chosen.value();
  // Every loop has a queue of every port, so the port with the fewest decides.
  std::string warning;
  for (const port_facts& one : ports.value()) {
    const std::size_t queues = std::max<std::size_t>(1, std::min(one.max_rxq, one.max_txq));
    if (queues >= loops.size()) continue;
    warning = fmt::format("{} has {} queue{}: of {} worker lcores {} will be idle", one.name, queues,
                          queues == 1 ? "" : "s", chosen.value().size(), loops.size() - queues);
    loops.resize(queues);
  }
  port::plan_request wish = make_wish(config, std::max<std::size_t>(1, loops.size()));
  wish.workers = loops.empty() ? std::vector<port::worker_place>{main} : loops;
  auto planned = port::make_plan(ports.value(), wish);
  if (!planned) return planned.error();
  serve_plan out{.ports = std::move(planned.value()), .lcores = {}, .unused = {}};
  if (!warning.empty()) out.ports.warnings.push_back(warning);
  for (const port::worker_place& w : loops) out.lcores.push_back(w.lcore);
  for (const port_facts& one : there)
    if (std::none_of(ports.value().begin(), ports.value().end(), [&](const auto& p) { return p.id == one.id; }))
      out.unused.push_back(one.name);
  return out;
}

std::size_t expected_memory(const serve_config& config, const std::vector<std::string>& eal_args) {
  const auto given = env::eal_vector::parse(eal_args);
  std::size_t loops = given ? expected_workers(given.value()) : 1;
  if (!config.lcores.empty()) loops = std::min(loops, config.lcores.size());
  port::plan_request wish = make_wish(config, loops);
  for (const std::uint16_t mtu : wish.mtus) wish.mtu = std::max(wish.mtu, mtu);
  std::size_t bytes =
      mem::estimated_bytes(port::expected_pool(static_cast<unsigned>(config.interfaces.size()),
                                               static_cast<unsigned>(loops), wish, port::largest_ring_frame(eal_args)));
  for (const interface_config& c : config.interfaces) bytes += loops * host_bytes(config, c.host);
  bytes += expected_quic_bytes(config.quic, loops);
  bytes += expected_site_bytes(config);
  return bytes + loops * (config.srmp.rpc.max_json_bytes + 65536) + 256 * 512;
}

}  // namespace millrace::app
