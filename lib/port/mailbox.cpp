#include "port/mailbox.hpp"

#include <rte_errno.h>
#include <rte_mbuf.h>

namespace millrace::port {

base::result<mailbox_ring> mailbox_ring::make(const std::string& name, unsigned slots, writers who, int socket) {
  const unsigned flags = RING_F_SC_DEQ | (who == writers::single ? RING_F_SP_ENQ : 0u);
  rte_ring* ring = rte_ring_create(name.c_str(), slots, socket, flags);
  if (ring == nullptr)
    return base::failure{"no mailbox '" + name + "' of " + std::to_string(slots) + " slots: " + rte_strerror(rte_errno),
                         "the slots must be a power of two, the name unused and EAL have memory left"};
  return mailbox_ring(ring);
}

mailbox_ring::~mailbox_ring() { rte_ring_free(ring_); }

base::result<packet_mailbox> make_packet_mailbox(const std::string& name, unsigned slots, writers who, int socket) {
  return packet_mailbox::make(name, slots, who, [](rte_mbuf* m) noexcept { rte_pktmbuf_free(m); }, socket);
}

}  // namespace millrace::port
