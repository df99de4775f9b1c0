// quic/recovery/sent_packets.hpp - the packets of one packet number space that may still be acknowledged or lost.
//
// Shape    a list of blocks of a sent_pool, oldest first. Only packets that count are kept: ack-eliciting ones and
//          those in flight; of the others the largest number is all that is known, so a receiver of a download keeps
//          nothing. on_ack() and detect_lost() report each packet once, with its tokens, to a visitor.
// Work     on_sent() and each packet reported are O(1). An ACK walks the blocks it spans at most once, from the end
//          that is nearer; at most max_acted_ack_ranges ranges of it count, the rest is older than what matters.
// Owner    tokens in a report die when the visitor returns. The pool outlives this.
// Limits   most_blocks a space; reserve() answers no, and the connection then sends nothing that must be kept. An ACK
//          frame for the middle of 1024 blocks costs a microsecond: the connection acts on a few of them a packet.
// Errors   ack_fault: the peer acknowledged what was never sent, which is PROTOCOL_VIOLATION (RFC 9000 13.1, 21.4);
//          what its frame said before that has been acted on, and the connection ends anyway.
// Counts   kept() == acknowledged() + lost() + dropped() + outstanding(), always; spurious() are also in lost().
// Source   RFC 9002 A.1, 6.1. Tests  test/quic/recovery/sent_packets_test.cpp, fuzz/quic_sent_packets_fuzz.cpp
#pragma once

#include <algorithm>
#include <bit>

#include "quic/recovery/sent_pool.hpp"
#include "quic/recovery/skipped.hpp"

namespace millrace::quic::recovery {

enum class ack_fault : std::uint8_t { none, never_sent, skipped };

class sent_packets {
  sent_pool* pool_;
  std::uint32_t oldest_ = no_block;
  std::uint32_t newest_ = no_block;
  std::uint32_t oldest_open_ = no_block;  // blocks before it have nothing open
  std::uint32_t blocks_ = 0;
  std::uint32_t most_blocks_;
  std::uint32_t outstanding_ = 0;
  std::uint32_t eliciting_ = 0;  // of those outstanding
  std::uint64_t largest_sent_ = wire::no_packet_number;
  std::uint64_t largest_acked_ = wire::no_packet_number;
  std::uint64_t last_eliciting_ns_ = 0;
  std::uint64_t loss_ns_ = never_ns;
  std::uint64_t kept_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t spurious_ = 0;
  std::uint64_t dropped_ = 0;
  skipped_numbers skipped_;

 public:
  explicit sent_packets(sent_pool& pool, std::uint32_t most_blocks = 1024) noexcept
      : pool_(&pool), most_blocks_(most_blocks) {}
  sent_packets(const sent_packets&) = delete;
  sent_packets& operator=(const sent_packets&) = delete;
  ~sent_packets() { release_all(); }

  // True when the next on_sent() with up to `tokens` tokens has its place. Before a packet is built.
  [[nodiscard]] bool reserve(unsigned tokens) noexcept {
    if (newest_ != no_block) {
      const sent_block& block = (*pool_)[newest_];
      if (block.count < packets_per_block && block.tokens_used + tokens <= tokens_per_block) [[likely]]
        return true;
    }
    return add_block();
  }
  // `number` is above all before it. After reserve() for as many tokens, at most max_tokens_per_packet. Answers what is
  // kept, for delivery to stamp before anything else happens: `packet` without delivery's fields.
  sent_packet& on_sent(std::uint64_t number, const sent_packet& packet, std::span<const sent_token> tokens) noexcept {
    MILLRACE_ASSERT(largest_sent_ == wire::no_packet_number || number > largest_sent_);
    MILLRACE_ASSERT(newest_ != no_block && tokens.size() <= max_tokens_per_packet);
    sent_block& block = (*pool_)[newest_];
    MILLRACE_ASSERT(block.count < packets_per_block && block.tokens_used + tokens.size() <= tokens_per_block);
    if (block.count == 0) {
      block.base = number;
      block.sequence = kept_;
    }
    const unsigned i = block.count++;
    // 2^32 numbers between two kept packets are not used up in practice; the packet would match no ACK if they were.
    block.offset[i] = static_cast<std::uint32_t>(std::min<std::uint64_t>(number - block.base, UINT32_MAX));
    // Field by field, straight to where they stay: a copy of what was just written in parts would wait for all of them.
    sent_packet& kept = block.packets[i];
    kept.sent_ns = packet.sent_ns;
    kept.bytes = packet.bytes;
    kept.eliciting = packet.eliciting;
    kept.ect = packet.ect;
    kept.path_probe = packet.path_probe;
    kept.token_at = block.tokens_used;
    kept.tokens = static_cast<std::uint8_t>(tokens.size());
    sent_token* to = &block.tokens[block.tokens_used];
    for (const sent_token& token : tokens) *to++ = token;
    block.tokens_used = static_cast<std::uint8_t>(block.tokens_used + tokens.size());
    block.open |= std::uint32_t{1} << i;
    largest_sent_ = number;
    ++kept_;
    ++outstanding_;
    if (kept.eliciting) {
      ++eliciting_;
      last_eliciting_ns_ = kept.sent_ns;
    }
    return kept;
  }
  // A packet that elicits no ACK and is not in flight.
  void on_sent_unkept(std::uint64_t number) noexcept { largest_sent_ = number; }
  void release_idle() noexcept {  // when nothing is kept; also what reserve() took for a packet that was not
    if (outstanding_ == 0 && oldest_ != no_block) [[unlikely]]
      release_all();
  }
  // `number` is the next one, and is not used.
  void on_skipped(std::uint64_t number) noexcept {
    skipped_.add(number);
    largest_sent_ = number;
  }

