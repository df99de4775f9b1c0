#include "ws/wire/receiver.hpp"

#include <algorithm>
#include <cstring>

#include "ws/wire/mask.hpp"

namespace millrace::ws::wire {

using base::progress;

event receiver::fail(close_code why) noexcept {
  state_ = state::failed;
  failure_ = why;
  event out;
  out.kind = event_kind::failed;
  out.failure = why;
  return out;
}

// True when a header was read and accepted; else `out` is what to answer.
bool receiver::take_header(base::byte_span& in, event& out) noexcept {
  header_result got;
  if (size_ == 0) {
    got = parse_header(in, rules_, header_);
    if (got.outcome == progress::done) in = in.subspan(header_.header_size);
    if (got.outcome == progress::need_more) {  // then `in` is shorter than a header: keep it
      std::copy(in.begin(), in.end(), kept_);
      size_ = static_cast<std::uint8_t>(in.size());
      in = {};
    }
  } else {
    got = parse_header(base::byte_view(kept_, size_), rules_, header_);
    while (got.outcome == progress::need_more && !in.empty()) {
      const std::size_t take = std::min<std::size_t>(got.need - size_, in.size());
      std::copy_n(in.begin(), take, kept_ + size_);
      size_ = static_cast<std::uint8_t>(size_ + take);
      in = in.subspan(take);
      got = parse_header(base::byte_view(kept_, size_), rules_, header_);
    }
  }
  if (got.outcome == progress::need_more) {
    out = {};
    return false;
  }
  size_ = 0;
  if (got.outcome == progress::malformed) {
    out = fail(close_code_of(got.why));
    return false;
  }
  const message_errc why = messages_.on_header(header_);
  if (why != message_errc::ok) {
    out = fail(close_code_of(why));
    return false;
  }
  if (header_.op == opcode::text || header_.op == opcode::binary) begins_ = true;
  left_ = header_.payload_size;
  phase_ = 0;
  state_ = state::payload;
  return true;
}

event receiver::take_control(base::byte_span& in) noexcept {
  const auto take = static_cast<std::size_t>(std::min<std::uint64_t>(left_, in.size()));
  std::copy_n(in.begin(), take, kept_ + size_);
  size_ = static_cast<std::uint8_t>(size_ + take);
  left_ -= take;
  in = in.subspan(take);
  if (left_ != 0) return {};
  const base::byte_span payload(kept_, size_);
  if (header_.is_masked) mask(payload, header_.mask_key);
  size_ = 0;
  state_ = state::header;
  event out;
  out.bytes = payload;
  if (header_.op != opcode::close) {
    out.kind = header_.op == opcode::ping ? event_kind::ping : event_kind::pong;
    return out;
  }
  const close_errc why = parse_close(payload, out.close);
  if (why != close_errc::ok) return fail(close_code_of(why));
  state_ = state::closed;
  out.kind = event_kind::close;
  return out;
}

event receiver::take_data(base::byte_span& in) noexcept {
  const auto take = static_cast<std::size_t>(std::min<std::uint64_t>(left_, in.size()));
  const base::byte_span piece = in.first(take);
  in = in.subspan(take);
  left_ -= take;
  if (header_.is_masked) phase_ = mask(piece, header_.mask_key, phase_);
  event out;
  out.kind = event_kind::data;
  out.op = messages_.op();
  out.bytes = piece;
  if (messages_.is_text()) {
    const message_errc why = messages_.on_text(piece);
    if (why != message_errc::ok) return fail(close_code_of(why));
  }
  if (left_ == 0) {
    const message_errc why = messages_.on_frame_end(out.ends);
    if (why != message_errc::ok) return fail(close_code_of(why));
    state_ = state::header;
  }
  out.begins = begins_;
  begins_ = false;
  return out;
}

event receiver::next(base::byte_span& in) noexcept {
  for (;;) {
    event out;
    switch (state_) {
      case state::failed:
        return fail(failure_);
      case state::closed:
        in = {};
        return out;
      case state::header:
        if (in.empty() || !take_header(in, out)) return out;
        break;
      case state::payload:
        break;
    }
    if (left_ != 0 && in.empty()) return out;
    if (is_control(header_.op)) {
      out = take_control(in);
      if (out.kind != event_kind::need_more) return out;
      continue;
    }
    out = take_data(in);
    // A frame in the middle of a message may be empty: nothing to hand out.
    if (out.kind == event_kind::data && out.bytes.empty() && !out.ends) {
      begins_ = out.begins;
      continue;
    }
    return out;
  }
}

}  // namespace millrace::ws::wire
