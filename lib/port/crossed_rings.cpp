#include "port/crossed_rings.hpp"

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <utility>

namespace millrace::port {
namespace {

constexpr unsigned single_user = RING_F_SP_ENQ | RING_F_SC_DEQ;  // one lcore at each end of a queue

std::string device_name(const std::string& pair, unsigned end) { return pair + (end == 0 ? "_a" : "_b"); }

}  // namespace

crossed_rings::crossed_rings(crossed_rings&& other) noexcept
    : name_(std::exchange(other.name_, {})),
      rings_(std::exchange(other.rings_, {})),
      made_ports_(std::exchange(other.made_ports_, 0)) {
  ports_[0] = other.ports_[0];
  ports_[1] = other.ports_[1];
}

base::result<crossed_rings> crossed_rings::make(const std::string& name, std::uint16_t queues, unsigned slots,
                                                int socket) {
  crossed_rings made;
  made.name_ = name;
  std::vector<rte_ring*> directions[2];
  for (std::uint16_t q = 0; q < queues; ++q)
    for (unsigned end = 0; end < 2; ++end) {
      const std::string ring = device_name(name, end) + std::to_string(q);
      rte_ring* one = rte_ring_create(ring.c_str(), slots, socket, single_user);
      if (one == nullptr)
        return base::failure{
            "no ring '" + ring + "' of " + std::to_string(slots) + " slots: " + rte_strerror(rte_errno),
            "the slots must be a power of two, and EAL have memory left"};
      made.rings_.push_back(one);
      directions[end].push_back(one);
    }
  for (unsigned end = 0; end < 2; ++end) {
    const int id = rte_eth_from_rings(device_name(name, end).c_str(), directions[1 - end].data(), queues,
                                      directions[end].data(), queues, static_cast<unsigned>(socket < 0 ? 0 : socket));
    if (id < 0)
      return base::failure{"no port on the rings of '" + name + "': " + rte_strerror(rte_errno), "at most 16 queues"};
    made.ports_[end] = static_cast<std::uint16_t>(id);
    ++made.made_ports_;
  }
  return made;
}

crossed_rings::~crossed_rings() {
  if (name_.empty()) return;
  for (unsigned end = 0; end < made_ports_; ++end)
    rte_eal_hotplug_remove("vdev", ("net_ring_" + device_name(name_, end)).c_str());
  for (rte_ring* ring : rings_) {
    void* left = nullptr;
    while (rte_ring_dequeue(ring, &left) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(left));
    rte_ring_free(ring);
  }
}

}  // namespace millrace::port
