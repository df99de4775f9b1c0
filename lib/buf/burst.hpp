// buf/burst.hpp - the packets between one receive and one transmit: a fixed array that owns what it holds.
//
// Shape    slots 0..size()-1 in arrival order. A stage reads views, drops or takes single packets (which leaves
//          holes), then calls compact() once; a transmit needs a burst without holes.
// Units    packets; length() and bytes() are bytes over all segments.
// Owner    the burst: what is left in it is freed on destruction. Ports put packets in and take them out through raw().
//          Views live until the packet is dropped, taken or sent.
// Limits   `capacity` slots. Nothing allocates; a whole burst is freed in one call.
// Errors   fill(): false, and nothing added, when the pool is empty (the caller counts) or there is no room.
// Threads  one lcore.
// Tests    test/buf/burst_test.cpp       Bench  bench/buf/burst_bench.cpp
#pragma once

#include <rte_prefetch.h>

#include <algorithm>
#include <array>

#include "base/assert.hpp"
#include "buf/free_bulk.hpp"
#include "buf/packet.hpp"
#include "stats/drop_counters.hpp"

namespace millrace::buf {

inline constexpr unsigned default_burst_pkts = 32;

// What the driver said about received checksums. Virtual devices say nothing.
enum class verdict : std::uint8_t { unknown, good, bad };
struct checksum_verdict {
  verdict ip = verdict::unknown;         // of the outermost IPv4 header
  verdict transport = verdict::unknown;  // of UDP or TCP directly behind it
};

class burst {
 public:
  static constexpr unsigned capacity = 512;  // testpmd's largest as well

 private:
  unsigned size_ = 0;
  unsigned holes_ = 0;
  std::array<rte_mbuf*, capacity> slots_;  // only the first size_ mean anything

 public:
  // slots_ stays unwritten: 4 KiB of zeroes would say nothing that size_ does not.
  burst() noexcept {}  // NOLINT(cppcoreguidelines-pro-type-member-init)
  burst(const burst&) = delete;
  burst& operator=(const burst&) = delete;
  ~burst() { free_all(); }

  [[nodiscard]] unsigned size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] unsigned room() const noexcept { return capacity - size_; }
  [[nodiscard]] bool has_holes() const noexcept { return holes_ != 0; }
  [[nodiscard]] bool is_hole(unsigned i) const noexcept { return slots_[i] == nullptr; }

  // --- what a stage reads; slot i must hold a packet ---
  [[nodiscard]] base::byte_view first(unsigned i) const noexcept { return first_segment(slots_[i]); }
  [[nodiscard]] std::uint32_t length(unsigned i) const noexcept { return slots_[i]->pkt_len; }
  [[nodiscard]] bool is_chain(unsigned i) const noexcept { return slots_[i]->nb_segs != 1; }
  // The whole packet; copied into scratch when it is a chain, empty when it does not fit there.
  [[nodiscard]] base::byte_view flat(unsigned i, base::byte_span scratch) const noexcept {
    return flatten(slots_[i], scratch);
  }
  [[nodiscard]] checksum_verdict checksums(unsigned i) const noexcept {
    const std::uint64_t flags = slots_[i]->ol_flags & (RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK);
    if (flags == 0) [[likely]]
      return {};
    // "None" (both bits) means the field is wrong and the data sound: a packet of the same host. It counts as good.
    const auto judged = [flags](std::uint64_t mask, std::uint64_t bad) {
      const std::uint64_t bits = flags & mask;
      return bits == 0 ? verdict::unknown : bits == bad ? verdict::bad : verdict::good;
    };
    return {.ip = judged(RTE_MBUF_F_RX_IP_CKSUM_MASK, RTE_MBUF_F_RX_IP_CKSUM_BAD),
            .transport = judged(RTE_MBUF_F_RX_L4_CKSUM_MASK, RTE_MBUF_F_RX_L4_CKSUM_BAD)};
  }
  // For stages that rewrite headers in place; forwarding owns the packet alone.
  [[nodiscard]] base::byte_span writable_first(unsigned i) noexcept {
    return {static_cast<std::uint8_t*>(slots_[i]->buf_addr) + slots_[i]->data_off, slots_[i]->data_len};
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    std::uint64_t sum = 0;
    for (unsigned i = 0; i < size_; ++i) sum += slots_[i]->pkt_len;
    return sum;
  }
  // The mbuf itself (a driver wrote it on receipt, perhaps on another lcore), then, once that is near, the bytes.
  void prefetch_header(unsigned i) const noexcept { rte_prefetch0(slots_[i]); }
  void prefetch_data(unsigned i, unsigned offset = 0) const noexcept {
    rte_prefetch0(static_cast<const char*>(slots_[i]->buf_addr) + slots_[i]->data_off + offset);
  }

