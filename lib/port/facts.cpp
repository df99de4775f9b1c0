#include "port/facts.hpp"

#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <cstdio>

#include "port/packet_socket.hpp"

namespace millrace::port {
namespace {

offloads read_offloads(const rte_eth_dev_info& info) noexcept {
  const auto rx = [&](std::uint64_t bit) { return (info.rx_offload_capa & bit) != 0; };
  const auto tx = [&](std::uint64_t bit) { return (info.tx_offload_capa & bit) != 0; };
  return {.rx_ipv4_checksum = rx(RTE_ETH_RX_OFFLOAD_IPV4_CKSUM),
          .rx_udp_checksum = rx(RTE_ETH_RX_OFFLOAD_UDP_CKSUM),
          .rx_tcp_checksum = rx(RTE_ETH_RX_OFFLOAD_TCP_CKSUM),
          .rx_scatter = rx(RTE_ETH_RX_OFFLOAD_SCATTER),
          .tx_ipv4_checksum = tx(RTE_ETH_TX_OFFLOAD_IPV4_CKSUM),
          .tx_udp_checksum = tx(RTE_ETH_TX_OFFLOAD_UDP_CKSUM),
          .tx_tcp_checksum = tx(RTE_ETH_TX_OFFLOAD_TCP_CKSUM),
          .tx_segments = tx(RTE_ETH_TX_OFFLOAD_MULTI_SEGS),
          .tx_fast_free = tx(RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE),
          .rss = (info.flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_TCP)) != 0};
}

descriptor_limits read_limits(const rte_eth_desc_lim& from) noexcept {
  return {.min = from.nb_min,
          .max = from.nb_max == 0 ? static_cast<std::uint16_t>(UINT16_MAX) : from.nb_max,
          .align = from.nb_align == 0 ? static_cast<std::uint16_t>(1) : from.nb_align};
}

// The driver says 1500 whatever the interface has, and refuses more; the kernel refuses frames beyond the interface's.
void read_af_packet(const rte_eth_dev_info& info, port_facts& facts) noexcept {
  const rte_devargs* const given = info.device == nullptr ? nullptr : rte_dev_devargs(info.device);
  facts.ring_frame_bytes = ring_frame_of(given == nullptr || given->args == nullptr ? "" : given->args);
  const std::uint32_t held = ring_frame_mtu(facts.ring_frame_bytes);
  const std::uint32_t kernels = kernel_mtu(info.if_index);
  facts.mtu = static_cast<std::uint16_t>(std::min({kernels == 0 ? facts.mtu : kernels, held, 65535u}));
  facts.max_mtu = facts.mtu;
}

}  // namespace

std::string to_string(const mac_address& mac) {
  char text[18];
  std::snprintf(text, sizeof text, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
  return text;
}

mac_address station_mac(const std::string& driver, mac_address of_driver) noexcept {
  // The last bit: neither the group bit nor the one of local administration. The port receives all addresses.
  if (driver == "net_tap") of_driver[5] ^= 1;
  return of_driver;
}

base::result<port_facts> read_facts(std::uint16_t id) {
  rte_eth_dev_info info{};
  if (const int answer = rte_eth_dev_info_get(id, &info); answer != 0)
    return base::failure{"port " + std::to_string(id) + " does not tell its limits: " + rte_strerror(-answer), ""};
  port_facts facts;
  facts.id = id;
  char name[RTE_ETH_NAME_MAX_LEN] = {};
  if (rte_eth_dev_get_name_by_port(id, name) == 0) facts.name = name;
  facts.driver = info.driver_name == nullptr ? "" : info.driver_name;
  facts.socket = rte_eth_dev_socket_id(id);
  rte_ether_addr mac{};
  if (rte_eth_macaddr_get(id, &mac) == 0) std::copy_n(mac.addr_bytes, facts.mac.size(), facts.mac.begin());
  facts.mac = station_mac(facts.driver, facts.mac);
  facts.max_rxq = info.max_rx_queues;
  facts.max_txq = info.max_tx_queues;
  facts.rxd = read_limits(info.rx_desc_lim);
  facts.txd = read_limits(info.tx_desc_lim);
  facts.preferred_rxd = info.default_rxportconf.ring_size;
  facts.preferred_txd = info.default_txportconf.ring_size;
  if (std::uint16_t mtu = 0; rte_eth_dev_get_mtu(id, &mtu) == 0 && mtu != 0) facts.mtu = mtu;
  facts.min_mtu = info.min_mtu;
  facts.max_mtu = info.max_mtu;
  facts.can = read_offloads(info);
  if (facts.has_kernels_mtu()) read_af_packet(info, facts);
  return facts;
}

base::result<std::vector<port_facts>> discover() {
  std::vector<port_facts> all;
  for (std::uint64_t next = rte_eth_find_next(0); next < RTE_MAX_ETHPORTS;
       next = rte_eth_find_next(static_cast<std::uint16_t>(next + 1))) {
    auto one = read_facts(static_cast<std::uint16_t>(next));
    if (!one) return one.error();
    all.push_back(std::move(one.value()));
  }
  if (all.empty())
    return base::failure{"there is no port to use",
                         "give EAL one: --vdev=net_ring0, --vdev=net_af_packet0,iface=IFACE, or -a PCI-ADDRESS "
                         "of a NIC bound to vfio-pci (`millrace -- doctor` shows them)"};
  return all;
}

}  // namespace millrace::port
