// What is remembered: the IDs that may be used (at most what we declared), the retirements the peer has not
// acknowledged, and which of the 64 numbers below the largest have come. The last tells a frame that is repeated, after
// its ID was retired and forgotten, from a new one. A number still further down that is not known is given back
// without being looked at: when it was retired before, the peer hears it twice, which is allowed; when it is new, it is
// declined. So nothing has to be remembered for ever, and no loop runs over numbers, whose distance is the peer's to
// choose (up to 2^62).
#include "quic/path/remote_cids.hpp"

#include "crypto/constant_time.hpp"

namespace millrace::quic::path {
namespace {

constexpr std::uint64_t window = 64;  // numbers below the largest that are remembered

[[nodiscard]] wire::stateless_reset_token_value token_of(base::byte_view bytes) noexcept {
  wire::stateless_reset_token_value out{};
  std::copy_n(bytes.begin(), std::min(bytes.size(), out.size()), out.begin());
  return out;
}

}  // namespace

remote_cids remote_cids::for_client(const connection_id& random, const remote_cid_limits& limits) noexcept {
  remote_cids out;
  out.limits_ = limits;
  out.original_ = random;
  out.phase_ = phase::random;
  out.known_[0].cid = random;
  return out;
}

remote_cids remote_cids::for_server(const connection_id& client_scid, const remote_cid_limits& limits) noexcept {
  remote_cids out;
  out.limits_ = limits;
  out.zero_length_ = client_scid.empty();
  out.known_[0].cid = client_scid;
  return out;
}

remote_cids::remote_cids() noexcept {
  static_cast<void>(known_.push_back({}));  // number 0
  known_[0].uses = 1;
}

bool remote_cids::on_retry(base::byte_view scid) noexcept {
  // RFC 9000 17.2.5.2: one Retry, and none behind a packet of the server; 17.2.5.1: with an ID of the server's own.
  if (phase_ != phase::random || scid.size() > wire::max_cid_size || original_.is(scid)) return false;
  known_[0].cid = connection_id::of(scid);
  phase_ = phase::retried;
  return true;
}

// RFC 9000 7.2: the first packet settles it; those that say otherwise are dropped.
bool remote_cids::on_peer_scid(base::byte_view scid) noexcept {
  if (scid.size() > wire::max_cid_size) return false;
  if (phase_ == phase::known) {
    const remote_cid* first = find(0);
    return first == nullptr || first->cid.is(scid);  // retired meanwhile: no longer ours to judge
  }
  known_[0].cid = connection_id::of(scid);
  zero_length_ = scid.empty();
  phase_ = phase::known;
  return true;
}

void remote_cids::set_reset_token(base::byte_view token) noexcept {
  remote_cid* first = find_mutable(0);
  if (first == nullptr || token.size() != wire::stateless_reset_token_size) return;
  first->token = token_of(token);
  ++changes_;
  first->has_token = true;
}

wire::transport_error remote_cids::on_preferred_address(base::byte_view cid, base::byte_view token) noexcept {
  // RFC 9000 18.2.
  if (zero_length_ || cid.empty() || cid.size() > wire::max_cid_size ||
      token.size() != wire::stateless_reset_token_size)
    return wire::transport_error::transport_parameter_error;
  const wire::new_connection_id_frame frame{1, 0, cid, token};  // RFC 9000 5.1.1
  return on_new_connection_id(frame).error;
}

bool remote_cids::was_seen(std::uint64_t sequence) const noexcept {
  if (sequence >= seen_top_) return sequence == seen_top_;
  const std::uint64_t distance = seen_top_ - 1 - sequence;
  return distance < window && (seen_below_ >> distance & 1) != 0;
}

void remote_cids::mark_seen(std::uint64_t sequence) noexcept {
  if (sequence > seen_top_) {
    const std::uint64_t shift = sequence - seen_top_;
    // The old top becomes one of those below.
    if (shift < window)
      seen_below_ = seen_below_ << shift | std::uint64_t{1} << (shift - 1);
    else
      seen_below_ = shift == window ? std::uint64_t{1} << (window - 1) : 0;
    seen_top_ = sequence;
  } else if (sequence < seen_top_ && seen_top_ - 1 - sequence < window) {
    seen_below_ |= std::uint64_t{1} << (seen_top_ - 1 - sequence);
  }
}

wire::transport_error remote_cids::check(const wire::new_connection_id_frame& frame) const noexcept {
  // RFC 9000 19.15: not from a peer without IDs; a server's are not known before its first packet.
  if (zero_length_ || phase_ != phase::known) return wire::transport_error::protocol_violation;
  if (frame.retire_prior_to > frame.sequence || frame.cid.empty() || frame.cid.size() > wire::max_cid_size ||
      frame.stateless_reset_token.size() != wire::stateless_reset_token_size)
    return wire::transport_error::frame_encoding_error;  // RFC 9000 19.15
  for (const remote_cid& c : known_) {
    const bool same_number = c.sequence == frame.sequence;
    const bool same_id = c.cid.is(frame.cid);
    const bool same_token = c.has_token && crypto::equal_secret(c.token, frame.stateless_reset_token);
    // RFC 9000 19.15: one number, one ID, one token. 10.3: no token for two IDs.
    if (same_number != same_id || (same_token && !same_number) || (same_number && c.has_token && !same_token))
      return wire::transport_error::protocol_violation;
  }
  return wire::transport_error::no_error;
}

void remote_cids::queue_retirement(std::uint64_t sequence) noexcept {
  for (const retirement& r : retirements_)
    if (r.sequence == sequence) return;
  // RFC 9000 5.1.2: at least twice the limit may be outstanding.
  if (retirements_.size() >= limits_.active_limit * retirements_per_cid ||
      !retirements_.push_back({.sequence = sequence & largest_sequence, .due = 1})) {
    overflowed_ = true;
    return;
  }
  ++counters_.retired;
}

void remote_cids::retire(std::size_t at) noexcept {
  queue_retirement(known_[at].sequence);
  ++changes_;
  known_.erase(at);
}

// Answers whether one of them was in use.
bool remote_cids::retire_below(std::uint64_t sequence) noexcept {
  bool in_use = false;
  for (std::size_t i = known_.size(); i-- != 0;) {
    if (known_[i].sequence >= sequence) continue;
    in_use |= known_[i].uses != 0;
    retire(i);
  }
  return in_use;
}

remote_cids::received remote_cids::on_new_connection_id(const wire::new_connection_id_frame& frame) noexcept {
  received out;
  out.error = check(frame);
  if (out.error != wire::transport_error::no_error) {
    ++counters_.refused;
    return out;
  }
  // RFC 9000 19.15: Retire Prior To never goes back.
  if (frame.retire_prior_to > retire_prior_to_) {
    retire_prior_to_ = frame.retire_prior_to;
    out.replace = retire_below(retire_prior_to_);
  }
  const bool forgotten = frame.sequence < seen_top_ && seen_top_ - 1 - frame.sequence >= window;
  if (was_seen(frame.sequence) || find(frame.sequence) != nullptr) {
    ++counters_.repeated;
  } else if (forgotten || frame.sequence < retire_prior_to_) {
    mark_seen(frame.sequence);
    ++counters_.retired_on_come;
    queue_retirement(frame.sequence);  // RFC 9000 19.15: at once
  } else {
    mark_seen(frame.sequence);
    ++counters_.received;
    const remote_cid fresh{frame.sequence, connection_id::of(frame.cid), token_of(frame.stateless_reset_token), true,
                           0};
    // RFC 9000 5.1.1: more than we declared.
    if (known_.size() >= limits_.active_limit || !known_.push_back(fresh))
      out.error = wire::transport_error::connection_id_limit_error;
  }
  if (overflowed_) out.error = wire::transport_error::connection_id_limit_error;  // RFC 9000 5.1.2
  if (out.error != wire::transport_error::no_error) ++counters_.refused;
  return out;
}

std::optional<std::uint64_t> remote_cids::take() noexcept {
  remote_cid* best = nullptr;
  for (remote_cid& c : known_)
    if ((c.uses == 0 || zero_length_) && (best == nullptr || c.sequence < best->sequence)) best = &c;
  if (best == nullptr || best->uses == UINT8_MAX) {
    ++counters_.none_unused;
    return std::nullopt;
  }
  ++best->uses;
  ++changes_;
  return best->sequence;
}

bool remote_cids::share(std::uint64_t sequence) noexcept {
  remote_cid* c = find_mutable(sequence);
  if (c == nullptr || c->uses == 0 || c->uses == UINT8_MAX) return false;
  ++c->uses;
  return true;
}

void remote_cids::release(std::uint64_t sequence) noexcept {
  remote_cid* c = find_mutable(sequence);
  if (c == nullptr || c->uses == 0) return;
  --c->uses;
  if (c->uses == 0 && !zero_length_) retire(static_cast<std::size_t>(c - known_.begin()));
}

remote_cid* remote_cids::find_mutable(std::uint64_t sequence) noexcept {
  for (remote_cid& c : known_)
    if (c.sequence == sequence) return &c;
  return nullptr;
}

const remote_cid* remote_cids::find(std::uint64_t sequence) const noexcept {
  for (const remote_cid& c : known_)
    if (c.sequence == sequence) return &c;
  return nullptr;
}

std::size_t remote_cids::unused() const noexcept {
  return static_cast<std::size_t>(
      std::count_if(known_.begin(), known_.end(), [](const remote_cid& c) { return c.uses == 0; }));
}

std::optional<std::uint64_t> remote_cids::retire_to_send() const noexcept {
  for (const retirement& r : retirements_)
    if (r.due) return r.sequence;
  return std::nullopt;
}

void remote_cids::on_retire_sent(std::uint64_t sequence) noexcept {
  for (retirement& r : retirements_)
    if (r.sequence == sequence) r.due = false;
}

// RFC 9000 13.3.
void remote_cids::on_retire_lost(std::uint64_t sequence) noexcept {
  for (retirement& r : retirements_)
    if (r.sequence == sequence) r.due = true;
}

void remote_cids::on_retire_acked(std::uint64_t sequence) noexcept {
  for (std::size_t i = 0; i < retirements_.size(); ++i) {
    if (retirements_[i].sequence != sequence) continue;
    retirements_.erase(i);
    return;
  }
}

remote_cids::tokens remote_cids::tokens_in_use() const noexcept {
  tokens out;
  for (const remote_cid& c : known_)
    if (c.has_token && c.uses != 0) static_cast<void>(out.push_back(c.token));
  return out;
}

}  // namespace millrace::quic::path
