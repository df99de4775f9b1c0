#include "port/port.hpp"

#include "port/packet_socket.hpp"

namespace millrace::port {
namespace {

base::failure cannot(const port_facts& port, const std::string& what, int code, std::string hint = {}) {
  return {port.name + " (" + port.driver + "): " + what + ": " + rte_strerror(-code), std::move(hint)};
}

rte_eth_conf device_config(const port_plan& how, std::uint64_t rss_types) noexcept {
  rte_eth_conf conf{};
  const auto add = [](std::uint64_t& bits, bool wanted, std::uint64_t bit) { bits |= wanted ? bit : 0; };
  std::uint64_t& rx = conf.rxmode.offloads;
  add(rx, how.use.rx_ipv4_checksum, RTE_ETH_RX_OFFLOAD_IPV4_CKSUM);
  add(rx, how.use.rx_udp_checksum, RTE_ETH_RX_OFFLOAD_UDP_CKSUM);
  add(rx, how.use.rx_tcp_checksum, RTE_ETH_RX_OFFLOAD_TCP_CKSUM);
  add(rx, how.use.rx_scatter, RTE_ETH_RX_OFFLOAD_SCATTER);
  std::uint64_t& tx = conf.txmode.offloads;
  add(tx, how.use.tx_ipv4_checksum, RTE_ETH_TX_OFFLOAD_IPV4_CKSUM);
  add(tx, how.use.tx_udp_checksum, RTE_ETH_TX_OFFLOAD_UDP_CKSUM);
  add(tx, how.use.tx_tcp_checksum, RTE_ETH_TX_OFFLOAD_TCP_CKSUM);
  add(tx, how.use.tx_segments, RTE_ETH_TX_OFFLOAD_MULTI_SEGS);
  add(tx, how.use.tx_fast_free, RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE);
  if (how.use.rss) {
    conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf.rx_adv_conf.rss_conf.rss_hf = rss_types;
  }
  conf.rxmode.mtu = how.facts.has_kernels_mtu() ? std::uint16_t{0} : how.mtu;  // 0 keeps the driver's
  return conf;
}

base::outcome set_up_queues(const port_plan& how, const rte_eth_conf& conf, mem::packet_pool& pool) {
  const std::uint16_t id = how.facts.id;
  rte_eth_dev_info info{};
  if (const int answer = rte_eth_dev_info_get(id, &info); answer != 0)
    return cannot(how.facts, "no facts after configuration", answer);
  const auto socket = static_cast<unsigned>(how.facts.socket);
  rte_eth_rxconf rx = info.default_rxconf;
  rx.offloads = conf.rxmode.offloads;
  for (std::uint16_t q = 0; q < how.rxq; ++q)
    if (const int answer = rte_eth_rx_queue_setup(id, q, how.rxd, socket, &rx, pool.raw()); answer != 0)
      return cannot(how.facts, "receive queue " + std::to_string(q) + " of " + std::to_string(how.rxd) + " descriptors",
                    answer, "try fewer descriptors (--rxd) or queues (--rxq)");
  rte_eth_txconf tx = info.default_txconf;
  tx.offloads = conf.txmode.offloads;
  for (std::uint16_t q = 0; q < how.txq; ++q)
    if (const int answer = rte_eth_tx_queue_setup(id, q, how.txd, socket, &tx); answer != 0)
      return cannot(how.facts,
                    "transmit queue " + std::to_string(q) + " of " + std::to_string(how.txd) + " descriptors", answer,
                    "try fewer descriptors (--txd) or queues (--txq)");
  return base::done{};
}

}  // namespace

base::result<port> port::open(const port_plan& how, mem::packet_pool& pool) {
  rte_eth_dev_info info{};
  if (const int answer = rte_eth_dev_info_get(how.facts.id, &info); answer != 0)
    return cannot(how.facts, "no facts", answer);
  const std::uint64_t rss = info.flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_TCP);
  const rte_eth_conf conf = device_config(how, rss);
  if (const int answer = rte_eth_dev_configure(how.facts.id, how.rxq, how.txq, &conf); answer != 0)
    return cannot(how.facts,
                  "cannot be set up with " + std::to_string(how.rxq) + " receive and " + std::to_string(how.txq) +
                      " transmit queues",
                  answer);
  port opened{how.facts.id, how};  // from here on its end closes the device
  if (auto queues = set_up_queues(how, conf, pool); !queues) return queues.error();
  return opened;
}

base::outcome port::start() {
  if (started_) return base::done{};
  if (const int answer = rte_eth_dev_start(id_); answer != 0) return cannot(plan_.facts, "cannot start", answer);
  started_ = true;
  // Forwarding needs frames for any address. Rings and null devices have no such filter and say so.
  const int answer = rte_eth_promiscuous_enable(id_);
  if (answer != 0 && answer != -ENOTSUP) return cannot(plan_.facts, "cannot receive all addresses", answer);
  return base::done{};
}

void port::stop() noexcept {
  if (!std::exchange(started_, false)) return;
  rte_eth_dev_stop(id_);
}

port::~port() {
  if (id_ == none) return;
  stop();
  rte_eth_dev_close(id_);
}

link_state port::link() const noexcept {
  rte_eth_link link{};
  if (rte_eth_link_get_nowait(id_, &link) != 0) return {};
  return {.up = link.link_status == RTE_ETH_LINK_UP,
          .speed_mbps = link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : link.link_speed};
}

port_stats port::stats() const noexcept {
  rte_eth_stats raw{};
  if (rte_eth_stats_get(id_, &raw) != 0) return {};
  if (rte_eth_dev_info info{}; facts().has_kernels_mtu() && rte_eth_dev_info_get(id_, &info) == 0)
    raw.imissed += losses(info.if_index);
  return {.rx_packets = raw.ipackets,
          .rx_bytes = raw.ibytes,
          .tx_packets = raw.opackets,
          .tx_bytes = raw.obytes,
          .rx_missed = raw.imissed,
          .rx_errors = raw.ierrors,
          .rx_no_mbuf = raw.rx_nombuf,
          .tx_errors = raw.oerrors};
}

}  // namespace millrace::port
