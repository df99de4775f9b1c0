#include "quic/wire/frame_ack.hpp"

#include "base/assert.hpp"

namespace millrace::quic::wire {
namespace {

using base::varint_size;

bool is_canonical(std::span<const packet_range> ranges) noexcept {
  if (ranges.empty()) return false;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].smallest > ranges[i].largest || ranges[i].largest > base::varint_max) return false;
    if (i != 0 && (ranges[i - 1].smallest < ack_gap_bias || ranges[i].largest > ranges[i - 1].smallest - ack_gap_bias))
      return false;
  }
  return true;
}

// All but the count of ranges and the ranges behind the first.
std::size_t fixed_size(const ack_to_send& ack) noexcept {
  const packet_range& first = ack.ranges.front();
  std::size_t size =
      1 + varint_size(first.largest) + varint_size(ack.delay) + varint_size(first.largest - first.smallest);
  if (ack.ecn != nullptr) size += varint_size(ack.ecn->ect0) + varint_size(ack.ecn->ect1) + varint_size(ack.ecn->ce);
  return size;
}

std::size_t range_size(std::span<const packet_range> ranges, std::size_t i) noexcept {
  return varint_size(ranges[i - 1].smallest - ranges[i].largest - ack_gap_bias) +
         varint_size(ranges[i].largest - ranges[i].smallest);
}

}  // namespace

std::size_t encoded_size(const ack_to_send& ack) noexcept {
  MILLRACE_ASSERT(is_canonical(ack.ranges));
  std::size_t size = fixed_size(ack) + varint_size(ack.ranges.size() - 1);
  for (std::size_t i = 1; i < ack.ranges.size(); ++i) size += range_size(ack.ranges, i);
  return size;
}

std::size_t fitting_ranges(const ack_to_send& ack, std::size_t room) noexcept {
  if (ack.ranges.empty()) return 0;
  MILLRACE_ASSERT(is_canonical(ack.ranges));
  std::size_t size = fixed_size(ack);
  std::size_t count = 0;
  while (count < ack.ranges.size()) {
    if (count != 0) size += range_size(ack.ranges, count);
    if (size + varint_size(count) > room) break;  // the count on the wire is of those behind the first
    ++count;
  }
  return count;
}

bool emit(base::byte_writer& out, const ack_to_send& ack) noexcept {
  base::byte_span room;
  if (!is_canonical(ack.ranges) || !out.reserve(encoded_size(ack), room)) return false;
  std::uint8_t* at = room.data();
  const packet_range& first = ack.ranges.front();
  *at++ = static_cast<std::uint8_t>(ack.ecn != nullptr ? frame_ack_ecn : frame_ack);
  at += base::encode_varint(at, first.largest);
  at += base::encode_varint(at, ack.delay);
  at += base::encode_varint(at, ack.ranges.size() - 1);
  at += base::encode_varint(at, first.largest - first.smallest);
  for (std::size_t i = 1; i < ack.ranges.size(); ++i) {
    at += base::encode_varint(at, ack.ranges[i - 1].smallest - ack.ranges[i].largest - ack_gap_bias);
    at += base::encode_varint(at, ack.ranges[i].largest - ack.ranges[i].smallest);
  }
  if (ack.ecn != nullptr) {
    at += base::encode_varint(at, ack.ecn->ect0);
    at += base::encode_varint(at, ack.ecn->ect1);
    at += base::encode_varint(at, ack.ecn->ce);
  }
  MILLRACE_ASSERT(at == room.data() + room.size());
  return true;
}

}  // namespace millrace::quic::wire
