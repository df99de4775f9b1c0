// A frame is judged before anything is written: first against the ranges already there (different bytes at the same
// place are an attack or a broken stack, never something to choose from), then against the room for one more range and
// the blocks it needs. Only then are its bytes copied and the ranges it touches become one. Overlapping bytes are
// written again: they are the same.

#include "inspect/crypto_reassembly.hpp"

#include <algorithm>

#include "crypto/wiped.hpp"

namespace millrace::inspect {

crypto_reassembly::crypto_reassembly(carver& memory, std::uint32_t blocks, std::uint32_t stream_bytes) noexcept
    : blocks_(memory.take<block>(blocks)),
      next_and_1_(memory.take<std::uint32_t>(blocks)),
      stream_bytes_(std::min<std::uint32_t>(stream_bytes, max_hello_blocks * hello_block_bytes)) {}

std::uint32_t crypto_reassembly::take_block() noexcept {
  ++in_use_;
  if (free_and_1_ == 0) return untouched_++;
  const std::uint32_t i = free_and_1_ - 1;
  free_and_1_ = next_and_1_[i];
  return i;
}

// Whether the kept bytes from `at` on are those of `data`; the range is known to be there.
bool crypto_reassembly::same_bytes(const crypto_stream& s, std::uint32_t at, base::byte_view data) const noexcept {
  while (!data.empty()) {
    const std::uint32_t inside = at % hello_block_bytes;
    const std::size_t take = std::min<std::size_t>(data.size(), hello_block_bytes - inside);
    const block& b = blocks_[s.blocks_and_1[at / hello_block_bytes] - 1];
    if (std::memcmp(b.data() + inside, data.data(), take) != 0) return false;
    data = data.subspan(take);
    at += static_cast<std::uint32_t>(take);
  }
  return true;
}

bool crypto_reassembly::contradicts(const crypto_stream& s, std::uint32_t at, base::byte_view data) const noexcept {
  const auto end = at + static_cast<std::uint32_t>(data.size());
  for (std::uint32_t i = 0; i < s.range_count; ++i) {
    const std::uint32_t from = std::max(at, s.ranges[i].begin);
    const std::uint32_t to = std::min(end, s.ranges[i].end);
    if (from < to && !same_bytes(s, from, data.subspan(from - at, to - from))) return true;
  }
  return false;
}

reassembly_errc crypto_reassembly::add(crypto_stream& s, std::uint64_t offset, base::byte_view data) noexcept {
  if (offset > stream_bytes_ || data.size() > stream_bytes_ - offset) return reassembly_errc::too_far;
  if (data.empty()) return reassembly_errc::ok;
  const auto begin = static_cast<std::uint32_t>(offset);
  const auto end = begin + static_cast<std::uint32_t>(data.size());
  if (contradicts(s, begin, data)) return reassembly_errc::conflict;

  // Ranges [first, last) overlap or touch the new one.
  std::uint32_t first = 0;
  while (first < s.range_count && s.ranges[first].end < begin) ++first;
  std::uint32_t last = first;
  while (last < s.range_count && s.ranges[last].begin <= end) ++last;
  if (first == last && s.range_count == max_hello_ranges) return reassembly_errc::full;

  std::uint32_t missing = 0;
  for (std::uint32_t b = begin / hello_block_bytes; b <= (end - 1) / hello_block_bytes; ++b)
    missing += s.blocks_and_1[b] == 0 ? 1 : 0;
  if (missing > free_count()) return reassembly_errc::full;

  for (std::uint32_t at = begin; at < end;) {
    const std::uint32_t inside = at % hello_block_bytes;
    const auto take = std::min<std::uint32_t>(end - at, static_cast<std::uint32_t>(hello_block_bytes) - inside);
    std::uint32_t& slot = s.blocks_and_1[at / hello_block_bytes];
    if (slot == 0) slot = take_block() + 1;
    std::memcpy(blocks_[slot - 1].data() + inside, data.data() + (at - begin), take);
    at += take;
  }

  crypto_stream::range merged{begin, end};
  if (first != last) {
    merged.begin = std::min(begin, s.ranges[first].begin);
    merged.end = std::max(end, s.ranges[last - 1].end);
  }
  // One range takes the place of last - first; whatever stands behind moves.
  std::memmove(&s.ranges[first] + 1, &s.ranges[0] + last, (s.range_count - last) * sizeof(crypto_stream::range));
  s.ranges[first] = merged;
  s.range_count = s.range_count - (last - first) + 1;
  return reassembly_errc::ok;
}

void crypto_reassembly::copy_out(const crypto_stream& s, std::uint32_t from, std::uint32_t count,
                                 std::uint8_t* out) const noexcept {
  while (count != 0) {
    const std::uint32_t inside = from % hello_block_bytes;
    const auto take = std::min<std::uint32_t>(count, static_cast<std::uint32_t>(hello_block_bytes) - inside);
    std::memcpy(out, blocks_[s.blocks_and_1[from / hello_block_bytes] - 1].data() + inside, take);
    from += take;
    out += take;
    count -= take;
  }
}

void crypto_reassembly::release(crypto_stream& s) noexcept {
  for (std::uint32_t& slot : s.blocks_and_1) {
    if (slot == 0) continue;
    next_and_1_[slot - 1] = free_and_1_;
    free_and_1_ = slot;
    --in_use_;
    slot = 0;
  }
  s.range_count = 0;
}

void crypto_reassembly::wipe() noexcept {
  crypto::wipe({reinterpret_cast<std::uint8_t*>(blocks_.data()), untouched_ * sizeof(block)});
}

}  // namespace millrace::inspect
