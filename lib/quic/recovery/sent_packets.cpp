// How sent packets are kept.
//
// Packets enter at the newest block and leave by bits: acknowledged ones clear `open`, lost ones move from `open` to
// `lost`. A block without bits is given back at once, wherever it stands in the list, so one packet that nobody ever
// acknowledges pins one block and not all that follow. The newest block stays while something is outstanding, because
// the next packet goes there; when nothing is, every block goes back.
//
// What could go wrong: a hint into the list (oldest_open_) that outlives its block. drop() is the only place where a
// block leaves, and moves the hint.
#include "quic/recovery/sent_packets.hpp"

namespace millrace::quic::recovery {

bool sent_packets::add_block() noexcept {
  if (blocks_ >= most_blocks_) return false;
  const std::uint32_t b = pool_->take();
  if (b == no_block) return false;
  sent_block& block = (*pool_)[b];
  block.older = newest_;
  if (newest_ != no_block) {
    (*pool_)[newest_].newer = b;
  } else {
    oldest_ = oldest_open_ = b;
  }
  const std::uint32_t before = newest_;
  newest_ = b;
  ++blocks_;
  if (before != no_block) static_cast<void>(drop_if_done(before));  // it was kept only to be filled
  return true;
}

// The newest block whose first packet is not above `number`, found from the end that is nearer. There is one: the
// caller has looked at the oldest.
std::uint32_t sent_packets::find(std::uint64_t number) const noexcept {
  std::uint32_t at = newest_;
  if ((*pool_)[at].count == 0) at = (*pool_)[at].older;  // just reserved
  const std::uint64_t newest_base = (*pool_)[at].base;
  const std::uint64_t oldest_base = (*pool_)[oldest_].base;
  if (number >= newest_base) return at;
  if (newest_base - number < number - oldest_base) {
    while ((*pool_)[at].base > number) at = (*pool_)[at].older;
    return at;
  }
  at = oldest_;
  for (std::uint32_t newer = (*pool_)[at].newer; (*pool_)[newer].base <= number; newer = (*pool_)[newer].newer)
    at = newer;
  return at;
}

void sent_packets::drop(std::uint32_t at) noexcept {
  const sent_block& block = (*pool_)[at];
  (block.older == no_block ? oldest_ : (*pool_)[block.older].newer) = block.newer;
  (block.newer == no_block ? newest_ : (*pool_)[block.newer].older) = block.older;
  if (oldest_open_ == at) oldest_open_ = block.newer == no_block ? oldest_ : block.newer;
  --blocks_;
  pool_->give(at);
}

// Lost packets are kept a while for the acknowledgement that shows they were not. The oldest go first.
void sent_packets::forget_lost(const loss_rule& rule) noexcept {
  while (oldest_ != no_block && oldest_ != newest_) {
    const sent_block& block = (*pool_)[oldest_];
    if (block.open != 0 || later(block.lost_ns, rule.remember_ns) > rule.now_ns) return;
    drop(oldest_);
  }
}

void sent_packets::close_all() noexcept {
  outstanding_ = eliciting_ = 0;
  loss_ns_ = never_ns;
  release_all();
}

std::uint64_t sent_packets::discard() noexcept {
  std::uint64_t in_flight_bytes = 0;
  for_each_outstanding([&](const sent_report& r) {
    in_flight_bytes += r.packet.bytes;
    return true;
  });
  dropped_ += outstanding_;
  close_all();
  return in_flight_bytes;
}

void sent_packets::release_all() noexcept {
  for (std::uint32_t at = oldest_; at != no_block;) {
    const std::uint32_t newer = (*pool_)[at].newer;
    pool_->give(at);
    at = newer;
  }
  oldest_ = newest_ = oldest_open_ = no_block;
  blocks_ = 0;
}

}  // namespace millrace::quic::recovery
