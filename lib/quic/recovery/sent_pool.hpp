// quic/recovery/sent_pool.hpp - the memory of sent packets: one pool a lcore, lent to connections in blocks of 2 KiB.
//
//   block 2048 bytes | header 48 | numbers 28 x 4 | packets 28 x 40 | tokens 48 x 16 |
//
// Shape    a block holds up to 28 packets of one packet number space, ascending, and the tokens of what they carried.
//          What happened to a packet is a bit in the block's header: `open` until it is acknowledged or lost, `lost` so
//          that an acknowledgement that comes later is recognised. An idle connection holds no block at all.
// Units    blocks.
// Owner    the pool owns all blocks; who took one gives it back. Numbers instead of pointers link them.
// Limits   the number of blocks is fixed when the pool is made.
// Errors   take(): no_block when all are lent, counted.
// Threads  one lcore. Tests  test/quic/recovery/sent_packets_test.cpp
#pragma once

#include <array>
#include <span>

#include "base/assert.hpp"
#include "base/fetch_ahead.hpp"
#include "mem/region.hpp"
#include "quic/recovery/types.hpp"
#include "stats/drop_counters.hpp"

namespace millrace::quic::recovery {

struct sent_packet {
  std::uint64_t sent_ns = 0;
  std::uint64_t delivered_bytes = 0;  // the path's count when this was sent: quic/recovery/delivery.hpp
  std::uint64_t delivered_ns = 0;     // when that count was reached
  std::uint64_t first_sent_ns = 0;    // when the packet that began this stretch of sending left
  std::uint16_t bytes = 0;            // of the whole packet, as it counts in flight; 0: not in flight
  std::uint8_t token_at = 0;          // in its block
  std::uint8_t tokens = 0;
  bool eliciting = false;
  bool ect = false;          // sent with ECT(0)
  bool app_limited = false;  // the application had left the window open: no proof of the path's capacity
  bool path_probe = false;   // RFC 9000 14.4: its loss says nothing about congestion
};
static_assert(sizeof(sent_packet) == 40, "28 packets fit a block with their tokens");

inline constexpr unsigned packets_per_block = 28;
inline constexpr unsigned tokens_per_block = 48;
inline constexpr unsigned max_tokens_per_packet = 32;  // what one packet may carry; the builder stops there
inline constexpr std::uint32_t no_block = UINT32_MAX;

struct alignas(64) sent_block {
  std::uint64_t base = 0;      // number of the first packet; UINT64_MAX while there is none
  std::uint64_t sequence = 0;  // of the first packet, counting only packets that are kept
  std::uint64_t lost_ns = 0;   // when one of them was last declared lost
  std::uint32_t older = no_block;
  std::uint32_t newer = no_block;
  std::uint32_t open = 0;  // a bit a packet: neither acknowledged nor lost
  std::uint32_t lost = 0;  // a bit a packet: declared lost and not seen since
  std::uint8_t count = 0;
  std::uint8_t tokens_used = 0;
  alignas(8) std::array<std::uint32_t, packets_per_block> offset;  // number less base, ascending
  std::array<sent_packet, packets_per_block> packets;
  std::array<sent_token, tokens_per_block> tokens;

  // Into the cache: what an ACK looks at when few packets were sent.
  void fetch_ahead() const noexcept {
    base::fetch_ahead(this, 256);
    base::fetch_ahead(&tokens, 64);
  }
};
static_assert(sizeof(sent_block) == 2048);

// What a visitor is shown. `tokens` is empty for what was lost before and is acknowledged now.
struct sent_report {
  std::uint64_t number = 0;
  std::uint64_t sequence = 0;  // neighbours among the kept packets differ by one
  const sent_packet& packet;
  std::span<const sent_token> tokens;
};

class sent_pool {
  mem::region memory_;
  std::span<sent_block> blocks_;
  std::uint32_t free_ = no_block;
  std::uint32_t fresh_ = 0;
  stats::counter lent_;
  std::uint64_t refused_ = 0;

 public:
  // Set-up code. Fewer blocks than asked (none) when there is no memory: see capacity().
  explicit sent_pool(std::uint32_t blocks, int socket = mem::any_socket) noexcept
      : memory_(mem::region::make_array<sent_block>("quic_sent", blocks, socket)),
        blocks_(memory_.array<sent_block>()) {}
  sent_pool(const sent_pool&) = delete;
  sent_pool& operator=(const sent_pool&) = delete;

  // An empty block, or no_block.
  [[nodiscard]] std::uint32_t take() noexcept {
    std::uint32_t b = free_;
    if (b != no_block) {
      free_ = blocks_[b].newer;
    } else if (fresh_ < blocks_.size()) {
      b = fresh_++;
    } else {
      ++refused_;
      return no_block;
    }
    lent_.add(1);
    sent_block& block = blocks_[b];
    block.base = UINT64_MAX;  // above every number until a packet is in it
    block.older = block.newer = no_block;
    block.open = block.lost = 0;
    block.count = block.tokens_used = 0;
    return b;
  }
  void give(std::uint32_t b) noexcept {
    MILLRACE_ASSERT(b < fresh_ && lent_.get() != 0);
    blocks_[b].newer = free_;
    free_ = b;
    lent_.set(lent_.get() - 1);
  }
  [[nodiscard]] sent_block& operator[](std::uint32_t b) noexcept { return blocks_[b]; }

  [[nodiscard]] std::uint32_t capacity() const noexcept { return static_cast<std::uint32_t>(blocks_.size()); }
  [[nodiscard]] std::uint32_t lent() const noexcept { return static_cast<std::uint32_t>(lent_.get()); }  // any lcore
  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_; }
};

}  // namespace millrace::quic::recovery
