// h3/message.hpp - one request stream, as far as servers and clients do the same: frames in, frames out.
//
//   in    header -> section -> (on_head, or trailers are kept) -> header -> data -> (on_body ...) -> ... -> over
//                     | blocked: nothing is read on, and no credit given, until QPACK's instructions have come
//   out   write_head(), then a body: inline, a chain, content, pulled, or write() ...; finish()
//
// Shape    pump() reads as far as it can and calls what derives; a field section that lies in one packet is decoded
//          there, others are gathered in a block of the field memory. Frames that mean nothing are passed over as they
//          come. What a call wants done outside of the pump is done with the carrier's next turn (look_soon).
// Flow     bytes of a body that are not consumed give the peer no credit.
// Errors   fail(): this stream alone, with a code; link::fault(): the connection.
// Owner    what derives is an object of a pool, from the stream's first event to on_stream_closed().
// Source   RFC 9114 4.1. Tests  test/h3/
#pragma once

#include "h3/carrier.hpp"
#include "h3/message_source.hpp"

namespace millrace::h3 {

class message {
  friend class carrier;
  friend class client;
  friend class link;

 protected:
  using live_stream = quic::conn::live_stream;
  enum class step : std::uint8_t { header, section, data, skip, over };

  link& link_;
  live_stream& s_;
  message_source out_;
  field_store head_, trailers_;
  field_memory::block staged_;  // of a section that lies in several packets
  std::uint32_t staged_bytes_ = 0;
  std::uint64_t left_ = 0;      // of the frame
  std::uint64_t declared_ = 0;  // by all DATA frames
  std::optional<std::uint64_t> content_length_;
  wire::pair_reader frame_;
  step step_ = step::header;
  wire::frame_place place_ = wire::frame_place::head;
  bool is_blocked_ = false;
  bool is_pumping_ = false;
  bool has_trailers_ = false;
  bool is_body_over_ = false;
  bool is_finished_ = false;  // sending: nothing more comes
  bool is_failed_ = false;
  bool is_refused_ = false;  // what was to be written last may not be sent
  bool was_told_ = false;    // of its end
  bool is_paused_ = false;   // write() said so
  bool discards_ = false;    // what is written: the answer has no content
  bool is_tunnel_ = false;

 private:
  enum class listed : std::uint8_t { nowhere, due, starved };
  listed listed_ = listed::nowhere;
  bool is_watched_ = false;
  message *next_ = nullptr, *previous_ = nullptr;              // of its link
  message *watch_next_ = nullptr, *watch_previous_ = nullptr;  // the carrier's
  message* list_next_ = nullptr;
  message* blocked_next_ = nullptr;
  std::uint64_t blocked_until_ = 0;  // the insert count that its section needs
  std::uint64_t began_ns_;
  std::uint64_t in_since_ns_, in_bytes_ = 0;  // when so much had come
  std::uint64_t out_since_ns_, out_bytes_ = 0;

 public:
  message(link& l, live_stream& s) noexcept;
  message(const message&) = delete;
  message& operator=(const message&) = delete;
  virtual ~message();

  void pump() noexcept;
  void on_trouble(message_source::trouble t) noexcept;

  [[nodiscard]] link& of() const noexcept { return link_; }
  [[nodiscard]] live_stream& stream() const noexcept { return s_; }
  [[nodiscard]] std::uint64_t id() const noexcept { return s_.id.value(); }

 protected:
  enum class ending : std::uint8_t { complete, peer_reset, aborted, malformed, timed_out, rejected, connection_lost };

  // --- what derives ---
  // The head is decoded and its bytes consumed. False: reading does not go on (refused, failed).
  [[nodiscard]] virtual bool on_head(section_reader& r) noexcept = 0;
  virtual void on_body() noexcept = 0;
  virtual void on_body_end(std::span<const http::field> trailers) noexcept = 0;
  virtual void on_room() noexcept = 0;  // write() may go on
  virtual void on_end(ending why) noexcept = 0;
  // A section cannot be taken; fails with a code unless there is a better answer.
  virtual void on_refused(section_errc why) noexcept = 0;
  [[nodiscard]] virtual section_kind head_kind() const noexcept = 0;

  // --- reading ---
  [[nodiscard]] base::byte_view front() const noexcept;
  void consume(std::size_t bytes) noexcept;
  [[nodiscard]] buf::slice take() noexcept;
  void refuse_body() noexcept;

  // --- writing ---
  // HEADERS, and behind it in the same block the header of a DATA frame of `data` bytes and a copy of `copied`.
  // False: no memory, more fields than fit, or a section that may not be sent, which is counted here.
  [[nodiscard]] bool write_head(std::span<const qpack::field> fields, std::optional<std::uint64_t> data,
                                const buf::chain* copied) noexcept;
  // The head of a whole message and its body, FIN included where it can be.
  [[nodiscard]] bool write_message(std::span<const qpack::field> fields, http::body&& body) noexcept;
  void count_unsent() noexcept;  // behind a write that answered false: no_memory, unless it was refused and counted
  [[nodiscard]] buf::flow write(buf::chain&& part) noexcept;
  void finish(std::span<const http::field> trailers) noexcept;
  void go_on() noexcept;  // a pulled body's source has something
  void end_sending() noexcept;

  // This stream ends, both ways, with a code; `why` is told.
  void fail(wire::error code, ending why) noexcept;
  void tell_end(ending why) noexcept;
  [[nodiscard]] std::uint64_t began_ns() const noexcept { return began_ns_; }
  [[nodiscard]] quic::conn::connection& connection() const noexcept { return link_.connection(); }
  [[nodiscard]] counters& count() const noexcept { return link_.of().count(); }
  [[nodiscard]] const settings& limits() const noexcept { return link_.of().limits(); }

 private:
  [[nodiscard]] bool may_send(std::span<const qpack::field> fields) noexcept;
  [[nodiscard]] bool advance() noexcept;
  [[nodiscard]] bool read_header() noexcept;
  [[nodiscard]] bool begin_frame(const wire::frame_header& h) noexcept;
  [[nodiscard]] bool read_section() noexcept;
  [[nodiscard]] bool decode(base::byte_view section, bool is_staged) noexcept;
  [[nodiscard]] bool read_data() noexcept;
  [[nodiscard]] bool skip() noexcept;
  [[nodiscard]] bool on_fin() noexcept;
  void give_staged() noexcept;
  void on_readable() noexcept;
  void on_writable() noexcept;
  void on_stopped() noexcept;
  void on_turn() noexcept;
  void on_unblocked() noexcept;
  void leave_blocked() noexcept;
  [[nodiscard]] bool check_times(std::uint64_t now_ns) noexcept;
  [[nodiscard]] bool is_complete() const noexcept;
  [[nodiscard]] bool waits_for_peer() const noexcept;
};

}  // namespace millrace::h3
