// Eight places. An ID that the peer was asked to retire keeps its place until RETIRE_CONNECTION_ID comes, as packets to
// it may be under way; so at most four count as active, and a rotation always finds room for as many new ones.
//
// What could go wrong. Retire Prior To may not exceed a frame's own number, so a frame that was lost and is sent again
// says the smaller of the two; an ID below Retire Prior To is sent again all the same, as a peer that never saw it
// would never retire it, and its place would be lost (RFC 9000 19.15 has it retired on arrival).
#include "quic/path/local_cids.hpp"

namespace millrace::quic::path {

using frame_state = issued_cid::frame_state;

local_cids::local_cids(const connection_id& handshake, const local_cid_limits& limits) noexcept
    : limits_(limits), has_no_ids_(handshake.empty()) {
  static_cast<void>(serving_.push_back({0, handshake, {}, frame_state::none}));
  next_sequence_ = 1;
}

bool local_cids::add_preferred(const connection_id& cid, const wire::stateless_reset_token_value& token) noexcept {
  // RFC 9000 5.1.1: number 1; 18.2: not by a server whose IDs have no bytes.
  if (next_sequence_ != 1 || cid.empty() || serving_[0].cid.empty()) return false;
  if (!serving_.push_back({1, cid, token, frame_state::none})) return false;
  next_sequence_ = 2;
  largest_sent_ = 1;
  return true;
}

std::uint64_t local_cids::most_active() const noexcept {
  const std::uint64_t ours = std::min<std::uint64_t>(limits_.most_active, max_local_cids / 2);
  return std::min(ours, peer_limit_);
}

std::size_t local_cids::active() const noexcept {
  return static_cast<std::size_t>(std::count_if(
      serving_.begin(), serving_.end(), [this](const issued_cid& c) { return c.sequence >= retire_prior_to_; }));
}

// RFC 9000 5.1.1: no more than the peer's active_connection_id_limit, the handshake's and the preferred address's
// included. 19.15: none at all when the peer reaches us without.
bool local_cids::wants_more() const noexcept {
  return peer_limit_ != 0 && !serving_.full() && next_sequence_ <= base::varint_max && !has_no_ids_ &&
         active() < most_active();
}

std::optional<std::uint64_t> local_cids::issue(const connection_id& cid,
                                               const wire::stateless_reset_token_value& token) noexcept {
  if (!wants_more() || cid.empty()) return std::nullopt;
  if (!serving_.push_back({next_sequence_, cid, token, frame_state::due})) return std::nullopt;
  ++counters_.issued;
  return next_sequence_++;
}

// RFC 9000 5.1.2.
bool local_cids::rotate() noexcept {
  if (has_no_ids_ || peer_limit_ == 0 || serving_.size() > max_local_cids - most_active()) return false;
  if (active() != serving_.size()) return false;  // the peer has not answered the last one
  retire_prior_to_ = next_sequence_;
  return true;
}

std::optional<wire::new_connection_id_frame> local_cids::to_send() const noexcept {
  for (const issued_cid& c : serving_)
    if (c.frame == frame_state::due)
      return wire::new_connection_id_frame{c.sequence, std::min(retire_prior_to_, c.sequence), c.cid.view(), c.token};
  return std::nullopt;
}

issued_cid* local_cids::find(std::uint64_t sequence) noexcept {
  for (issued_cid& c : serving_)
    if (c.sequence == sequence) return &c;
  return nullptr;
}

void local_cids::on_sent(std::uint64_t sequence) noexcept {
  issued_cid* c = find(sequence);
  if (c == nullptr || c->frame != frame_state::due) return;
  c->frame = frame_state::sent;
  largest_sent_ = std::max(largest_sent_, sequence);
}

// RFC 9000 13.3.
void local_cids::on_lost(std::uint64_t sequence) noexcept {
  issued_cid* c = find(sequence);
  if (c != nullptr && c->frame == frame_state::sent) c->frame = frame_state::due;
}

void local_cids::on_acked(std::uint64_t sequence) noexcept {
  issued_cid* c = find(sequence);
  if (c != nullptr && c->frame != frame_state::none) c->frame = frame_state::acked;
}

local_cids::retired local_cids::on_retire(std::uint64_t sequence, base::byte_view packet_dcid) noexcept {
  retired out;
  // RFC 9000 19.16: a number above all that were sent, or a peer that was given none.
  if (has_no_ids_ || sequence > largest_sent_) {
    ++counters_.refused;
    out.error = wire::transport_error::protocol_violation;
    return out;
  }
  issued_cid* c = find(sequence);
  if (c == nullptr) {
    ++counters_.retired_again;
    return out;
  }
  // RFC 9000 19.16: the ID that the packet itself came by.
  if (c->cid.is(packet_dcid)) {
    ++counters_.refused;
    out.error = wire::transport_error::protocol_violation;
    return out;
  }
  out.unmap = true;
  out.cid = c->cid;
  serving_.erase(static_cast<std::size_t>(c - serving_.begin()));
  ++counters_.retired;
  return out;
}

std::optional<std::uint64_t> local_cids::sequence_of(base::byte_view cid) const noexcept {
  for (const issued_cid& c : serving_)
    if (c.cid.is(cid)) return c.sequence;
  return std::nullopt;
}

}  // namespace millrace::quic::path
