// Which connection a packet belongs to.
//
// Connection IDs come first, because addresses change and 5-tuples are shared. An ID is an owner's: it stands as the
// destination of what the owner receives and as the source of what it sends. A destination found in the index counts
// only when one end of the packet's path is an end of the connection's, so that two connections with the same ID (test
// tools use 0101010101010101) stay two. A source ID is weaker, for clients keep theirs to three bytes or to none: both
// ends must agree.
//
// Then the 5-tuple decides, with one doubt: an Initial whose destination nobody knows may belong to a connection whose
// server ID we missed, or begin another one on the same ports. A client protects the first Initial of a connection with
// keys from that packet's own destination, and no later one, so whether it opens with those settles it. Two cases look
// the same and are not: after Version Negotiation the client starts again (RFC 9000 6.2), and after a Retry we did not
// see it brings a token (RFC 9000 17.2.5.2).

#include <algorithm>

#include "inspect/quic_tracker.hpp"

namespace millrace::inspect {
namespace {

using base::byte_view;
using quic::wire::packet_type;
namespace wire = quic::wire;

// Whether `d` can be a packet of `c` that its `owner` receives: the client may have moved, or (preferred address) the
// server, not both.
bool shares_end(const connection& c, cid_owner receiver, const datagram& d) noexcept {
  if (receiver == cid_owner::server) return d.dst == c.server || d.src == c.client;
  return d.src == c.server || d.dst == c.client;
}

bool same_ends(const connection& c, bool from_client, const datagram& d) noexcept {
  return from_client ? d.src == c.client && d.dst == c.server : d.src == c.server && d.dst == c.client;
}

}  // namespace

bool quic_tracker::is_from_client(const connection& c, const datagram& d) noexcept {
  if (d.src == c.client) return true;
  return d.src != c.server && d.dst != c.client;
}

quic_tracker::assignment quic_tracker::by_destination(const wire::packet_header& h, const datagram& d) noexcept {
  assignment found;
  (void)cids_.for_each(h.dcid, [&](const cid_index::entry& e) {
    connection& c = pool_.at(e.connection);
    if (!shares_end(c, e.owner, d)) return false;
    found = {&c, e.owner == cid_owner::server};
    return true;
  });
  return found;
}

quic_tracker::assignment quic_tracker::by_source(const wire::packet_header& h, const datagram& d) noexcept {
  assignment found;
  (void)cids_.for_each(h.scid, [&](const cid_index::entry& e) {
    connection& c = pool_.at(e.connection);
    const bool from_client = e.owner == cid_owner::client;
    if (!same_ends(c, from_client, d) || begins_another(c, from_client, h, d)) return false;
    found = {&c, from_client};
    return true;
  });
  return found;
}

bool quic_tracker::begins_another(const connection& c, bool from_client, const wire::packet_header& h,
                                  const datagram& d) noexcept {
  if (h.type != packet_type::initial || d.truncated()) return false;
  if (from_client) {
    if (c.negotiation_pending && h.version != c.version) return false;
    if (!h.token.empty() && !c.heard_server && c.scid.equals(h.scid)) return false;
  } else if (!c.scid.view().empty() && c.scid.equals(h.dcid)) {
    return false;  // it answers the client: the usual server Initial
  } else if (!c.role_known && c.has_initial && c.dcid.equals(h.scid)) {
    return false;  // what came first was the answer to it: on_initial() turns the connection around
  }
  return c.failed_opens < limits_.failed_opens && hellos_.opens_alone(d.payload.first(h.packet_size), h);
}

quic_tracker::assignment quic_tracker::by_flow(flow& f, const wire::packet_header& h, const datagram& d) noexcept {
  connection* newest = pool_.resolve(f.connection);
  if (newest == nullptr || newest->is_gquic) return {};
  if (!newest->previous_on_flow.empty() && !d.truncated()) {
    const byte_view packet = d.payload.first(std::min<std::size_t>(h.packet_size, d.payload.size()));
    if (connection* const c = by_trial(f, *newest, d, packet, &h); c != nullptr) return {c, is_from_client(*c, d)};
  }
  const bool from_client = is_from_client(*newest, d);
  if (begins_another(*newest, from_client, h, d)) return {};
  return {newest, from_client};
}

connection* quic_tracker::make(flow& f, const datagram& d) noexcept {
  if (pool_.full()) {
    connection* old = pool_.victim(d.now, limits_.min_evict_age_ns);
    if (old == nullptr) return nullptr;
    counters_->connections_evicted.add(1);
    finish(*old);
  }
  connection* const before = pool_.resolve(f.connection);
  if (before != nullptr && decryptor_.follows(*before)) f.decrypted = f.connection;
  connection* c = pool_.take(d.now);
  c->previous_on_flow = f.connection;
  c->first_ns = d.time_ns;
  c->client = d.src;
  c->server = d.dst;
  f.connection = pool_.ref_to(*c);
  counters_->connections.add(1);
  return c;
}

quic_tracker::assignment quic_tracker::begin(flow& f, const wire::packet_header& h, const datagram& d) noexcept {
  connection* c = make(f, d);
  if (c == nullptr) return {};
  const bool from_server = h.type == packet_type::retry || h.type == packet_type::version_negotiation;
  if (from_server) std::swap(c->client, c->server);
  return {c, !from_server};
}

quic_tracker::assignment quic_tracker::assign(flow& f, const wire::packet_header& h, const datagram& d) noexcept {
  assignment a = by_destination(h, d);
  if (a.c == nullptr) a = by_source(h, d);
  if (a.c == nullptr) a = by_flow(f, h, d);
  return a.c != nullptr ? a : begin(f, h, d);
}

quic_tracker::assignment quic_tracker::short_by_cid(byte_view payload, const datagram& d) noexcept {
  assignment found;
  for (std::size_t size = cid_bytes; size >= min_cid_alone && found.c == nullptr; --size) {
    if ((cids_.lengths() >> size & 1) == 0 || payload.size() < 1 + size) continue;
    (void)cids_.for_each(payload.subspan(1, size), [&](const cid_index::entry& e) {
      connection& c = pool_.at(e.connection);
      if (!shares_end(c, e.owner, d)) return false;
      found = {&c, e.owner == cid_owner::server};
      return true;
    });
  }
  return found;
}

bool quic_tracker::shows_id_of(const connection& c, const datagram& d) const noexcept {
  bool shown = false;
  cids_.for_each_of(c.cids, [&](const cid_index::entry& e) {
    shown = shown || (e.id.size >= min_cid_alone && d.payload.size() > e.id.size &&
                      e.id.equals(d.payload.subspan(1, e.id.size)));
  });
  return shown;
}

// Several connections share a 5-tuple, and one is decrypted: it has what its keys open. Whoever can forge addresses can
// begin any number of connections there, so the last one with secrets is asked before the newest.
connection* quic_tracker::by_trial(flow& f, connection& newest, const datagram& d, byte_view packet,
                                   const wire::packet_header* h) noexcept {
  if (!decryptor_.active()) return nullptr;
  const auto opens = [&](connection& c) {
    return !c.is_gquic && decryptor_.try_open(at_hand(c, is_from_client(c, d), d.now), packet, h);
  };
  connection* const followed = pool_.resolve(f.decrypted);
  if (followed != nullptr && opens(*followed)) return followed;
  connection* c = &newest;
  for (std::size_t n = 0; c != nullptr && n < max_connections_per_flow; ++n) {
    if (c != followed && opens(*c)) return c;
    c = pool_.resolve(c->previous_on_flow);
  }
  return nullptr;
}

// Several connections share a 5-tuple: the one whose ID stands in the packet. When none does (IDs issued later travel
// encrypted, and clients may have IDs of no bytes): the one whose keys open it, the newest that both sides speak on, or
// the newest.
connection* quic_tracker::short_among(flow& f, connection& newest, const datagram& d) noexcept {
  connection* c = &newest;
  connection* answered = nullptr;
  for (std::size_t n = 0; c != nullptr && n < max_connections_per_flow; ++n) {
    const cid_owner receiver = is_from_client(*c, d) ? cid_owner::server : cid_owner::client;
    bool shown = false;
    cids_.for_each_of(c->cids, [&](const cid_index::entry& e) {
      shown = shown ||
              (e.owner == receiver && d.payload.size() > e.id.size && e.id.equals(d.payload.subspan(1, e.id.size)));
    });
    if (shown) return c;
    if (answered == nullptr && c->heard_client && c->heard_server) answered = c;
    c = pool_.resolve(c->previous_on_flow);
  }
  constexpr std::uint8_t fixed_bit = 0x40;
  if (!d.truncated() && (d.payload[0] & fixed_bit) != 0)
    if (connection* const opened = by_trial(f, newest, d, d.payload, nullptr); opened != nullptr) return opened;
  return answered != nullptr ? answered : &newest;
}

}  // namespace millrace::inspect