  // `ranges` answers next(packet_range&), largest first (wire::ack_range_reader); `largest` is the first one's.
  // visitor.acked(const sent_report&) for each newly acknowledged packet, visitor.spurious(const sent_report&) for each
  // that had been declared lost.
  template <class Ranges, class Visitor>
  [[nodiscard]] ack_fault on_ack(std::uint64_t largest, Ranges ranges, Visitor&& visitor) noexcept {
    if (largest_sent_ == wire::no_packet_number || largest > largest_sent_) return ack_fault::never_sent;
    wire::packet_range range;
    std::uint32_t at = no_block;
    bool placed = false;
    for (std::size_t n = 0; n < wire::max_acted_ack_ranges && ranges.next(range); ++n) {
      if (skipped_.is_in(range)) return ack_fault::skipped;
      if (n == 0 && (largest_acked_ == wire::no_packet_number || largest > largest_acked_)) largest_acked_ = largest;
      if (oldest_ == no_block || range.largest < (*pool_)[oldest_].base) continue;  // it may still cover a hole
      if (!placed) at = find(range.largest);
      placed = true;
      while (at != no_block && (*pool_)[at].base > range.largest) at = (*pool_)[at].older;
      while (at != no_block) {
        const std::uint32_t older = (*pool_)[at].older;
        const bool goes_on = (*pool_)[at].base > range.smallest;
        if (!ack_in_block(at, range, visitor) || goes_on) at = older;
        if (!goes_on) break;
      }
    }
    release_idle();
    return ack_fault::none;
  }

  struct loss_rule {
    std::uint64_t now_ns = 0;
    std::uint64_t delay_ns = 0;     // RFC 9002 6.1.2: sent this long before is lost
    std::uint64_t packets = 3;      // RFC 9002 6.1.1: so many numbers below the largest acknowledged is lost
    std::uint64_t remember_ns = 0;  // how long a lost packet is remembered, at least while others are outstanding
  };
  // visitor.lost(const sent_report&) for each packet that is lost by now, ascending; sets loss_ns().
  template <class Visitor>
  void detect_lost(const loss_rule& rule, Visitor&& visitor) noexcept {
    loss_ns_ = never_ns;
    if (largest_acked_ == wire::no_packet_number) return;
    for (std::uint32_t at = first_open(); at != no_block && (*pool_)[at].base <= largest_acked_;) {
      sent_block& block = (*pool_)[at];
      const std::uint32_t newer = block.newer;
      const bool reached = lost_in_block(block, rule, visitor);
      drop_if_done(at);
      if (reached) break;
      at = newer;
    }
    forget_lost(rule);
    release_idle();
  }

  // visitor(const sent_report&) -> bool for each outstanding packet, oldest first, until it answers false. Changes
  // nothing.
  template <class Visitor>
  void for_each_outstanding(Visitor&& visitor) const noexcept {
    for (std::uint32_t at = oldest_; at != no_block; at = (*pool_)[at].newer)
      for (std::uint32_t left = (*pool_)[at].open; left != 0; left &= left - 1)
        if (!visitor(report(at, static_cast<unsigned>(std::countr_zero(left))))) return;
  }
  // All outstanding packets leave as if they were lost (RFC 9000 17.2.5.2: after a Retry), and are counted so.
  template <class Visitor>
  void lose_all(Visitor&& visitor) noexcept {
    for_each_outstanding([&](const sent_report& r) {
      visitor.lost(r);
      return true;
    });
    lost_ += outstanding_;
    close_all();
  }
  // RFC 9002 6.4: the keys are gone; nothing of this space is acknowledged or lost any more. Answers the bytes that
  // were in flight.
  std::uint64_t discard() noexcept;

  void fetch_ahead() const noexcept {
    if (oldest_ != no_block) (*pool_)[oldest_].fetch_ahead();
  }

