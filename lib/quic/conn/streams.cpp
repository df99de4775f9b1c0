// Streams: which exist, which wait for what, and what the application does with them.
//
// A stream stands in up to three queues: with data to send, with control frames to send, with events to be told. It is
// told of its end, and taken apart, in tell() alone, never in the middle of a packet.
#include "quic/conn/arrival.hpp"

namespace millrace::quic::conn {

using stream::direction;
using stream::side;
using stream::stream_id;
using wire::transport_error;

namespace {

// A sent_token names a stream by 32 bits. 2^30 streams of a kind are more than a connection lives for.
constexpr std::uint64_t most_stream_index = (std::uint64_t{1} << 30) - 1;

}  // namespace

live_stream* connection::find_stream(std::uint64_t id) noexcept {
  if (last_stream_ != nullptr && last_stream_->id.value() == id) [[likely]]
    return last_stream_;
  live_stream* s = open_streams_ == 0 ? nullptr : t_.streams.find(*this, id);
  if (s != nullptr) last_stream_ = s;
  return s;
}

// RFC 9000 4, 18.2: what the peer lets us send on it at first.
std::uint64_t connection::first_credit(stream_id id) const noexcept {
  if (id.kind() == direction::unidirectional) return peer_.stream_data_uni;
  return id.is_opened_by(our_side()) ? peer_.stream_data_bidi_remote : peer_.stream_data_bidi_local;
}

live_stream* connection::add_stream(stream_id id, bool by_peer) noexcept {
  const stream_limits limits{.send = first_credit(id),
                             .receive = t_.settings.stream_window_bytes,
                             .receive_most = t_.settings.stream_window_most};
  live_stream* s = t_.streams.open(*this, id, limits);
  if (s == nullptr) return nullptr;
  s->has_send = id.can_send(our_side());
  s->has_recv = id.can_receive(our_side());
  s->opened_by_peer = by_peer;
  s->next = streams_;
  if (streams_ != nullptr) streams_->previous = s;
  streams_ = s;
  ++open_streams_;
  return s;
}

stream::side connection::our_side() const noexcept { return is_server_ ? stream::side::server : stream::side::client; }

live_stream* connection::stream_for(arrival& a, std::uint64_t id, bool for_receiving, bool& is_closed) noexcept {
  is_closed = false;
  if (live_stream* s = find_stream(id)) [[likely]] {
    if (for_receiving ? s->has_recv : s->has_send) return s;
    fault(a, transport_error::stream_state_error, "a frame for the wrong direction of a stream");
    return nullptr;
  }
  const stream_id wanted(id);
  const bool ours = wanted.is_opened_by(our_side());
  if (for_receiving ? !wanted.can_receive(our_side()) : !wanted.can_send(our_side())) {
    fault(a, transport_error::stream_state_error, "a frame for the wrong direction of a stream");
    return nullptr;
  }
  stream::stream_count& count =
      wanted.kind() == direction::unidirectional ? (ours ? our_uni_ : peer_uni_) : (ours ? our_bidi_ : peer_bidi_);
  if (wanted.index() < count.opened()) {
    is_closed = true;
    return nullptr;
  }
  if (ours) {  // RFC 9000 19.8
    fault(a, transport_error::stream_state_error, "a frame for a stream of ours that was never opened");
    return nullptr;
  }
  const std::uint64_t first = count.opened();
  if (wanted.index() > most_stream_index || !count.on_peer_opened(wanted.index())) {
    fault(a, transport_error::stream_limit_error, "more streams than were allowed");
    return nullptr;
  }
  live_stream* s = nullptr;
  for (std::uint64_t i = first; i <= wanted.index(); ++i) {  // RFC 9000 2.1: all below are opened, too
    s = add_stream(stream_id(wanted.opener(), wanted.kind(), i), true);
    if (s == nullptr) {
      t_.events.add(event::streams_refused);
      fault(a, transport_error::internal_error, "no memory for a stream");
      return nullptr;
    }
    t_.events.add(event::streams_opened);
    s->is_new = true;
    queues_.add_event(*s);
  }
  last_stream_ = s;
  return s;
}

void connection::remove_stream(live_stream& s) noexcept {
  queues_.forget(s);
  if (last_stream_ == &s) last_stream_ = nullptr;
  (s.previous == nullptr ? streams_ : s.previous->next) = s.next;
  if (s.next != nullptr) s.next->previous = s.previous;
  s.recv.release(pieces_, receive_window_);
  if (s.opened_by_peer) {  // RFC 9000 4.6: credit comes back now, when nothing of it is left here
    const bool uni = s.id.kind() == direction::unidirectional;
    stream::stream_count& count = uni ? peer_uni_ : peer_bidi_;
    count.on_closed();
    if (count.should_update()) pending_ |= uni ? pending_max_streams_uni : pending_max_streams_bidi;
  }
  --open_streams_;
  t_.streams.close(&s);
  if (receive_window_.should_update()) pending_ |= pending_max_data;
}

bool connection::has_data(const live_stream& s) const noexcept {
  return s.has_send && !s.withheld && !s.send.next_chunk(1, send_credit_.available()).is_nothing();
}

void connection::tell(std::uint64_t now_ns) noexcept {
  now_ns_ = now_ns;
  if (is_closing() || phase_ == phase::ended) {
    tell_end();
    return;
  }
  if (app_ != nullptr) {
    if (!told_early_ && !told_established_ && handshake_ != nullptr && handshake_->early.can_write) {
      told_early_ = true;
      app_->on_early(*this);
    }
    if (!told_established_ && phase_ == phase::established) {
      told_established_ = true;
      app_->on_established(*this);
    }
    if (streams_available_) {
      streams_available_ = false;
      app_->on_streams_available(*this);
    }
  }
  // What the application does in a call may queue more; each stream that waits now is told once.
  for (std::uint32_t left = open_streams_ + 1; left != 0 && !is_closing(); --left) {
    live_stream* s = queues_.event.pop_front();
    if (s == nullptr) break;
    s->in_event_queue = false;
    tell_stream(*s);
  }
  if (is_closing()) tell_end();
  drop_handshake_if_done();
}

void connection::tell_stream(live_stream& s) noexcept {
  if (std::exchange(s.is_new, false)) app_->on_stream_opened(*this, s);
  if (!is_closing() && std::exchange(s.peer_stopped, false)) {
    if (s.source != nullptr) std::exchange(s.source, nullptr)->released(UINT64_MAX);
    app_->on_stopped(*this, s);
  }
  if (!is_closing() && std::exchange(s.readable, false)) app_->on_readable(*this, s);
  if (!is_closing() && std::exchange(s.writable, false) && !s.send.is_over() && !s.send.is_reset())
    app_->on_writable(*this, s);
  if (is_closing() || !s.is_over() || s.in_event_queue) return;
  app_->on_stream_closed(*this, s);
  if (!is_closing()) remove_stream(s);
}

live_stream* connection::open(direction kind, std::uint64_t now_ns) noexcept {
  now_ns_ = now_ns;
  if (is_closing() || phase_ == phase::ended) return nullptr;
  if (phase_ == phase::handshake && (handshake_ == nullptr || !(handshake_->early.can_write || keys_.can_write())))
    return nullptr;
  stream::stream_count& count = kind == direction::unidirectional ? our_uni_ : our_bidi_;
  if (!count.can_open() || count.opened() > most_stream_index) {
    pending_ |= kind == direction::unidirectional ? pending_streams_blocked_uni : pending_streams_blocked_bidi;
    return nullptr;
  }
  live_stream* s = add_stream(stream_id(our_side(), kind, count.opened()), false);
  if (s == nullptr) {
    t_.events.add(event::streams_refused);
    open_again_ns_ = recovery::later(now_ns, open_wait_ns);
    return nullptr;
  }
  static_cast<void>(count.open());
  last_stream_ = s;
  return s;
}

bool connection::write(live_stream& s, std::uint64_t bytes) noexcept {
  if (!s.has_send || !s.send.write(bytes)) return false;
  queues_.add_data(s);
  return true;
}

void connection::pull(live_stream& s) noexcept {
  if (!s.has_send) return;
  s.pulls = true;
  queues_.add_data(s);
}

void connection::prioritize(live_stream& s, std::uint8_t urgency, bool incremental) noexcept {
  s.urgency = std::min<std::uint8_t>(urgency, send_urgencies - 1);
  s.is_incremental = incremental;
  queues_.reorder(s);
}

void connection::finish(live_stream& s) noexcept {
  if (!s.has_send) return;
  s.send.finish();
  queues_.add_data(s);
}

void connection::reset(live_stream& s, std::uint64_t code) noexcept {
  if (!s.has_send || !s.send.reset(code)) return;
  if (s.source != nullptr && !s.peer_stopped) std::exchange(s.source, nullptr)->released(UINT64_MAX);
  queues_.add_control(s);
}

void connection::stop(live_stream& s, std::uint64_t code) noexcept {
  if (!s.has_recv) return;
  if (s.recv.stop(pieces_, receive_window_)) {
    s.stop_code = code;
    s.stop_due = true;
    queues_.add_control(s);
  }
  after_reading(s);
}

void connection::consume(live_stream& s, std::uint64_t bytes) noexcept {
  s.recv.consume(pieces_, receive_window_, bytes);
  after_reading(s);
}

buf::slice connection::take(live_stream& s, std::size_t most) noexcept {
  buf::slice out = s.recv.take(pieces_, receive_window_, most);
  after_reading(s);
  return out;
}

void connection::reset_read(live_stream& s) noexcept {
  s.recv.on_reset_read();
  after_reading(s);
}

// Credit for what was read, and whether the stream is over by it.
void connection::after_reading(live_stream& s) noexcept {
  if (s.recv.should_update_limit() && !s.max_data_due) {
    s.max_data_due = true;
    queues_.add_control(s);
  }
  if (receive_window_.should_update()) pending_ |= pending_max_data;
  if (s.is_over()) queues_.add_event(s);
}

bool connection::send_datagram(base::byte_view bytes) noexcept {
  // RFC 9221 3: the limit is that of the whole frame.
  const std::size_t frame = 1 + base::varint_size(bytes.size()) + bytes.size();
  if (bytes.empty() || is_closing() || frame > peer_.max_datagram_frame_size ||
      bytes.size() + datagram_overhead > datagram_bytes() || datagrams_.size() >= t_.settings.most_queued_datagrams ||
      !datagrams_.push(pieces_, bytes)) {
    t_.events.add(event::datagram_frames_dropped);
    return false;
  }
  return true;
}

void connection::drop_streams() noexcept {
  queues_.clear();
  last_stream_ = nullptr;
  while (streams_ != nullptr) {
    live_stream* s = streams_;
    streams_ = s->next;
    if (s->source != nullptr) s->source->released(UINT64_MAX);
    if (app_ != nullptr && !s->is_new) app_->on_stream_closed(*this, *s);
    s->recv.release(pieces_, receive_window_);
    t_.streams.close(s);
    --open_streams_;
  }
}

}  // namespace millrace::quic::conn
