// What each frame does. A handler answers false when the walk over the packet ends: the connection is closing, or there
// was no memory for what the frame carries, and then the packet is not acknowledged and comes again.
#include <bit>

#include "quic/conn/arrival.hpp"

namespace millrace::quic::conn {

namespace {

using recovery::packet_space;
using wire::transport_error;

constexpr std::uint64_t most_ack_delay_us = std::uint64_t{1} << 40;  // 12 days; what is beyond is nonsense

std::uint64_t scaled_ack_delay_ns(std::uint64_t delay, unsigned exponent) noexcept {
  if (delay > most_ack_delay_us >> exponent) delay = most_ack_delay_us >> exponent;
  return (delay << exponent) * 1000;
}

}  // namespace

bool connection::on_ack(arrival& a, const wire::ack_frame& f) noexcept {
  const std::uint64_t delay_ns =
      a.space == packet_space::application ? scaled_ack_delay_ns(f.delay, peer_.ack_delay_exponent) : 0;
  token_owner owner{*this};
  const recovery::ack_fault wrong = recovery_.on_ack(a.space, f, delay_ns, a.now_ns, owner);
  if (wrong != recovery::ack_fault::none) {
    t_.events.add(event::ack_of_unsent);
    return fault(a, transport_error::protocol_violation, "an ACK of a packet that was never sent");
  }
  follow_mtu();
  numbers_.acks.set_rtt(recovery_.round_trip().smoothed_ns());
  trace_metrics();
  // RFC 9001 4.1.2: a client may take an ACK of a 1-RTT packet for the confirmation. 0-RTT packets have numbers of the
  // same space, and their ACK says nothing of Finished.
  if (!is_server_ && !confirmed_ && a.type == wire::packet_type::one_rtt && f.largest >= first_one_rtt_)
    confirm(a.now_ns);
  return true;
}

bool connection::on_crypto(arrival& a, const wire::crypto_frame& f) noexcept {
  if (handshake_ == nullptr) {  // all that TLS had to say was said; a ticket that nobody keeps
    t_.events.add(event::crypto_ignored);
    return true;
  }
  return feed(a, static_cast<std::size_t>(a.space), f.data.empty() ? base::byte_view{} : f.data, f.offset);
}

bool connection::on_stream(arrival& a, const wire::stream_frame& f) noexcept {
  bool is_closed = false;
  live_stream* s = stream_for(a, f.stream_id, true, is_closed);
  if (s == nullptr) return is_closed;
  const std::uint64_t readable = s->recv.readable();
  const bool was_at_end = s->recv.is_at_end();
  const stream::recv_errc code =
      s->recv.on_frame(pieces_, receive_window_, *a.datagram.whole, {f.offset, f.data, f.fin});
  switch (code) {
    case stream::recv_errc::ok:
      break;
    case stream::recv_errc::no_memory:
    case stream::recv_errc::too_fragmented:  // ours to be short of: it comes again
      t_.events.add(event::stream_no_memory);
      a.not_taken_in = true;
      return false;
    case stream::recv_errc::flow_control:
      return fault(a, transport_error::flow_control_error, "a stream beyond its credit");
    case stream::recv_errc::final_size:
      return fault(a, transport_error::final_size_error, "a stream whose final size changes");
  }
  if (s->recv.readable() != readable || s->recv.is_at_end() != was_at_end ||
      s->recv.state() == stream::recv_state::data_recvd) {
    s->readable = true;
    queues_.add_event(*s);
  }
  return true;
}

bool connection::on_reset_stream(arrival& a, const wire::reset_stream_frame& f) noexcept {
  bool is_closed = false;
  live_stream* s = stream_for(a, f.stream_id, true, is_closed);
  if (s == nullptr) return is_closed;
  const bool was_reset = s->recv.is_reset();
  switch (s->recv.on_reset(pieces_, receive_window_, f.error_code, f.final_size)) {
    case stream::recv_errc::flow_control:
      return fault(a, transport_error::flow_control_error, "a reset beyond the stream's credit");
    case stream::recv_errc::final_size:
      return fault(a, transport_error::final_size_error, "a reset with another final size");
    default:
      break;
  }
  if (s->recv.is_reset() && !was_reset) {
    t_.events.add(event::streams_reset);
    s->readable = true;
    queues_.add_event(*s);
    return may_reset(a);
  }
  return true;
}

// Opening and resetting costs a peer nothing and us a handler's start: CVE-2023-44487.
bool connection::may_reset(arrival& a) noexcept {
  if (resets_.take(t_.settings.resets, a.now_ns)) return true;
  t_.events.add(event::resets_too_many);
  return fault(a, transport_error::protocol_violation, "too many streams reset");
}

bool connection::on_stop_sending(arrival& a, const wire::stop_sending_frame& f) noexcept {
  bool is_closed = false;
  live_stream* s = stream_for(a, f.stream_id, false, is_closed);
  if (s == nullptr) return is_closed;
  if (s->peer_stopped || s->send.is_reset() || s->send.is_over()) return true;  // told before, or nothing to stop
  t_.events.add(event::streams_reset);
  s->peer_stopped = true;
  s->stopped_by_peer = f.error_code;
  reset(*s, f.error_code);  // RFC 9000 3.5
  queues_.add_event(*s);
  return may_reset(a);
}

bool connection::on_max_data(const wire::max_data_frame& f) noexcept {
  if (send_credit_.on_limit(f.maximum)) pending_ &= ~std::uint32_t{pending_data_blocked};
  return true;
}

bool connection::on_max_stream_data(arrival& a, const wire::max_stream_data_frame& f) noexcept {
  bool is_closed = false;
  live_stream* s = stream_for(a, f.stream_id, false, is_closed);
  if (s == nullptr) return is_closed;
  if (s->send.credit().on_limit(f.maximum)) {
    s->blocked_due = false;
    queues_.add_data(*s);
  }
  return true;
}

bool connection::on_max_streams(const wire::max_streams_frame& f) noexcept {
  stream::stream_count& ours = f.unidirectional ? our_uni_ : our_bidi_;
  if (ours.on_limit(f.maximum)) {
    pending_ &= ~std::uint32_t{f.unidirectional ? pending_streams_blocked_uni : pending_streams_blocked_bidi};
    streams_available_ = true;
    if (early_refused_) release_withheld();
  }
  return true;
}

// Only whether the stream can be: the credit was sent when it was due.
bool connection::on_stream_data_blocked(arrival& a, const wire::stream_data_blocked_frame& f) noexcept {
  bool is_closed = false;
  return stream_for(a, f.stream_id, true, is_closed) != nullptr || is_closed;
}

bool connection::on_new_connection_id(arrival& a, const wire::new_connection_id_frame& f) noexcept {
  const path::remote_cids::received got = remote_cids_.on_new_connection_id(f);
  if (got.error != transport_error::no_error) {
    static_cast<void>(give_cid(active_path()));  // the frame may have retired the one that a close goes to
    return fault(a, got.error, "a connection ID that cannot be");
  }
  if (got.replace) replace_cids(a.now_ns);
  if (!remote_cids_.is_within_limits())
    return fault(a, transport_error::connection_id_limit_error, "more connection IDs retired than acknowledged");
  return !is_closing();
}

bool connection::on_retire_connection_id(arrival& a, const wire::retire_connection_id_frame& f) noexcept {
  const path::local_cids::retired got = local_cids_.on_retire(f.sequence, a.dcid);
  if (got.error != transport_error::no_error) return fault(a, got.error, "a connection ID retired that cannot be");
  if (got.unmap) host_.retire_cid(*this, got.cid);
  issue_cids();
  return true;
}

bool connection::on_path_response(arrival& a, const wire::path_response_frame& f) noexcept {
  for (std::uint8_t i = 0; i < paths_.size(); ++i) {
    path_state& p = paths_[i];
    if (!p.challenge.is_running()) continue;
    const path::path_challenge::answer got = p.challenge.on_response(f.data, a.now_ns);
    if (got == path::path_challenge::answer::unknown) continue;
    const path::path_slot slot{i, migration_.paths()[i].generation};
    p.amount.on_validated();
    migration_.on_validated(slot, a.now_ns);
    if (!is_server_) move_to_preferred(slot, a.now_ns);
    return true;
  }
  t_.events.add(event::unsolicited_path_responses);
  return true;
}

bool connection::on_connection_close(arrival& a, const wire::connection_close_frame& f) noexcept {
  const bool was_open = close_.is_open();
  if (!close_.on_peer_close(a.now_ns, recovery_.pto_ns())) return false;
  if (was_open) {
    t_.events.add(event::closed_by_peer);
    end_ = {end_reason::closed_by_peer, f.from_application, f.error_code};
  }
  pending_ = 0;
  return false;
}

bool connection::on_handshake_done(arrival& a) noexcept {
  if (phase_ == phase::established) confirm(a.now_ns);
  return true;
}

// A frame of ours arrived.
void connection::on_token_acked(packet_space space, const recovery::sent_token& token) noexcept {
  switch (static_cast<token_kind>(token.kind)) {
    case token_kind::stream:
      if (live_stream* s = find_stream(token.slot)) {
        const bool rose = s->send.on_acked(token.value, token.length, (token.flags & 1) != 0);
        if (!rose) return;
        if (s->source != nullptr) s->source->released(s->send.acked());
        s->writable = true;
        queues_.add_event(*s);
      }
      return;
    case token_kind::ack:  // RFC 9000 13.2.4: the peer knows of all up to there
      if (space == packet_space::application)
        numbers_.forget_below(token.value + 1, t_.ranges);
      else if (handshake_ != nullptr)
        (space == packet_space::initial ? handshake_->initial_numbers : handshake_->handshake_numbers)
            .received.forget_below(token.value + 1);
      return;
    case token_kind::crypto:
      if (handshake_ == nullptr) return;
      static_cast<void>(handshake_->crypto[token.slot].out.on_acked(token.value, token.length, false));
      return;
    case token_kind::reset_stream:
      if (live_stream* s = find_stream(token.slot)) {
        s->send.on_reset_acked();
        queues_.add_event(*s);
      }
      return;
    case token_kind::new_cid:
      local_cids_.on_acked(token.value);
      return;
    case token_kind::retire_cid:
      remote_cids_.on_retire_acked(token.value);
      return;
    case token_kind::mtu_probe:
      if (token.flags == mtu_.epoch())
        mtu_changed_ |= mtu_.on_probe_acked(static_cast<std::uint32_t>(token.value), now_ns_);
      return;
    case token_kind::size_note:
      if (token.flags == mtu_.epoch()) mtu_.on_acked(token.slot, token.value);
      return;
    default:
      return;
  }
}

// It did not, as far as can be told: what still matters is sent again, as it is then.
void connection::on_token_lost(packet_space, const recovery::sent_token& token) noexcept {
  t_.events.add(event::packets_lost);
  switch (static_cast<token_kind>(token.kind)) {
    case token_kind::ack:
    case token_kind::ping:
      return;
    case token_kind::crypto:
      if (handshake_ != nullptr) handshake_->crypto[token.slot].out.on_lost(token.value, token.length, false);
      return;
    case token_kind::handshake_done:
      pending_ |= pending_handshake_done;
      return;
    case token_kind::new_token:
      pending_ |= pending_new_token;
      return;
    case token_kind::max_data:
      pending_ |= pending_max_data;
      return;
    case token_kind::max_streams_bidi:
      pending_ |= pending_max_streams_bidi;
      return;
    case token_kind::max_streams_uni:
      pending_ |= pending_max_streams_uni;
      return;
    case token_kind::data_blocked:
      send_credit_.on_blocked_lost();
      return;
    case token_kind::streams_blocked:
      return;
    case token_kind::new_cid:
      local_cids_.on_lost(token.value);
      return;
    case token_kind::retire_cid:
      remote_cids_.on_retire_lost(token.value);
      return;
    case token_kind::mtu_probe:
      if (token.flags == mtu_.epoch()) mtu_.on_probe_lost(static_cast<std::uint32_t>(token.value), now_ns_);
      return;
    case token_kind::size_note:
      if (token.flags == mtu_.epoch()) mtu_changed_ |= mtu_.on_lost(token.slot, token.value, now_ns_);
      return;
    case token_kind::datagram:
      return;  // RFC 9221 5.2: not repeated
    case token_kind::stream:
    case token_kind::reset_stream:
    case token_kind::stop_sending:
    case token_kind::max_stream_data:
    case token_kind::stream_data_blocked:
      on_stream_token_lost(token);
      return;
  }
}

void connection::on_stream_token_lost(const recovery::sent_token& token) noexcept {
  live_stream* s = find_stream(token.slot);
  if (s == nullptr) return;
  switch (static_cast<token_kind>(token.kind)) {
    case token_kind::stream:
      s->send.on_lost(token.value, token.length, (token.flags & 1) != 0);
      if (s->in_data_queue)
        queues_.reorder(*s);
      else
        queues_.add_data(*s);
      return;
    case token_kind::reset_stream:
      s->send.on_reset_lost();
      break;
    case token_kind::stop_sending:
      s->stop_due = !s->recv.is_over() && s->recv.state() == stream::recv_state::recv;
      break;
    case token_kind::max_stream_data:
      s->max_data_due = s->recv.state() == stream::recv_state::recv;
      break;
    case token_kind::stream_data_blocked:
      s->send.credit().on_blocked_lost();
      return;
    default:
      return;
  }
  queues_.add_control(*s);
}

}  // namespace millrace::quic::conn
