// The connection's window and the stream's are kept in step: received() of the connection is the sum over all its
// streams of their highest offsets, and what one stream consumes is consumed of both. When a stream ends early (reset,
// stopped, released) the difference between what it received and what was consumed is given back in one step, so that
// bytes nobody will read do not eat the connection's window.
#include "quic/stream/recv_stream.hpp"

namespace millrace::quic::stream {

// RFC 9000 4.5: a final size never changes, and nothing lies beyond it.
bool recv_stream::accept_end(std::uint64_t end, bool is_final) const noexcept {
  if (final_size_ != unknown) return is_final ? end == final_size_ : end <= final_size_;
  return !is_final || end >= window_.received();
}

recv_errc recv_stream::on_frame(piece_account& pieces, receive_window& connection, const buf::packet& whole,
                                const frame& f) noexcept {
  const std::uint64_t end = f.offset + f.data.size();
  if (!accept_end(end, f.fin)) return recv_errc::final_size;
  const std::uint64_t more = end > window_.received() ? end - window_.received() : 0;
  if (more > window_.limit() - window_.received() || !connection.on_received(more)) return recv_errc::flow_control;
  if (!window_.on_received(more)) return recv_errc::flow_control;  // never: just checked
  if (f.fin && final_size_ == unknown) {
    final_size_ = end;
    step(recv_event::fin);
  }
  if (state_ != recv_state::recv && state_ != recv_state::size_known) return recv_errc::ok;  // it is over
  if (stopped_) {
    drop_unread(pieces, connection);
    check_complete();
    return recv_errc::ok;
  }
  switch (data_.add(pieces, whole, f.data, f.offset)) {
    case add_status::added:
      break;
    case add_status::too_fragmented:
      return recv_errc::too_fragmented;
    case add_status::no_memory:
      return recv_errc::no_memory;
  }
  check_complete();
  return recv_errc::ok;
}

void recv_stream::check_complete() noexcept {
  if (state_ == recv_state::size_known && data_.read() + data_.readable() == final_size_) step(recv_event::all_data);
  if (state_ == recv_state::data_recvd && data_.read() == final_size_) step(recv_event::read_all);
}

recv_errc recv_stream::on_reset(piece_account& pieces, receive_window& connection, std::uint64_t code,
                                std::uint64_t final_size) noexcept {
  if (!accept_end(final_size, true)) return recv_errc::final_size;
  // RFC 9000 4.4, 4.5: bytes that were never received count as well; the sender has used the credit.
  const std::uint64_t more = final_size - window_.received();
  if (more > window_.limit() - window_.received() || !connection.on_received(more)) return recv_errc::flow_control;
  if (!window_.on_received(more)) return recv_errc::flow_control;  // never: just checked
  final_size_ = final_size;
  if (!next(state_, recv_event::reset)) return recv_errc::ok;  // all of the data is there, or it was reset before
  step(recv_event::reset);
  reset_code_ = code;
  drop_unread(pieces, connection);
  if (stopped_) step(recv_event::read_reset);  // nobody is left to be told
  return recv_errc::ok;
}

void recv_stream::consume(piece_account& pieces, receive_window& connection, std::uint64_t count) noexcept {
  data_.consume(pieces, count);
  window_.on_consumed(count);
  connection.on_consumed(count);
  check_complete();
}

buf::slice recv_stream::take(piece_account& pieces, receive_window& connection, std::size_t most) noexcept {
  buf::slice out = data_.take(pieces, most);
  window_.on_consumed(out.size());
  connection.on_consumed(out.size());
  check_complete();
  return out;
}

bool recv_stream::stop(piece_account& pieces, receive_window& connection) noexcept {
  if (stopped_ || is_over()) return false;
  stopped_ = true;
  const bool worth = state_ == recv_state::recv || state_ == recv_state::size_known;
  drop_unread(pieces, connection);
  check_complete();
  return worth;
}

void recv_stream::drop_unread(piece_account& pieces, receive_window& connection) noexcept {
  const std::uint64_t unread = window_.received() - window_.consumed();
  window_.on_consumed(unread);
  connection.on_consumed(unread);
  data_.clear(pieces, window_.received());
}

}  // namespace millrace::quic::stream
