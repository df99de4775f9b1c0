// net/host_figures.hpp - what a host did, as counters.
//
// Units    frames or datagrams; each says which.
// Threads  one writer, its lcore; the control thread reads.
// Tests    test/net/host_*_test.cpp
#pragma once

#include "stats/drop_counters.hpp"

namespace millrace::net {

struct host_figures {
  // Every frame given to receive() is one of the first three.
  stats::counter delivered;
  stats::counter consumed;
  stats::counter dropped;

  // Every datagram given to send_udp() is one of these three; of those kept, frames that went out later are sent_late.
  stats::counter udp_ready;
  stats::counter udp_kept;  // as one frame that waits, or as fragments
  stats::counter udp_dropped;
  stats::counter sent_late;  // frames

  stats::counter arp_requests_sent;
  stats::counter arp_replies_sent;
  stats::counter solicitations_sent;
  stats::counter advertisements_sent;
  stats::counter echo_replies_sent;
  stats::counter errors_sent;
  stats::counter errors_limited;  // not sent, because of the rate
  stats::counter errors_received;
  stats::counter solicits_limited;
  stats::counter fragments_received;
  stats::counter datagrams_reassembled;
  stats::counter reassembly_timeouts;
  stats::counter reassembly_evicted;
  stats::counter fragments_sent;
  stats::counter datagrams_fragmented;
  stats::counter no_packet;          // the sink had no room for a frame of ours
  stats::counter address_conflicts;  // somebody else uses, or wants, an address of ours
  stats::counter neighbour_conflicts;
  stats::counter path_mtu_reports;  // that changed something
  stats::counter news_lost;
};

}  // namespace millrace::net
