// Where datagrams go: paths, the connection IDs they use, and their proof (RFC 9000 8.2, 9). Which path is used is
// path::migration's decision; here is what follows from it.
#include <algorithm>

#include "quic/conn/connection.hpp"

namespace millrace::quic::conn {

void connection::begin_path(path::path_slot slot, std::uint16_t interface) noexcept {
  path_state& p = paths_[slot.index];
  p = path_state{};
  p.amount = path::amplification(!is_server_);  // a client chose the server's address itself
  p.interface = interface;
}

base::byte_view connection::destination(const path_state& p) const noexcept {
  const path::remote_cid* cid = p.has_cid ? remote_cids_.find(p.remote_cid) : nullptr;
  return cid == nullptr ? base::byte_view{} : cid->cid.view();
}

// RFC 9000 9.5: a path has an ID of its own.
bool connection::give_cid(path_state& p) noexcept {
  if (p.has_cid && remote_cids_.find(p.remote_cid) != nullptr) return true;
  const auto number = remote_cids_.take();
  p.has_cid = number.has_value();
  if (p.has_cid) p.remote_cid = *number;
  return p.has_cid;
}

// A path is given up. One that never had an ID has none to give back: number 0 may be another's.
void connection::drop_cid(path_state& p) noexcept {
  if (std::exchange(p.has_cid, false)) remote_cids_.release(p.remote_cid);
}

// NEW_CONNECTION_ID for as many as the peer takes.
void connection::issue_cids() noexcept {
  while (local_cids_.wants_more()) {
    const auto fresh = host_.issue_cid(*this);
    if (!fresh || !local_cids_.issue(fresh->cid, fresh->token)) return;
  }
}

void connection::move_to(const path::migration::decision& d, std::uint64_t now_ns) noexcept {
  t_.events.add(event::migrations);
  trace_.tell({.time_ns = now_ns, .kind = trace_kind::moved});
  path_state& p = paths_[d.slot.index];
  path_state& old = paths_[d.old.index];
  // RFC 9000 9.5: where the peer itself goes on with its ID, as behind a NAT, ours may go on as well. Elsewhere nothing
  // is sent until there is another ID, as its use on two paths would tell that they belong together.
  if (!give_cid(p) && d.may_share_cid && old.has_cid && remote_cids_.share(old.remote_cid)) {
    p.remote_cid = old.remote_cid;
    p.has_cid = true;
  }
  recovery_.on_path_changed(now_ns, d.keep_congestion);
  if (!d.keep_congestion) {
    mtu_.restart();
    recovery_.set_datagram_bytes(mtu_.mtu());
  }
  const std::uint64_t pto_ns = std::max(recovery_.pto_ns(), 3 * recovery::initial_rtt_ns);
  if (d.validate) p.challenge.start(now_ns, pto_ns);
  if (d.validate_old) old.challenge.start(now_ns, pto_ns);
}

// The peer wants IDs back that paths use.
void connection::replace_cids(std::uint64_t now_ns) noexcept {
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    if (migration_.paths()[i].role == path::path_role::unused || !paths_[i].has_cid) continue;
    if (remote_cids_.find(paths_[i].remote_cid) != nullptr) continue;
    paths_[i].has_cid = false;
    if (!give_cid(paths_[i]) && i == migration_.active().index)
      close_transport(wire::transport_error::no_viable_path, "no connection ID is left", now_ns);
  }
}

void connection::check_paths(std::uint64_t now_ns) noexcept {
  for (std::uint8_t i = 0; i < paths_.size(); ++i) {
    path_state& p = paths_[i];
    if (!p.challenge.is_running() || !p.challenge.on_timeout(now_ns)) continue;
    t_.events.add(event::path_failed);
    const path::migration::failure f = migration_.on_failed({i, migration_.paths()[i].generation});
    if (f.no_path) {  // RFC 9000 9.3.2: nobody is there to be told
      end_with(end_reason::idle_timeout);
      return;
    }
    if (f.moved) {
      recovery_.on_path_changed(now_ns, false);
      mtu_.restart();
      recovery_.set_datagram_bytes(mtu_.mtu());
    }
    if (f.removed) {
      drop_cid(p);
      p = path_state{};
    }
  }
  paths_.fit(t_.paths, migration_);
}

void connection::follow_mtu() noexcept {
  if (!std::exchange(mtu_changed_, false)) return;
  recovery_.set_datagram_bytes(mtu_.mtu());
  trace_.tell({.time_ns = now_ns_, .kind = trace_kind::mtu, .size = static_cast<std::uint32_t>(mtu_.mtu())});
}

// Client, after the handshake: where the server would rather be reached. The path is proven first, with an ID of its
// own; until then, and when nobody answers, the server stays where it is (RFC 9000 9.6.1 9.6.2).
void connection::probe_preferred(std::uint64_t now_ns) noexcept {
  if (is_server_ || handshake_ == nullptr || handshake_->preferred.port == 0) return;
  const path::path_address there{address().local, std::exchange(handshake_->preferred, {})};
  if (there.remote == address().remote || remote_cids_.unused() == 0 || !paths_.reserve(t_.paths)) return;
  const path::migration::decision d = migration_.on_packet({there, 0, true, true, now_ns});
  paths_.fit(t_.paths, migration_);
  if (d.what != path::migration::step::probe || !d.fresh) return;
  if (d.has_evicted) drop_cid(paths_[d.evicted.index]);
  begin_path(d.slot, active_path().interface);
  paths_[d.slot.index].challenge.start(now_ns, std::max(recovery_.pto_ns(), 3 * recovery::initial_rtt_ns));
}

// The preferred address has answered: from here on it is the server's. Not when we have moved meanwhile, as the path
// that was proven begins at the address we left (RFC 9000 9.6.3).
void connection::move_to_preferred(path::path_slot proven, std::uint64_t now_ns) noexcept {
  const path::path_info& there = migration_.info(proven);
  if (there.role != path::path_role::candidate || there.address.local != address().local) return;
  const path::migration::decision d = migration_.on_packet({there.address, ++moves_, false, true, now_ns});
  if (d.what == path::migration::step::move) move_to(d, now_ns);
}

bool connection::migrate(const path::path_address& to, std::uint16_t interface, std::uint64_t now_ns) noexcept {
  now_ns_ = now_ns;
  if (is_server_ || !confirmed_ || is_closing() || peer_.no_migration) return false;
  // A path that was used before has its own ID still (RFC 9000 9.5); any other one needs an unused one.
  const auto known = migration_.find(to);
  const bool has_cid =
      known && paths_[known->index].has_cid && remote_cids_.find(paths_[known->index].remote_cid) != nullptr;
  if (!has_cid && remote_cids_.unused() == 0) return false;
  if (!known && !paths_.reserve(t_.paths)) return false;
  // A client tells its own moves apart by counting them.
  const path::migration::decision d = migration_.on_packet({to, ++moves_, false, true, now_ns});
  paths_.fit(t_.paths, migration_);
  if (d.what != path::migration::step::move) return false;
  if (d.fresh) {
    if (d.has_evicted) drop_cid(paths_[d.evicted.index]);
    begin_path(d.slot, interface);
  }
  move_to(d, now_ns);
  return true;
}

}  // namespace millrace::quic::conn
