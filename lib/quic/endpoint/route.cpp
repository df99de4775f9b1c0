// Whose datagram is it? Nothing here trusts more than the length of a connection ID: what a stranger sends costs a
// table look-up and, for an Initial that may become a connection, one key derivation inside its budget.
#include <algorithm>

#include "base/fetch_ahead.hpp"
#include "quic/endpoint/parts.hpp"

namespace millrace::quic::endpoint {

namespace {

using conn::datagram_in;
using conn::event;
using stats::drop_reason;

constexpr std::uint8_t long_bit = 0x80;
// Datagrams of a burst before a datagram is looked at: each step needs what the one before has brought.
constexpr std::size_t slots_ahead = 24;
constexpr std::size_t entries_ahead = 16;
constexpr std::size_t connections_ahead = 6;
constexpr std::size_t parts_ahead = 3;

}  // namespace

// Of many connections each lies where the cache has nothing of it, nor of the way to it: the burst is known, so what
// leads to a connection, the connection, and what that refers to are asked for some places ahead. What belongs to the
// connection of the datagram before costs nothing.
class quic_endpoint::lookahead {
  const parts& parts_;
  std::span<const datagram_in> burst_;
  std::size_t slots_ = 0, entries_ = 0, connections_ = 0, others_ = 0;  // datagrams that are behind each step

  [[nodiscard]] base::byte_view cid(std::size_t i) const noexcept {
    const datagram_in& d = burst_[i];
    if (d.bytes.size() < wire::min_short_packet_size || (d.bytes[0] & long_bit) != 0) return {};
    if (i != 0 && is_same_destination(d, burst_[i - 1])) return {};
    return base::byte_view(d.bytes).subspan(1, path::local_cid_size);
  }
  template <class Call>
  void step(std::size_t& at, std::size_t to, Call call) const noexcept {
    for (to = std::min(to, burst_.size()); at < to; ++at)
      if (const base::byte_view id = cid(at); !id.empty()) call(id, burst_[at]);
  }

 public:
  lookahead(const quic_endpoint& owner, std::span<const datagram_in> burst) noexcept
      : parts_(*owner.parts_), burst_(burst) {}

