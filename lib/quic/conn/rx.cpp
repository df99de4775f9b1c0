// A datagram is a row of packets; each is opened where it lies, once its keys are known, and its frames are handed to
// rx_frames.cpp. A burst of short headers, which is what a busy connection gets, is opened as one batch, so that header
// protection runs side by side and the keys stay in the cache.
//
// What could go wrong: a packet that is not the peer's must leave no trace but a counter. So nothing is believed before
// the AEAD has agreed: not the address it came from, not its number, not that the peer is alive.
#include <algorithm>

#include "base/unset_array.hpp"
#include "quic/conn/arrival.hpp"

namespace millrace::quic::conn {

namespace {

constexpr unsigned most_packets_in_datagram = 4;  // one a level; a fifth is nothing an honest peer sends
constexpr std::size_t batch_pkts = 32;
constexpr std::uint8_t long_bit = 0x80;
constexpr std::uint8_t fixed_bit = 0x40;
constexpr std::uint8_t spin_bit = 0x20;

using recovery::packet_space;
using stats::drop_reason;

constexpr packet_space space_of(wire::packet_type type) noexcept {
  switch (type) {
    case wire::packet_type::initial:
      return packet_space::initial;
    case wire::packet_type::handshake:
      return packet_space::handshake;
    default:
      return packet_space::application;
  }
}

// One of those that are opened as a batch: without the fixed bit only where that was agreed on (RFC 9287).
bool is_short(const datagram_in& d, bool grease) noexcept {
  return !d.bytes.empty() && (d.bytes[0] & long_bit) == 0 && (grease || (d.bytes[0] & fixed_bit) != 0);
}

}  // namespace

struct connection::frame_handler : wire::frame_visitor {
  connection& self;
  arrival& a;

