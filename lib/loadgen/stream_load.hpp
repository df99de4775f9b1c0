// loadgen/stream_load.hpp - the client of an SRMP method that answers with a stream of items, as a service of a loop.
//
// Shape    make(settings); open_on(loop); the loop does the rest. Each connection keeps `window` streams in flight: a
//          call of `method` with {"bytes":N,"item":M}, answered by items of M bytes as stream_pattern has them, then by
//          a reply without data. When one ends the next is asked for, until so many were, or so long, or it is told to
//          stop; then it waits for those in flight. Before the first, an empty stream is asked for until it is
//          answered.
// Checks   every item: its place in the stream, its content, that it came once, and whether it came in order. UDP sends
//          nothing again: what a stream lacks when it is over is counted as missing, and nothing waits for it.
// Over     a stream whose end was heard and whose items are all there is over at once. One that lacks items then waits
//          linger_ns for such as were overtaken. One of whose end nothing is heard is cut after stall_ns of silence.
// Latency  ns from the call to the end, of whole streams.
// Owner    the object; the loop it is opened on must not outlive it. Memory is taken in make().
// Errors   make(): what of the settings cannot work. Everything else is counted.
// Threads  one lcore; is_done(), figures() and latency() from anywhere.
// Source   the remoting sheet, 4: server streaming as the reference does it. Tests  test/loadgen/stream_load_test.cpp
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "loadgen/stream_pattern.hpp"
#include "pipeline/udp_service.hpp"
#include "srmp/wire/frame.hpp"
#include "stats/latency_histogram.hpp"

namespace millrace::pipeline {
class service_loop;
}

namespace millrace::loadgen {

struct stream_settings {
  base::endpoint target;
  std::uint16_t first_port = 49152;  // connection i has first_port + i
  std::uint16_t connections = 1;
  std::uint16_t window = 1;    // streams in flight of one connection
  std::uint64_t requests = 0;  // streams; 0: until time is up
  std::uint64_t duration_ns = 0;
  std::uint64_t bytes = 256 * 1024;  // of a stream
  std::uint32_t item = 1024;         // bytes of an item
  std::string method = "Bench/Stream";
  std::uint64_t stall_ns = 1'000'000'000;
  std::uint64_t linger_ns = 1'000'000;
  std::uint64_t patience_ns = 5'000'000'000;  // for the first answer; then it gives up
};

inline constexpr std::uint16_t max_stream_window = 128;  // half of the sequence: a late item meets no newer stream
inline constexpr std::uint64_t max_stream_items = 1u << 20;

[[nodiscard]] base::outcome check(const stream_settings& settings);

// Once nothing is in flight: begun == whole + holed + cut + failed, and bytes + missing == begun * settings.bytes.
struct stream_figures {
  bool answered = false;
  std::uint64_t begun = 0;
  std::uint64_t whole = 0;      // every byte, and the end
  std::uint64_t holed = 0;      // the end, and not every byte
  std::uint64_t cut = 0;        // no end
  std::uint64_t failed = 0;     // an error instead of a stream
  std::uint64_t items = 0;      // right ones
  std::uint64_t bytes = 0;      // of them
  std::uint64_t missing = 0;    // bytes that streams lacked when they were over
  std::uint64_t reordered = 0;  // items that came behind later ones
  std::uint64_t wrong = 0;      // items of other content, place or size, or that were there already
  std::uint64_t unmatched = 0;  // frames of no stream in flight: later than linger_ns
  std::uint64_t malformed = 0;  // datagrams that are no frames, frames that are no reply of a method
  std::uint64_t refused = 0;    // calls that our own host or transmit queue did not take
  std::uint64_t in_flight = 0;
  std::uint64_t first_ns = 0;  // when measuring began, on the loop's clock; 0: not yet
  std::uint64_t last_ns = 0;   // of the last frame that was right, or the last stream given up

  stream_figures& operator+=(const stream_figures& more) noexcept;
  [[nodiscard]] double seconds() const noexcept {
    return last_ns > first_ns ? static_cast<double>(last_ns - first_ns) / 1e9 : 0;
  }
};

class stream_load final : public pipeline::udp_service {
  struct passkey {};  // make() alone constructs

