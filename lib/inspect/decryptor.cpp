#include "inspect/decryptor.hpp"

#include <algorithm>
#include <utility>

namespace millrace::inspect {
namespace {

using base::byte_view;
using quic::wire::packet_header;
using quic::wire::packet_type;
namespace wire = quic::wire;

peer sender_of(bool from_client) noexcept { return from_client ? peer::client : peer::server; }
peer other(peer p) noexcept { return p == peer::client ? peer::server : peer::client; }

packet_level level_of(packet_type type) noexcept {
  switch (type) {
    case packet_type::initial:
      return packet_level::initial;
    case packet_type::zero_rtt:
      return packet_level::zero_rtt;
    case packet_type::handshake:
      return packet_level::handshake;
    case packet_type::one_rtt:
      return packet_level::one_rtt;
    case packet_type::retry:
    case packet_type::version_negotiation:
    case packet_type::unknown_long:
      break;
  }
  return packet_level::count_;
}

// Versions with secrets of TLS 1.3 and frames of RFC 9000.
bool is_readable(wire::version_number version) noexcept {
  switch (wire::family_of(version)) {
    case wire::version_family::ietf_v1:
    case wire::version_family::ietf_v2:
    case wire::version_family::ietf_draft:
    case wire::version_family::mvfst:
      return quic::protect::has_initial_salt(version);
    default:
      return false;
  }
}

}  // namespace

decryptor::decryptor(carver& memory, const limits& l, const decryptor_surroundings& borrowed) noexcept
    : engine_(borrowed.engine),
      counters_(borrowed.count),
      failed_opens_(std::min<std::uint32_t>(l.failed_opens, UINT8_MAX)) {
  if (l.max_decrypted == 0) return;
  secrets_ = secret_table(memory, l, borrowed.seed);
  sessions_ = aged_pool<session>(memory, std::min(l.max_decrypted, max_records), l.idle_ns);
  handshakes_ = handshake_reader(memory, l, borrowed.count);
  streams_ = stream_reader(memory, l, borrowed.seed);
  plaintext_ = memory.take<std::uint8_t>(scratch_bytes);
}

// ---- sessions

session* decryptor::begin(const connection_at_hand& at) noexcept {
  if (sessions_.full()) {
    session* const oldest = sessions_.victim(at.now, 0);
    if (oldest == nullptr) return nullptr;
    counters_->sessions_evicted.add(1);
    end(*oldest);
  }
  session* const s = sessions_.take(at.now);
  s->connection = at.ref;
  at.c.session = sessions_.ref_to(*s);
  return s;
}

void decryptor::end(session& s) noexcept {
  handshakes_.release(s);
  streams_.release(s);
  s.wipe_keys();
  sessions_.give(s);
}

// The session of `c`, begun when it has none and there is reason to: its secrets, or (`may_begin`) that its ClientHello
// is not known yet. nullptr: nothing is to be opened.
session* decryptor::session_of(const connection_at_hand& at, bool may_begin) noexcept {
  connection& c = at.c;
  session* s = sessions_.resolve(c.session);
  if (s != nullptr && s->secrets != nullptr) return s;
  const bool gave_way = s == nullptr && !c.session.empty();
  if (c.hello == hello_state::none || c.hello == hello_state::partial) {
    return s == nullptr && may_begin && !gave_way ? begin(at) : s;
  }
  const handshake_secrets* found = nullptr;
  if (c.hello == hello_state::complete && c.secrets_asked != secrets_.generation()) {
    c.secrets_asked = secrets_.generation();
    found = secrets_.find(c.facts.random);
  }
  if (found == nullptr) {
    if (s != nullptr) restart(c);
    return nullptr;
  }
  if (s == nullptr) s = begin(at);
  if (s == nullptr) return nullptr;
  s->secrets = found;
  return s;
}

void decryptor::restart(connection& c) noexcept {
  if (session* const s = sessions_.resolve(c.session); s != nullptr) end(*s);
  c.session = {};
}

const session_facts* decryptor::close_account(const connection& c) noexcept {
  session* const s = sessions_.resolve(c.session);
  if (s == nullptr || s->secrets == nullptr) return nullptr;
  session_facts& f = s->facts;
  // What came before the session had its secrets went by unread.
  const std::uint64_t all = c.packets.protected_ones();
  const std::uint64_t known = f.opened() + f.unopened.total();
  const std::uint64_t unread = all - std::min(all, known);
  const std::uint64_t earlier = std::min(unread, c.earlier_packets);
  f.unopened.add(unopened_kind::earlier_attempt, earlier);
  f.unopened.add(unopened_kind::no_keys, unread - earlier);
  (f.opened() == f.opened_initials() ? counters_->sessions_closed : counters_->sessions).add(1);
  counters_->packets_opened.add(f.opened());
  counters_->packets_opened_initial.add(f.opened_initials());
  counters_->packets_unopened.add(f.unopened.total());
  return &f;
}

void decryptor::finish(connection& c) noexcept {
  if (session* const s = sessions_.resolve(c.session); s != nullptr) end(*s);
  c.session = {};
}

void decryptor::wipe() noexcept {
  sessions_.for_each([](session& s) { s.wipe_keys(); });
  secrets_.wipe();
  handshakes_.wipe();
  streams_.wipe();
  crypto::wipe(plaintext_);
}

// ---- packets

void decryptor::refuse(const packet_at_hand& p, unopened_kind why) noexcept {
  if (!p.is_trial) p.s.facts.unopened.add(why);
}

// Short headers carry an ID whose length its receiver chose: the one it gives itself in long headers.
void decryptor::note_sender(session& s, peer from, const packet_header& h) noexcept {
  const auto side = static_cast<std::size_t>(from);
  if (h.scid.size() > cid_bytes) return;
  s.cid_size[side] = static_cast<std::uint8_t>(h.scid.size());
  s.knows_cid_size[side] = true;
  if (from == peer::server && h.type != packet_type::retry) s.version = h.version;
}

decryptor::packet_at_hand decryptor::long_at_hand(const connection_at_hand& at, session& s, byte_view packet,
                                                  const packet_header& h) noexcept {
  return {.c = at.c,
          .number = at.ref.number_and_1 - 1,
          .cids = at.cids,
          .s = s,
          .from = sender_of(at.from_client),
          .level = level_of(h.type),
          .version = h.version,
          .bytes = packet,
          .dcid = h.dcid,
          .pn_offset = h.pn_offset,
          .is_trial = false};
}

void decryptor::on_long(const connection_at_hand& at, byte_view packet, const packet_header& h) noexcept {
  if (was_ahead(packet) || level_of(h.type) == packet_level::count_ || !is_readable(h.version)) return;
  session* const s = session_of(at, at.from_client && h.type == packet_type::initial);
  if (s == nullptr) return;
  sessions_.touch(*s, at.now);
  const packet_at_hand p = long_at_hand(at, *s, packet, h);
  if (packet.empty()) return refuse(p, unopened_kind::cut);
  (void)take(p, &h);
}

// The bytes of the connection ID in a short header: those of an ID its receiver is known by, the longest that matches;
// else as long as the one it gave itself first.
std::size_t decryptor::cid_size_in(const connection_at_hand& at, const session& s, peer receiver,
                                   byte_view packet) noexcept {
  const cid_owner owner = receiver == peer::client ? cid_owner::client : cid_owner::server;
  std::size_t size = 0;
  at.cids.for_each_of(at.c.cids, [&](const cid_index::entry& e) {
    if (e.owner == owner && e.id.size > size && packet.size() > e.id.size && e.id.equals(packet.subspan(1, e.id.size)))
      size = e.id.size;
  });
  if (size != 0) return size;
  const auto side = static_cast<std::size_t>(receiver);
  if (s.knows_cid_size[side]) return s.cid_size[side];
  return receiver == peer::client ? at.c.scid.size : at.c.dcid.size;
}

decryptor::packet_at_hand decryptor::short_at_hand(const connection_at_hand& at, session& s,
                                                   byte_view packet) noexcept {
  const peer from = sender_of(at.from_client);
  return {.c = at.c,
          .number = at.ref.number_and_1 - 1,
          .cids = at.cids,
          .s = s,
          .from = from,
          .level = packet_level::one_rtt,
          .version = s.version != 0 ? s.version : at.c.version,
          .bytes = packet,
          .dcid = {},
          .pn_offset = static_cast<std::uint32_t>(1 + cid_size_in(at, s, other(from), packet)),
          .is_trial = false};
}

void decryptor::on_short(const connection_at_hand& at, byte_view packet, bool truncated) noexcept {
  if (was_ahead(packet)) return;
  session* const s = session_of(at, false);
  if (s == nullptr) return;
  sessions_.touch(*s, at.now);
  const packet_at_hand p = short_at_hand(at, *s, packet);
  if (truncated) return refuse(p, unopened_kind::cut);
  (void)take(p, nullptr);
}

bool decryptor::try_open(const connection_at_hand& at, byte_view packet, const packet_header* h) noexcept {
  ahead_ = nullptr;
  if (h != nullptr && (level_of(h->type) == packet_level::count_ || !is_readable(h->version))) return false;
  session* const s = session_of(at, false);
  if (s == nullptr) return false;
  packet_at_hand p = h != nullptr ? long_at_hand(at, *s, packet, *h) : short_at_hand(at, *s, packet);
  p.is_trial = true;
  if (!take(p, h)) return false;
  sessions_.touch(*s, at.now);
  ahead_ = packet.data();
  return true;
}

bool decryptor::was_ahead(byte_view packet) noexcept {
  const std::uint8_t* const ahead = std::exchange(ahead_, nullptr);
  return ahead != nullptr && ahead == packet.data();
}

bool decryptor::take(const packet_at_hand& p, const packet_header* h) noexcept {
  const auto stays_closed = [&](unopened_kind why) {
    refuse(p, why);
    return false;
  };
  if (p.bytes.size() > plaintext_.size()) return stays_closed(unopened_kind::malformed);
  opened_packet plain;
  bool has_keys = false;
  const open_errc code = open(p, has_keys, plain);
  if (!has_keys) return stays_closed(unopened_kind::no_keys);
  if (code != open_errc::ok) {
    if (!p.is_trial) counters_->anomalies.add(quic::protect::reason_of(code));
    const bool is_refused = code == open_errc::auth_failed || code == open_errc::integrity_spent;
    if (!is_refused) return stays_closed(unopened_kind::malformed);
    const bool is_misfit = p.level != packet_level::initial && p.s.misfit_secret;
    return stays_closed(is_misfit ? unopened_kind::secret_size : unopened_kind::auth_failed);
  }
  p.s.facts.of(p.from).packets.add(p.level);
  if (plain.key_update) ++p.s.facts.of(p.from).key_updates;
  if (h != nullptr) note_sender(p.s, p.from, *h);
  read_frames(p, byte_view(plaintext_).subspan(plain.header_size, plain.payload_size));
  return true;
}

}  // namespace millrace::inspect
