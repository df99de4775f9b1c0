// Ranges lie in an array, largest first, and a new number is looked for from the front: what comes late is seldom very
// late, so the first or second range decides. A number can lie in a range, extend one at either end, close the gap
// between two, or stand alone; the last two move the ranges behind it. What could go wrong is closing a gap on one
// side only: so both neighbours are looked at before anything is written.
#include "quic/wire/ack_ranges.hpp"

#include <algorithm>

namespace millrace::quic::wire::detail {

arrival insert_packet(ranges_view& view, std::uint64_t number) noexcept {
  packet_range* const end = view.ranges + view.count;
  packet_range* at = view.ranges;
  while (at != end && number < at->smallest) ++at;  // at most the ranges that are kept
  if (at != end && number <= at->largest) return arrival::duplicate;
  // `at` lies below the number, and the one in front of it above.
  const bool extends_lower = at != end && at->largest + 1 == number;
  const bool extends_upper = at != view.ranges && at[-1].smallest - 1 == number;
  if (extends_lower && extends_upper) {
    at[-1].smallest = at->smallest;
    std::copy(at + 1, end, at);
    --view.count;
  } else if (extends_lower) {
    at->largest = number;
  } else if (extends_upper) {
    at[-1].smallest = number;
  } else {
    std::copy_backward(at, end, end + 1);
    *at = {number, number};
    ++view.count;
  }
  return arrival::fresh;
}

}  // namespace millrace::quic::wire::detail