  frame_handler(connection& c, arrival& from) noexcept : self(c), a(from) {}
  using wire::frame_visitor::on;
  bool on(const wire::ack_frame& f) noexcept { return self.on_ack(a, f); }
  bool on(const wire::crypto_frame& f) noexcept { return self.on_crypto(a, f); }
  bool on(const wire::stream_frame& f) noexcept { return self.on_stream(a, f); }
  bool on(const wire::reset_stream_frame& f) noexcept { return self.on_reset_stream(a, f); }
  bool on(const wire::stop_sending_frame& f) noexcept { return self.on_stop_sending(a, f); }
  bool on(const wire::max_data_frame& f) noexcept { return self.on_max_data(f); }
  bool on(const wire::max_stream_data_frame& f) noexcept { return self.on_max_stream_data(a, f); }
  bool on(const wire::max_streams_frame& f) noexcept { return self.on_max_streams(f); }
  bool on(const wire::stream_data_blocked_frame& f) noexcept { return self.on_stream_data_blocked(a, f); }
  bool on(const wire::new_connection_id_frame& f) noexcept { return self.on_new_connection_id(a, f); }
  bool on(const wire::retire_connection_id_frame& f) noexcept { return self.on_retire_connection_id(a, f); }
  bool on(const wire::path_response_frame& f) noexcept { return self.on_path_response(a, f); }
  bool on(const wire::path_challenge_frame& f) noexcept {
    if (!self.paths_[a.slot.index].responses.on_challenge(f)) self.t_.events.add(event::path_challenges_dropped);
    return true;
  }
  bool on(const wire::connection_close_frame& f) noexcept { return self.on_connection_close(a, f); }
  bool on(const wire::handshake_done_frame&) noexcept { return self.on_handshake_done(a); }
  bool on(const wire::new_token_frame& f) noexcept {
    self.t_.events.add(event::new_tokens);
    self.host_.on_token(self, f.token);
    return true;
  }
  bool on(const wire::datagram_frame& f) noexcept {
    self.t_.events.add(event::datagram_frames);
    if (self.app_ != nullptr) self.app_->on_datagram(self, f.data);
    return !self.is_closing();
  }
};

// While closing.
struct connection::close_watcher : wire::frame_visitor {
  connection& self;
  arrival& a;
  close_watcher(connection& c, arrival& from) noexcept : self(c), a(from) {}
  using wire::frame_visitor::on;
  bool on(const wire::connection_close_frame& f) noexcept { return self.on_connection_close(a, f); }
};

unsigned connection::on_datagrams(std::span<datagram_in> burst, std::uint64_t now_ns,
                                  stats::drop_counters& drops) noexcept {
  unsigned useless = 0;
  while (!burst.empty()) {
    std::size_t shorts = 0;
    while (shorts < burst.size() && shorts < batch_pkts && is_short(burst[shorts], t_.settings.grease)) ++shorts;
    if (shorts != 0) {
      useless += on_short_packets(burst.first(shorts), now_ns, drops);
    } else {
      useless += on_datagram(burst[0], now_ns, drops) ? 0u : 1u;
      shorts = 1;
    }
    burst = burst.subspan(shorts);
  }
  return useless;
}

// Long headers in front, at most one short one at the end. True: something in it was of use.
bool connection::on_datagram(datagram_in& d, std::uint64_t now_ns, stats::drop_counters& drops) noexcept {
  bytes_in_ += d.bytes.size();
  // RFC 9000 10.2: what still comes for a connection that is over is expected, and says nothing.
  if (close_.phase() == close_phase::draining || phase_ == phase::ended) return true;
  if (const auto slot = migration_.find(d.address)) paths_[slot->index].amount.on_received(d.bytes.size());
  arrival a{.datagram = d, .now_ns = now_ns};
  base::byte_span rest = d.bytes;
  bool useful = is_closing();
  for (unsigned packets = 0; !rest.empty(); ++packets) {
    if (packets == most_packets_in_datagram) {
      t_.events.add(event::packets_beyond);
      a.why = drop_reason::quic_junk;
      break;
    }
    if ((rest[0] & long_bit) == 0) {
      useful |= open_short(a, rest);
      break;
    }
    const std::size_t size = on_long_packet(a, rest, useful);
    if (size == 0) break;
    rest = rest.subspan(size);
  }
  if (handshake_ != nullptr && !handshake_->waiting.empty()) read_held(now_ns);
  if (close_.phase() == close_phase::closing && close_.on_packet()) pending_ |= pending_close;
  if (!useful) {
    drops.add(a.why);
    trace_drop(a);
  }
  return useful;
}

// Answers the bytes of the packet; 0: what follows cannot be found or is not to be looked at.
std::size_t connection::on_long_packet(arrival& a, base::byte_span rest, bool& useful) noexcept {
  wire::packet_header header;
  if (const base::parse_status status = wire::parse_packet(rest, header); !status) {
    a.why =
        status.code == base::parse_errc::bad_length ? drop_reason::quic_bad_length : drop_reason::quic_truncated_header;
    return 0;
  }
  const bool first = a.dcid.data() == nullptr;
  if (first)
    a.dcid = header.dcid;
  else if (!std::equal(a.dcid.begin(), a.dcid.end(), header.dcid.begin(), header.dcid.end())) {
    t_.events.add(event::other_cid);  // RFC 9000 12.2: all packets of a datagram are for one connection
    a.why = drop_reason::quic_junk;
    return 0;
  }
  switch (header.type) {
    case wire::packet_type::initial:
    case wire::packet_type::zero_rtt:
    case wire::packet_type::handshake:
      useful |= open_long(a, header, rest.first(header.packet_size));
      return is_closing() ? 0 : header.packet_size;
    case wire::packet_type::retry:
      if (!is_server_ && first) useful |= on_retry(header, rest.first(header.packet_size), a.now_ns);
      return 0;
    case wire::packet_type::version_negotiation:
      if (!is_server_ && first) useful |= on_version_negotiation(header, a.now_ns);
      return 0;
    case wire::packet_type::one_rtt:
    case wire::packet_type::unknown_long:
      a.why = drop_reason::quic_unknown_version;
      return 0;
  }
  return 0;
}

bool connection::open_long(arrival& a, const wire::packet_header& header, base::byte_span packet) noexcept {
  a.type = header.type;
  a.space = space_of(header.type);
  level_keys* keys = nullptr;
  if (handshake_ != nullptr) {
    keys = header.type == wire::packet_type::initial     ? &handshake_->initial
           : header.type == wire::packet_type::handshake ? &handshake_->handshake
                                                         : &handshake_->early;
  }
  // RFC 9000 14.1: also when the connection exists, or somebody could make us answer to small datagrams.
  if (is_server_ && header.type == wire::packet_type::initial &&
      a.datagram.bytes.size() < wire::min_initial_datagram_size) {
    t_.events.add(event::initials_refused);
    a.why = drop_reason::quic_junk;
    return false;
  }
  // RFC 9000 17.2.2
  if (!is_server_ && !header.token.empty()) {
    t_.events.add(event::initials_refused);
    a.why = drop_reason::quic_junk;
    return false;
  }
  // RFC 9001 4.9: keys that were there are gone for good, and what still comes under them says nothing new.
  const bool was_discarded =
      handshake_ == nullptr || (!keys->can_read && (confirmed_ || handshake_->handshake.can_read));
  if (was_discarded && header.type != wire::packet_type::zero_rtt) return true;
  if (keys == nullptr || !keys->can_read || (header.type == wire::packet_type::zero_rtt && !is_server_)) {
    if (hold(a, packet, header.type)) return true;
    t_.events.add(event::undecryptable);
    a.why = drop_reason::quic_no_keys;
    return false;
  }
  if (!header.fixed_bit && !t_.settings.grease) {
    a.why = drop_reason::quic_junk;
    return false;
  }
  const std::uint64_t largest = a.space == packet_space::initial     ? handshake_->initial_numbers.largest_opened
                                : a.space == packet_space::handshake ? handshake_->handshake_numbers.largest_opened
                                                                     : numbers_.largest_opened;
  protect::open_errc code;
  if (header.type == wire::packet_type::initial && header.version != version_) {
    // RFC 9368, RFC 9369 4.1: Initials of the version the client began with, or of the one the server moved to.
    if (std::ranges::find(t_.settings.versions, header.version) == t_.settings.versions.end()) {
      a.why = drop_reason::quic_unknown_version;
      return false;
    }
    protect::packet_keys other;
    const protect::side sender = is_server_ ? protect::side::client : protect::side::server;
    if (!protect::derive_initial_keys(t_.engine, header.version, initial_dcid_.view(), sender, other)) {
      a.why = drop_reason::quic_unknown_version;
      return false;
    }
    code = protect::open_packet(t_.engine, other, packet, header.pn_offset, largest, a.opened);
    if (code == protect::open_errc::ok && !is_server_ && !follow_version(header.version)) {
      a.why = drop_reason::quic_unknown_version;
      return false;
    }
  } else if (header.version != version_ && header.type != wire::packet_type::zero_rtt) {
    a.why = drop_reason::quic_unknown_version;
    return false;
  } else {
    code = protect::open_packet(t_.engine, *keys->read, packet, header.pn_offset, largest, a.opened);
  }
  if (code != protect::open_errc::ok) {
    count_refusal(code, a);
    return false;
  }
  if (!remote_cids_.on_peer_scid(header.scid)) {  // RFC 9000 7.2
    a.why = drop_reason::quic_no_connection;
    return false;
  }
  had_peer_packet_ = true;
  // RFC 9369 4.1: what a server says before it has read the whole hello is still in the client's version.
  handshake_->chose_version |= header.type == wire::packet_type::handshake || version_ != first_version_;
  a.payload = base::byte_view(packet).subspan(a.opened.header_size, a.opened.payload_size);
  return on_opened(a);
}

bool connection::open_short(arrival& a, base::byte_span packet) noexcept {
  // RFC 9001 5.7: a server reads nothing of 1-RTT before the handshake is complete, though it has the keys.
  if (!keys_.can_read() || phase_ != phase::established || packet.size() <= 1 + path::local_cid_size) {
    if (hold(a, packet, wire::packet_type::one_rtt)) return true;
    t_.events.add(event::undecryptable);
    a.why = drop_reason::quic_no_keys;
    return false;
  }
  if (a.dcid.data() != nullptr &&
      !std::equal(a.dcid.begin(), a.dcid.end(), packet.begin() + 1, packet.begin() + 1 + path::local_cid_size)) {
    t_.events.add(event::other_cid);
    a.why = drop_reason::quic_junk;
    return false;
  }
  if ((packet[0] & fixed_bit) == 0 && !t_.settings.grease) {
    a.why = drop_reason::quic_junk;
    return false;
  }
  a.type = wire::packet_type::one_rtt;
  a.space = packet_space::application;
  a.dcid = base::byte_view(packet).subspan(1, path::local_cid_size);
  traffic_keys* const keys = keys_.awake(t_.keys, t_.engine, a.now_ns);
  if (keys == nullptr) {
    t_.events.add(event::refused_no_memory);
    a.why = drop_reason::mempool_empty;
    return false;
  }
  const protect::open_errc code =
      keys->read->open(t_.engine, packet, 1 + path::local_cid_size, numbers_.largest_opened, a.opened);
  if (code != protect::open_errc::ok) {
    count_refusal(code, a);
    if (code != protect::open_errc::auth_failed || !is_stateless_reset(a.datagram.bytes)) return false;
    on_stateless_reset(a.now_ns);
    return true;
  }
  a.payload = base::byte_view(packet).subspan(a.opened.header_size, a.opened.payload_size);
  return on_opened(a);
}

// Datagrams that are one short packet each. Answers how many were of no use.
unsigned connection::on_short_packets(std::span<datagram_in> burst, std::uint64_t now_ns,
                                      stats::drop_counters& drops) noexcept {
  unsigned useless = 0;
  traffic_keys* const keys = burst.size() == 1 || phase_ != phase::established || !keys_.can_read() || is_closing()
                                 ? nullptr
                                 : keys_.awake(t_.keys, t_.engine, now_ns);
  if (keys == nullptr) {
    for (datagram_in& d : burst) useless += on_datagram(d, now_ns, drops) ? 0u : 1u;
    return useless;
  }
  base::unset_array<protect::open_request, batch_pkts> requests;
  std::uint64_t largest = numbers_.largest_opened;
  for (std::size_t i = 0; i < burst.size(); ++i) {
    bytes_in_ += burst[i].bytes.size();
    requests[i] = {.keys = &*keys->read,
                   .largest_pn = &largest,
                   .packet = burst[i].bytes,
                   .pn_offset = 1 + static_cast<std::uint32_t>(path::local_cid_size)};
  }
  protect::open_burst(t_.engine, requests.places().first(burst.size()));
  for (std::size_t i = 0; i < burst.size(); ++i) {
    const protect::open_request& r = requests[i];
    datagram_in& d = burst[i];
    if (const auto slot = migration_.find(d.address)) paths_[slot->index].amount.on_received(d.bytes.size());
    arrival a{.datagram = d, .now_ns = now_ns};
    if (is_closing()) [[unlikely]]
      continue;  // one of those before it was the last that matters
    if (r.code != protect::open_errc::ok) [[unlikely]] {
      count_refusal(r.code, a);
      if (r.code == protect::open_errc::auth_failed && is_stateless_reset(d.bytes)) on_stateless_reset(now_ns);
      drops.add(a.why);
      trace_drop(a);
      ++useless;
      continue;
    }
    a.opened = r.opened;
    a.dcid = base::byte_view(d.bytes).subspan(1, path::local_cid_size);
    a.payload = base::byte_view(d.bytes).subspan(r.opened.header_size, r.opened.payload_size);
    if (on_opened(a)) [[likely]]
      continue;
    drops.add(a.why);
    trace_drop(a);
    ++useless;
  }
  return useless;
}

void connection::count_refusal(protect::open_errc code, arrival& a) noexcept {
  a.why = protect::reason_of(code);
  switch (code) {
    case protect::open_errc::auth_failed:
      t_.events.add(event::auth_failed);
      return;
    case protect::open_errc::reserved_bits:  // RFC 9000 17.2: it is the peer's, and broken
      fault(a, wire::transport_error::protocol_violation, "reserved bits are set");
      return;
    case protect::open_errc::integrity_spent:  // RFC 9001 6.6
      fault(a, wire::transport_error::aead_limit_reached, "too many packets that do not open");
      return;
    default:
      return;
  }
}

// Opened and authentic. False: it was of no use.
bool connection::on_opened(arrival& a) noexcept {
  // The reading keys have moved on, whatever becomes of the packet: ours follow.
  if (a.opened.key_update) [[unlikely]]
    after_key_update(a);
  const std::uint64_t number = a.opened.packet_number;
  const bool is_duplicate = a.space == packet_space::initial     ? handshake_->initial_numbers.is_duplicate(number)
                            : a.space == packet_space::handshake ? handshake_->handshake_numbers.is_duplicate(number)
                                                                 : numbers_.is_duplicate(number);
  if (is_duplicate) [[unlikely]] {
    t_.events.add(event::duplicates);
    a.why = drop_reason::quic_duplicate;
    return false;
  }
  t_.events.add(event::packets_received);
  ++packets_in_;
  if (trace_.is_on())
    trace_.tell(
        {.time_ns = a.now_ns,
         .kind = trace_kind::packet_received,
         .type = a.type,
         .size = a.opened.header_size + a.opened.payload_size + static_cast<std::uint32_t>(crypto::aead_tag_size),
         .number = number,
         .frames = frame_types(a.payload, a.type)});
  if (is_closing()) [[unlikely]] {  // RFC 9000 10.2.1: only whether the peer has closed as well
    close_watcher watcher(*this, a);
    static_cast<void>(wire::walk_frames(a.payload, a.type, watcher));
    return false;
  }
  const bool moved = a.datagram.address != address();
  if (moved && !judge_path(a)) [[unlikely]] {
    a.why = drop_reason::quic_no_connection;
    return false;
  }
  if (!moved) a.slot = migration_.active();

  frame_handler handler(*this, a);
  const wire::frame_rules rules(a.type, is_server_ ? wire::sender::client : wire::sender::server,
                                t_.settings.max_datagram_frame_size);
  const wire::walk_result walked = wire::walk_frames(a.payload, rules, handler);
  if (!walked) [[unlikely]] {
    if (walked.fault != wire::frame_fault::stopped) {
      a.why = drop_reason::quic_bad_frame;
      fault(a, wire::transport_error_of(walked.fault), "a frame that cannot be, or not here");
    }
    if (a.not_taken_in) a.why = drop_reason::mempool_empty;
    // What ended the connection, or was only its end, was of use.
    return !a.not_taken_in && walked.fault == wire::frame_fault::stopped;
  }
  note_received(a, walked.ack_eliciting, walked.probing, !moved);
  return true;
}

// All of its frames were worked on: it is acknowledged.
void connection::note_received(arrival& a, bool eliciting, bool probing, bool same_path) noexcept {
  const std::uint64_t number = a.opened.packet_number;
  const recovery::ack_policy::arrival told{number, a.now_ns, eliciting, a.datagram.ecn == wire::ecn_mark::ce};
  const auto note = [&](auto& numbers) {
    static_cast<void>(numbers.received.add(number, a.datagram.ecn));
    numbers.acks.on_packet(told);
    if (numbers.largest_opened == wire::no_packet_number || number > numbers.largest_opened)
      numbers.largest_opened = number;
  };
  if (a.space == packet_space::application) [[likely]] {
    if (numbers_.largest_opened == wire::no_packet_number || number > numbers_.largest_opened)
      peer_spins_ = (a.opened.first_byte & spin_bit) != 0;
    note(numbers_);
    if (!numbers_.fit(t_.ranges)) t_.events.add(event::ack_ranges_no_memory);
    if (same_path && is_server_)
      static_cast<void>(migration_.on_packet({a.datagram.address, number, probing, confirmed_, a.now_ns}));
  } else if (handshake_ != nullptr) {  // its own frames may have ended the handshake's state
    if (a.space == packet_space::initial && handshake_->initial.can_read) note(handshake_->initial_numbers);
    if (a.space == packet_space::handshake && handshake_->handshake.can_read) note(handshake_->handshake_numbers);
  }
  idle_.on_received(a.now_ns);
  // RFC 9000 8.1: who can read our Handshake keys has got our Initial.
  if (a.space == packet_space::handshake && is_server_) {
    active_path().amount.on_validated();
    migration_.on_validated(migration_.active(), a.now_ns);
    discard(packet_space::initial, a.now_ns);  // RFC 9001 4.9.1
  }
}

// From another address than the last one. Whether the packet is to be processed.
bool connection::judge_path(arrival& a) noexcept {
  if (!is_server_) {  // RFC 9000 9: a server does not move; but a late packet may come to our former address
    const auto slot = migration_.find(a.datagram.address);
    if (slot) a.slot = *slot;
    return slot.has_value();
  }
  const wire::frame_rules rules(a.type, wire::sender::client, t_.settings.max_datagram_frame_size);
  const wire::walk_result walked = wire::walk_frames(a.payload, rules, wire::frame_visitor{});
  if (!walked) return true;                                                 // the walk that counts says what is wrong
  if (!migration_.find(a.datagram.address) && !paths_.reserve(t_.paths)) {  // what is not acknowledged comes again
    t_.events.add(event::migrations_refused);
    return false;
  }
  const path::migration::decision d =
      migration_.on_packet({a.datagram.address, a.opened.packet_number,
                            walked.probing || a.space != packet_space::application, confirmed_, a.now_ns});
  paths_.fit(t_.paths, migration_);
  if (d.what == path::migration::step::drop || d.refused) t_.events.add(event::migrations_refused);
  if (d.what == path::migration::step::drop) return false;
  a.slot = d.slot;
  if (d.fresh) {
    if (d.has_evicted) drop_cid(paths_[d.evicted.index]);
    begin_path(d.slot, a.datagram.interface);
    paths_[d.slot.index].amount.on_received(a.datagram.bytes.size());
  }
  if (d.what == path::migration::step::move) move_to(d, a.now_ns);
  return true;
}

// The packet was the first under new keys (RFC 9001 6.2): ours follow, and the old ones are kept for a while.
void connection::after_key_update(const arrival& a) noexcept {
  t_.events.add(event::key_updates);
  traffic_keys& keys = *keys_.if_awake();  // the packet was opened just now
  trace_.tell({.time_ns = a.now_ns, .kind = trace_kind::key_update, .number = keys.read->updates()});
  if (keys.write->updates() < keys.read->updates()) {
    keys.write->update(t_.engine);
    const peer_updates::verdict judged = peer_updates_.on_update(a.now_ns, recovery_.pto_ns());
    if (judged != peer_updates::verdict::fine) t_.events.add(event::key_updates_hasty);
    if (judged == peer_updates::verdict::fault)
      close_transport(wire::transport_error::key_update_error, "keys are updated too often", a.now_ns);
  } else {
    peer_updates_.on_answer();
  }
  const std::uint64_t wait_ns = 3 * recovery_.pto_ns();
  previous_keys_until_ns_ = recovery::later(a.now_ns, wait_ns);
  key_update_after_ns_ = previous_keys_until_ns_;
}

bool connection::fault(arrival& a, wire::transport_error code, const char* why) noexcept {
  t_.events.add(event::closed_for_fault);
  close_transport(code, why, a.now_ns);
  return false;
}

bool connection::is_stateless_reset(base::byte_view datagram) const noexcept {
  const path::remote_cids::tokens tokens = remote_cids_.tokens_in_use();
  return wire::find_stateless_reset(datagram, tokens.view()).has_value();
}

}  // namespace millrace::quic::conn
