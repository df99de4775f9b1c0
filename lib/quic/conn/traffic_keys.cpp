// Blocks that are lent stand in a ring, in the order they were lent, and a hand goes round it. Use is only a time in
// the block itself: an order by use would have to be kept with each packet, and its neighbours in that order are cache
// lines of other connections.
#include "quic/conn/traffic_keys.hpp"

namespace millrace::quic::conn {

namespace {

constexpr unsigned looked_at = 16;  // for one to rest, when a block is wanted

}  // namespace

traffic_keys* key_store::get(one_rtt_keys& owner) noexcept {
  traffic_keys* block = blocks_.get();
  if (block == nullptr) {
    traffic_keys* oldest = nullptr;
    for (unsigned i = 0; i < looked_at && hand_ != nullptr; ++i, hand_ = hand_->next)
      if (hand_->owner->may_rest() && (oldest == nullptr || hand_->used_ns < oldest->used_ns)) oldest = hand_;
    if (oldest == nullptr) return nullptr;
    rest(*oldest);
    block = blocks_.get();
    if (block == nullptr) return nullptr;
  }
  block->owner = &owner;
  if (hand_ == nullptr) {
    hand_ = block->next = block->before = block;
    return block;
  }
  block->next = hand_;  // it is looked at last
  block->before = hand_->before;
  block->before->next = block;
  hand_->before = block;
  return block;
}

void key_store::give(traffic_keys* block) noexcept {
  if (block == nullptr) return;
  block->before->next = block->next;
  block->next->before = block->before;
  if (hand_ == block) hand_ = block->next == block ? nullptr : block->next;
  blocks_.give(block);
}

void key_store::rest(traffic_keys& block) noexcept {
  one_rtt_keys& owner = *block.owner;
  block.read->rest(owner.resting_->read);
  block.write->rest(owner.resting_->write);
  owner.rests_ = true;
  owner.block_ = nullptr;
  ++rested_;
  give(&block);
}

void key_store::rest_unused(std::uint64_t below_ns, unsigned most) noexcept {
  for (; most != 0 && hand_ != nullptr; --most) {
    traffic_keys& block = *hand_;
    hand_ = block.next;
    if (block.used_ns < below_ns && block.owner->may_rest()) rest(block);
  }
}

bool one_rtt_keys::install(key_store& store, crypto::engine& engine, const protect::key_context& context,
                           const protect::traffic_secret& secret, bool reads) noexcept {
  if (block_ == nullptr) block_ = store.get(*this);
  if (block_ == nullptr) return false;
  return reads ? (can_read_ = block_->read->install(engine, context, secret))
               : (can_write_ = block_->write->install(engine, context, secret));
}

[[gnu::noinline]] bool one_rtt_keys::wake(key_store& store, crypto::engine& engine) noexcept {
  if (!rests_) return false;
  traffic_keys* block = store.get(*this);
  if (block == nullptr) return false;
  if (!block->read->wake(engine, resting_->read) || !block->write->wake(engine, resting_->write)) {
    store.give(block);  // never: they were made of these very secrets before
    return false;
  }
  block_ = block;
  rests_ = false;
  resting_.clear();
  return true;
}

void one_rtt_keys::release(key_store& store) noexcept {
  store.give(std::exchange(block_, nullptr));
  can_read_ = can_write_ = rests_ = false;
  resting_.clear();
}

}  // namespace millrace::quic::conn