  // --- what changes ownership ---
  // One drop, one free, one counter. Leaves a hole.
  void drop(unsigned i, stats::drop_reason reason, stats::drop_counters& drops) noexcept {
    free_packet(std::exchange(slots_[i], nullptr));
    ++holes_;
    drops.add(reason);
  }
  // Moves one packet out. Leaves a hole.
  [[nodiscard]] packet take(unsigned i) noexcept {
    ++holes_;
    return packet{std::exchange(slots_[i], nullptr)};
  }
  // A packet lent to who may change its bytes and keep slices of it, though not take it: the burst frees it as before.
  class lent {
    packet one_;

   public:
    lent() noexcept = default;
    explicit lent(rte_mbuf* m) noexcept : one_(m) {}
    lent(lent&&) noexcept = default;
    lent& operator=(lent&& other) noexcept {
      static_cast<void>(one_.release());
      one_ = std::move(other.one_);
      return *this;
    }
    ~lent() { static_cast<void>(one_.release()); }
    [[nodiscard]] packet& operator*() noexcept { return one_; }
  };
  [[nodiscard]] lent lend(unsigned i) noexcept { return lent{slots_[i]}; }
  // Closes the holes; the order stays.
  void compact() noexcept {
    if (holes_ == 0) return;
    rte_mbuf** end = std::remove(slots_.data(), slots_.data() + size_, nullptr);
    size_ = static_cast<unsigned>(end - slots_.data());
    holes_ = 0;
  }
  // Drops slots from..size()-1, e.g. what a transmit refused. No holes may be left in them.
  void drop_from(unsigned from, stats::drop_reason reason, stats::drop_counters& drops) noexcept {
    if (from >= size_) return;
    drops.add(reason, size_ - from);
    free_bulk(slots_.data() + from, size_ - from);
    size_ = from;
  }
  void drop_all(stats::drop_reason reason, stats::drop_counters& drops) noexcept {
    compact();
    drop_from(0, reason, drops);
  }
  // Frees without a drop: for packets that were counted otherwise (held at exit, delivered).
  void free_all() noexcept {
    compact();
    free_bulk(slots_.data(), size_);
    size_ = 0;
  }
  [[nodiscard]] bool push(packet&& one) noexcept {
    if (size_ == capacity || !one) return false;
    slots_[size_++] = one.release();
    return true;
  }
  // Adds `count` empty packets from `pool`.
  [[nodiscard]] bool fill(mem::packet_pool& pool, unsigned count) noexcept {
    if (count > room() || !pool.alloc_bulk(slots_.data() + size_, count)) return false;
    size_ += count;
    return true;
  }
  // Room for `count` bytes in a packet that fill() added, as its only content. False when its buffer is smaller.
  [[nodiscard]] bool set_length(unsigned i, std::uint16_t count) noexcept {
    rte_mbuf* m = slots_[i];
    if (count > m->buf_len - m->data_off) return false;
    m->data_len = count;
    m->pkt_len = count;
    return true;
  }

  // --- for ports: adopt() after writing `count` pointers at raw() + size(); forget_front() after the NIC took them ---
  [[nodiscard]] rte_mbuf** raw() noexcept { return slots_.data(); }
  void adopt(unsigned count) noexcept {
    MILLRACE_ASSERT(count <= room());
    size_ += count;
  }
  void forget_all() noexcept { size_ = 0; }
  // The first `count` belong to somebody else now; the rest move to the front.
  void forget_front(unsigned count) noexcept {
    MILLRACE_ASSERT(count <= size_ && holes_ == 0);
    std::copy(slots_.data() + count, slots_.data() + size_, slots_.data());
    size_ -= count;
  }
};

}  // namespace millrace::buf
