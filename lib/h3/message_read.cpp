// The reading half of a message: a small machine over what the stream has in front. Each step consumes what it judged;
// nothing is looked at twice, but for a section that QPACK could not decode yet, which is decoded again once the table
// has what it needs.
#include "h3/message.hpp"

namespace millrace::h3 {

using wire::error;
using wire::frame_place;
using wire::frame_type;

message::message(link& l, live_stream& s) noexcept
    : link_(l),
      s_(s),
      out_(*this, l.of().blocks(), l.of().limits().write),
      head_(l.of().memory()),
      trailers_(l.of().memory()),
      began_ns_(l.of().now_ns()),
      in_since_ns_(began_ns_),
      out_since_ns_(began_ns_) {
  s.user = this;
  s.source = &out_;
  next_ = l.messages;
  if (next_ != nullptr) next_->previous_ = this;
  l.messages = this;
  ++l.message_count;
  connection().prioritize(s, wire::priority{}.urgency, wire::priority{}.incremental);
  l.of().watch(*this);
}

message::~message() {
  leave_blocked();
  give_staged();
  link_.of().forget(*this);
  (previous_ == nullptr ? link_.messages : previous_->next_) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
  --link_.message_count;
}

void message::pump() noexcept {
  if (is_pumping_) return;
  is_pumping_ = true;
  while (step_ != step::over && !link_.is_dead() && advance()) continue;
  is_pumping_ = false;
}

// False: something has to come first.
bool message::advance() noexcept {
  switch (step_) {
    case step::header:
      return read_header();
    case step::section:
      return read_section();
    case step::data:
      return read_data();
    case step::skip:
      return skip();
    case step::over:
      return false;
  }
  return false;
}

bool message::read_header() noexcept {
  const base::byte_view here = s_.recv.front();
  if (here.empty()) return s_.recv.is_at_end() && on_fin();
  base::byte_view left = here;
  wire::frame_header h;
  const base::progress p = frame_.next(left, h);
  connection().consume(s_, here.size() - left.size());
  return p != base::progress::done || begin_frame(h);
}

bool message::begin_frame(const wire::frame_header& h) noexcept {
  const wire::verdict v = wire::judge(place_, link_.of().is_server(), h.type);
  left_ = h.length;
  if (v == wire::verdict::skip) {
    count().add(event::frames_skipped);
    step_ = step::skip;
    return true;
  }
  if (v != wire::verdict::take) {
    link_.fault(wire::error_of(v), v == wire::verdict::id_error ? event::fault_id : event::fault_frame_unexpected);
    return false;
  }
  if (h.type == static_cast<std::uint64_t>(frame_type::headers)) {
    if (place_ == frame_place::tunnel) {  // never: judge() has said so
      link_.fault(error::frame_unexpected, event::fault_frame_unexpected);
      return false;
    }
    step_ = step::section;
    if (h.length <= limits().field_section_bytes) return true;
    // A section that is longer encoded than it may be decoded is not read.
    link_.cancel(id());
    count().add(section_errc::too_large);
    on_refused(section_errc::too_large);
    return false;
  }
  declared_ += h.length;
  if (content_length_ && declared_ > *content_length_) {  // RFC 9114 4.1.2
    count().add(event::content_length_wrong);
    fail(error::message_error, ending::malformed);
    return false;
  }
  step_ = step::data;
  return true;
}

bool message::read_section() noexcept {
  if (is_blocked_) return false;
  const base::byte_view here = s_.recv.front();
  if (staged_.at == nullptr && here.size() >= left_) return decode(here.first(static_cast<std::size_t>(left_)), false);
  if (staged_.at == nullptr) {
    if (here.empty() && !s_.recv.is_at_end()) return false;
    staged_ = link_.of().memory().get(static_cast<std::size_t>(left_));
    staged_bytes_ = 0;
    if (staged_.at == nullptr) {
      count().add(section_errc::no_memory);
      on_refused(section_errc::no_memory);
      return false;
    }
  }
  auto* const to = reinterpret_cast<std::uint8_t*>(staged_.at);
  const auto more = static_cast<std::size_t>(std::min<std::uint64_t>(here.size(), left_ - staged_bytes_));
  if (more != 0) std::memcpy(to + staged_bytes_, here.data(), more);
  staged_bytes_ += static_cast<std::uint32_t>(more);
  connection().consume(s_, more);
  if (staged_bytes_ == left_) return decode({to, staged_bytes_}, true);
  if (!s_.recv.is_at_end()) return more != 0;
  link_.fault(error::frame_error, event::fault_frame);  // RFC 9114 7.1: it ends inside a frame
  return false;
}

bool message::decode(base::byte_view section, bool is_staged) noexcept {
  const bool is_trailers = place_ == frame_place::body;
  field_store& to = is_trailers ? trailers_ : head_;
  to.clear();
  const settings& l = limits();
  section_reader r(is_trailers ? section_kind::trailers : head_kind(),
                   {.limit_bytes = l.field_section_bytes, .extended_connect = l.extended_connect}, to);
  section_errc why = section_errc::ok;
  switch (link_.decode(id(), section, r, why, blocked_until_)) {
    case link::decoded::done:
      break;
    case link::decoded::malformed:
      link_.fault(error::qpack_decompression_failed, event::fault_decompression);
      return false;
    case link::decoded::refused:
      count().add(why);
      on_refused(why);
      return false;
    case link::decoded::blocked:
      count().add(event::blocked);
      is_blocked_ = true;
      blocked_next_ = std::exchange(link_.blocked, this);
      ++link_.blocked_count;
      return false;
  }
  if (!is_staged) connection().consume(s_, section.size());
  give_staged();
  step_ = step::header;
  in_since_ns_ = link_.of().now_ns();
  in_bytes_ = s_.recv.offset();
  if (!is_trailers) {
    count().add(event::heads);
    return on_head(r);
  }
  place_ = frame_place::trailers;
  has_trailers_ = true;
  return true;
}

bool message::read_data() noexcept {
  if (left_ == 0) {
    step_ = step::header;
    return true;
  }
  if (front().empty()) {
    if (s_.recv.is_at_end()) link_.fault(error::frame_error, event::fault_frame);
    return false;
  }
  const std::uint64_t before = s_.recv.offset();
  on_body();
  return s_.recv.offset() != before;
}

bool message::skip() noexcept {
  while (left_ != 0) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(s_.recv.front().size(), left_));
    if (n == 0) {
      if (s_.recv.is_at_end()) link_.fault(error::frame_error, event::fault_frame);
      return false;
    }
    connection().consume(s_, n);
    left_ -= n;
  }
  step_ = step::header;
  return true;
}