 public:
  [[nodiscard]] static base::result<std::unique_ptr<stream_load>> make(const stream_settings& settings);
  stream_load(passkey, const stream_settings& settings);

  // Before the loop runs.
  base::outcome open_on(pipeline::service_loop& loop);

  void on_datagrams(std::span<const pipeline::udp_arrival> arrivals, pipeline::service_turn& turn) noexcept override;
  [[nodiscard]] std::uint64_t due_ns() const noexcept override { return due_ns_; }
  void on_time(pipeline::service_turn& turn) noexcept override { pump(turn); }
  void on_stop(pipeline::service_turn& turn) noexcept override;
  [[nodiscard]] bool is_finished() const noexcept override { return phase() == phases::finished; }

  // Everything was asked for, and is over; or the target never answered.
  [[nodiscard]] bool is_done() const noexcept { return is_finished(); }
  [[nodiscard]] stream_figures figures() const noexcept;
  [[nodiscard]] const stats::latency_histogram& latency() const noexcept { return latency_; }
  [[nodiscard]] const stream_settings& settings() const noexcept { return settings_; }

 private:
  enum class phases : std::uint8_t { knocking, running, draining, finished };
  struct stream {
    std::uint16_t connection = 0;
    std::uint8_t seq = 0;
    bool active = false;
    bool ended = false;
    std::uint64_t begun_ns = 0;
    std::uint64_t heard_ns = 0;     // of its last frame
    std::uint64_t got = 0;          // bytes
    std::uint64_t reached = 0;      // end of the furthest item
    std::uint64_t* seen = nullptr;  // a bit an item
  };
  struct numbering {  // of one connection
    std::uint8_t next_seq = 1;
    std::array<std::uint16_t, 256> stream_of{};  // by sequence: index of the stream and 1; 0: none
  };
  struct tallies {
    stats::counter answered, begun, whole, holed, cut, failed, items, bytes, missing, reordered, wrong, unmatched,
        malformed, refused, in_flight, first_ns, last_ns;
  };

  [[nodiscard]] phases phase() const noexcept { return static_cast<phases>(phase_.get()); }
  void enter(phases next) noexcept { phase_.set(static_cast<std::uint64_t>(next)); }
  void pump(pipeline::service_turn& turn) noexcept;
  void knock(pipeline::udp_output& out, std::uint64_t now) noexcept;
  void begin_streams(pipeline::udp_output& out, std::uint64_t now) noexcept;
  [[nodiscard]] bool begin_stream(pipeline::udp_output& out, std::uint16_t which, std::uint64_t now) noexcept;
  [[nodiscard]] bool send(pipeline::udp_output& out, std::uint16_t connection, std::uint8_t seq,
                          base::byte_view payload) noexcept;
  void on_frame(std::uint16_t connection, const srmp::wire::frame& f, std::uint64_t now) noexcept;
  void on_item(stream& s, base::byte_view item) noexcept;
  void close(stream& s, std::uint64_t now, bool failed = false) noexcept;
  void sweep(std::uint64_t now) noexcept;
  [[nodiscard]] bool may_begin(std::uint64_t now) const noexcept {
    return now < end_ns_ && (settings_.requests == 0 || begun_ < settings_.requests);
  }

  stream_settings settings_;
  stream_pattern pattern_;
  std::uint32_t items_of_one_;
  std::vector<std::uint8_t> call_;   // payload of a request
  std::vector<std::uint8_t> knock_;  // of one for an empty stream
  std::vector<numbering> numbers_;   // of each connection
  std::vector<stream> streams_;
  std::vector<std::uint16_t> free_;  // streams that may be begun: a stack
  std::size_t free_count_ = 0;
  std::vector<std::uint64_t> seen_;  // bits of all streams
  net::udp_flow flow_;
  std::uint64_t due_ns_ = 0;
  std::uint64_t patience_until_ns_ = 0;  // 0: not begun
  std::uint64_t next_knock_ns_ = 0;
  std::uint64_t next_sweep_ns_ = 0;
  std::uint64_t end_ns_ = UINT64_MAX;
  std::uint64_t begun_ = 0;
  std::uint64_t in_flight_ = 0;
  stats::counter phase_;
  tallies count_;
  stats::latency_histogram latency_;
};

}  // namespace millrace::loadgen
