// buf/slice.hpp - a run of received bytes that keeps its mbuf alive: read-only, counted, never copied.
//
// Shape    an mbuf and a range inside it. What a parser found in a packet (a STREAM payload, a message body) is kept as
//          a slice until its consumer is done; the packet itself may be freed meanwhile.
// Units    bytes of one segment; a run over several segments is a chain.
// Owner    the object holds one reference; move-only, share() makes another. Views live as long as any holder.
// Limits   65535 holders of one mbuf. The mbuf's bytes are read-only while more than one holds it.
// Errors   of(), share(), part(): an empty slice when the range does not fit or the holders are too many.
// Threads  one lcore: the count is not atomic (buf/segment.hpp).
// Tests    test/buf/slice_test.cpp       Bench  bench/buf/chain_bench.cpp
#pragma once

#include <utility>

#include "buf/packet.hpp"
#include "buf/segment.hpp"

namespace millrace::buf {

class slice {
  rte_mbuf* mbuf_ = nullptr;
  const std::uint8_t* at_ = nullptr;
  std::uint32_t size_ = 0;

  slice(rte_mbuf* held, const std::uint8_t* at, std::uint32_t size) noexcept : mbuf_(held), at_(at), size_(size) {}

 public:
  slice() noexcept = default;
  slice(slice&& other) noexcept
      : mbuf_(std::exchange(other.mbuf_, nullptr)),
        at_(std::exchange(other.at_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  slice& operator=(slice&& other) noexcept {
    if (this != &other) {
      reset();
      mbuf_ = std::exchange(other.mbuf_, nullptr);
      at_ = std::exchange(other.at_, nullptr);
      size_ = std::exchange(other.size_, 0);
    }
    return *this;
  }
  ~slice() { reset(); }

  // Bytes of the packet's first segment; the packet keeps its own reference.
  [[nodiscard]] static slice of(const packet& whole, base::byte_view range) noexcept {
    const base::byte_view all = whole.first();
    if (range.empty() || range.data() < all.data() || range.data() + range.size() > all.data() + all.size()) return {};
    return adopt_shared(whole.raw(), range);
  }
  // For buf itself: `range` lies in the buffer of `m`. The first takes over a reference, the second makes one.
  [[nodiscard]] static slice adopt_held(rte_mbuf* m, base::byte_view range) noexcept {
    return {m, range.data(), static_cast<std::uint32_t>(range.size())};
  }
  [[nodiscard]] static slice adopt_shared(rte_mbuf* m, base::byte_view range) noexcept {
    return hold(m) ? adopt_held(m, range) : slice{};
  }

  [[nodiscard]] base::byte_view bytes() const noexcept { return {at_, size_}; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  [[nodiscard]] slice share() const noexcept { return part(0, size_); }
  // [offset, offset + count) of this slice, with a reference of its own.
  [[nodiscard]] slice part(std::size_t offset, std::size_t count) const noexcept {
    if (offset > size_ || count > size_ - offset || count == 0) return {};
    return adopt_shared(mbuf_, {at_ + offset, count});
  }
  void reset() noexcept {
    if (mbuf_ != nullptr) release(std::exchange(mbuf_, nullptr));
    size_ = 0;
  }

  // For buf itself: the held mbuf; release_held() hands the reference on.
  [[nodiscard]] rte_mbuf* raw() const noexcept { return mbuf_; }
  [[nodiscard]] rte_mbuf* release_held() noexcept {
    size_ = 0;
    return std::exchange(mbuf_, nullptr);
  }
};

}  // namespace millrace::buf
