// From the first Initial to a confirmed handshake: keys by level, CRYPTO streams to and from TLS, transport parameters,
// the version.
//
//   server   Initial -> TLS -> [choose version, parameters] -> Handshake keys, 1-RTT write keys ... Finished ->
//   confirmed client   ClientHello ... Handshake keys ... complete -> HANDSHAKE_DONE or an ACK of 1-RTT -> confirmed
//
// What could go wrong: bytes believed before TLS has vouched for them. Transport parameters are used when TLS has read
// them, and only confirmed with Finished: a handshake that fails afterwards takes all of it with it.
#include <algorithm>

#include "quic/conn/arrival.hpp"
#include "quic/conn/parameters.hpp"

namespace millrace::quic::conn {

namespace {

using recovery::packet_space;
using wire::transport_error;

constexpr std::size_t parameters_room = 512;

constexpr std::size_t index_of(packet_space s) noexcept { return static_cast<std::size_t>(s); }

tls::encryption_level level_of(std::size_t space) noexcept {
  return space == 0   ? tls::encryption_level::initial
         : space == 1 ? tls::encryption_level::handshake
                      : tls::encryption_level::application;
}

// RFC 9369 5: versions 1 and 2 are compatible with each other, and with themselves.
bool are_compatible(wire::version_number a, wire::version_number b) noexcept {
  const auto is_ours = [](wire::version_number v) { return v == wire::version_1 || v == wire::version_2; };
  return a == b || (is_ours(a) && is_ours(b));
}

}  // namespace

bool connection::make_initial_keys() noexcept {
  level_keys& k = handshake_->initial;
  const protect::side us = is_server_ ? protect::side::server : protect::side::client;
  const protect::side them = is_server_ ? protect::side::client : protect::side::server;
  k.can_read = protect::derive_initial_keys(t_.engine, version_, initial_dcid_.view(), them, *k.read);
  k.can_write = protect::derive_initial_keys(t_.engine, version_, initial_dcid_.view(), us, *k.write);
  return k.can_read && k.can_write;
}

void connection::begin_client(const client_start& s) noexcept {
  const mem::heap_watch watch(t_.handshake_heap);
  std::array<std::uint8_t, parameters_room> room;
  const std::size_t size = write_parameters(room, nullptr);
  const tls::client_start start{.server_name = s.server_name,
                                .transport_parameters = base::byte_view(room).first(size),
                                .session = s.session,
                                .offer_early_data = s.early_data};
  if (s.token.size() <= handshake_->token.size()) {
    std::ranges::copy(s.token, handshake_->token.begin());
    handshake_->token_size = static_cast<std::uint16_t>(s.token.size());
  }
  if (!make_initial_keys() || handshake_->tls.start(start) == tls::handshake_progress::failed || !step_tls(s.now_ns))
    return;
  if (handshake_->tls.early() != tls::early_data::offered) return;
  // RFC 9000 7.4.1: what the server allowed last time.
  if (read_parameters(handshake_->tls.remembered_transport_parameters(), true, s.now_ns) && app_ != nullptr)
    told_early_ = false;
}

// The next bytes of a level's CRYPTO stream go to TLS, those that came too early wait.
bool connection::feed(arrival& a, std::size_t level, base::byte_view bytes, std::uint64_t offset) noexcept {
  const mem::heap_watch watch(t_.handshake_heap);
  stream::reassembly& in = handshake_->crypto[level].in;
  const std::uint64_t end = offset + bytes.size();
  if (end <= in.read()) return true;  // sent again
  if (end - in.read() > t_.settings.crypto_window_bytes) {
    t_.events.add(event::crypto_too_far);
    return fault(a, transport_error::crypto_buffer_exceeded, "CRYPTO data too far ahead");
  }
  if (offset > in.read() || in.pieces() != 0 || is_away_) {
    switch (in.add(pieces_, *a.datagram.whole, bytes, offset)) {
      case stream::add_status::added:
        break;
      case stream::add_status::no_memory:
        t_.events.add(event::stream_no_memory);
        a.not_taken_in = true;
        return false;
      case stream::add_status::too_fragmented:
        t_.events.add(event::crypto_too_far);
        return fault(a, transport_error::crypto_buffer_exceeded, "CRYPTO data in too many pieces");
    }
    if (in.runs() > t_.settings.crypto_runs) {
      t_.events.add(event::crypto_too_far);
      return fault(a, transport_error::crypto_buffer_exceeded, "CRYPTO data in too many pieces");
    }
  } else {  // in order, as nearly always: nothing is kept
    bytes = bytes.subspan(static_cast<std::size_t>(in.read() - offset));
    in.clear(pieces_, end);
    const tls::handshake_progress did = handshake_->tls.provide(level_of(level), bytes);
    return did == tls::handshake_progress::stalled || step_tls(a.now_ns);
  }
  return is_away_ || provide_waiting(level, a.now_ns);
}

// What came too early for TLS and does not any more. False: the connection is closing.
bool connection::provide_waiting(std::size_t level, std::uint64_t now_ns) noexcept {
  stream::reassembly& in = handshake_->crypto[level].in;
  bool work = false;
  for (base::byte_view front = in.front(); !front.empty(); front = in.front()) {
    work |= handshake_->tls.provide(level_of(level), front) != tls::handshake_progress::stalled;
    in.consume(pieces_, front.size());
  }
  return !work || step_tls(now_ns);
}

// What TLS can do with what it has. False: the connection is closing.
bool connection::step_tls(std::uint64_t now_ns) noexcept {
  tls::quic_handshake& tls = handshake_->tls;
  const bool was_complete = tls.is_complete();
  if (is_server_ && !tls.has_failed() && app_ == nullptr && !prepare_server(now_ns)) return false;
  if (hand_step_over()) return true;
  if (!tls.has_failed()) static_cast<void>(tls.advance(host_.wall_ns()));
  return follow_tls(was_complete, now_ns);
}

// The answer to a ClientHello is what costs; the rest is a tenth of it.
bool connection::hand_step_over() noexcept {
  tls::quic_handshake& tls = handshake_->tls;
  if (t_.steps == nullptr || !is_server_ || tls.has_failed() || handshake_->handshake.can_write) return false;
  handshake_->step = {.owner = this, .tls = &tls, .wall_ns = host_.wall_ns()};
  is_away_ = true;  // before: it may be done as soon as it is handed over
  if (t_.steps->hand_over(handshake_->step)) {
    t_.events.add(event::steps_elsewhere);
    return true;
  }
  is_away_ = false;
  return false;
}

void connection::on_step_done(std::uint64_t now_ns) noexcept {
  now_ns_ = now_ns;
  const mem::heap_watch watch(t_.handshake_heap);
  is_away_ = false;
  if (phase_ == phase::ended || is_closing() || !follow_tls(false, now_ns)) return;
  for (std::size_t level = 0; level < handshake_->crypto.size(); ++level)
    if (is_away_ || !provide_waiting(level, now_ns)) return;
  read_held(now_ns);
}

// What TLS has done: keys, bytes to send, the end of the handshake. False: the connection is closing.
bool connection::follow_tls(bool was_complete, std::uint64_t now_ns) noexcept {
  tls::quic_handshake& tls = handshake_->tls;
  if (!tls.has_failed()) {
    tls::traffic_secret secret;
    while (tls.take_secret(secret)) {
      const bool good = install(secret);
      crypto::wipe({secret.bytes.data(), secret.bytes.size()});
      if (!good) {
        close_transport(transport_error::internal_error, "no memory for keys", now_ns);
        return false;
      }
    }
    collect_output();
    // The server's parameters are there with EncryptedExtensions; they count once TLS is through.
    if (tls.early() == tls::early_data::rejected && !early_refused_ && !is_server_) on_early_refused();
    if (!is_server_ && tls.is_complete() && !was_complete &&
        !read_parameters(tls.peer_transport_parameters(), false, now_ns))
      return false;
  }
  if (tls.has_failed()) {
    t_.events.add(event::handshake_failed);
    close_transport(static_cast<transport_error>(tls.error()), tls.reason(), now_ns);
    return false;
  }
  if (tls.is_complete() && !was_complete) on_complete(now_ns);
  if (!is_server_ && tls.has_new_session()) {
    had_ticket_ = true;
    host_.on_session(*this, tls.session());
  }
  return !is_closing();
}

// The ClientHello is there and nothing was spent on it: version, application, our parameters.
bool connection::prepare_server(std::uint64_t now_ns) noexcept {
  tls::quic_handshake& tls = handshake_->tls;
  if (!tls.has_peer_transport_parameters()) return true;
  if (!read_parameters(tls.peer_transport_parameters(), false, now_ns)) return false;
  app_ = host_.find_application(tls.protocol());
  if (app_ == nullptr) {
    close_transport(static_cast<transport_error>(tls::crypto_error(tls::alert::no_application_protocol)),
                    "nobody serves this protocol", now_ns);
    return false;
  }
  // RFC 9000 5.1.1: the ID of the preferred address is number 1.
  std::optional<connection_host::new_cid> preferred;
  if (t_.settings.preferred_ipv4.port != 0 || t_.settings.preferred_ipv6.port != 0) preferred = host_.issue_cid(*this);
  if (preferred && !local_cids_.add_preferred(preferred->cid, preferred->token)) {
    host_.retire_cid(*this, preferred->cid);
    preferred.reset();
  }
  std::array<std::uint8_t, parameters_room> room;
  const std::size_t size = write_parameters(room, preferred ? &*preferred : nullptr);
  if (size != 0 && tls.set_transport_parameters(base::byte_view(room).first(size))) return true;
  close_transport(transport_error::internal_error, "no memory for the handshake", now_ns);
  return false;
}

std::size_t connection::write_parameters(base::byte_span room, const connection_host::new_cid* preferred) noexcept {
  std::array<std::uint8_t, 4 * 8> versions;
  parameter_facts facts{.settings = t_.settings,
                        .is_server = is_server_,
                        .chosen = version_,
                        .original_dcid = original_dcid_.view(),
                        .our_scid = our_scid_.view(),
                        .retry_scid = retry_scid_.view(),
                        .reset_token = reset_token_,
                        .preferred_cid = {},
                        .preferred_token = {},
                        .seed = t_.random.next()};
  if (preferred != nullptr) {
    facts.preferred_cid = preferred->cid.view();
    facts.preferred_token = preferred->token;
  }
  return emit_parameters(facts, versions, room);
}

// False: the connection is closing.
bool connection::read_parameters(base::byte_view body, bool remembered, std::uint64_t now_ns) noexcept {
  const wire::sender from = is_server_ ? wire::sender::client : wire::sender::server;
  wire::transport_parameters p;
  const base::parse_status status = wire::parse(body, from, wire::parameter_encoding::varints, p);
  if (!status) {
    if (remembered) return false;  // ours to keep, ours to ignore
    t_.events.add(event::parameters_refused);
    close_transport(wire::transport_parameter_error_of(status), "transport parameters that cannot be", now_ns);
    return false;
  }
  if (!remembered) {
    const auto* peer = remote_cids_.find(0);
    const wire::handshake_ids seen{.original_destination = original_dcid_.view(),
                                   .initial_source = peer == nullptr ? base::byte_view{} : peer->cid.view(),
                                   .retried = !retry_scid_.empty(),
                                   .retry_source = retry_scid_.view()};
    if (!wire::confirms(p, from, seen)) {  // RFC 9000 7.3
      t_.events.add(event::parameters_refused);
      close_transport(transport_error::transport_parameter_error, "connection IDs that were not seen", now_ns);
      return false;
    }
    if (!check_versions(p)) {
      close_transport(transport_error::version_negotiation_error, "a version that was not agreed on", now_ns);
      return false;
    }
  }
  apply(p);
  if (remembered || is_server_) return true;
  if (p.has(wire::transport_parameter::stateless_reset_token)) remote_cids_.set_reset_token(p.stateless_reset_token);
  if (p.has(wire::transport_parameter::preferred_address)) {
    const transport_error wrong =
        remote_cids_.on_preferred_address(p.preferred_address.cid, p.preferred_address.stateless_reset_token);
    if (wrong != transport_error::no_error) {
      t_.events.add(event::parameters_refused);
      close_transport(wrong, "a preferred address that cannot be", now_ns);
      return false;
    }
    // RFC 9000 9.6: the one of our own family, as the local address stays.
    const wire::preferred_address_value& there = p.preferred_address;
    if (t_.settings.follow_preferred)
      handshake_->preferred = address().remote.address.family == base::ip_family::v4
                                  ? base::endpoint{base::ip_address::v4(there.ipv4), there.ipv4_port}
                                  : base::endpoint{base::ip_address::v6(there.ipv6), there.ipv6_port};
  }
  return true;
}

void connection::apply(const wire::transport_parameters& p) noexcept {
  peer_.stream_data_bidi_local = p.initial_max_stream_data_bidi_local;
  peer_.stream_data_bidi_remote = p.initial_max_stream_data_bidi_remote;
  peer_.stream_data_uni = p.initial_max_stream_data_uni;
  peer_.max_datagram_frame_size = p.max_datagram_frame_size;
  peer_.max_udp_payload = static_cast<std::uint32_t>(std::min<std::uint64_t>(p.max_udp_payload_size, 65527));
  peer_.ack_delay_exponent = static_cast<std::uint8_t>(p.ack_delay_exponent);
  peer_.grease_fixed_bit = p.grease_quic_bit;
  peer_.no_migration = p.disable_active_migration;
  static_cast<void>(send_credit_.on_limit(p.initial_max_data));
  static_cast<void>(our_bidi_.on_limit(p.initial_max_streams_bidi));
  static_cast<void>(our_uni_.on_limit(p.initial_max_streams_uni));
  recovery_.set_max_ack_delay(p.max_ack_delay_ms * recovery::ms);
  idle_.set_peer_timeout(p.max_idle_timeout_ms);
  local_cids_.set_peer_limit(p.active_connection_id_limit);
  for (live_stream* s = streams_; s != nullptr; s = s->next) {  // those opened for 0-RTT
    if (s->has_send && s->send.credit().on_limit(first_credit(s->id))) queues_.add_data(*s);
  }
  if (early_refused_) release_withheld();
}

// Streams of ours that the peer's limit has come to include.
void connection::release_withheld() noexcept {
  for (live_stream* s = streams_; s != nullptr; s = s->next) {
    if (!s->withheld) continue;
    const bool uni = s->id.kind() == stream::direction::unidirectional;
    if (s->id.index() >= (uni ? our_uni_ : our_bidi_).limit()) continue;
    s->withheld = false;
    queues_.add_data(*s);
    queues_.add_control(*s);
  }
}

// RFC 9368 4: what the peer says it chose is what was seen, and a server may move on to a compatible one.
bool connection::check_versions(const wire::transport_parameters& p) noexcept {
  const bool told = p.has(wire::transport_parameter::version_information);
  if (!is_server_) {
    if (told ? p.version_information.chosen != version_ : version_ != first_version_) return false;
    // A Version Negotiation packet is anybody's: we would have come to the same version by the authentic list. RFC 9368
    // 8: a server that speaks version 1 alone may not know of the parameter.
    if (!negotiated_) return true;
    if (!told) return first_version_ == wire::version_1;
    return wire::choose_version(p.version_information.available, t_.settings.versions) == first_version_;
  }
  if (!told) return true;
  if (p.version_information.chosen != first_version_) return false;
  if (!t_.settings.prefer_first_version) return true;
  for (const wire::version_number v : t_.settings.versions) {
    if (!are_compatible(v, first_version_)) continue;
    if (v != first_version_ && !wire::lists_version(p.version_information.available, v)) continue;
    if (v != version_) {
      version_ = v;
      return make_initial_keys();
    }
    return true;
  }
  return true;
}

// Client: an Initial of another version could be opened.
bool connection::follow_version(wire::version_number v) noexcept {
  if (handshake_->chose_version || !are_compatible(v, first_version_) ||
      std::ranges::find(t_.settings.versions, v) == t_.settings.versions.end())
    return false;
  version_ = v;
  return make_initial_keys();
}

bool connection::install(const tls::traffic_secret& secret) noexcept {
  const auto suite = protect::find_cipher_suite(static_cast<std::uint16_t>(secret.suite));
  crypto::wiped<protect::traffic_secret> held;
  if (!suite || !protect::set_secret(*suite, secret.view(), *held)) return false;
  const bool reads = secret.way == tls::direction::read;
  protect::key_context context{.version = version_, .suite = *suite};
  switch (secret.level) {
    case tls::encryption_level::initial:
      return false;
    case tls::encryption_level::early: {
      context.version = first_version_;
      level_keys& k = handshake_->early;
      bool& can = reads ? k.can_read : k.can_write;
      return can = protect::derive_packet_keys(t_.engine, context, *held, reads ? *k.read : *k.write);
    }
    case tls::encryption_level::handshake: {
      level_keys& k = handshake_->handshake;
      bool& can = reads ? k.can_read : k.can_write;
      can = protect::derive_packet_keys(t_.engine, context, *held, reads ? *k.read : *k.write);
      if (k.can_read && k.can_write) recovery_.on_handshake_keys();
      return can;
    }
    case tls::encryption_level::application:
      if (keys_.install(t_.keys, t_.engine, context, *held, reads)) return true;
      if (keys_.if_awake() == nullptr) t_.events.add(event::refused_no_memory);
      return false;
  }
  return false;
}

void connection::collect_output() noexcept {
  for (std::size_t i = 0; i < handshake_->crypto.size(); ++i) {
    stream::send_stream& out = handshake_->crypto[i].out;
    const std::size_t size = handshake_->tls.output(level_of(i)).size();
    if (size > out.written()) static_cast<void>(out.write(size - out.written()));
  }
}

void connection::on_complete(std::uint64_t now_ns) noexcept {
  phase_ = phase::established;
  established_ns_ = now_ns;
  t_.events.add(event::established);
  trace_.tell({.time_ns = now_ns, .kind = trace_kind::established});
  if (handshake_->tls.is_resumed()) t_.events.add(event::resumed);
  if (handshake_->tls.early() == tls::early_data::accepted) t_.events.add(event::early_data_accepted);
  if (handshake_->tls.early() == tls::early_data::rejected) t_.events.add(event::early_data_rejected);
  handshake_->early.can_write = false;  // RFC 9001 4.9.3: 1-RTT from here on
  if (!is_server_) return;
  pending_ |= pending_handshake_done | pending_new_token;
  confirm(now_ns);
}

// RFC 9001 4.6.2: everything sent so far is sent again, under the keys that there are now, and within the limits that
// this handshake gives: those remembered are void (RFC 9000 7.4.1).
void connection::on_early_refused() noexcept {
  early_refused_ = true;
  handshake_->early.discard();
  lose_everything(packet_space::application);
  send_credit_ = stream::send_credit(0);
  our_bidi_.start_over();
  our_uni_.start_over();
  for (live_stream* s = streams_; s != nullptr; s = s->next) {
    s->send.start_over();
    s->withheld = true;
  }
}

void connection::lose_everything(packet_space space) noexcept {
  token_owner owner{*this};
  recovery_.lose_all(space, owner);
}

// RFC 9001 4.1.2.
void connection::confirm(std::uint64_t now_ns) noexcept {
  if (confirmed_) return;
  confirmed_ = true;
  trace_.tell({.time_ns = now_ns, .kind = trace_kind::confirmed});
  recovery_.on_handshake_confirmed();
  discard(packet_space::initial, now_ns);
  discard(packet_space::handshake, now_ns);
  active_path().amount.on_validated();
  migration_.on_validated(migration_.active(), now_ns);
  mtu_.start(std::min<std::uint32_t>(peer_.max_udp_payload, t_.settings.max_datagram_bytes));
  issue_cids();
  probe_preferred(now_ns);
  key_update_after_ns_ = now_ns;
  if (half_open_) {
    half_open_ = false;
    host_.on_handshake_done(*this);
  }
}

void connection::discard(packet_space space, std::uint64_t now_ns) noexcept {
  level_keys* k = keys_of(space);
  if (k == nullptr || (!k->can_read && !k->can_write)) return;
  const mem::heap_watch watch(t_.handshake_heap);
  k->discard();
  recovery_.discard(space, now_ns);
  crypto_stream& c = handshake_->crypto[index_of(space)];
  c.in.clear(pieces_, c.in.read());
  handshake_->tls.discard_output(level_of(index_of(space)));
  probes_[index_of(space)] = 0;
}

level_keys* connection::keys_of(packet_space space) noexcept {
  if (handshake_ == nullptr || space == packet_space::application) return nullptr;
  return space == packet_space::initial ? &handshake_->initial : &handshake_->handshake;
}

// Confirmed, every ticket acknowledged, nobody waits for one: TLS and its 10 KB go.
void connection::drop_handshake_if_done() noexcept {
  if (handshake_ == nullptr || !confirmed_ || !handshake_->tls.is_complete()) return;
  const stream::send_stream& out = handshake_->crypto[index_of(packet_space::application)].out;
  if (out.acked() != out.written()) return;
  if (!is_server_ && t_.settings.keep_tickets_ns != 0 && !had_ticket_ &&
      now_ns_ - established_ns_ < t_.settings.keep_tickets_ns)
    return;
  const mem::heap_watch watch(t_.handshake_heap);
  for (crypto_stream& c : handshake_->crypto) c.in.clear(pieces_, c.in.read());
  give_up_held();
  recovery_.end_early(now_ns_);
  t_.handshakes.give(std::exchange(handshake_, nullptr));
}

}  // namespace millrace::quic::conn
