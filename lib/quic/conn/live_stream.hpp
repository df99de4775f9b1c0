// quic/conn/live_stream.hpp - one open stream of one connection, with its places in the connection's queues.
//
// Owner    the lcore's stream_store; the connection links it. It dies when both parts are over and the application was
//          told (application::on_stream_closed).
// Source   RFC 9000 2, 3. Tests  test/quic/sim/transfer_test.cpp
#pragma once

#include "quic/conn/send_source.hpp"
#include "quic/stream/recv_stream.hpp"
#include "quic/stream/send_stream.hpp"

namespace millrace::quic::conn {

class connection;

struct stream_limits {
  std::uint64_t send = 0;          // what the peer lets us send at first
  std::uint64_t receive = 0;       // what we let it
  std::uint64_t receive_most = 0;  // and what that grows to
};

inline constexpr std::size_t send_urgencies = 8;  // RFC 9218 4.1

struct live_stream {
  stream::stream_id id;
  connection* owner = nullptr;
  live_stream* next = nullptr;  // of its connection
  live_stream* previous = nullptr;
  live_stream* data_next = nullptr;  // in the queue of those with something to send
  live_stream* control_next = nullptr;
  live_stream* event_next = nullptr;
  send_source* source = nullptr;      // the application's
  void* user = nullptr;               // the application's
  std::uint64_t stop_code = 0;        // of the STOP_SENDING to send
  std::uint64_t stopped_by_peer = 0;  // the code of the one received
  std::uint32_t number = 0;           // in the store
  std::uint8_t urgency = 3;           // RFC 9218 4.1: 0 first, below send_urgencies
  std::uint8_t data_level = 0;        // of the queue of those with data, where it stands
  bool is_incremental = true;         // takes turns with others of its urgency
  bool pulls = false;                 // its source has more, and is asked for it when it can go
  bool has_send = false;
  bool has_recv = false;
  bool in_data_queue = false;
  bool in_control_queue = false;
  bool in_event_queue = false;
  bool opened_by_peer = false;
  bool is_new = false;    // the application has not seen it
  bool readable = false;  // events that wait to be told
  bool writable = false;
  bool peer_stopped = false;
  bool stop_due = false;  // frames that wait to be sent
  bool max_data_due = false;
  bool blocked_due = false;
  bool closed_told = false;
  bool withheld = false;  // opened in 0-RTT, beyond what the handshake then allowed: the peer may not hear of it yet
  stream::send_stream send;
  stream::recv_stream recv;

  live_stream(stream::stream_id which, connection& whose, const stream_limits& l) noexcept
      : id(which), owner(&whose), send(l.send), recv(l.receive, l.receive_most) {}

  [[nodiscard]] bool is_over() const noexcept { return (!has_send || send.is_over()) && (!has_recv || recv.is_over()); }
};

static_assert(sizeof(live_stream) <= 768, "10 000 stalled readers take 7.5 MB");

}  // namespace millrace::quic::conn
