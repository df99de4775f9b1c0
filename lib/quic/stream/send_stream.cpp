// Three facts are kept of the bytes below sent_: which are acknowledged (a prefix and some parts), which are lost, and,
// as all the rest, which are in flight. A packet may be lost and its copy too, or be acknowledged after it was given
// up, so every report is cut by what is known already: acknowledged bytes are never lost again.
#include "quic/stream/send_stream.hpp"

namespace millrace::quic::stream {

template <std::size_t AckedParts, std::size_t LostParts>
bool basic_send_stream<AckedParts, LostParts>::reset(std::uint64_t code) noexcept {
  if (is_reset() || !next(state_, send_event::reset)) return false;
  step(send_event::reset);
  reset_code_ = code;
  reset_due_ = true;
  lost_.clear();  // RFC 9000 3.1: nothing is sent again from here on
  fin_due_ = false;
  return true;
}

template <std::size_t AckedParts, std::size_t LostParts>
chunk basic_send_stream<AckedParts, LostParts>::next_chunk(std::uint64_t most,
                                                           std::uint64_t connection) const noexcept {
  chunk c;
  if (is_reset() || is_over()) return c;
  if (!lost_.empty()) {
    c.offset = lost_[0].begin;
    c.size = std::min(lost_[0].end - lost_[0].begin, most);
  } else {
    c.is_new = true;
    c.offset = sent_;
    c.size = std::min({written_ - sent_, most, credit_.available(), connection});
  }
  c.fin = fin_due_ && c.offset + c.size == written_ && (c.is_new || c.size != 0);
  return c;
}

template <std::size_t AckedParts, std::size_t LostParts>
void basic_send_stream<AckedParts, LostParts>::on_sent(const chunk& c) noexcept {
  if (c.is_new) {
    sent_ += c.size;
    credit_.use(c.size);
  } else {
    static_cast<void>(lost_.remove({c.offset, c.offset + c.size}));  // the front of a range: no place is needed
  }
  if (c.fin) fin_due_ = false;
  step(c.fin ? send_event::fin : send_event::data);
}

template <std::size_t AckedParts, std::size_t LostParts>
bool basic_send_stream<AckedParts, LostParts>::on_acked(std::uint64_t offset, std::uint64_t size, bool fin) noexcept {
  if (state_ == send_state::data_recvd || is_reset()) return false;
  if (fin) {
    fin_acked_ = true;
    fin_due_ = false;
  }
  const std::uint64_t before = acked_;
  const offset_range r{std::max(offset, acked_), std::max(offset + size, acked_)};
  if (r.begin == acked_) {
    acked_ = r.end;  // in order: the parts stay as they are, mostly none
  } else if (!acked_parts_.add(r)) {
    lost_.add_covering(r);  // no place to remember it: it is sent again
    return false;
  }
  while (!acked_parts_.empty() && acked_parts_[0].begin <= acked_) {
    acked_ = std::max(acked_, acked_parts_[0].end);
    static_cast<void>(acked_parts_.remove({0, acked_}));
  }
  static_cast<void>(lost_.remove({0, acked_}));
  static_cast<void>(lost_.remove(r));  // without a place for the second half, all of it is sent again
  if (fin_acked_ && acked_ == written_) step(send_event::all_acked);
  return acked_ != before || is_over();
}

template <std::size_t AckedParts, std::size_t LostParts>
void basic_send_stream<AckedParts, LostParts>::on_lost(std::uint64_t offset, std::uint64_t size, bool fin) noexcept {
  if (is_reset() || is_over()) return;
  if (fin && !fin_acked_) fin_due_ = true;
  std::uint64_t at = std::max(offset, acked_);
  const std::uint64_t end = offset + size;
  for (const offset_range& part : acked_parts_) {
    if (part.begin >= end) break;
    if (part.begin > at) lost_.add_covering({at, part.begin});
    at = std::max(at, part.end);
  }
  if (at < end) lost_.add_covering({at, end});
}

template <std::size_t AckedParts, std::size_t LostParts>
void basic_send_stream<AckedParts, LostParts>::start_over() noexcept {
  credit_ = send_credit(0);
  sent_ = acked_ = 0;
  acked_parts_.clear();
  lost_.clear();
  fin_acked_ = false;
  fin_due_ = finished_ && !is_reset();
  reset_due_ = is_reset();
  if (!is_reset()) state_ = send_state::ready;
}

template class basic_send_stream<16, 8>;
template class basic_send_stream<2, 2>;

}  // namespace millrace::quic::stream
