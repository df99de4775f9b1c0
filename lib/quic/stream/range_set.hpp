// quic/stream/range_set.hpp - a few ranges of stream offsets, ascending, apart from each other, in fixed memory.
//
// Shape    add() joins what touches; remove() cuts. When there is no place for one more range, the set says so and is
//          as it was: the sender then does the safe thing (sends bytes again), it never forgets that bytes are missing.
// Limits   Capacity ranges, part of the type. Work: O(ranges).
// Tests    test/quic/stream/range_set_test.cpp
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace millrace::quic::stream {

struct offset_range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  // not included
  friend constexpr bool operator==(const offset_range&, const offset_range&) = default;
};

template <std::size_t Capacity>
class range_set {
  std::array<offset_range, Capacity> ranges_{};
  std::uint32_t count_ = 0;

 public:
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] bool full() const noexcept { return count_ == Capacity; }
  [[nodiscard]] const offset_range& operator[](std::size_t i) const noexcept { return ranges_[i]; }
  [[nodiscard]] const offset_range* begin() const noexcept { return ranges_.data(); }
  [[nodiscard]] const offset_range* end() const noexcept { return ranges_.data() + count_; }
  void clear() noexcept { count_ = 0; }

  [[nodiscard]] bool add(offset_range r) noexcept {
    if (r.begin >= r.end) return true;
    const std::size_t from = first_reaching(r.begin);
    std::size_t to = from;
    while (to < count_ && ranges_[to].begin <= r.end) ++to;
    if (from == to) {
      if (count_ == Capacity) return false;
      std::copy_backward(ranges_.begin() + from, ranges_.begin() + count_, ranges_.begin() + count_ + 1);
      ranges_[from] = r;
      ++count_;
      return true;
    }
    ranges_[from] = {std::min(ranges_[from].begin, r.begin), std::max(ranges_[to - 1].end, r.end)};
    erase(from + 1, to);
    return true;
  }
  [[nodiscard]] bool remove(offset_range r) noexcept {
    if (r.begin >= r.end) return true;
    std::size_t i = 0;
    while (i < count_ && ranges_[i].end <= r.begin) ++i;
    if (i == count_ || ranges_[i].begin >= r.end) return true;
    if (ranges_[i].begin < r.begin && ranges_[i].end > r.end) {
      if (count_ == Capacity) return false;
      std::copy_backward(ranges_.begin() + i, ranges_.begin() + count_, ranges_.begin() + count_ + 1);
      ++count_;
      ranges_[i].end = r.begin;
      ranges_[i + 1].begin = r.end;
      return true;
    }
    if (ranges_[i].begin < r.begin) ranges_[i++].end = r.begin;
    std::size_t to = i;
    while (to < count_ && ranges_[to].end <= r.end) ++to;
    if (to < count_ && ranges_[to].begin < r.end) ranges_[to].begin = r.end;
    erase(i, to);
    return true;
  }
  // All of `r`, and where there is no place for one more range, what lies between it and its neighbour too.
  void add_covering(offset_range r) noexcept {
    if (add(r)) return;
    // Full, and nothing touches r: the nearer of the ranges on both sides reaches over to it.
    const std::size_t above = first_reaching(r.begin);
    const bool below_is_nearer =
        above == count_ || (above != 0 && r.begin - ranges_[above - 1].end < ranges_[above].begin - r.end);
    if (below_is_nearer)
      ranges_[above - 1].end = r.end;
    else
      ranges_[above].begin = r.begin;
  }
  // Whether all of `r` is in the set.
  [[nodiscard]] bool covers(offset_range r) const noexcept {
    return std::any_of(begin(), end(), [&](const offset_range& x) { return x.begin <= r.begin && r.end <= x.end; });
  }

 private:
  [[nodiscard]] std::size_t first_reaching(std::uint64_t at) const noexcept {
    std::size_t i = 0;
    while (i < count_ && ranges_[i].end < at) ++i;
    return i;
  }
  void erase(std::size_t from, std::size_t to) noexcept {
    if (from >= to) return;
    std::copy(ranges_.begin() + to, ranges_.begin() + count_, ranges_.begin() + from);
    count_ -= static_cast<std::uint32_t>(to - from);
  }
};

}  // namespace millrace::quic::stream
