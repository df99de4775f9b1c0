// inspect/counters.hpp - what passive analysis counts: frames, and what was wrong inside those it could use.
//
// Units    `drops`: frames that reached no flow, each once, so that packets == delivered + drops.total(). `anomalies`:
//          things inside delivered frames (a packet that does not open, junk behind the last one): any number a frame.
// Threads  one writer. Tests  test/inspect/analyzer_test.cpp
#pragma once

#include "stats/drop_counters.hpp"

namespace millrace::inspect {

struct counters {
  stats::counter packets;    // frames handed in
  stats::counter bytes;      // of them, on the wire
  stats::counter delivered;  // frames a flow or connection took
  stats::counter flows;      // 5-tuples begun
  stats::counter flows_expired;
  stats::counter flows_evicted;  // gave way to new ones because max_flows was reached
  stats::counter connections;    // QUIC connections begun
  stats::counter connections_expired;
  stats::counter connections_evicted;
  stats::counter hellos;           // ClientHellos (and CHLOs) read
  stats::counter initials_opened;  // of clients, for their ClientHello
  // With secrets, of connections that were reported:
  stats::counter sessions;                // whose secrets opened something
  stats::counter sessions_closed;         // whose secrets opened nothing: Initials alone, which need none
  stats::counter sessions_evicted;        // gave way to new ones because max_decrypted was reached
  stats::counter packets_opened;          // Initial, 0-RTT, Handshake and 1-RTT
  stats::counter packets_opened_initial;  // of them
  stats::counter packets_unopened;        // of those connections, and why: session_facts::unopened
  stats::drop_counters drops;
  stats::drop_counters anomalies;
};

}  // namespace millrace::inspect
