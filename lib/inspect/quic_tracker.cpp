#include "inspect/quic_tracker.hpp"

#include <algorithm>
#include <vector>

#include "inspect/gquic_chlo.hpp"

namespace millrace::inspect {
namespace {

using base::byte_view;
using base::parse_errc;
using quic::wire::packet_header;
using quic::wire::packet_type;
using stats::drop_reason;
namespace wire = quic::wire;

constexpr std::uint8_t long_bit = 0x80;
constexpr std::uint8_t fixed_bit = 0x40;

drop_reason reason_of(parse_errc code) noexcept {
  switch (code) {
    case parse_errc::too_long:
      return drop_reason::quic_cid_too_long;
    case parse_errc::bad_length:
      return drop_reason::quic_bad_length;
    default:
      return drop_reason::quic_truncated_header;
  }
}

std::uint64_t& counter_of(packet_counts& p, packet_type type) noexcept {
  switch (type) {
    case packet_type::initial:
      return p.initial;
    case packet_type::zero_rtt:
      return p.zero_rtt;
    case packet_type::handshake:
      return p.handshake;
    case packet_type::retry:
      return p.retry;
    case packet_type::version_negotiation:
      return p.version_negotiation;
    case packet_type::one_rtt:
      return p.one_rtt;
    case packet_type::unknown_long:
      return p.unknown_long;
  }
  return p.unknown_long;
}

// RFC 9000 12.2: what is coalesced behind the first packet goes to the same connection, so it shows the same ID. Where
// that is long enough to be no accident, the fixed bit may be anything (RFC 9287).
bool coalesces(byte_view rest, byte_view first_dcid) noexcept {
  if ((rest[0] & fixed_bit) == 0 && first_dcid.size() < min_cid_alone) return false;
  return rest.size() > first_dcid.size() && std::equal(first_dcid.begin(), first_dcid.end(), rest.begin() + 1);
}

}  // namespace

quic_tracker::quic_tracker(carver& memory, const limits& l, const surroundings& borrowed) noexcept
    : limits_(l),
      engine_(borrowed.engine),
      counters_(borrowed.count),
      observer_(borrowed.told),
      pool_(memory, l.max_flows, l.idle_ns),
      cids_(memory, l, borrowed.seed),
      hellos_(memory, l, borrowed.engine, borrowed.count),
      decryptor_(memory, l, {borrowed.engine, borrowed.count, borrowed.seed}) {
  limits_.failed_opens = std::min<std::uint32_t>(limits_.failed_opens, UINT8_MAX);
}

tracked quic_tracker::on_datagram(flow& f, const datagram& d) noexcept {
  if (d.payload.empty()) return tracked::not_quic;
  connection* c = pool_.resolve(f.connection);
  if ((d.payload[0] & long_bit) == 0) {
    if (c != nullptr && !c->is_gquic) {
      if (!c->previous_on_flow.empty()) c = short_among(f, *c, d);
      on_short(*c, d);
      return tracked::taken;
    }
    return on_strange_short(f, d);
  }
  hellos_.begin_datagram();
  switch (wire::classify(d.payload)) {
    case wire::datagram_kind::long_form:
      return on_long(f, d);
    case wire::datagram_kind::gquic:
      return on_gquic(f, d);
    case wire::datagram_kind::not_quic:
    case wire::datagram_kind::short_form:
      break;
  }
  if (c == nullptr) return tracked::not_quic;
  if (c->is_gquic) return on_gquic(f, d);
  // Its 5-tuple speaks QUIC and it does not, or it is cut: the connection takes it, and what is wrong is counted.
  counters_->anomalies.add(d.truncated() ? drop_reason::quic_truncated_header : drop_reason::quic_junk);
  count(*c, d.src == c->client, d);
  return tracked::taken;
}

// A short header where no QUIC connection is known on the 5-tuple: gQUIC, a connection that moved, or no QUIC at all.
tracked quic_tracker::on_strange_short(flow& f, const datagram& d) noexcept {
  if (!f.connection.empty() && pool_.resolve(f.connection) != nullptr) return on_gquic(f, d);
  const wire::datagram_kind kind = wire::classify(d.payload);
  if (kind == wire::datagram_kind::gquic) return on_gquic(f, d);
  if (kind != wire::datagram_kind::short_form || f.packets >= limits_.short_tries) return tracked::not_quic;
  const assignment a = short_by_cid(d.payload, d);
  if (a.c == nullptr) return tracked::not_quic;
  note_path(*a.c, f, a.from_client, d);
  on_short(*a.c, d);
  return tracked::taken;
}

void quic_tracker::on_short(connection& c, const datagram& d) noexcept {
  // RFC 9287: a first byte of 0b00 is a packet too where the receiver has announced it. What a server announced nobody
  // else can read, so there the connection ID must tell.
  const bool greased = (d.payload[0] & fixed_bit) == 0;
  if (greased && !c.facts.parameters.has(parameter::grease_quic_bit) && !shows_id_of(c, d)) [[unlikely]] {
    counters_->anomalies.add(drop_reason::quic_junk);
  } else if (d.wire_payload < wire::min_short_packet_size) [[unlikely]] {
    counters_->anomalies.add(drop_reason::quic_junk);
  } else {
    ++c.packets.one_rtt;
    if (decryptor_.active()) [[unlikely]]
      decrypt_short(c, d);
  }
  c.bytes += d.wire_frame;
  ++c.datagrams;
  c.last_ns = d.time_ns;
  pool_.touch(c, d.now);
}

// Apart from on_short(), which runs for every packet and should stay as small as it is without secrets.
[[gnu::noinline, gnu::cold]] void quic_tracker::decrypt_short(connection& c, const datagram& d) noexcept {
  decryptor_.on_short(at_hand(c, is_from_client(c, d), d.now), d.payload, d.truncated());
}

void quic_tracker::count(connection& c, bool from_client, const datagram& d) noexcept {
  c.bytes += d.wire_frame;
  ++c.datagrams;
  c.last_ns = d.time_ns;
  (from_client ? c.heard_client : c.heard_server) = true;
  pool_.touch(c, d.now);
  if (c.heard_client && c.heard_server) pool_.prove(c);
}

tracked quic_tracker::on_long(flow& f, const datagram& d) noexcept {
  assignment a;
  byte_view first_dcid;
  wire::version_number first_version = 0;
  byte_view rest = d.payload;
  for (std::size_t n = 0; !rest.empty(); ++n) {
    packet_header h;
    const base::parse_status status = wire::parse_packet(rest, h);
    const bool cut = status.code == parse_errc::bad_length;
    if (n == 0) {
      if (!status && !cut) {
        counters_->anomalies.add(reason_of(status.code));
        connection* c = pool_.resolve(f.connection);
        if (c == nullptr) return tracked::not_quic;
        count(*c, d.src == c->client, d);
        return tracked::taken;
      }
      a = assign(f, h, d);
      if (a.c == nullptr) return tracked::table_full;
      first_dcid = h.dcid;
      first_version = h.version;
      note_path(*a.c, f, a.from_client, d);
    } else if (n == max_packets_per_datagram || (!status && !cut) ||
               (h.is_long() ? h.version != first_version || !std::ranges::equal(h.dcid, first_dcid)
                            : !coalesces(rest, first_dcid))) {
      if (!d.truncated()) counters_->anomalies.add(drop_reason::quic_junk);
      break;
    }
    // In a capture that cuts packets the length is right and the file is short.
    if (cut && !d.truncated()) counters_->anomalies.add(drop_reason::quic_bad_length);
    on_packet(*a.c, a.from_client, cut ? byte_view{} : rest.first(h.packet_size), h, d);
    if (cut) break;
    rest = rest.subspan(h.packet_size);
  }
  count(*a.c, a.from_client, d);
  return tracked::taken;
}

// `packet` is empty when its end was not captured.
void quic_tracker::on_packet(connection& c, bool& from_client, byte_view packet, const packet_header& h,
                             const datagram& d) noexcept {
  ++counter_of(c.packets, h.type);
  switch (h.type) {
    case packet_type::initial:
      if (!h.token.empty()) prove_role(c, true, from_client);  // RFC 9000 17.2.2: a server sends none
      on_initial(c, from_client, packet, h, d);
      break;
    case packet_type::zero_rtt:
      prove_role(c, true, from_client);
      break;
    case packet_type::retry:
      prove_role(c, false, from_client);
      on_retry(c, packet, h);
      break;
    case packet_type::version_negotiation:
      prove_role(c, false, from_client);
      on_negotiation(c, h);
      return;  // its IDs are echoes, its version is none
    case packet_type::unknown_long:
      counters_->anomalies.add(drop_reason::quic_unknown_version);
      if (from_client && !c.has_initial) note_first(c, h);
      break;
    case packet_type::handshake:
    case packet_type::one_rtt:
      break;
  }
  if (h.is_long()) {
    note_version(c, h.version);
    note_ids(c, from_client, h);
  }
  if (!decryptor_.active()) return;
  if (h.is_long())
    decryptor_.on_long(at_hand(c, from_client, d.now), packet, h);
  else
    decryptor_.on_short(at_hand(c, from_client, d.now), packet, d.truncated());
}

void quic_tracker::on_initial(connection& c, bool& from_client, byte_view packet, const packet_header& h,
                              const datagram& d) noexcept {
  // The other side's Initial, taken for the server's only because it came second, opens as a client's: turn around.
  if (!from_client && !c.role_known && !packet.empty() && !c.scid.equals(h.dcid) && hellos_.opens_alone(packet, h))
    prove_role(c, true, from_client);
  if (!from_client) return;
  if (c.negotiation_pending && h.version != c.version) {
    // RFC 9000 6.2: a new attempt, with keys and a CRYPTO stream of its own.
    c.negotiation_pending = false;
    hellos_.discard(c);
    decryptor_.restart(c);
    c.earlier_packets = c.packets.protected_ones() - 1;  // the one at hand is counted
    c.hello = hello_state::none;
    c.secrets_asked = 0;
    c.original_dcid.assign(h.dcid);
    c.key_dcid = c.original_dcid;
  }
  if (!c.has_initial) note_first(c, h);
  if (packet.empty() || c.hello == hello_state::complete || c.hello == hello_state::given_up) return;
  if (!quic::protect::has_initial_salt(h.version)) {
    counters_->anomalies.add(drop_reason::quic_unknown_version);
    return;
  }
  if (c.failed_opens >= limits_.failed_opens || !hellos_.open(c, packet, h)) return;
  prove_role(c, true, from_client);
  hellos_.take(c, d.now);
}

void quic_tracker::on_retry(connection& c, byte_view packet, const packet_header& h) noexcept {
  if (packet.empty() || !c.has_initial || h.retry_tag.empty() || !quic::protect::has_retry_key(h.version)) return;
  if (!quic::protect::verify_retry(*engine_, h.version, c.original_dcid.view(), packet)) {
    counters_->anomalies.add(drop_reason::quic_bad_retry_tag);
    return;
  }
  c.retry_verified = true;
  if (c.retry_followed) return;  // RFC 9000 17.2.5.2: a client accepts one
  c.retry_followed = true;
  c.key_dcid.assign(h.scid);
}

void quic_tracker::on_negotiation(connection& c, const packet_header& h) noexcept {
  c.negotiation_pending = true;
  c.offered.clear();
  for (std::size_t at = 0; at + 4 <= h.versions.size() && !c.offered.full(); at += 4)
    (void)c.offered.push_back(base::load_be32(h.versions.data() + at));
}

void quic_tracker::note_first(connection& c, const packet_header& h) noexcept {
  c.has_initial = true;
  c.dcid.assign(h.dcid);
  c.scid.assign(h.scid);
  c.original_dcid = c.dcid;
  c.key_dcid = c.dcid;
}

void quic_tracker::note_ids(connection& c, bool from_client, const packet_header& h) noexcept {
  const std::uint32_t number = pool_.index_of(c);
  // A full index only costs the means to find this connection on another 5-tuple.
  if (h.type != packet_type::retry) {
    (void)cids_.add(number, c.cids, from_client ? cid_owner::server : cid_owner::client, h.dcid);
  }
  (void)cids_.add(number, c.cids, from_client ? cid_owner::client : cid_owner::server, h.scid);
}

void quic_tracker::note_version(connection& c, wire::version_number version) noexcept {
  if (c.version == version) return;
  c.version = version;
  if (std::ranges::find(c.versions, version) == c.versions.end()) (void)c.versions.push_back(version);
}

void quic_tracker::note_path(connection& c, flow& f, bool from_client, const datagram& d) noexcept {
  const record_ref ref = pool_.ref_to(c);
  if (f.connection.empty() || pool_.resolve(f.connection) == nullptr) f.connection = ref;
  const base::endpoint& client = from_client ? d.src : d.dst;
  if (client == c.client || std::ranges::find(c.moved_to, client) != c.moved_to.end()) return;
  (void)c.moved_to.push_back(client);
}

// What was taken for the client turns out to be the server, or the other way round. IDs that were entered under the
// wrong owner are forgotten: the packet at hand brings the right ones.
void quic_tracker::prove_role(connection& c, bool sender_is_client, bool& from_client) noexcept {
  if (!c.role_known && sender_is_client != from_client) {
    std::swap(c.client, c.server);
    std::swap(c.heard_client, c.heard_server);
    cids_.remove_all(c.cids);
    decryptor_.restart(c);
    c.moved_to.clear();
    c.has_initial = false;
    from_client = sender_is_client;
  }
  if (sender_is_client == from_client) c.role_known = true;
}

tracked quic_tracker::on_gquic(flow& f, const datagram& d) noexcept {
  connection* c = pool_.resolve(f.connection);
  wire::gquic_header h;
  const bool parsed = static_cast<bool>(wire::parse_gquic(d.payload, h));
  if (c == nullptr || !c->is_gquic) {
    if (!parsed || !h.names_itself()) return tracked::not_quic;
    c = make(f, d);
    if (c == nullptr) return tracked::table_full;
    c->is_gquic = true;
  }
  bool from_client = d.src == c->client;
  ++c->packets.gquic;
  if (parsed && h.version_negotiation) {
    prove_role(*c, false, from_client);
    c->offered.clear();
    for (std::size_t at = 0; at + 4 <= h.versions.size() && !c->offered.full(); at += 4)
      (void)c->offered.push_back(base::load_be32(h.versions.data() + at));
  } else if (parsed && h.version != 0) {
    // The public header carries a version from clients alone; the IETF-like one of Q044 and later from both.
    if ((d.payload[0] & long_bit) == 0) prove_role(*c, true, from_client);
    note_version(*c, h.version);
    if (from_client && c->hello == hello_state::none) {
      const byte_view hello = find_plain_chlo(d.payload, h, h.version);
      if (!hello.empty()) {
        prove_role(*c, true, from_client);
        hellos_.take_plain_chlo(*c, hello);
      }
    }
  }
  if (parsed && !c->has_initial && !h.cid.empty()) {
    c->has_initial = true;
    c->dcid.assign(h.cid);
  }
  count(*c, from_client, d);
  return tracked::taken;
}

void quic_tracker::finish(connection& c) noexcept {
  hellos_.discard(c);
  c.decrypted = decryptor_.close_account(c);
  c.decryption_evicted = decryptor_.gave_way(c);
  if (observer_ != nullptr) observer_->on_connection(c);
  c.decrypted = nullptr;
  decryptor_.finish(c);
  cids_.remove_all(c.cids);
  pool_.give(c);
}

void quic_tracker::expire(std::uint64_t now, std::uint32_t budget) noexcept {
  for (; budget != 0; --budget) {
    connection* c = pool_.expired(now);
    if (c == nullptr) return;
    counters_->connections_expired.add(1);
    finish(*c);
  }
}

void quic_tracker::finish_all() {
  std::vector<connection*> all;  // at the end of a run: the heap is free to be used
  all.reserve(pool_.in_use());
  pool_.for_each([&](connection& c) { all.push_back(&c); });
  std::ranges::stable_sort(all, {}, [](const connection* c) { return c->first_ns; });
  for (connection* c : all) finish(*c);
}

}  // namespace millrace::inspect