  // The one at `i` is next.
  void move_to(std::size_t i) noexcept {
    step(slots_, i + slots_ahead, [&](base::byte_view id, auto&) noexcept { parts_.cids.fetch_slot_ahead(id); });
    step(entries_, i + entries_ahead, [&](base::byte_view id, auto&) noexcept { parts_.cids.fetch_entry_ahead(id); });
    step(connections_, i + connections_ahead, [&](base::byte_view id, auto&) noexcept {
      const auto* h = static_cast<const held*>(parts_.cids.find_ours(id));
      if (h == nullptr) return;
      h->connection.fetch_ahead();
      base::fetch_ahead(&h->timer, &h->older);
    });
    step(others_, i + parts_ahead, [&](base::byte_view id, const datagram_in& d) noexcept {
      const auto* h = static_cast<const held*>(parts_.cids.find_ours(id));
      if (h == nullptr) return;
      h->connection.fetch_parts_ahead(d.bytes.size());
      parts_.timers.fetch_ahead(h->timer);
    });
  }
};

unsigned quic_endpoint::on_datagrams(std::span<datagram_in> burst, std::uint64_t now_ns,
                                     stats::drop_counters& drops) noexcept {
  now_ns_ = now_ns;
  unsigned useless = 0;
  lookahead ahead{*this, burst};
  for (std::size_t i = 0; i < burst.size();) {
    ahead.move_to(i);
    wire::packet_header header;
    bool is_long = false;
    bool is_strange = false;
    held* h = find(burst[i], header, is_long, is_strange);
    if (h == nullptr) {
      if (is_strange) h = on_stranger(burst[i], header);
      if (h == nullptr) {
        drops.add(drop_reason::quic_no_connection);
        ++useless;
        ++i;
        continue;
      }
    }
    // As many as follow for the same connection; a handshake's are few and go one by one.
    std::size_t end = i + 1;
    if (!is_long) {
      while (end < burst.size() && is_same_destination(burst[i], burst[end])) ++end;
    }
    const std::uint64_t before = events_.get(event::packets_received);
    useless += h->connection.on_datagrams(burst.subspan(i, end - i), now_ns, drops);
    if (is_strange && events_.get(event::packets_received) == before) {
      // Its keys did not open the very packet it began with: there is no peer.
      finish_without_a_word(*h);
    } else {
      after(*h);
    }
    i = end;
  }
  return useless;
}

bool quic_endpoint::is_same_destination(const datagram_in& a, const datagram_in& b) noexcept {
  constexpr std::size_t size = 1 + path::local_cid_size;
  return b.bytes.size() >= size && (b.bytes[0] & long_bit) == 0 &&
         std::equal(a.bytes.begin() + 1, a.bytes.begin() + size, b.bytes.begin() + 1);
}

// nullptr with `is_strange`: a long header that may begin something.
quic_endpoint::held* quic_endpoint::find(datagram_in& d, wire::packet_header& header, bool& is_long,
                                         bool& is_strange) noexcept {
  if (d.bytes.empty()) return nullptr;
  if ((d.bytes[0] & long_bit) == 0) {
    if (d.bytes.size() < wire::min_short_packet_size) return nullptr;
    void* found = parts_->cids.find_ours(base::byte_view(d.bytes).subspan(1, path::local_cid_size));
    if (found != nullptr) return static_cast<held*>(found);
    held* ended = find_reset(d);
    if (ended == nullptr) reply_reset(d);
    return ended;
  }
  is_long = true;
  const base::parse_status status = wire::parse_packet(d.bytes, header);
  if (!status && status.code != base::parse_errc::bad_length) return nullptr;
  void* found = header.dcid.size() == path::local_cid_size ? parts_->cids.find_ours(header.dcid) : nullptr;
  if (found == nullptr) found = parts_->cids.find_strange(header.dcid);
  is_strange = found == nullptr && static_cast<bool>(status);
  return static_cast<held*>(found);
}

// RFC 9000 10.3.1: no ID of ours in front, a peer's token at the end, and it comes from that peer's address.
quic_endpoint::held* quic_endpoint::find_reset(const datagram_in& d) noexcept {
  if (d.bytes.size() < wire::min_stateless_reset_size) return nullptr;
  held* h =
      static_cast<held*>(parts_->cids.find_token(base::byte_view(d.bytes).last(wire::stateless_reset_token_size)));
  if (h == nullptr || !h->connection.paths().find(d.address)) return nullptr;
  h->connection.on_stateless_reset(now_ns_);
  return h;
}

// The connection's IDs of the peer have changed: only tokens of those in use are known (RFC 9000 10.3.1).
void quic_endpoint::follow_tokens(held& h) noexcept {
  for (const auto& token : h.tokens) parts_->cids.remove_token(token, &h);
  h.tokens.clear();
  h.cid_changes = h.connection.remote_cids().changes();
  for (const auto& token : h.connection.remote_cids().tokens_in_use())
    if (!h.tokens.full() && parts_->cids.add_token(token, &h)) static_cast<void>(h.tokens.push_back(token));
}

quic_endpoint::held* quic_endpoint::on_stranger(datagram_in& d, const wire::packet_header& header) noexcept {
  if (server_ == nullptr) return nullptr;
  const auto& versions = settings_.transport.versions;
  // RFC 9000 6.1, 14.1: only a datagram that could begin a connection is answered.
  if (d.bytes.size() < wire::min_initial_datagram_size) {
    events_.add(event::initials_refused);
    return nullptr;
  }
  if (std::ranges::find(versions, header.version) == versions.end()) {
    if (header.version != wire::negotiation_version) reply_versions(d, header);
    return nullptr;
  }
  if (header.type != wire::packet_type::initial || header.dcid.size() < wire::min_client_dcid_size) {
    events_.add(event::initials_refused);
    return nullptr;
  }
  const path::token_subject seen{d.address.remote, header.version, static_cast<std::uint64_t>(wall_ns()) / 1'000'000};
  path::opened_token token = parts_->tokens.open(engine_, header.token, seen, header.dcid);
  // RFC 9000 8.1.4: of NEW_TOKEN, once. One of a Retry may come again with the Initial that it was lost with.
  if (path::validates_address(token) && token.kind == path::token_kind::new_token && !parts_->spent.spend(token.id))
    token.verdict = path::token_verdict::not_ours;
  if (!header.token.empty())
    events_.add(path::validates_address(token) ? event::tokens_accepted : event::tokens_refused);
  if (const wire::transport_error refusal = path::refusal_of(token); refusal != wire::transport_error::no_error) {
    reply_close(d, header, refusal);
    return nullptr;
  }
  switch (parts_->sources.admit(d.address.remote.address, path::validates_address(token), now_ns_)) {
    case admission::accept:
      return accept(d, header, token);
    case admission::replace:
      if (evict_half_open()) return accept(d, header, token);
      parts_->sources.on_nobody_gives_way();
      events_.add(event::initials_refused);
      return nullptr;
    case admission::retry:
      reply_retry(d, header);
      return nullptr;
    case admission::drop:
      events_.add(event::initials_refused);
      return nullptr;
  }
  return nullptr;
}

quic_endpoint::held* quic_endpoint::accept(datagram_in& d, const wire::packet_header& header,
                                           const path::opened_token& token) noexcept {
  const bool retried = path::validates_address(token) && token.kind == path::token_kind::retry;
  const new_cid ours = make_cid();
  conn::server_start start;
  start.version = header.version;
  start.initial_dcid = path::connection_id::of(header.dcid);
  start.original_dcid = retried ? token.ids.original : start.initial_dcid;
  start.client_scid = path::connection_id::of(header.scid);
  start.our_scid = ours.cid;
  start.reset_token = ours.token;
  start.address = d.address;
  start.interface = d.interface;
  start.retried = retried;
  start.validated = path::validates_address(token);
  start.now_ns = now_ns_;
  held* h = parts_->connections.get(parts_->shared, static_cast<conn::connection_host&>(*this), start, server_);
  if (h == nullptr) {
    events_.add(event::refused_no_memory);
    return nullptr;
  }
  h->is_half_open = true;
  h->older = std::exchange(newest_half_open_, h);
  (h->older == nullptr ? oldest_half_open_ : h->older->newer) = h;
  parts_->sources.on_half_open();
  if (!h->connection.is_ended() && parts_->cids.add_ours(ours.cid.view(), h) &&
      parts_->cids.add_strange(start.initial_dcid, h)) {
    h->strange = start.initial_dcid;
    return h;
  }
  finish_without_a_word(*h);
  return nullptr;
}

// The one that has waited longest goes, when it has had time enough to answer. False: it had not, or TLS works on it.
bool quic_endpoint::evict_half_open() noexcept {
  held* const h = oldest_half_open_;
  if (h == nullptr || now_ns_ - h->connection.began_ns() < settings_.sources.give_way_ns) return false;
  events_.add(event::half_open_evicted);
  h->connection.end_with(conn::end_reason::handshake_timeout);
  const bool goes = h->connection.is_ended();
  after(*h);
  return goes;
}

void quic_endpoint::finish_without_a_word(held& h) noexcept {
  h.connection.release();
  end(h);
}

}  // namespace millrace::quic::endpoint
