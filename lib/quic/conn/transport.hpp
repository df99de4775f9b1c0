// quic/conn/transport.hpp - what all connections of one lcore share: pools, keys of the crypto engine, counters.
//
// Owner    whoever set the lcore up; outlives every connection. Threads  one lcore.
#pragma once

#include "mem/heap_counter.hpp"
#include "mem/object_pool.hpp"
#include "quic/conn/application.hpp"
#include "quic/conn/counters.hpp"
#include "quic/conn/handshake_state.hpp"
#include "quic/conn/path_table.hpp"
#include "quic/conn/random_source.hpp"
#include "quic/conn/settings.hpp"
#include "quic/conn/stream_store.hpp"
#include "quic/conn/trace.hpp"
#include "quic/recovery/sent_pool.hpp"

namespace millrace::quic::conn {

struct transport {
  const transport_settings& settings;
  crypto::engine& engine;
  recovery::sent_pool& sent;
  stream::piece_store& pieces;
  stream_store& streams;
  mem::object_pool<handshake_state>& handshakes;
  key_store& keys;
  mem::object_pool<many_ranges>& ranges;
  mem::object_pool<more_paths>& paths;
  random_source& random;
  counters& events;
  mem::heap_tally& handshake_heap;   // what GnuTLS takes: counted apart from the data path's
  trace_queue* trace = nullptr;      // nullptr: nobody reads along
  handshake_steps* steps = nullptr;  // nullptr: every step is done at once
  std::uint32_t waiting = 0;         // packets that wait for keys, of all connections (early_packets)
};

}  // namespace millrace::quic::conn
