// Which frames a packet gets, in the order of their urgency: what the peer waits for first, stream data last, as it
// takes all the room there is.
#include <algorithm>

#include "quic/conn/draft_plan.hpp"

namespace millrace::quic::conn {

namespace {

using recovery::packet_space;

constexpr unsigned most_blocked_looked_at = 8;  // streams without credit in front of one that has some

constexpr std::size_t index_of(packet_space s) noexcept { return static_cast<std::size_t>(s); }

}  // namespace

// Whether an ACK is due, and not only possible; it is written in both cases.
bool connection::write_ack(const draft_plan& plan, packet_draft& draft) noexcept {
  const auto write = [&](const auto& numbers, std::uint64_t delay) {
    if (!numbers.acks.has_unsent() || numbers.received.empty()) return false;
    wire::ack_to_send ack = numbers.received.to_send(delay);
    ack.ranges = ack.ranges.first(wire::fitting_ranges(ack, draft.room()));
    if (ack.ranges.empty() ||
        !draft.add_ack(ack, {.kind = static_cast<std::uint8_t>(token_kind::ack), .value = ack.ranges[0].largest}))
      return false;
    return numbers.acks.should_send(plan.now_ns);
  };
  if (plan.is_early) return false;
  if (plan.space == packet_space::application)
    return write(numbers_, numbers_.acks.delay_ns(plan.now_ns) / 1000 >> t_.settings.ack_delay_exponent);
  return write(plan.space == packet_space::initial ? handshake_->initial_numbers : handshake_->handshake_numbers, 0);
}

void connection::write_crypto(const draft_plan& plan, packet_draft& draft) noexcept {
  if (plan.is_early || is_away_) return;
  stream::send_stream& out = handshake_->crypto[index_of(plan.space)].out;
  const base::byte_view all =
      handshake_->tls.output(plan.space == packet_space::initial     ? tls::encryption_level::initial
                             : plan.space == packet_space::handshake ? tls::encryption_level::handshake
                                                                     : tls::encryption_level::application);
  while (draft.has_place()) {
    stream::chunk c = out.next_chunk(UINT64_MAX, UINT64_MAX);
    if (c.size == 0) return;
    c.size = std::min<std::uint64_t>(c.size, wire::crypto_capacity(draft.room(), c.offset));
    if (c.size == 0 || c.offset + c.size > all.size()) return;
    const auto size = static_cast<std::size_t>(c.size);
    const base::byte_view view = all.subspan(static_cast<std::size_t>(c.offset), size);
    if (!draft.add_data(wire::crypto_header{c.offset, size}, std::span(&view, 1), size,
                        {.kind = static_cast<std::uint8_t>(token_kind::crypto),
                         .length = static_cast<std::uint16_t>(size),
                         .slot = static_cast<std::uint32_t>(index_of(plan.space)),
                         .value = c.offset}))
      return;
    out.on_sent(c);
  }
}

// The connection's own frames.
void connection::write_pending(const draft_plan& plan, packet_draft& draft) noexcept {
  if ((pending_ & ~std::uint32_t{pending_close}) == 0) return;
  const auto write = [&](pending which, token_kind kind, const auto& frame) {
    if ((pending_ & which) == 0 || !draft.add(frame, {.kind = static_cast<std::uint8_t>(kind)})) return;
    pending_ &= ~std::uint32_t{which};
  };
  write(pending_handshake_done, token_kind::handshake_done, wire::handshake_done_frame{});
  if ((pending_ & pending_max_data) != 0 && draft.has_place() && draft.room() >= 9) {
    const std::uint64_t rtt = recovery_.round_trip().has_sample() ? recovery_.round_trip().smoothed_ns() : 0;
    const std::uint64_t limit =
        receive_window_.should_update() ? receive_window_.update(plan.now_ns, rtt) : receive_window_.limit();
    write(pending_max_data, token_kind::max_data, wire::max_data_frame{limit});
  }
  const auto streams = [&](pending which, token_kind kind, stream::stream_count& count, bool uni) {
    if ((pending_ & which) == 0 || !draft.has_place() || draft.room() < 9) return;
    const std::uint64_t limit = count.should_update() ? count.update() : count.limit();
    write(which, kind, wire::max_streams_frame{uni, limit});
  };
  streams(pending_max_streams_bidi, token_kind::max_streams_bidi, peer_bidi_, false);
  streams(pending_max_streams_uni, token_kind::max_streams_uni, peer_uni_, true);
  write(pending_data_blocked, token_kind::data_blocked, wire::data_blocked_frame{send_credit_.limit()});
  write(pending_streams_blocked_bidi, token_kind::streams_blocked,
        wire::streams_blocked_frame{false, our_bidi_.limit()});
  write(pending_streams_blocked_uni, token_kind::streams_blocked, wire::streams_blocked_frame{true, our_uni_.limit()});
  if ((pending_ & pending_new_token) != 0) {
    std::array<std::uint8_t, token_bytes_most> token;
    const std::size_t size = host_.make_token(*this, token);
    if (size == 0)
      pending_ &= ~std::uint32_t{pending_new_token};
    else
      write(pending_new_token, token_kind::new_token, wire::new_token_frame{base::byte_view(token).first(size)});
  }
  write(pending_ping, token_kind::ping, wire::ping_frame{});
}

void connection::write_cids(packet_draft& draft) noexcept {
  while (const auto frame = local_cids_.to_send()) {
    const std::uint64_t sequence = frame->sequence;
    if (!draft.add(*frame, {.kind = static_cast<std::uint8_t>(token_kind::new_cid), .value = sequence})) return;
    local_cids_.on_sent(sequence);
  }
  while (const auto sequence = remote_cids_.retire_to_send()) {
    if (!draft.add(wire::retire_connection_id_frame{*sequence},
                   {.kind = static_cast<std::uint8_t>(token_kind::retire_cid), .value = *sequence}))
      return;
    remote_cids_.on_retire_sent(*sequence);
  }
}

void connection::write_stream_control(const draft_plan& plan, packet_draft& draft) noexcept {
  while (live_stream* s = queues_.control.front()) {
    if (!s->withheld && !write_control_of(plan, draft, *s)) return;
    queues_.control.pop_front();
    s->in_control_queue = false;
  }
}

// False: no room for all of it; the stream stays in front of the queue.
bool connection::write_control_of(const draft_plan& plan, packet_draft& draft, live_stream& s) noexcept {
  const std::uint64_t id = s.id.value();
  const auto token = [&](token_kind kind) {
    return recovery::sent_token{.kind = static_cast<std::uint8_t>(kind), .slot = static_cast<std::uint32_t>(id)};
  };
  if (s.has_send && s.send.reset_due()) {
    if (!draft.add(wire::reset_stream_frame{id, s.send.reset_code(), s.send.sent()}, token(token_kind::reset_stream)))
      return false;
    s.send.on_reset_sent();
  }
  if (s.stop_due) {
    if (!draft.add(wire::stop_sending_frame{id, s.stop_code}, token(token_kind::stop_sending))) return false;
    s.stop_due = false;
  }
  if (s.max_data_due) {
    if (!draft.has_place() || draft.room() < 17) return false;
    const std::uint64_t rtt = recovery_.round_trip().has_sample() ? recovery_.round_trip().smoothed_ns() : 0;
    if (s.recv.should_update_limit()) static_cast<void>(s.recv.window().update(plan.now_ns, rtt));
    if (!draft.add(wire::max_stream_data_frame{id, s.recv.window().limit()}, token(token_kind::max_stream_data)))
      return false;
    s.max_data_due = false;
  }
  if (s.blocked_due) {
    if (!draft.add(wire::stream_data_blocked_frame{id, s.send.credit().limit()},
                   token(token_kind::stream_data_blocked)))
      return false;
    s.blocked_due = false;
    s.send.credit().on_blocked_sent();
  }
  return true;
}

void connection::write_streams(packet_draft& draft) noexcept {
  unsigned blocked = 0;
  while (!queues_.data.empty() && draft.has_place()) {
    live_stream& s = *queues_.data.front();
    if (s.pulls) pull_more(s, draft.room());
    if (!has_data(s)) {
      queues_.data.pop_front();
      s.in_data_queue = false;
      if (s.withheld || s.send.is_reset() || !(s.pulls || s.send.written() > s.send.sent())) continue;
      if (s.send.credit().available() == 0) {
        if (!s.send.credit().should_say_blocked()) continue;
        s.blocked_due = true;
        queues_.add_control(s);
      } else {
        // The connection's credit is what is missing: it waits on.
        if (send_credit_.should_say_blocked()) {
          send_credit_.on_blocked_sent();
          pending_ |= pending_data_blocked;
        }
        queues_.add_data(s);
        if (++blocked == most_blocked_looked_at || queues_.data.goes_on(s)) return;
      }
      continue;
    }
    if (!write_stream(draft, s)) return;
    if (queues_.data.goes_on(s)) continue;
    queues_.data.pop_front();  // the others have their turn
    s.in_data_queue = false;
    queues_.add_data(s);
  }
}

// Bytes that are made as they can go: no more of them than the credit that is there, and none before a packet has room
// for them. So what a source holds is what the peer has allowed and not acknowledged.
void connection::pull_more(live_stream& s, std::size_t room) noexcept {
  s.pulls = s.source != nullptr && !s.send.is_reset();
  const std::uint64_t unsent = s.send.written() - s.send.sent();
  if (!s.pulls || unsent >= room) return;
  const std::uint64_t credit = std::min(s.send.credit().available(), send_credit_.available());
  if (credit <= unsent) return;
  const pulled got = s.source->pull(credit - unsent);
  static_cast<void>(s.send.write(got.bytes));
  s.pulls = got.state == pull_state::more && got.bytes != 0;
  if (got.state == pull_state::end) s.send.finish();
}

// One STREAM frame. False: not a byte of it fits.
bool connection::write_stream(packet_draft& draft, live_stream& s) noexcept {
  stream::chunk c = s.send.next_chunk(draft.room(), send_credit_.available());
  wire::stream_fit fit = wire::fit_stream(draft.room(), s.id.value(), c.offset, c.size);
  if (!fit.fits || (fit.size == 0 && !c.fin)) return false;
  base::unset_array<base::byte_view, most_source_parts> parts;
  unsigned count = 0;
  if (fit.size != 0) {
    if (s.source == nullptr) return false;
    count = s.source->borrow(c.offset, fit.size, parts.places());
    std::size_t got = 0;
    for (unsigned i = 0; i < count; ++i) got += parts[i].size();
    if (got == 0 || got > fit.size) return false;  // the source breaks its word
    if (got < fit.size) {                          // they lie in too many places
      fit = wire::fit_stream(draft.room(), s.id.value(), c.offset, got);
      if (fit.size != got) return false;  // never: less fits where more did
    }
  }
  c.fin = c.fin && fit.size == c.size;
  c.size = fit.size;
  const wire::stream_header header{
      .stream_id = s.id.value(), .offset = c.offset, .size = c.size, .fin = c.fin, .has_length = fit.has_length};
  if (!draft.add_data(header, parts.places().first(count), fit.size,
                      {.kind = static_cast<std::uint8_t>(token_kind::stream),
                       .flags = static_cast<std::uint8_t>(c.fin ? 1 : 0),
                       .length = static_cast<std::uint16_t>(c.size),
                       .slot = static_cast<std::uint32_t>(s.id.value()),
                       .value = c.offset}))
    return false;
  if (c.is_new) send_credit_.use(c.size);
  s.send.on_sent(c);
  return true;
}

void connection::write_datagrams(packet_draft& draft) noexcept {
  while (!datagrams_.empty() && draft.has_place()) {
    if (datagrams_.front().size() + datagram_overhead > datagram_bytes()) {  // the path has become smaller
      t_.events.add(event::datagram_frames_dropped);
      datagrams_.pop(pieces_);
      continue;
    }
    // Copied here: the queue lets go of the bytes before the packet is sealed.
    if (!draft.add(wire::datagram_frame{.data = datagrams_.front()},
                   {.kind = static_cast<std::uint8_t>(token_kind::datagram)}))
      return;
    datagrams_.pop(pieces_);
  }
}

void connection::write_path_frames(packet_draft& draft, path_state& p, bool padded, std::uint64_t now_ns) noexcept {
  if (const auto response = p.responses.take()) static_cast<void>(draft.add(*response));
  if (!p.challenge.wants_challenge(now_ns)) return;
  wire::path_challenge_frame challenge;
  t_.random.fill(challenge.data);
  if (draft.add(challenge)) p.challenge.on_sent(challenge.data, padded, now_ns);
}

// RFC 9002 6.2.4: a probe with nothing new to say repeats what is in flight where that is easily found, or is a PING.
void connection::repeat_or_ping(const draft_plan& plan, packet_draft& draft) noexcept {
  if (handshake_ != nullptr && !plan.is_early) {
    stream::send_stream& out = handshake_->crypto[index_of(plan.space)].out;
    if (out.acked() < out.sent()) {
      out.on_lost(out.acked(), out.sent() - out.acked(), false);
      write_crypto(plan, draft);
    }
  }
  if (!draft.is_eliciting())
    static_cast<void>(draft.add(wire::ping_frame{}, {.kind = static_cast<std::uint8_t>(token_kind::ping)}));
}

}  // namespace millrace::quic::conn
