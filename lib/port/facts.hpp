// port/facts.hpp - what a port's driver says about itself, as plain data that planning and tests can work on.
//
// Shape    discover() reads every port EAL found; nothing is configured yet.
// Units    descriptors and queues are counts; sizes are bytes. A limit of 0 or 65535 is often "the driver sets none".
// Errors   discover(): a failure when there is no port, or a driver does not answer.
// Threads  control code.
// Tests    test/port/plan_test.cpp, test/port/port_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace millrace::port {

using mac_address = std::array<std::uint8_t, 6>;

[[nodiscard]] std::string to_string(const mac_address& mac);  // "02:00:00:00:00:01"

struct descriptor_limits {
  std::uint16_t min = 0;
  std::uint16_t max = UINT16_MAX;
  std::uint16_t align = 1;
};

// What a driver can do for us, each a yes or no; the bits of DPDK stay in this room.
struct offloads {
  bool rx_ipv4_checksum = false;
  bool rx_udp_checksum = false;
  bool rx_tcp_checksum = false;
  bool rx_scatter = false;  // a frame longer than one buffer arrives as a chain
  bool tx_ipv4_checksum = false;
  bool tx_udp_checksum = false;
  bool tx_tcp_checksum = false;
  bool tx_segments = false;   // sends chains
  bool tx_fast_free = false;  // frees sent packets of one pool without looking at each
  bool rss = false;           // spreads flows over receive queues
};

struct port_facts {
  std::uint16_t id = 0;
  std::string name;    // "net_ring0", "0000:03:00.0"
  std::string driver;  // "net_ring", "net_ice"
  int socket = -1;     // NUMA node; -1: the device has none
  mac_address mac{};   // who a host on this port is: station_mac()
  std::uint16_t max_rxq = 1;
  std::uint16_t max_txq = 1;
  descriptor_limits rxd;
  descriptor_limits txd;
  std::uint16_t preferred_rxd = 0;  // 0: the driver has no opinion
  std::uint16_t preferred_txd = 0;
  std::uint16_t mtu = 1500;  // of a kernel interface (net_af_packet): what it has, as far as a ring frame holds it
  std::uint16_t min_mtu = 0;
  std::uint16_t max_mtu = UINT16_MAX;
  std::uint32_t ring_frame_bytes = 0;  // net_af_packet: a buffer must hold one; 0: no such thing
  offloads can;

  // An interface that the kernel keeps: its MTU is set there (`ip link set dev IFACE mtu N`), and only read by us.
  [[nodiscard]] bool has_kernels_mtu() const noexcept { return driver == "net_af_packet"; }
  // Rings of this process: what was sent stays queued in our own memory, also after the port stopped.
  [[nodiscard]] bool is_software_ring() const noexcept { return driver == "net_ring"; }
  // Drivers that hand over packets of no fixed origin and count no bytes.
  [[nodiscard]] bool counts_bytes() const noexcept { return driver != "net_ring" && driver != "net_null"; }
};

// Who a host on a port is, whose driver says `of_driver`. net_tap gives its address to the kernel's end of the wire,
// too; two stations with one address never hear each other, so ours is the next one.
[[nodiscard]] mac_address station_mac(const std::string& driver, mac_address of_driver) noexcept;

// One port. `id` as EAL numbers them.
[[nodiscard]] base::result<port_facts> read_facts(std::uint16_t id);
// All ports in order of their number.
[[nodiscard]] base::result<std::vector<port_facts>> discover();

}  // namespace millrace::port
