#include "port/plan.hpp"

#include <algorithm>

namespace millrace::port {
namespace {

// Ethernet, two VLAN tags and the FCS that some drivers leave on: what stands around an MTU's worth of bytes.
constexpr std::uint32_t frame_overhead = 14 + 2 * 4 + 4;

std::uint32_t cache_total(const plan_request& wish, std::size_t workers) noexcept {
  // A mempool cache flushes at one and a half times its size; the main lcore allocates as well.
  return static_cast<std::uint32_t>((workers + 1) * (wish.cache_pkts + wish.cache_pkts / 2u));
}

std::uint32_t in_flight_total(const plan_request& wish, std::size_t workers) noexcept {
  return static_cast<std::uint32_t>((workers + 1) * wish.burst_pkts * 2u);
}

std::uint16_t room_for_mtu(std::uint32_t mtu) noexcept {
  const std::uint32_t frame = (mtu + frame_overhead + 63) & ~63u;
  constexpr std::uint32_t largest = UINT16_MAX - RTE_PKTMBUF_HEADROOM;
  return static_cast<std::uint16_t>(std::clamp<std::uint32_t>(frame, mem::default_data_room, largest));
}

// The driver of packet sockets refuses buffers that a whole ring frame would not fit into.
std::uint16_t room_for_ring_frame(std::uint32_t ring_frame_bytes) noexcept {
  constexpr std::uint32_t largest = UINT16_MAX - RTE_PKTMBUF_HEADROOM;
  return static_cast<std::uint16_t>(std::min(ring_frame_bytes, largest));
}

std::uint16_t fit(std::uint16_t wanted, std::uint16_t preferred, const descriptor_limits& lim) noexcept {
  std::uint32_t n = wanted != 0 ? wanted : preferred != 0 ? preferred : default_descriptors;
  n = std::clamp<std::uint32_t>(n, lim.min, std::max(lim.min, lim.max));
  const std::uint32_t up = (n + lim.align - 1) / lim.align * lim.align;
  return static_cast<std::uint16_t>(up <= lim.max ? up : n / lim.align * lim.align);
}

base::outcome check_queues(const port_facts& port, const plan_request& wish) {
  const auto too_few = [&](const char* what, const char* option, unsigned has, unsigned asked) {
    return base::failure{port.name + " has " + std::to_string(has) + " " + what + " queue" + (has == 1 ? "" : "s") +
                             ", and " + option + " asks for " + std::to_string(asked),
                         std::string("give ") + option + " " + std::to_string(has), true};
  };
  if (wish.rxq > port.max_rxq) return too_few("receive", "--rxq", port.max_rxq, wish.rxq);
  if (wish.txq > port.max_txq) return too_few("transmit", "--txq", port.max_txq, wish.txq);
  return base::done{};
}

std::uint16_t mtu_of(std::size_t port, const plan_request& wish) noexcept {
  return port < wish.mtus.size() ? wish.mtus[port] : wish.mtu;
}

offloads choose(const port_facts& port, const plan_request& wish, std::uint16_t own_mtu, std::uint16_t data_room) {
  offloads use;
  use.rx_ipv4_checksum = wish.checksums && port.can.rx_ipv4_checksum;
  use.rx_udp_checksum = wish.checksums && port.can.rx_udp_checksum;
  use.rx_tcp_checksum = wish.checksums && port.can.rx_tcp_checksum;
  use.tx_ipv4_checksum = wish.tx_checksums && port.can.tx_ipv4_checksum;
  use.tx_udp_checksum = wish.tx_checksums && port.can.tx_udp_checksum;
  const std::uint32_t mtu = own_mtu != 0 ? own_mtu : port.mtu;
  use.rx_scatter = port.can.rx_scatter && mtu + frame_overhead > data_room;
  use.tx_segments = wish.chains && port.can.tx_segments;
  // A driver that frees fast looks at no packet, so all must be whole, unshared and of one pool.
  use.tx_fast_free = wish.one_pool && !use.tx_segments && port.can.tx_fast_free;
  use.rss = wish.rxq > 1 && port.can.rss;
  return use;
}

void remark_on(const port_plan& p, const plan_request& wish, plan& out) {
  const std::string& name = p.facts.name;
  if (wish.rxd != 0 && p.rxd != wish.rxd)
    out.remarks.push_back(name + ": " + std::to_string(p.rxd) + " receive descriptors instead of " +
                          std::to_string(wish.rxd) + ", the driver's limit");
  if (wish.txd != 0 && p.txd != wish.txd)
    out.remarks.push_back(name + ": " + std::to_string(p.txd) + " transmit descriptors instead of " +
                          std::to_string(wish.txd) + ", the driver's limit");
  if (wish.checksums && !p.use.rx_ipv4_checksum)
    out.remarks.push_back(name + ": checksums are verified in software, " + p.facts.driver + " does not do it");
  if (wish.rxq > 1 && !p.use.rss && !p.facts.is_software_ring())
    out.warnings.push_back(name + ": " + p.facts.driver + " spreads nothing over its " + std::to_string(wish.rxq) +
                           " receive queues; some may stay empty");
  for (const worker_place& w : wish.workers)
    if (p.facts.socket >= 0 && w.socket >= 0 && w.socket != p.facts.socket)
      out.warnings.push_back(name + " is on NUMA node " + std::to_string(p.facts.socket) + ", lcore " +
                             std::to_string(w.lcore) + " on node " + std::to_string(w.socket) +
                             ": every packet crosses between them; choose lcores of node " +
                             std::to_string(p.facts.socket));
}

}  // namespace

base::result<plan> make_plan(std::span<const port_facts> ports, const plan_request& wish) {
  if (ports.empty()) return base::failure{"there is no port to plan for", ""};
  plan out;
  std::uint32_t largest_mtu = 0;
  for (std::size_t i = 0; i < ports.size(); ++i)
    largest_mtu = std::max<std::uint32_t>(largest_mtu, mtu_of(i, wish) != 0 ? mtu_of(i, wish) : ports[i].mtu);
  out.pool.name = "packets";
  out.pool.cache = wish.cache_pkts;
  out.pool.data_room = room_for_mtu(largest_mtu);
  for (const port_facts& facts : ports)
    out.pool.data_room = std::max(out.pool.data_room, room_for_ring_frame(facts.ring_frame_bytes));
  out.pool.socket = ports.front().socket;
  for (const port_facts& facts : ports) {
    if (auto checked = check_queues(facts, wish); !checked) return checked.error();
    const std::uint16_t mtu = mtu_of(out.ports.size(), wish);
    if (mtu != 0 && (mtu < facts.min_mtu || mtu > facts.max_mtu))
      return base::failure{facts.name + " takes an MTU from " + std::to_string(facts.min_mtu) + " to " +
                               std::to_string(facts.max_mtu) + ", not " + std::to_string(mtu),
                           facts.has_kernels_mtu() ? "ip link set dev IFACE mtu " + std::to_string(mtu) +
                                                         ", and ring frames that hold it (framesz=, blocksz=)"
                                                   : "",
                           true};
    port_plan p{.facts = facts,
                .rxq = wish.rxq,
                .txq = wish.txq,
                .rxd = fit(wish.rxd, facts.preferred_rxd, facts.rxd),
                .txd = fit(wish.txd, facts.preferred_txd, facts.txd),
                .mtu = mtu,
                .use = choose(facts, wish, mtu, out.pool.data_room)};
    out.needs.descriptors += std::uint64_t{p.rxq} * p.rxd + std::uint64_t{p.txq} * p.txd;
    remark_on(p, wish, out);
    out.ports.push_back(std::move(p));
  }
  out.needs.caches = cache_total(wish, wish.workers.size());
  out.needs.in_flight = in_flight_total(wish, wish.workers.size());
  out.needs.budget = wish.budget_pkts;
  const std::uint64_t total = wish.mbufs != 0 ? wish.mbufs : out.needs.total();
  if (total > UINT32_MAX) return base::failure{"a pool of " + std::to_string(total) + " packets cannot be", "", true};
  out.pool.packets = static_cast<std::uint32_t>(total);
  if (wish.mbufs != 0 && wish.mbufs < out.needs.total())
    out.warnings.push_back("--mbufs " + std::to_string(wish.mbufs) + " is less than the " +
                           std::to_string(out.needs.total()) + " that can be in use at once; the pool may run empty");
  return out;
}

std::string describe(const plan& p) {
  std::string text;
  for (const port_plan& one : p.ports) {
    text += "port " + std::to_string(one.facts.id) + " " + one.facts.name + " (" + one.facts.driver + ", " +
            to_string(one.facts.mac) + ", MTU " + std::to_string(one.mtu != 0 ? one.mtu : one.facts.mtu);
    if (one.facts.socket >= 0) text += ", NUMA node " + std::to_string(one.facts.socket);
    text += "): " + std::to_string(one.rxq) + " rx x " + std::to_string(one.rxd) + ", " + std::to_string(one.txq) +
            " tx x " + std::to_string(one.txd) + " descriptors\n";
  }
  text += "pool '" + p.pool.name + "': " + std::to_string(p.pool.packets) + " packets x " +
          std::to_string(p.pool.data_room) + " bytes, about " +
          std::to_string((mem::estimated_bytes(p.pool) + (1u << 19)) >> 20) + " MiB (" +
          std::to_string(p.needs.descriptors) + " descriptors + " + std::to_string(p.needs.caches) + " in caches + " +
          std::to_string(p.needs.in_flight) + " in flight + " + std::to_string(p.needs.budget) + " of the role)\n";
  for (const std::string& line : p.remarks) text += "note: " + line + "\n";
  for (const std::string& line : p.warnings) text += "warning: " + line + "\n";
  return text;
}

mem::packet_pool_config expected_pool(unsigned ports, unsigned workers, const plan_request& wish,
                                      std::uint32_t ring_frame_bytes) {
  const auto descriptors = [](std::uint16_t asked) { return asked != 0 ? asked : default_descriptors; };
  const std::uint64_t per_port =
      std::uint64_t{wish.rxq} * descriptors(wish.rxd) + std::uint64_t{wish.txq} * descriptors(wish.txd);
  const std::uint64_t total = wish.mbufs != 0 ? wish.mbufs
                                              : ports * per_port + cache_total(wish, workers) +
                                                    in_flight_total(wish, workers) + wish.budget_pkts;
  return {.name = "packets",
          .packets = static_cast<std::uint32_t>(std::min<std::uint64_t>(total, UINT32_MAX)),
          .cache = wish.cache_pkts,
          .data_room = std::max(room_for_mtu(wish.mtu != 0 ? wish.mtu : 1500), room_for_ring_frame(ring_frame_bytes))};
}

}  // namespace millrace::port
