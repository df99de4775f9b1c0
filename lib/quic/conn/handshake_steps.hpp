// quic/conn/handshake_steps.hpp - the expensive step of a handshake, taken on another lcore.
//
// Shape    a server's answer to a ClientHello costs some 150 us of signatures and key exchange: as much as hundreds of
//          packets. A connection offers that step to hand_over(); whoever takes it calls run() on another lcore and
//          gives the step back to the connection's lcore, which calls quic_endpoint::on_step_done(). Until then the
//          connection only collects what arrives: it does not touch TLS.
// Owner    a step lives in its connection, which waits for it before it goes. One step of a connection at a time.
// Errors   hand_over() false: nobody takes it, and it is done at once where it is.
// Threads  hand_over() and wait_for() on the connection's lcore; run() on one other, with a queue (rte_ring) between
//          them that orders memory. Key log sinks and replay tables are told from there.
// Tests    test/quic/sim/handshake_step_test.cpp
#pragma once

#include "tls/quic_handshake.hpp"

namespace millrace::quic::conn {

class connection;

struct handshake_step {
  connection* owner = nullptr;
  tls::quic_handshake* tls = nullptr;
  std::int64_t wall_ns = 0;  // since 1970
  void run() noexcept { static_cast<void>(tls->advance(wall_ns)); }
};

class handshake_steps {
 public:
  handshake_steps() noexcept = default;
  handshake_steps(const handshake_steps&) = delete;
  handshake_steps& operator=(const handshake_steps&) = delete;
  virtual ~handshake_steps() = default;
  [[nodiscard]] virtual bool hand_over(handshake_step& step) noexcept = 0;
  // The connection goes: returns when nobody works on the step, nor will. Rare, and allowed to take its time.
  virtual void wait_for(handshake_step& step) noexcept = 0;
};

}  // namespace millrace::quic::conn
