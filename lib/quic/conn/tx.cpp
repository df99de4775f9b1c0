// A datagram is built level by level: Initial, Handshake, 1-RTT (or 0-RTT), as far as each has something to say and
// room is left. The congestion controller and the pacer decide whether more than ACKs may leave, the path's size and,
// before an address is proven, three times what came from it bound how much.
//
// Every packet is booked with recovery before build() returns: what it carried, as tokens, so that a loss becomes
// frames again. A packet that recovery has no place for is not sent, unless it is an ACK alone.
#include <algorithm>

#include "quic/conn/draft_plan.hpp"
#include "quic/wire/header_emit.hpp"

namespace millrace::quic::conn {

namespace {

using recovery::packet_space;

constexpr std::uint64_t empty_pool_wait_ns = 10 * recovery::ms;  // until others have given something back
constexpr unsigned few_tokens = 4;                               // of a packet with stream data
constexpr unsigned many_tokens = 16;                             // of one with control frames

constexpr std::size_t index_of(packet_space s) noexcept { return static_cast<std::size_t>(s); }

constexpr wire::packet_type type_of(packet_space s, bool early) noexcept {
  switch (s) {
    case packet_space::initial:
      return wire::packet_type::initial;
    case packet_space::handshake:
      return wire::packet_type::handshake;
    case packet_space::application:
      return early ? wire::packet_type::zero_rtt : wire::packet_type::one_rtt;
  }
  return wire::packet_type::one_rtt;
}

}  // namespace

std::size_t connection::build(base::byte_span room, std::uint64_t now_ns, datagram_out& out) noexcept {
  now_ns_ = now_ns;
  if (phase_ == phase::ended || close_.phase() == close_phase::draining || close_.phase() == close_phase::closed)
    return 0;
  out = {};
  if (is_closing()) return (pending_ & pending_close) != 0 ? build_close(room, now_ns, out) : 0;
  if (phase_ == phase::established) {
    maybe_update_keys(now_ns);
    if (const std::size_t size = build_path_probe(room, now_ns, out); size != 0) return size;
    if (const std::size_t size = build_mtu_probe(room, now_ns, out); size != 0) return size;
  }
  const std::size_t size = build_packets(room, now_ns, out);
  if (size == 0) {
    built_ns_ = now_ns;
    recovery_.release_unused();
  }
  if (size == 0 && phase_ == phase::established && queues_.data.empty()) recovery_.on_app_limited();
  return size;
}

bool connection::can_write(packet_space space) const noexcept {
  if (space == packet_space::application) {
    // RFC 9001 5.6: once there are 1-RTT keys, 0-RTT ones are not used any more.
    return (keys_.can_write() && (is_server_ || phase_ == phase::established)) ||
           (handshake_ != nullptr && handshake_->early.can_write);
  }
  if (handshake_ == nullptr) return false;
  return space == packet_space::initial ? handshake_->initial.can_write : handshake_->handshake.can_write;
}

bool connection::has_application_frames() const noexcept {
  constexpr std::uint32_t frames = ~std::uint32_t{pending_close};
  return (pending_ & frames) != 0 || !queues_.control.empty() || !queues_.data.empty() || !datagrams_.empty() ||
         local_cids_.to_send().has_value() || remote_cids_.retire_to_send().has_value() ||
         (handshake_ != nullptr &&
          !handshake_->crypto[index_of(packet_space::application)].out.next_chunk(1, UINT64_MAX).is_nothing());
}

bool connection::has_something(packet_space space, std::uint64_t now_ns, bool may_send) const noexcept {
  if (probes_[index_of(space)] != 0) return true;
  if (space == packet_space::application)
    return (numbers_.acks.should_send(now_ns) && phase_ == phase::established) ||
           (may_send && has_application_frames());
  const handshake_space& numbers =
      space == packet_space::initial ? handshake_->initial_numbers : handshake_->handshake_numbers;
  return numbers.acks.should_send(now_ns) ||
         (may_send && !handshake_->crypto[index_of(space)].out.next_chunk(1, UINT64_MAX).is_nothing());
}

bool connection::may_send_data(std::uint64_t now_ns) const noexcept {
  const std::size_t datagram = datagram_bytes();
  return !recovery_.is_window_full() && recovery_.budget_bytes(now_ns) >= datagram;
}

std::size_t connection::datagram_bytes() const noexcept {
  return confirmed_ ? mtu_.mtu() : t_.settings.initial_datagram_bytes;
}

std::size_t connection::build_packets(base::byte_span room, std::uint64_t now_ns, datagram_out& out) noexcept {
  const path::path_slot slot = migration_.active();
  path_state& p = paths_[slot.index];
  if (!give_cid(p)) return 0;  // the peer took back all its IDs: until it gives another
  const std::uint64_t allowance = p.amount.budget_bytes();
  // RFC 8899 4.3: a probe that is no larger than every path carries gets through where the path has become smaller.
  const bool probes = probes_[index_of(packet_space::application)] != 0;
  const std::size_t most = probes ? std::min<std::size_t>(datagram_bytes(), path::base_mtu) : datagram_bytes();
  const std::size_t limit =
      static_cast<std::size_t>(std::min<std::uint64_t>({room.size(), most, allowance, peer_.max_udp_payload}));
  const bool may_send = may_send_data(now_ns);
  is_paced_ = !may_send && !recovery_.is_window_full() && has_application_frames();
  std::array<bool, recovery::packet_spaces> wants{};
  int last = -1;
  for (std::size_t i = 0; i < wants.size(); ++i) {
    const auto space = static_cast<packet_space>(i);
    wants[i] = can_write(space) && has_something(space, now_ns, may_send);
    if (wants[i]) last = static_cast<int>(i);
  }
  if (last < 0) return 0;
  if (limit < least_packet_bytes) {
    if (!p.amount.is_validated()) t_.events.add(event::amplification_limited);
    return 0;
  }
  out.address = migration_.info(slot).address;
  out.interface = p.interface;
  out.ect0 = recovery_.should_mark();
  std::size_t used = 0;
  bool pads = false;
  for (int i = 0; i <= last; ++i) {
    if (!wants[static_cast<std::size_t>(i)] || limit - used < least_packet_bytes) continue;
    draft_plan plan{.out = room.subspan(used, limit - used),
                    .now_ns = now_ns,
                    .space = static_cast<packet_space>(i),
                    .path = slot.index,
                    .datagram_bytes = used,
                    .may_send = may_send,
                    .is_last = i == last,
                    .pads = pads,
                    .marks = out.ect0};
    plan.is_early = plan.space == packet_space::application && !keys_.can_write();
    const std::size_t size = build_packet(plan);
    if (size == 0) continue;
    used += size;
    pads = plan.pads;
    // RFC 9001 4.9.1: a client has no more use for Initial keys once it speaks under Handshake keys.
    if (!is_server_ && plan.space == packet_space::handshake) discard(packet_space::initial, now_ns);
    if (is_closing()) break;
  }
  if (used == 0) return 0;
  p.amount.on_sent(used);
  bytes_out_ += used;
  return used;
}

// One packet; 0: nothing of this level fits or is to be said.
std::size_t connection::build_packet(draft_plan& plan) noexcept {
  packet_header_plan h;
  if (plan.space == packet_space::application && !plan.is_early && !has_keys_ready(plan.now_ns)) return 0;
  if (!plan_header(plan, h)) return 0;
  const unsigned most_tokens =
      plan.space == packet_space::application && queues_.control.empty() && pending_ == 0 ? few_tokens : many_tokens;
  const bool has_record = recovery_.reserve(plan.space, most_tokens);
  if (!has_record) {
    t_.events.add(event::sent_pool_empty);
    retry_ns_ = recovery::later(plan.now_ns, empty_pool_wait_ns);
    // Padding is in flight and would have to be kept: no packet then that needs it.
    if (plan.pads || plan.space == packet_space::initial) return 0;
  }
  packet_draft draft(plan.out.subspan(h.size, plan.out.size() - h.size - crypto::aead_tag_size), most_tokens);
  const std::uint8_t probes = probes_[index_of(plan.space)];
  const bool ack_due = write_ack(plan, draft);
  if (has_record && (plan.may_send || probes != 0)) {
    if (handshake_ != nullptr) write_crypto(plan, draft);
    if (plan.space == packet_space::application) {
      if (!plan.is_early) {
        write_pending(plan, draft);
        write_cids(draft);
      }
      write_stream_control(plan, draft);
      write_datagrams(draft);
      write_streams(draft);
      // That streams are blocked is found out there.
      if (!plan.is_early) write_pending(plan, draft);
      write_stream_control(plan, draft);
    }
    if (probes != 0 && !draft.is_eliciting()) repeat_or_ping(plan, draft);
  }
  const bool silent = !draft.is_eliciting();
  // RFC 9000 13.2.4: now and then an ACK asks for one itself, so that its ranges can be forgotten.
  if (silent && ack_due && has_record && wants_ping(plan.space)) static_cast<void>(draft.add(wire::ping_frame{}));
  if (!draft.is_eliciting() && !ack_due && !(plan.pads && plan.is_last)) return 0;
  if (plan.space == packet_space::initial) plan.pads |= !is_server_ || draft.is_eliciting();
  if (plan.pads && (plan.is_last || plan.out.size() - h.size - draft.size() < 2 * least_packet_bytes)) {
    const std::size_t around = plan.datagram_bytes + h.size + crypto::aead_tag_size;
    if (draft.is_empty()) static_cast<void>(draft.add(wire::ping_frame{}));
    if (around < wire::min_initial_datagram_size) draft.pad_to(wire::min_initial_datagram_size - around);
  }
  if (probes != 0 && draft.is_eliciting()) --probes_[index_of(plan.space)];
  return finish_packet(plan, h, draft);
}

// Before a 1-RTT packet is begun, for what it takes from the queues must leave. False: build() tries again later.
bool connection::has_keys_ready(std::uint64_t now_ns) noexcept {
  if (!keys_.can_write() || keys_.awake(t_.keys, t_.engine, now_ns) != nullptr) return true;
  t_.events.add(event::refused_no_memory);
  retry_ns_ = recovery::later(now_ns, empty_pool_wait_ns);
  return false;
}

// RFC 9000 13.2.4. Not while something else waits for an ACK: who never acknowledges would have us keep a PING for
// every few packets it sends.
bool connection::wants_ping(packet_space space) const noexcept {
  return space == packet_space::application && numbers_.acks.wants_ping() && !recovery_.space(space).has_eliciting();
}

// Header form, sizes and where the packet number goes. False: no room, or too many packets in flight to number another.
bool connection::plan_header(const draft_plan& plan, packet_header_plan& h) noexcept {
  const recovery::sent_packets& sent = recovery_.space(plan.space);
  const std::uint64_t next = sent.largest_sent() + 2;  // a number may be left out
  h.pn_size = wire::packet_number_size(next, sent.largest_acked());
  if (h.pn_size == 0) return false;
  h.dcid = destination(paths_[plan.path]);
  h.is_long = plan.space != packet_space::application || plan.is_early;
  if (h.is_long) {
    const wire::long_header form = long_form(plan, h, 1200);
    h.size = wire::encoded_size(form) + h.pn_size;
  } else {
    h.size = 1 + h.dcid.size() + h.pn_size;
  }
  return plan.out.size() >= h.size + crypto::aead_tag_size + 8;
}

wire::long_header connection::long_form(const draft_plan& plan, const packet_header_plan& h,
                                        std::size_t length) const noexcept {
  wire::long_header form;
  form.type = type_of(plan.space, plan.is_early);
  form.version = plan.is_early ? first_version_ : version_;
  form.dcid = h.dcid;
  form.scid = our_scid_.view();
  if (plan.space == packet_space::initial && !is_server_)
    form.token = base::byte_view(handshake_->token).first(handshake_->token_size);
  form.length = length;
  form.pn_size = h.pn_size;
  return form;
}

// Number, header, protection; and recovery is told. 0 when it could not be sealed: the connection is closing then.
std::size_t connection::finish_packet(draft_plan& plan, const packet_header_plan& h, packet_draft& draft) noexcept {
  if (h.pn_size + draft.size() < 4) draft.pad_to(4 - h.pn_size);  // RFC 9001 5.4.2
  const std::span<const base::byte_view> parts = draft.finish();
  const std::uint64_t number = recovery_.next_number(plan.space);
  base::byte_writer header(plan.out.first(h.size));
  base::byte_span number_room;
  const bool written =
      h.is_long
          ? wire::emit(header, long_form(plan, h, h.pn_size + draft.size() + crypto::aead_tag_size), number_room)
          : wire::emit(header, wire::short_header{.dcid = h.dcid, .spin = spin(), .pn_size = h.pn_size}, number_room);
  if (!written) return 0;  // never: plan_header() counted
  protect::seal_request request{.out = plan.out,
                                .pn_offset = static_cast<std::uint32_t>(h.size - h.pn_size),
                                .pn_size = static_cast<std::uint8_t>(h.pn_size),
                                .packet_number = number,
                                .payload = parts};
  if (plan.space == packet_space::application && !plan.is_early) {
    if (first_one_rtt_ == wire::no_packet_number) first_one_rtt_ = number;
    keys_.if_awake()->write->seal(t_.engine, request);  // has_keys_ready() was asked
  } else {
    const level_keys& k = plan.is_early                         ? handshake_->early
                          : plan.space == packet_space::initial ? handshake_->initial
                                                                : handshake_->handshake;
    static_cast<void>(protect::seal_packet(t_.engine, *k.write, request));
  }
  if (request.code != protect::seal_errc::ok) {
    close_transport(request.code == protect::seal_errc::confidentiality_spent
                        ? wire::transport_error::aead_limit_reached
                        : wire::transport_error::internal_error,
                    "the packet could not be sealed", plan.now_ns);
    return 0;
  }
  // RFC 8899 4.3: whether large packets still arrive; one in four tells enough.
  if (confirmed_ && draft.is_eliciting() && !plan.is_mtu_probe && request.size > path::base_mtu && number % 4 == 0)
    draft.remember({.kind = static_cast<std::uint8_t>(token_kind::size_note),
                    .flags = mtu_.epoch(),
                    .slot = request.size,
                    .value = plan.now_ns});
  note_sent(plan, draft, number, request.size);
  return request.size;
}

void connection::note_sent(draft_plan& plan, const packet_draft& draft, std::uint64_t number,
                           std::size_t size) noexcept {
  t_.events.add(event::packets_sent);
  ++packets_out_;
  if (trace_.is_on())
    trace_.tell({.time_ns = plan.now_ns,
                 .kind = trace_kind::packet_sent,
                 .type = type_of(plan.space, plan.is_early),
                 .size = static_cast<std::uint32_t>(size),
                 .number = number,
                 .frames = draft.types()});
  plan.is_eliciting = draft.is_eliciting();
  if (draft.has_ack()) {
    if (plan.space == packet_space::application)
      numbers_.acks.on_sent(draft.is_eliciting());
    else
      (plan.space == packet_space::initial ? handshake_->initial_numbers : handshake_->handshake_numbers)
          .acks.on_sent(draft.is_eliciting());
  }
  if (plan.space == packet_space::application && !plan.is_early && (draft.has_ack() || keys_.updates() == 0))
    peer_updates_.on_ack_sent();
  if (!draft.is_eliciting() && !draft.has_padding()) {
    recovery_.on_sent_unkept(plan.space, number, plan.marks);
    return;
  }
  recovery::sent_packet packet;
  packet.sent_ns = plan.now_ns;
  packet.bytes = static_cast<std::uint16_t>(size);
  packet.eliciting = draft.is_eliciting();
  packet.ect = plan.marks;
  packet.path_probe = plan.is_mtu_probe;
  recovery_.on_sent(plan.space, number, packet, draft.tokens());
  if (draft.is_eliciting()) idle_.on_sent_eliciting(plan.now_ns);
}

// PATH_CHALLENGE and PATH_RESPONSE go by the path they are about (RFC 9000 8.2), in a datagram of their own.
std::size_t connection::build_path_probe(base::byte_span room, std::uint64_t now_ns, datagram_out& out) noexcept {
  for (std::uint8_t i = 0; i < paths_.size(); ++i) {
    path_state& p = paths_[i];
    if (migration_.paths()[i].role == path::path_role::unused) continue;
    if (p.responses.is_empty() && !p.challenge.wants_challenge(now_ns)) continue;
    const std::uint64_t budget = p.amount.budget_bytes();
    if (budget < least_packet_bytes || !give_cid(p)) continue;
    if (!has_keys_ready(now_ns)) return 0;
    const std::size_t padded = path::padded_probe_size(budget);
    draft_plan plan{.out = room.first(static_cast<std::size_t>(
                        std::min<std::uint64_t>({room.size(), budget, wire::min_initial_datagram_size}))),
                    .now_ns = now_ns,
                    .path = i};
    packet_header_plan h;
    if (!plan_header(plan, h)) continue;
    packet_draft draft(plan.out.subspan(h.size, plan.out.size() - h.size - crypto::aead_tag_size), few_tokens);
    write_path_frames(draft, p, padded != 0, now_ns);
    if (padded != 0) draft.pad_to(padded - h.size - crypto::aead_tag_size);
    draft.make_unkept();  // the challenge has its own timer, a response is sent once
    const std::size_t size = finish_packet(plan, h, draft);
    if (size == 0) return 0;
    p.amount.on_sent(size);
    bytes_out_ += size;
    out.address = migration_.paths()[i].address;
    out.interface = p.interface;
    return size;
  }
  return 0;
}

// RFC 9000 14.4, RFC 8899: PING and PADDING, as large as is to be found out.
std::size_t connection::build_mtu_probe(base::byte_span room, std::uint64_t now_ns, datagram_out& out) noexcept {
  if (!confirmed_ || recovery_.is_window_full() || !give_cid(active_path())) return 0;
  const std::uint32_t wanted = mtu_.probe_size(now_ns);
  if (wanted == 0 || wanted > room.size() || active_path().amount.budget_bytes() < wanted ||
      !recovery_.reserve(packet_space::application, 1) || !has_keys_ready(now_ns))
    return 0;
  draft_plan plan{.out = room.first(wanted), .now_ns = now_ns, .path = migration_.active().index};
  plan.is_mtu_probe = true;
  packet_header_plan h;
  if (!plan_header(plan, h)) return 0;
  packet_draft draft(plan.out.subspan(h.size, wanted - h.size - crypto::aead_tag_size), 1);
  static_cast<void>(
      draft.add(wire::ping_frame{},
                {.kind = static_cast<std::uint8_t>(token_kind::mtu_probe), .flags = mtu_.epoch(), .value = wanted}));
  draft.pad_to(wanted - h.size - crypto::aead_tag_size);
  const std::size_t size = finish_packet(plan, h, draft);
  if (size == 0) return 0;
  mtu_.on_probe_sent(wanted);
  active_path().amount.on_sent(size);
  bytes_out_ += size;
  out.address = address();
  out.interface = active_path().interface;
  return size;
}

void connection::maybe_update_keys(std::uint64_t now_ns) noexcept {
  if (!keys_.can_write()) return;
  traffic_keys* const keys = keys_.if_awake();
  if (!key_update_wanted_ && (keys == nullptr || keys->write->use() == protect::key_use::fine)) return;
  if (update_keys(now_ns)) key_update_wanted_ = false;
}

bool connection::update_keys(std::uint64_t now_ns) noexcept {
  // RFC 9001 6.1, 6.5: after confirmation, once the peer has acknowledged this phase, and not before three PTOs.
  traffic_keys* const keys =
      confirmed_ && now_ns >= key_update_after_ns_ ? keys_.awake(t_.keys, t_.engine, now_ns) : nullptr;
  if (keys == nullptr || keys->write->updates() != keys->read->updates() ||
      !keys->write->may_update(recovery_.space(packet_space::application).largest_acked())) {
    key_update_wanted_ = true;
    return false;
  }
  keys->write->update(t_.engine);
  t_.events.add(event::key_updates);
  trace_.tell({.time_ns = now_ns, .kind = trace_kind::key_update, .number = keys->write->updates()});
  return true;
}

bool connection::spin() const noexcept { return t_.settings.spin_bit && (is_server_ ? peer_spins_ : !peer_spins_); }

}  // namespace millrace::quic::conn
