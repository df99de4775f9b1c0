// pipeline/srmp_session.hpp - SRMP connections on QUIC streams: what does not depend on who answers.
//
// Shape    srmp_sessions keeps a session for each bidirectional stream a peer opens, its send buffer, its unfinished
//          frame, its end. srmp_streams<Handler> (srmp_streams.hpp) is the application; it serves what is there.
// Errors   a connection that breaks ends as SRMP over TCP does: nothing more is read (STOP_SENDING), what was answered
//          is sent and acknowledged, then the stream is reset with one of srmp_code. Each has its counter.
// Threads  one lcore; counters may be read from anywhere. Tests  test/pipeline/srmp_streams_test.cpp
#pragma once

#include "pipeline/srmp_intake.hpp"
#include "quic/conn/chain_source.hpp"
#include "quic/endpoint/endpoint.hpp"
#include "srmp/datagram_service.hpp"
#include "srmp/stream_batch.hpp"
#include "srmp/wire/partial_timer.hpp"

namespace millrace::pipeline {

inline constexpr std::string_view srmp_protocol = "srmp";

// Of RESET_STREAM and STOP_SENDING.
enum class srmp_code : std::uint64_t {
  no_error = 0,
  malformed = 1,   // a length that cannot be, or is above the ceiling
  truncated = 2,   // the stream ended inside a frame
  too_slow = 3,    // a frame was begun and not finished in time
  no_memory = 4,   // no session, or no block for a reply
  not_served = 5,  // a unidirectional stream
  cancelled = 6,   // the answer to the peer's own reset or STOP_SENDING
};

struct srmp_stream_settings {
  std::uint32_t sessions = 4096;       // streams at a time, of all connections of the lcore
  std::uint32_t assembly_blocks = 64;  // of 64 KiB: unfinished frames that are longer than intake.keep_bytes
  intake_limits intake;
  // Replies that wait to be acknowledged, of one stream: at the upper mark no request is read.
  buf::pipe_limits send = quic::conn::chain_source::default_limits;
  srmp::wire::partial_limits partial_ns{srmp::wire::default_stall_ms * 1'000'000,
                                        srmp::wire::default_whole_ms * 1'000'000};
  srmp::compatibility peers = {};
};

struct srmp_stream_counters {
  stats::counter streams;        // opened
  stats::counter refused;        // of them: no session was free
  stats::counter not_served;     // unidirectional
  stats::counter malformed;      // ended by a header that cannot be
  stats::counter truncated;      // by a FIN inside a frame
  stats::counter expired;        // by the timer of unfinished frames
  stats::counter out_of_memory;  // by a reply that found no block
  stats::counter reset_by_peer;
  stats::counter stopped_by_peer;
  stats::counter finished;       // ended by a FIN between frames
  stats::counter paused;         // times that a stream was not read, because replies were not taken
  stats::counter starved;        // because no block was free
  stats::counter large_passed;   // payloads passed through
  stats::counter large_dropped;  // payloads longer than a handler takes
};

class srmp_sessions : public quic::conn::application {
 protected:
  enum class body_fate : std::uint8_t { drop, pass };
  struct session {
    quic::conn::chain_source out;
    srmp_intake intake;
    srmp::wire::partial_timer timer;
    quic::conn::connection* connection;
    quic::conn::live_stream* stream;
    session* next = nullptr;  // in one of the lists
    session* previous = nullptr;
    std::uint32_t body_left = 0;  // of a payload that is passed or dropped as it comes
    body_fate fate = body_fate::drop;
    srmp_code ending = srmp_code::no_error;
    bool is_serving = true;  // false: nothing is read any more
    bool is_paused = false;
    enum class listed : std::uint8_t { nowhere, unfinished, starved } in = listed::nowhere;

    session(srmp_sessions& of, quic::conn::connection& c, quic::conn::live_stream& s) noexcept
        : out(of.blocks_, of.settings_.send),
          intake(*of.store_),
          timer(of.settings_.partial_ns),
          connection(&c),
          stream(&s) {}
  };

  srmp_sessions(const srmp_stream_settings& settings, const buf::mbuf_source& blocks, mem::object_pool<session> pool,
                std::unique_ptr<intake_store> store, mem::region spill) noexcept
      : settings_(settings),
        blocks_(blocks),
        pool_(std::move(pool)),
        store_(std::move(store)),
        spill_(std::move(spill)) {}

  struct parts {
    mem::object_pool<session> pool;
    std::unique_ptr<intake_store> store;
    mem::region spill;
  };
  [[nodiscard]] static base::result<parts> make_parts(const srmp_stream_settings& settings);

  // Reads, answers, submits, as far as marks and memory let.
  virtual void serve(session& x) noexcept = 0;

  // The rest of a payload that no handler gets; true when it is through.
  [[nodiscard]] bool pass_body(session& x) noexcept;
  void after_serving(session& x, bool had_frames) noexcept;
  void end(session& x, srmp_code code) noexcept;
  void starve(session& x) noexcept;
  void put(session& x, session::listed where) noexcept;
  [[nodiscard]] base::byte_span spill() noexcept { return spill_.array<std::uint8_t>(); }

  srmp_stream_settings settings_;
  buf::mbuf_source blocks_;
  mem::object_pool<session> pool_;
  std::unique_ptr<intake_store> store_;
  mem::region spill_;
  srmp_stream_counters count_;
  srmp::server_counters served_;

 private:
  struct list {
    session* first = nullptr;
    session* last = nullptr;
    std::uint32_t size = 0;
  };
  list unfinished_, starved_;
  std::uint64_t next_sweep_ns_ = UINT64_MAX;
  std::uint64_t next_feed_ns_ = UINT64_MAX;
  quic::endpoint::quic_endpoint* endpoint_ = nullptr;

  [[nodiscard]] list& list_of(session::listed which) noexcept {
    return which == session::listed::starved ? starved_ : unfinished_;
  }
  void maybe_reset(session& x) noexcept;
  void sweep(std::uint64_t now_ns) noexcept;
  void feed(std::uint64_t now_ns) noexcept;

 public:
  // Makes it the endpoint's application for ALPN srmp. The endpoint's windows must take a whole unfinished frame.
  base::outcome serve_on(quic::endpoint::quic_endpoint& endpoint);

  void on_stream_opened(quic::conn::connection& c, quic::conn::live_stream& s) noexcept override;
  void on_readable(quic::conn::connection& c, quic::conn::live_stream& s) noexcept override;
  void on_writable(quic::conn::connection& c, quic::conn::live_stream& s) noexcept override;
  void on_stopped(quic::conn::connection& c, quic::conn::live_stream& s) noexcept override;
  void on_stream_closed(quic::conn::connection& c, quic::conn::live_stream& s) noexcept override;
  [[nodiscard]] std::uint64_t clock_ns() const noexcept override { return std::min(next_sweep_ns_, next_feed_ns_); }
  void on_clock(std::uint64_t now_ns) noexcept override;

  [[nodiscard]] const srmp_stream_counters& streams() const noexcept { return count_; }
  [[nodiscard]] const srmp::server_counters& counters() const noexcept { return served_; }
  [[nodiscard]] const intake_store& store() const noexcept { return *store_; }
  [[nodiscard]] std::uint32_t open_sessions() const noexcept { return pool_.in_use(); }
};

}  // namespace millrace::pipeline
