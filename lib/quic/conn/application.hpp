// quic/conn/application.hpp - what stands on top of a connection and is told what happens: hq-interop, SRMP, HTTP/3.
//
// Shape    one object serves all connections of its protocol on an lcore; what it keeps for a connection or a stream
//          hangs on connection::user and live_stream::user. Calls come after a receive burst, at most one of each kind
//          a stream, so a burst of 32 packets for one stream is one on_readable().
// Rules    any call may use the connection's streams (open, write, finish, reset, stop, consume, take, close). No heap,
//          no waiting. A stream's pointer is good until on_stream_closed() returns.
// Threads  the lcore's. Tests  test/quic/sim/transfer_test.cpp
#pragma once

#include <cstdint>

#include "base/bytes.hpp"
#include "quic/conn/live_stream.hpp"

namespace millrace::quic::conn {

class connection;

// Why a connection ended.
enum class end_reason : std::uint8_t {
  closed_by_us,
  closed_by_peer,
  idle_timeout,
  handshake_timeout,
  stateless_reset,
  version_negotiation,  // client: the server speaks none of our versions
  refused,              // no memory
};

struct connection_end {
  end_reason reason = end_reason::closed_by_us;
  bool from_application = false;  // the code is the application's, not QUIC's
  std::uint64_t code = 0;
};

class application {
 public:
  application() noexcept = default;
  application(const application&) = delete;
  application& operator=(const application&) = delete;
  virtual ~application() = default;

  // Streams may be opened from here on. On a client also before, for 0-RTT: on_early(), and on_established() later.
  virtual void on_established(connection&) noexcept {}
  virtual void on_early(connection&) noexcept {}
  // The peer opened it. Its data, if any, follows as on_readable().
  virtual void on_stream_opened(connection&, live_stream&) noexcept {}
  // Data, its end, or a reset (recv.is_reset(), to be answered by connection::reset_read()).
  virtual void on_readable(connection&, live_stream&) noexcept {}
  // The peer acknowledged bytes: send.acked() rose.
  virtual void on_writable(connection&, live_stream&) noexcept {}
  // The peer asks for no more (RFC 9000 3.5), with stopped_by_peer. The connection has reset the stream already.
  virtual void on_stopped(connection&, live_stream&) noexcept {}
  // Both parts are over. The last call for it.
  virtual void on_stream_closed(connection&, live_stream&) noexcept {}
  // The peer lets us open more streams.
  virtual void on_streams_available(connection&) noexcept {}
  virtual void on_datagram(connection&, base::byte_view) noexcept {}
  // The last call. Streams were closed before, one by one.
  virtual void on_closed(connection&, const connection_end&) noexcept {}

  // A clock of the application's own, looked at by the endpoint that serves it: when on_clock() is wanted; a time that
  // is past means now. Whatever it then does to a connection is followed by quic_endpoint::touch().
  [[nodiscard]] virtual std::uint64_t clock_ns() const noexcept { return UINT64_MAX; }
  virtual void on_clock(std::uint64_t) noexcept {}
};

}  // namespace millrace::quic::conn
