// Packet numbers in any order into ack_ranges, against a set that keeps every number.
//
// Input    two bytes an operation: what to do, and how far from the largest number so far.
// Holds    nothing is fresh twice; what is neither forgotten nor a duplicate is fresh; ranges are those of the set,
//          descend, lie apart and are never more than the capacity; the frame made of them reads as them.
#include <cstdlib>
#include <set>
#include <vector>

#include "quic/wire/ack_ranges.hpp"

namespace {

using namespace millrace;
using namespace millrace::quic::wire;

void require(bool holds) {
  if (!holds) std::abort();
}

constexpr std::size_t capacity = 6;
using model = std::set<std::uint64_t>;

void check_ranges(const ack_ranges<capacity>& set, const model& numbers) {
  require(set.ranges().size() <= capacity && set.empty() == numbers.empty());
  auto at = numbers.rbegin();
  for (const packet_range& range : set.ranges()) {
    require(range.smallest <= range.largest);
    for (std::uint64_t n = range.largest;; --n, ++at) {
      require(at != numbers.rend() && *at == n);
      if (n == range.smallest) break;
    }
    ++at;
    require(range.smallest == 0 || !numbers.contains(range.smallest - 1));
  }
  require(at == numbers.rend());
}

void check_frame(const ack_ranges<capacity>& set, std::size_t room) {
  ack_to_send ack = set.to_send(room);
  ack.ranges = ack.ranges.first(fitting_ranges(ack, room));
  if (ack.ranges.empty()) return;
  std::vector<std::uint8_t> bytes(encoded_size(ack));
  require(bytes.size() <= room);
  base::byte_writer out(bytes);
  require(emit(out, ack));
  base::byte_reader in(base::byte_view(bytes).subspan(1));
  ack_frame f;
  require(static_cast<bool>(parse(in, bytes[0], f)) && in.empty());
  ack_range_reader reader(f);
  packet_range range;
  for (const packet_range& expected : ack.ranges) require(reader.next(range) && range == expected);
  require(!reader.next(range));
  require(f.has_ecn == (ack.ecn != nullptr) && (!f.has_ecn || f.ecn == set.ecn()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ack_ranges<capacity> set;
  model numbers;
  std::uint64_t top = size % 2 == 0 ? 0 : max_packet_number - 400;
  for (std::size_t i = 0; i + 1 < size && i < 2000; i += 2) {
    const std::uint8_t what = data[i];
    const std::uint64_t number =
        what % 2 == 0 ? top + data[i + 1] % 4 : top - std::min<std::uint64_t>(top, data[i + 1]);
    if (what % 16 == 1) {
      set.forget_below(number);
    } else {
      const std::uint64_t floor = set.floor();
      const bool seen = numbers.contains(number);
      const arrival got = set.add(number, static_cast<ecn_mark>(what >> 6));
      require(seen ? got == (number < floor ? arrival::too_old : arrival::duplicate) : got != arrival::duplicate);
      require(got != arrival::too_old || number < set.floor() || number > max_packet_number);
      if (got == arrival::fresh) numbers.insert(number);
      top = std::max(top, number);
    }
    numbers.erase(numbers.begin(), numbers.lower_bound(set.floor()));
    check_ranges(set, numbers);
    check_frame(set, what);
  }
  return 0;
}
