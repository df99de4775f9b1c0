// quic/stream/send_stream.hpp - the sending part of one stream: what to send next, and what may be forgotten.
//
//   0 ---- acknowledged ----> acked() ---- in flight, lost, acknowledged in parts ----> sent() ---- new ----> written()
//
// Shape    bookkeeping alone: the bytes stay where the application has them (content, a chain, a source that can be
//          read again) and are named by offset. next_chunk() picks lost bytes first, then new ones within credit;
//          on_sent() books it; acknowledgements and losses come back from recovery's tokens. When acked() rises, the
//          application's memory below it may go, and a producer that waits for room goes on.
// Limits   16 acknowledged and 8 lost ranges, in a small one 2 and 2. Where a place is missing, bytes are sent again
// that
//          need not be: never the other way round.
// Units    bytes of the stream.
// Errors   none of the peer's: its ACKs were judged by recovery. write() after finish() or reset() is refused.
// Source   RFC 9000 3.1, 4.1, 13.3. Tests  test/quic/stream/send_stream_test.cpp
#pragma once

#include "quic/stream/flow_control.hpp"
#include "quic/stream/range_set.hpp"
#include "quic/stream/send_state.hpp"

namespace millrace::quic::stream {

struct chunk {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  bool fin = false;
  bool is_new = false;  // its bytes cost credit of stream and connection
  [[nodiscard]] bool is_nothing() const noexcept { return size == 0 && !fin; }
};

template <std::size_t AckedParts, std::size_t LostParts>
class basic_send_stream {
  send_credit credit_;
  std::uint64_t written_ = 0;
  std::uint64_t sent_ = 0;   // highest offset sent
  std::uint64_t acked_ = 0;  // all below is acknowledged
  std::uint64_t reset_code_ = 0;
  range_set<AckedParts> acked_parts_;
  range_set<LostParts> lost_;
  send_state state_ = send_state::ready;
  bool finished_ = false;  // the stream ends at written_
  bool fin_due_ = false;   // FIN is to be sent, the first time or again
  bool fin_acked_ = false;
  bool reset_due_ = false;

 public:
  explicit basic_send_stream(std::uint64_t limit) noexcept : credit_(limit) {}

  // --- the application's side ---
  // `bytes` more are ready, behind those written before. False when the stream has ended.
  [[nodiscard]] bool write(std::uint64_t bytes) noexcept {
    if (finished_ || is_reset() || bytes > max_offset - written_) return false;
    written_ += bytes;
    return true;
  }
  void finish() noexcept {
    if (finished_ || is_reset()) return;
    finished_ = fin_due_ = true;
  }
  // Gives up: also the answer to STOP_SENDING (RFC 9000 3.5), with its code. False when that is too late.
  bool reset(std::uint64_t code) noexcept;

  // --- the connection's side ---
  // What fits `most` bytes of data, `connection` of which may be new; is_nothing() when there is nothing to send.
  [[nodiscard]] chunk next_chunk(std::uint64_t most, std::uint64_t connection) const noexcept;
  // It left as next_chunk() said. The connection's credit is the caller's to use, when is_new.
  void on_sent(const chunk& c) noexcept;
  // A STREAM frame was acknowledged. True when acked() rose or the stream is done.
  bool on_acked(std::uint64_t offset, std::uint64_t size, bool fin) noexcept;
  void on_lost(std::uint64_t offset, std::uint64_t size, bool fin) noexcept;
  // RFC 9001 4.6.2: the peer has thrown away all that was sent, and what it allowed: from offset 0 again, without
  // credit.
  void start_over() noexcept;

  // RESET_STREAM is to be sent, with reset_code() and final size sent().
  [[nodiscard]] bool reset_due() const noexcept { return reset_due_; }
  void on_reset_sent() noexcept { reset_due_ = false; }
  void on_reset_lost() noexcept { reset_due_ = state_ == send_state::reset_sent; }
  void on_reset_acked() noexcept { step(send_event::reset_acked); }

  [[nodiscard]] send_credit& credit() noexcept { return credit_; }
  [[nodiscard]] send_state state() const noexcept { return state_; }
  [[nodiscard]] bool is_over() const noexcept { return is_final(state_); }
  [[nodiscard]] bool is_reset() const noexcept {
    return state_ == send_state::reset_sent || state_ == send_state::reset_recvd;
  }
  [[nodiscard]] std::uint64_t written() const noexcept { return written_; }
  [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }
  [[nodiscard]] std::uint64_t acked() const noexcept { return acked_; }
  [[nodiscard]] std::uint64_t reset_code() const noexcept { return reset_code_; }
  [[nodiscard]] bool has_lost() const noexcept {
    return !lost_.empty() || (fin_due_ && state_ == send_state::data_sent);
  }
  // RFC 9000 4.1: there are new bytes, and the stream's credit is what stops them.
  [[nodiscard]] bool is_blocked() const noexcept { return !is_reset() && written_ > sent_ && credit_.available() == 0; }

 private:
  void step(send_event e) noexcept {
    if (const auto s = next(state_, e)) state_ = *s;
  }
};

using send_stream = basic_send_stream<16, 8>;
// For what carries little and never ends: HTTP/3's control streams; the CRYPTO data of one level.
using small_send_stream = basic_send_stream<2, 2>;
extern template class basic_send_stream<16, 8>;
extern template class basic_send_stream<2, 2>;
static_assert(sizeof(small_send_stream) <= 160, "an idle connection has several");

}  // namespace millrace::quic::stream