  [[nodiscard]] bool is_idle() const noexcept { return outstanding_ == 0; }
  [[nodiscard]] std::uint32_t outstanding() const noexcept { return outstanding_; }
  [[nodiscard]] bool has_eliciting() const noexcept { return eliciting_ != 0; }
  [[nodiscard]] std::uint32_t blocks() const noexcept { return blocks_; }
  [[nodiscard]] std::uint64_t largest_sent() const noexcept { return largest_sent_; }    // or no_packet_number
  [[nodiscard]] std::uint64_t largest_acked() const noexcept { return largest_acked_; }  // or no_packet_number
  [[nodiscard]] std::uint64_t last_eliciting_ns() const noexcept { return last_eliciting_ns_; }
  // When detect_lost() will find the next one by time; never_ns when nothing waits for that.
  [[nodiscard]] std::uint64_t loss_ns() const noexcept { return loss_ns_; }
  [[nodiscard]] std::uint64_t kept() const noexcept { return kept_; }
  [[nodiscard]] std::uint64_t acknowledged() const noexcept { return acknowledged_; }
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }
  [[nodiscard]] std::uint64_t spurious() const noexcept { return spurious_; }
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }  // by discard()

 private:
  [[nodiscard]] sent_report report(std::uint32_t at, unsigned i) const noexcept {
    const sent_block& block = (*pool_)[at];
    const sent_packet& p = block.packets[i];
    return {block.base + block.offset[i], block.sequence + i, p, {block.tokens.data() + p.token_at, p.tokens}};
  }
  // How many of the block's packets have a number below `end`.
  [[nodiscard]] static unsigned count_below(const sent_block& block, std::uint64_t end) noexcept {
    if (end <= block.base) return 0;
    const std::uint64_t away = end - block.base;
    unsigned n = away < block.count ? static_cast<unsigned>(away) : block.count;  // fewer where numbers are missing
    while (n != 0 && block.offset[n - 1] >= away) --n;
    return n;
  }
  [[nodiscard]] static constexpr std::uint32_t bits(unsigned from, unsigned to) noexcept {  // [from, to), to <= 31
    return ((std::uint32_t{1} << to) - 1) & ~((std::uint32_t{1} << from) - 1);
  }
  static_assert(packets_per_block < 32);

  // True when the block is still there.
  template <class Visitor>
  bool ack_in_block(std::uint32_t at, const wire::packet_range& range, Visitor& visitor) noexcept {
    sent_block& block = (*pool_)[at];
    const unsigned to = count_below(block, range.largest + 1);
    const unsigned from = count_below(block, range.smallest);
    const std::uint32_t covered = from < to ? bits(from, to) : 0;
    if (const std::uint32_t late = block.lost & covered; late != 0) [[unlikely]] {
      block.lost &= ~covered;
      spurious_ += static_cast<unsigned>(std::popcount(late));
      for (std::uint32_t left = late; left != 0; left &= left - 1) {
        sent_report r = report(at, static_cast<unsigned>(std::countr_zero(left)));
        r.tokens = {};
        visitor.spurious(r);
      }
    }
    const std::uint32_t fresh = block.open & covered;
    if (fresh == 0) return !drop_if_done(at);
    block.open &= ~fresh;
    const auto count = static_cast<unsigned>(std::popcount(fresh));
    acknowledged_ += count;
    outstanding_ -= count;
    for (std::uint32_t left = fresh; left != 0; left &= left - 1) {
      const sent_report r = report(at, static_cast<unsigned>(std::countr_zero(left)));
      eliciting_ -= r.packet.eliciting;
      visitor.acked(r);
    }
    return !drop_if_done(at);
  }

  // True when the packets above the largest acknowledged were reached.
  template <class Visitor>
  bool lost_in_block(sent_block& block, const loss_rule& rule, Visitor& visitor) noexcept {
    const auto at = static_cast<std::uint32_t>(&block - &(*pool_)[0]);
    for (std::uint32_t left = block.open; left != 0; left &= left - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(left));
      const std::uint64_t number = block.base + block.offset[i];
      if (number > largest_acked_) return true;
      const std::uint64_t due_ns = later(block.packets[i].sent_ns, rule.delay_ns);
      if (due_ns > rule.now_ns && largest_acked_ - number < rule.packets) {
        loss_ns_ = due_ns < loss_ns_ ? due_ns : loss_ns_;
        continue;
      }
      block.open &= ~(std::uint32_t{1} << i);
      block.lost |= std::uint32_t{1} << i;
      block.lost_ns = rule.now_ns;
      ++lost_;
      --outstanding_;
      eliciting_ -= block.packets[i].eliciting;
      visitor.lost(report(at, i));
    }
    return false;
  }

  [[nodiscard]] std::uint32_t first_open() noexcept {
    while (oldest_open_ != no_block && (*pool_)[oldest_open_].open == 0 && (*pool_)[oldest_open_].newer != no_block)
      oldest_open_ = (*pool_)[oldest_open_].newer;
    return oldest_open_;
  }
  // Frees a block that nothing waits for and nothing is added to. True when it did.
  bool drop_if_done(std::uint32_t at) noexcept {
    const sent_block& block = (*pool_)[at];
    if ((block.open | block.lost) != 0 || at == newest_) [[likely]]
      return false;
    drop(at);
    return true;
  }
  [[nodiscard]] bool add_block() noexcept;
  [[nodiscard]] std::uint32_t find(std::uint64_t number) const noexcept;
  void drop(std::uint32_t at) noexcept;
  void forget_lost(const loss_rule& rule) noexcept;
  void close_all() noexcept;
  void release_all() noexcept;
};

}  // namespace millrace::quic::recovery
