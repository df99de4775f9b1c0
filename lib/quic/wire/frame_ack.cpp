// Ranges come as differences, newest first: each gap and length is subtracted from where the last range ended. What
// could go wrong is going below zero, which in unsigned arithmetic is a huge number: so each difference is compared
// with what is left before it is taken away. The count is not believed either: two bytes a range must be there.
#include "quic/wire/frame_ack.hpp"

#include "base/assert.hpp"

namespace millrace::quic::wire {
namespace {

using base::byte_reader;
using base::parse_errc;
using base::parse_status;
using base::varint_size;

// RFC 9000 19.3.1: the gap counts missing packets less one, so the next range ends gap + 2 below the last one's start.
constexpr std::uint64_t gap_bias = 2;

parse_status check_ranges(byte_reader& in, std::uint64_t count, std::uint64_t smallest) noexcept {
  if (count > in.remaining() / 2) return {parse_errc::truncated, in.offset()};
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint32_t at = in.offset();
    std::uint64_t gap = 0;
    std::uint64_t length = 0;
    if (!in.varint(gap) || !in.varint(length)) return {parse_errc::truncated, in.offset()};
    if (smallest < gap_bias || smallest - gap_bias < gap) return {parse_errc::bad_value, at};
    const std::uint64_t largest = smallest - gap_bias - gap;
    if (length > largest) return {parse_errc::bad_value, at};
    smallest = largest - length;
  }
  return {};
}

bool is_canonical(std::span<const packet_range> ranges) noexcept {
  if (ranges.empty()) return false;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].smallest > ranges[i].largest || ranges[i].largest > base::varint_max) return false;
    if (i != 0 && (ranges[i - 1].smallest < gap_bias || ranges[i].largest > ranges[i - 1].smallest - gap_bias))
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
  return varint_size(ranges[i - 1].smallest - ranges[i].largest - gap_bias) +
         varint_size(ranges[i].largest - ranges[i].smallest);
}

}  // namespace

parse_status parse(byte_reader& in, frame_type type, ack_frame& out) noexcept {
  ack_frame f;
  if (!in.varint(f.largest) || !in.varint(f.delay) || !in.varint(f.range_count))
    return {parse_errc::truncated, in.offset()};
  const std::uint32_t first_at = in.offset();
  if (!in.varint(f.first_range)) return {parse_errc::truncated, first_at};
  if (f.first_range > f.largest) return {parse_errc::bad_value, first_at};
  const base::byte_view from_here = in.rest();
  const std::uint32_t ranges_at = in.offset();
  const parse_status status = check_ranges(in, f.range_count, f.largest - f.first_range);
  if (!status) return status;
  f.ranges = from_here.first(in.offset() - ranges_at);
  f.has_ecn = type == frame_ack_ecn;
  if (f.has_ecn && (!in.varint(f.ecn.ect0) || !in.varint(f.ecn.ect1) || !in.varint(f.ecn.ce)))
    return {parse_errc::truncated, in.offset()};
  out = f;
  return {};
}

bool ack_range_reader::next(packet_range& out) noexcept {
  if (!first_) {
    std::uint64_t gap = 0;
    std::uint64_t length = 0;
    if (left_ == 0 || !in_.varint(gap) || !in_.varint(length)) return false;
    --left_;
    range_.largest = range_.smallest - gap_bias - gap;
    range_.smallest = range_.largest - length;
  }
  first_ = false;
  out = range_;
  return true;
}

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
    at += base::encode_varint(at, ack.ranges[i - 1].smallest - ack.ranges[i].largest - gap_bias);
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
