// quic/stream/recv_stream.hpp - the receiving part of one stream: frames in, ordered bytes out.
//
// Shape    recv_state's table with a reassembly, the stream's window and its final size. What the connection shares
//          (its window, its account of pieces) comes with each call.
// Credit   both windows count what rises the highest offset, and get back what is consumed: by the application, or by
//          nobody any more once the stream is reset or stopped. A final size settles the connection's account at once.
// Owner    on_frame() keeps a reference to `whole`, which nobody writes to any more, or a copy of a small part. Bytes
// of
//          front() are the stream's until consumed; a slice of take() is the caller's for as long as it likes.
// Errors   recv_errc. flow_control and final_size end the connection with wire::transport_error of the same name, and
//          nothing changed. too_fragmented and no_memory are ours, not the peer's: the packet is dropped as if it had
//          not come, not acknowledged, and comes again; what it brought before may stay. Frames for a stream that is
//          over are not errors as long as they keep to its final size.
// Source   RFC 9000 3.2, 4.1, 4.5. Tests  test/quic/stream/reassembly_test.cpp
#pragma once

#include "quic/stream/flow_control.hpp"
#include "quic/stream/reassembly.hpp"
#include "quic/stream/recv_state.hpp"
#include "quic/wire/error_code.hpp"

namespace millrace::quic::stream {

enum class recv_errc : std::uint8_t { ok, flow_control, final_size, too_fragmented, no_memory };

// Whether the peer broke a rule, or we are short of something.
[[nodiscard]] constexpr bool is_fault(recv_errc e) noexcept {
  return e == recv_errc::flow_control || e == recv_errc::final_size;
}
[[nodiscard]] constexpr wire::transport_error transport_error_of(recv_errc e) noexcept {
  switch (e) {
    case recv_errc::ok:
      return wire::transport_error::no_error;
    case recv_errc::flow_control:
      return wire::transport_error::flow_control_error;
    case recv_errc::final_size:
      return wire::transport_error::final_size_error;
    case recv_errc::too_fragmented:  // for a connection that has dropped too many packets for it (RFC 9000 21.7)
    case recv_errc::no_memory:
      return wire::transport_error::internal_error;
  }
  return wire::transport_error::internal_error;
}

class recv_stream {
  static constexpr std::uint64_t unknown = UINT64_MAX;

  reassembly data_;
  receive_window window_;
  std::uint64_t final_size_ = unknown;
  std::uint64_t reset_code_ = 0;
  recv_state state_ = recv_state::recv;
  bool stopped_ = false;  // the application wants no more: what comes is dropped

 public:
  recv_stream(std::uint64_t window, std::uint64_t most_window) noexcept : window_(window, most_window) {}
  recv_stream(const recv_stream&) = delete;
  recv_stream& operator=(const recv_stream&) = delete;

  struct frame {
    std::uint64_t offset = 0;
    base::byte_view data{};
    bool fin = false;
  };
  // A STREAM frame that lies in `whole`.
  [[nodiscard]] recv_errc on_frame(piece_account& pieces, receive_window& connection, const buf::packet& whole,
                                   const frame& f) noexcept;
  // RESET_STREAM. What was not read yet is dropped, unless all of it had come: then it is still delivered.
  [[nodiscard]] recv_errc on_reset(piece_account& pieces, receive_window& connection, std::uint64_t code,
                                   std::uint64_t final_size) noexcept;

  // --- the application's side ---
  [[nodiscard]] base::byte_view front() const noexcept { return data_.front(); }
  [[nodiscard]] std::uint64_t readable() const noexcept { return data_.readable(); }
  void copy_out(base::byte_span out) const noexcept { data_.copy_out(out); }  // reassembly::copy_out()
  // `count` is at most readable(); the bytes' credit goes back to the peer.
  void consume(piece_account& pieces, receive_window& connection, std::uint64_t count) noexcept;
  // The next piece, or its first `most` (not 0) bytes, with a reference of its own; consumed.
  [[nodiscard]] buf::slice take(piece_account& pieces, receive_window& connection,
                                std::size_t most = SIZE_MAX) noexcept;
  // Nobody reads on: what is there and what comes is dropped and its credit given back. True when STOP_SENDING is worth
  // sending (RFC 9000 3.5: not when all of it has come already).
  [[nodiscard]] bool stop(piece_account& pieces, receive_window& connection) noexcept;
  // The application was told of the reset.
  void on_reset_read() noexcept { step(recv_event::read_reset); }

  [[nodiscard]] recv_state state() const noexcept { return state_; }
  [[nodiscard]] bool is_over() const noexcept { return is_final(state_); }
  // Every byte was taken, and no more will come.
  [[nodiscard]] bool is_at_end() const noexcept { return state_ == recv_state::data_read; }
  // Every byte has come, read or not.
  [[nodiscard]] bool is_complete() const noexcept { return state_ == recv_state::data_recvd || is_at_end(); }
  [[nodiscard]] bool is_reset() const noexcept {
    return state_ == recv_state::reset_recvd || state_ == recv_state::reset_read;
  }
  [[nodiscard]] std::uint64_t reset_code() const noexcept { return reset_code_; }
  [[nodiscard]] std::uint64_t offset() const noexcept { return data_.read(); }
  [[nodiscard]] const reassembly& pieces() const noexcept { return data_; }
  // RFC 9000 4.2: MAX_STREAM_DATA is only worth sending while more may come.
  [[nodiscard]] bool should_update_limit() const noexcept {
    return state_ == recv_state::recv && !stopped_ && window_.should_update();
  }
  [[nodiscard]] receive_window& window() noexcept { return window_; }

  // Before it dies: pieces go back to the store, and what was never read, to the connection's credit.
  void release(piece_account& pieces, receive_window& connection) noexcept { drop_unread(pieces, connection); }

 private:
  void step(recv_event e) noexcept {
    if (const auto s = next(state_, e)) state_ = *s;
  }
  [[nodiscard]] bool accept_end(std::uint64_t end, bool is_final) const noexcept;
  void drop_unread(piece_account& pieces, receive_window& connection) noexcept;
  void check_complete() noexcept;
};

}  // namespace millrace::quic::stream