// The stream ends between two frames.
bool message::on_fin() noexcept {
  if (frame_.is_inside()) {
    link_.fault(error::frame_error, event::fault_frame);
    return false;
  }
  if (place_ == frame_place::head) {  // RFC 9114 4.1.1, 4.1.2
    count().add(event::request_incomplete);
    fail(link_.of().is_server() ? error::request_incomplete : error::message_error, ending::malformed);
    return false;
  }
  if (content_length_ && declared_ != *content_length_) {
    count().add(event::content_length_wrong);
    fail(error::message_error, ending::malformed);
    return false;
  }
  step_ = step::over;
  is_body_over_ = true;
  std::span<const http::field> trailers;
  if (has_trailers_) trailers = std::as_const(trailers_).fields();
  on_body_end(trailers);
  trailers_.clear();
  return false;
}

base::byte_view message::front() const noexcept {
  if (step_ != step::data) return {};
  const base::byte_view here = s_.recv.front();
  return here.first(static_cast<std::size_t>(std::min<std::uint64_t>(here.size(), left_)));
}

void message::consume(std::size_t bytes) noexcept {
  MILLRACE_ASSERT(bytes <= front().size());
  bytes = std::min(bytes, front().size());
  if (bytes == 0) return;
  left_ -= bytes;
  connection().consume(s_, bytes);
  // Outside of the pump: whatever stands behind is read, and credit given, with the next turn.
  if (!is_pumping_) link_.of().look_soon(*this);
}

buf::slice message::take() noexcept {
  const std::size_t size = front().size();
  if (size == 0) return {};
  buf::slice out = connection().take(s_, size);
  left_ -= out.size();
  if (!is_pumping_ && !out.empty()) link_.of().look_soon(*this);
  return out;
}

void message::refuse_body() noexcept {
  if (step_ == step::over) return;
  count().add(event::body_refused);
  link_.cancel(id());
  leave_blocked();
  give_staged();
  step_ = step::over;
  is_body_over_ = true;
  connection().stop(s_, wire::number(error::no_error));  // RFC 9114 4.1.1
  link_.of().touch(*this);
}

void message::give_staged() noexcept {
  if (staged_.at != nullptr) link_.of().memory().give(staged_);
  staged_ = {};
  staged_bytes_ = 0;
}

