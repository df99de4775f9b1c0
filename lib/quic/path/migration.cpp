// What could go wrong. Somebody who copies packets can send them on from another address, and be faster than the
// originals: answers then go there until the validation fails, after three PTOs at most, or until a newer packet comes
// by the old path, whose client is asked for one by a PATH_CHALLENGE (RFC 9000 9.3.3). Somebody who changes addresses
// all the time makes us begin anew all the time: hence the budget. Slots are few, and what a caller keeps for one that
// was given to another path must not be used for it: hence generations.
#include "quic/path/migration.hpp"

#include <algorithm>

namespace millrace::quic::path {
namespace {

void apply(path_info& path, path_event event) noexcept {
  const std::optional<path_role> to = next(path.role, event);
  MILLRACE_ASSERT(to.has_value());
  if (to) path.role = *to;
}

[[nodiscard]] std::uint64_t full_credit(const migration_limits& limits) noexcept {
  return recovery::multiply_divide(limits.change_ns, limits.changes, 1);
}

}  // namespace

migration::migration(const path_address& handshake, std::uint64_t now_ns, const migration_limits& limits) noexcept
    : limits_(limits), credit_ns_(full_credit(limits)), credit_at_ns_(now_ns) {
  paths_[0] = {handshake, now_ns, 0, 1, path_role::active, false};
}

std::optional<path_slot> migration::find(const path_address& address) const noexcept {
  for (std::uint8_t i = 0; i < max_paths; ++i)
    if (paths_[i].role != path_role::unused && paths_[i].address == address) return path_slot{i, paths_[i].generation};
  return std::nullopt;
}

bool migration::take_change(std::uint64_t now_ns) noexcept {
  if (limits_.changes == 0) return false;
  if (now_ns > credit_at_ns_) {
    const std::uint64_t full = full_credit(limits_);
    credit_ns_ = std::min(full, credit_ns_ + std::min(now_ns - credit_at_ns_, full - credit_ns_));
    credit_at_ns_ = now_ns;
  }
  if (credit_ns_ < limits_.change_ns) return false;
  credit_ns_ -= limits_.change_ns;
  return true;
}

bool migration::is_rebinding(const path_address& address) const noexcept {
  const path_address& now = paths_[active_].address;
  return address.local == now.local && address.remote.address == now.remote.address;
}

// Of a packet from an address that has no path.
bool migration::is_admitted(const packet& p) const noexcept {
  if (!p.confirmed) return false;  // RFC 9000 9
  if (!limits_.disabled) return true;
  if (p.address.local != paths_[active_].address.local) return true;  // RFC 9000 18.2: the preferred address
  return limits_.follow_rebinding && is_rebinding(p.address);
}

// Where to go when the active path fails: the one validated last.
std::optional<std::uint8_t> migration::fallback() const noexcept {
  std::optional<std::uint8_t> best;
  for (std::uint8_t i = 0; i < max_paths; ++i) {
    const path_info& path = paths_[i];
    if (i == active_ || path.role == path_role::unused || !path.validated) continue;
    if (!best || path.validated_ns > paths_[*best].validated_ns) best = i;
  }
  return best;
}

// Of four slots two can always be had: neither the active path nor the one to fall back to is given up.
void migration::make_slot(const packet& p, decision& out) noexcept {
  const std::optional<std::uint8_t> keep = fallback();
  std::optional<std::uint8_t> best;
  const auto is_better = [this](std::uint8_t a, std::uint8_t b) {
    const auto rank = [](path_role role) {
      return role == path_role::unused ? 0 : role == path_role::candidate ? 1 : 2;
    };
    const int rank_a = rank(paths_[a].role);
    const int rank_b = rank(paths_[b].role);
    return rank_a != rank_b ? rank_a < rank_b : paths_[a].last_ns < paths_[b].last_ns;
  };
  for (std::uint8_t i = 0; i < max_paths; ++i)
    if (i != active_ && i != keep && (!best || is_better(i, *best))) best = i;
  const std::uint8_t index = *best;
  path_info& path = paths_[index];
  if (path.role != path_role::unused) {
    out.has_evicted = true;
    out.evicted = {index, path.generation};
    apply(path, path_event::evict);
    ++counters_.evicted;
  }
  path = {p.address, p.now_ns, 0, path.generation + 1, path_role::unused, false};
  apply(path, path_event::probe);
  out.slot = {index, path.generation};
  out.fresh = true;
}

void migration::move_to(std::uint8_t index, decision& out) noexcept {
  path_info& to = paths_[index];
  path_info& from = paths_[active_];
  const bool rebinding = is_rebinding(to.address);
  out.what = step::move;
  out.old = active();
  out.validate = !to.validated;       // RFC 9000 9.3
  out.validate_old = from.validated;  // RFC 9000 9.3.3
  out.keep_congestion = rebinding;    // RFC 9000 9.4
  out.may_share_cid = rebinding;      // RFC 9000 9.5
  if (to.validated)
    ++counters_.returns;
  else if (rebinding)
    ++counters_.rebindings;
  else
    ++counters_.changes;
  apply(from, path_event::moved_away);
  apply(to, path_event::move);
  active_ = index;
}

migration::decision migration::on_packet(const packet& p) noexcept {
  decision out;
  out.slot = active();
  std::optional<path_slot> from = find(p.address);
  if (!from && !is_admitted(p)) {
    ++counters_.dropped;
    out.what = step::drop;
    return out;
  }
  // RFC 9000 9.3: only the highest numbered packet that is no probe moves anything.
  const bool moves = !p.probing && (!any_ || p.number > newest_);
  if (moves) {
    newest_ = p.number;
    any_ = true;
  }
  // One change pays for a new slot and the move to it.
  const bool pays = !from || (moves && from->index != active_ && !paths_[from->index].validated);
  if (from) {
    paths_[from->index].last_ns = p.now_ns;
    out.slot = *from;
  }
  if (pays && !take_change(p.now_ns)) {
    ++counters_.refused;
    out.refused = true;
    return out;
  }
  if (!from) make_slot(p, out);
  if (out.slot.index == active_) return out;
  out.what = step::probe;
  if (moves) move_to(out.slot.index, out);
  return out;
}

void migration::on_validated(path_slot slot, std::uint64_t now_ns) noexcept {
  if (!is_current(slot)) return;
  paths_[slot.index].validated = true;
  paths_[slot.index].validated_ns = now_ns;
}

migration::failure migration::on_failed(path_slot slot) noexcept {
  failure out;
  if (!is_current(slot)) return out;
  if (slot.index == active_) {
    // RFC 9000 9.3.2: back to the last validated address, or the end.
    const std::optional<std::uint8_t> to = fallback();
    if (!to) {
      out.no_path = true;
      return out;
    }
    apply(paths_[*to], path_event::move);
    active_ = *to;
    out.moved = true;
    ++counters_.reverts;
  }
  apply(paths_[slot.index], path_event::failed);
  paths_[slot.index].validated = false;
  out.removed = true;
  return out;
}

}  // namespace millrace::quic::path
