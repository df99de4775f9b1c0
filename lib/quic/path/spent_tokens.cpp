// A set is four ids, the newest first. Ids come from authentic tokens only, so nobody can aim at one set; the low bits
// choose it, and 0 stands for an empty place (an id of 0 is remembered as 1).
#include "quic/path/spent_tokens.hpp"

#include <algorithm>
#include <bit>

namespace millrace::quic::path {

spent_tokens::spent_tokens(std::span<std::uint64_t> slots) noexcept
    : slots_(slots.first(slots.size() < ways ? 0 : std::bit_floor(slots.size()))) {}

bool spent_tokens::spend(std::uint64_t id) noexcept {
  if (slots_.empty()) return true;
  const std::uint64_t known = std::max<std::uint64_t>(id, 1);
  const std::span<std::uint64_t> set = slots_.subspan((known * ways) & (slots_.size() - 1), ways);
  if (std::find(set.begin(), set.end(), known) != set.end()) {
    ++replays_;
    return false;
  }
  std::shift_right(set.begin(), set.end(), 1);
  set[0] = known;
  return true;
}

}  // namespace millrace::quic::path
