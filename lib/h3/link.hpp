// h3/link.hpp - what HTTP/3 keeps for one connection: the control stream and QPACK's, both ways, and what they say.
//
// Shape    made with the connection's first event; opens our three unidirectional streams and sends SETTINGS as soon as
//          the peer lets it. Each of the peer's critical streams has one place, taken once for the connection's life.
// Errors   fault(): the connection closes with the RFC's code, and the reason is counted. A stream that means nothing
//          to us is stopped and no error (RFC 9114 9).
// Limits   a control stream's frames are read as they come and not kept; PRIORITY_UPDATE, of most_priority_bytes at
//          most, when it is whole. Priorities of requests that have not come: most_early_priorities.
// Owner    the carrier's pool; lives from the first event to on_closed(). Threads  one lcore.
// Source   RFC 9114 5.2 6.2 7.2, RFC 9204 4.2, RFC 9218 7. Tests  test/h3/control_test.cpp
#pragma once

#include "h3/counters.hpp"
#include "h3/qpack/decoder.hpp"
#include "h3/qpack/encoder.hpp"
#include "h3/settings.hpp"
#include "h3/wire/priority.hpp"
#include "h3/wire/settings.hpp"
#include "quic/conn/chain_source.hpp"

namespace millrace::h3 {

class carrier;
class message;

inline constexpr std::size_t most_priority_bytes = 256;
inline constexpr std::size_t most_early_priorities = 8;

class link {
  using live_stream = quic::conn::live_stream;
  static constexpr std::uint64_t nothing = UINT64_MAX;

  // One of our three.
  struct outgoing {
    quic::conn::chain_source bytes;
    live_stream* stream = nullptr;
    bool was_opened = false;
  };
  // One of the peer's three: taken once.
  struct incoming {
    live_stream* stream = nullptr;
    bool was_taken = false;
  };
  struct early_priority {
    std::uint64_t stream = nothing;
    wire::priority value;
  };

  carrier& of_;
  quic::conn::connection& c_;
  std::span<std::byte> tables_;
  qpack::decoder decoder_;
  qpack::encoder encoder_;
  outgoing control_out_, encoder_out_, decoder_out_;
  incoming control_in_, encoder_in_, decoder_in_;

  // The control stream's reader.
  wire::pair_reader frame_;
  wire::varint_reader number_;
  wire::settings_reader settings_in_;
  wire::settings_values peer_;
  std::uint64_t frame_type_ = 0, frame_left_ = 0;
  wire::frame_place place_ = wire::frame_place::control_first;
  bool in_frame_ = false;
  bool is_dead_ = false;
  bool wants_close_ = false;  // drained: closes when the last exchange is over

  std::uint64_t max_push_id_ = nothing;
  std::uint64_t peer_goaway_ = nothing;  // the last one received
  std::uint64_t our_goaway_ = nothing;   // and sent
  std::uint64_t next_request_ = 0;       // server: behind the highest that has come
  std::array<early_priority, most_early_priorities> priorities_;
  std::uint8_t next_priority_ = 0;
  quic::conn::event_budget resets_;

 public:
  message* messages = nullptr;  // all that are open
  message* blocked = nullptr;   // of them, those that wait for QPACK
  std::uint32_t message_count = 0, blocked_count = 0;
  link *next = nullptr, *previous = nullptr;  // the carrier's list

  link(carrier& of, quic::conn::connection& c, std::span<std::byte> tables) noexcept;
  link(const link&) = delete;
  link& operator=(const link&) = delete;
  ~link();

  [[nodiscard]] carrier& of() const noexcept { return of_; }
  [[nodiscard]] quic::conn::connection& connection() const noexcept { return c_; }
  [[nodiscard]] bool is_dead() const noexcept { return is_dead_; }
  [[nodiscard]] static std::size_t table_bytes(const settings& s) noexcept;
  [[nodiscard]] std::span<std::byte> tables() const noexcept { return tables_; }
  [[nodiscard]] const wire::settings_values& peer_settings() const noexcept { return peer_; }
  [[nodiscard]] bool has_peer_settings() const noexcept { return place_ == wire::frame_place::control; }
  [[nodiscard]] std::uint64_t peer_goaway() const noexcept { return peer_goaway_; }

  // Those of our streams that the peer lets us open and that are not.
  void open_streams() noexcept;
  // A unidirectional stream of the peer's has bytes, or an end.
  void on_readable(live_stream& s) noexcept;
  void on_stream_closed(live_stream& s) noexcept;
  void fault(wire::error code, event why) noexcept;
  // The peer gave up or broke a request: too many of those end the connection.
  void on_broken() noexcept;

  // Server: whether this request is taken; it is not behind a GOAWAY.
  [[nodiscard]] bool may_begin(std::uint64_t id) noexcept;
  // What a PRIORITY_UPDATE said before the request came.
  [[nodiscard]] bool take_priority(std::uint64_t id, wire::priority& out) noexcept;
  // GOAWAY: none of ours from `id` on will be answered. Larger ones than before are not sent.
  void send_goaway(std::uint64_t id) noexcept;
  [[nodiscard]] std::uint64_t next_request() const noexcept { return next_request_; }
  void close_when_done() noexcept;
  void on_message_gone() noexcept;

  // --- QPACK ---
  enum class decoded : std::uint8_t { done, blocked, refused, malformed };
  // `required`: when blocked, what on_encoder_stream() must have brought.
  [[nodiscard]] decoded decode(std::uint64_t id, base::byte_view section, section_reader& to, section_errc& why,
                               std::uint64_t& required) noexcept;
  void cancel(std::uint64_t id) noexcept;  // nothing more of the stream will be decoded
  // Writes the section into `out`, which has qpack::encoder::max_section_size() bytes; answers its size, 0: it has not.
  [[nodiscard]] std::size_t encode(std::uint64_t id, std::span<const qpack::field> fields,
                                   base::byte_span out) noexcept;
  void send_acknowledgements() noexcept;

 private:
  void open(outgoing& o, wire::stream_type type) noexcept;
  void submit(outgoing& o) noexcept;
  void on_control(live_stream& s) noexcept;
  [[nodiscard]] bool begin_frame(const wire::frame_header& h) noexcept;
  [[nodiscard]] bool take_payload(live_stream& s, base::byte_view here) noexcept;
  void on_number(std::uint64_t value) noexcept;
  void on_goaway(std::uint64_t id) noexcept;
  void on_priority_update(base::byte_view payload) noexcept;
  void take(live_stream& s, std::uint64_t type) noexcept;
  void on_encoder_stream(live_stream& s) noexcept;
  void on_decoder_stream(live_stream& s) noexcept;
  void release_blocked() noexcept;
};

// What a head of these fields takes at most.
[[nodiscard]] constexpr std::size_t encoded_most(std::size_t texts, std::size_t fields) noexcept {
  return texts + 16 * fields + 32;
}

}  // namespace millrace::h3