void message::leave_blocked() noexcept {
  if (!std::exchange(is_blocked_, false)) return;
  message** at = &link_.blocked;
  while (*at != this) at = &(*at)->blocked_next_;
  *at = blocked_next_;
  --link_.blocked_count;
}

// QPACK's table has grown: the section is decoded again.
void message::on_unblocked() noexcept {
  if (!is_blocked_ || step_ != step::section) return;
  leave_blocked();
  if (staged_.at != nullptr) {
    is_pumping_ = true;
    const bool goes_on = decode({reinterpret_cast<std::uint8_t*>(staged_.at), staged_bytes_}, true);
    is_pumping_ = false;
    if (!goes_on) return;
  }
  pump();
}

void message::on_readable() noexcept {
  if (!s_.recv.is_reset()) {
    pump();
    return;
  }
  connection().reset_read(s_);
  if (step_ == step::over || is_failed_) return;
  count().add(event::reset_by_peer);
  link_.cancel(id());
  const bool is_rejected = s_.recv.reset_code() == wire::number(error::request_rejected);
  fail(error::request_cancelled, is_rejected && !link_.of().is_server() ? ending::rejected : ending::peer_reset);
  link_.on_broken();
}

void message::on_stopped() noexcept {
  count().add(event::stopped_by_peer);
  if (!link_.of().is_server()) {  // RFC 9114 4.1.1: the response may be complete all the same
    is_finished_ = true;
    return;
  }
  link_.on_broken();
  if (is_failed_ || link_.is_dead()) return;
  fail(error::request_cancelled, ending::peer_reset);
}

// An answer that was acknowledged, or a response that was read, to its end.
bool message::is_complete() const noexcept {
  return link_.of().is_server() ? s_.send.is_over() && !s_.send.is_reset() : is_body_over_ && !is_failed_;
}

// With the carrier's turn: what was put off.
void message::on_turn() noexcept {
  if (link_.is_dead() || is_failed_) return;
  if (!link_.of().is_server() && id() >= link_.peer_goaway()) {  // RFC 9114 5.2: it may be repeated elsewhere
    fail(error::request_cancelled, ending::rejected);
    return;
  }
  if (out_.is_pulling()) {
    if (out_.why() == message_source::trouble::failed) {
      count().add(event::aborted);
      fail(error::internal_error, ending::aborted);
      return;
    }
    if (out_.may_go_on()) connection().pull(s_);
  }
  pump();
  link_.send_acknowledgements();
}

bool message::waits_for_peer() const noexcept {
  return step_ != step::over && !is_blocked_ && s_.recv.front().empty() && !s_.recv.is_complete();
}

// A head in time; bodies, both ways, that move on. What waits for us, or for a handler, costs the peer nothing. True:
// something was written.
bool message::check_times(std::uint64_t now_ns) noexcept {
  const settings& l = limits();
  if (is_failed_ || link_.is_dead()) return false;
  if (place_ == frame_place::head) {
    const bool is_mine = link_.of().is_server();
    if (!is_mine || l.head_ns == 0 || now_ns - std::min(now_ns, began_ns_) < l.head_ns) return false;
    count().add(event::head_too_slow);
    link_.cancel(id());
    fail(error::request_incomplete, ending::timed_out);
    return true;
  }
  // The answer is out and acknowledged, and its handler has left a body where it is: nobody will read it.
  if (s_.send.is_over() && step_ == step::data && !front().empty()) {
    refuse_body();
    return true;
  }
  if (l.progress_ns == 0) return false;
  const auto is_late = [&](bool waits, std::uint64_t bytes, std::uint64_t& since, std::uint64_t& had) {
    if (!waits || bytes - had >= l.progress_bytes) {
      since = now_ns;
      had = bytes;
      return false;
    }
    return now_ns - std::min(now_ns, since) >= l.progress_ns;
  };
  const bool takes_nothing =
      s_.send.written() > s_.send.acked() || (out_.is_pulling() && out_.why() == message_source::trouble::none);
  const bool reader_late = is_late(takes_nothing && !s_.send.is_over(), s_.send.acked(), out_since_ns_, out_bytes_);
  // A tunnel may rest for as long as it likes, until our side of it has ended.
  const bool is_resting = is_tunnel_ && !s_.send.is_over();
  const bool body_late = is_late(!is_resting && waits_for_peer(), s_.recv.offset(), in_since_ns_, in_bytes_);
  if (!reader_late && !body_late) return false;
  count().add(reader_late ? event::reader_too_slow : event::body_too_slow);
  fail(error::request_cancelled, ending::timed_out);
  return true;
}

}  // namespace millrace::h3
