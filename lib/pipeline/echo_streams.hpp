// pipeline/echo_streams.hpp - streams that come back (ALPN echo): what a client says on a bidirectional stream is said
// back to it, byte by byte; what it says on a unidirectional one is read and counted.
//
// Shape    the plainest application there is: it shows what streams, flow control and back-pressure cost by
//          themselves, and other stacks' tests can talk to it with any bytes.
// Flow     what is sent back is kept until the client has acknowledged it, at most `send.pause_bytes` a stream; beyond,
//          the stream is not read, and the client gets no credit. Nothing is dropped.
// Copy     once, from the packet into blocks: what a slow reader has not acknowledged must not pin the packets we
//          receive into.
// Ends     FIN is answered with FIN behind the last byte; a reset, or STOP_SENDING, with `cancelled`.
// Limits   echo_settings. No session free: the stream is reset (no_memory). No block free: it waits.
// Owner    the pool of blocks and the endpoint are the caller's; the endpoint dies first.
// Threads  one lcore; counters may be read from anywhere. Tests  test/pipeline/echo_streams_test.cpp
#pragma once

#include "mem/object_pool.hpp"
#include "quic/conn/chain_source.hpp"
#include "quic/endpoint/endpoint.hpp"

namespace millrace::pipeline {

inline constexpr std::string_view echo_protocol = "echo";

// Of RESET_STREAM and STOP_SENDING.
enum class echo_code : std::uint64_t { no_error = 0, no_memory = 1, cancelled = 2 };

struct echo_settings {
  std::uint32_t sessions = 4096;  // streams at a time, of all connections of the lcore
  buf::pipe_limits send{.pause_bytes = 128 << 10, .resume_bytes = 64 << 10, .pause_segments = 256};
};

struct echo_counters {
  stats::counter streams;     // bidirectional ones that were taken
  stats::counter refused;     // because no session was free
  stats::counter bytes;       // sent back
  stats::counter bytes_read;  // of unidirectional streams
  stats::counter reset_by_peer;
  stats::counter stopped_by_peer;
  stats::counter paused;   // times that a stream was not read, because its bytes were not taken
  stats::counter starved;  // because no block was free
};

class echo_streams final : public quic::conn::application {
  struct session {
    quic::conn::chain_source out;
    quic::conn::live_stream* stream;
    session* next_starved = nullptr;
    bool is_starved = false;
    bool is_over = false;  // nothing is read any more

    session(const echo_streams& of, quic::conn::live_stream& s) noexcept
        : out(of.blocks_, of.settings_.send), stream(&s) {}
  };

  echo_settings settings_;
  buf::mbuf_source blocks_;
  mem::object_pool<session> pool_;
  session* starved_ = nullptr;  // newest first
  std::uint64_t next_feed_ns_ = UINT64_MAX;
  quic::endpoint::quic_endpoint* endpoint_ = nullptr;
  echo_counters count_;

  echo_streams(const echo_settings& settings, const buf::mbuf_source& blocks, mem::object_pool<session> pool) noexcept
      : settings_(settings), blocks_(blocks), pool_(std::move(pool)) {}
  void pump(quic::conn::connection& c, session& x) noexcept;
  void starve(quic::conn::connection& c, session& x) noexcept;
  void forget_starved(session& x) noexcept;

 public:
  [[nodiscard]] static base::result<std::unique_ptr<echo_streams>> make(const echo_settings& settings,
                                                                        const buf::mbuf_source& blocks);
  // Makes it the endpoint's application for ALPN echo.
  base::outcome serve_on(quic::endpoint::quic_endpoint& endpoint);

  void on_stream_opened(quic::conn::connection& c, quic::conn::live_stream& s) noexcept override;
  void on_readable(quic::conn::connection& c, quic::conn::live_stream& s) noexcept override;
  void on_writable(quic::conn::connection& c, quic::conn::live_stream& s) noexcept override;
  void on_stopped(quic::conn::connection& c, quic::conn::live_stream& s) noexcept override;
  void on_stream_closed(quic::conn::connection& c, quic::conn::live_stream& s) noexcept override;
  [[nodiscard]] std::uint64_t clock_ns() const noexcept override { return next_feed_ns_; }
  void on_clock(std::uint64_t now_ns) noexcept override;

  // What make() takes, a little above the truth.
  [[nodiscard]] static std::size_t memory_bytes(const echo_settings& s) noexcept {
    return std::size_t{s.sessions} * (sizeof(session) + 64);
  }
  [[nodiscard]] const echo_counters& counters() const noexcept { return count_; }
  [[nodiscard]] std::uint32_t open_sessions() const noexcept { return pool_.in_use(); }
};

}  // namespace millrace::pipeline
