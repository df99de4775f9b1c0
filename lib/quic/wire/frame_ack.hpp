// quic/wire/frame_ack.hpp - ACK frames: which packets arrived, newest first.
//
// Shape    parse() judges the whole frame once: when it answers ok, every range lies above packet 0 and the reader
//          below cannot fail. The ranges stay encoded in the packet; ack_range_reader walks them, largest first.
//          emit() takes ranges as a receiver keeps them: descending, apart from each other.
// Units    packet numbers; the delay is as on the wire: microseconds / 2^ack_delay_exponent (RFC 9000 19.3).
// Owner    `ranges` dies with the payload.
// Limits   a frame may hold as many ranges as its packet has room for (two bytes each), and all are checked, in one
//          pass. How many of them to act on is the reader's caller's choice; max_acted_ack_ranges is ours.
// Errors   truncated; bad_value: a range that reaches below packet 0.
// Source   RFC 9000 13.2.3 19.3. Tests  test/quic/wire/frame_ack_test.cpp
#pragma once

#include <span>

#include "base/byte_reader.hpp"
#include "base/byte_writer.hpp"
#include "base/parse_status.hpp"
#include "quic/wire/frame_type.hpp"

namespace millrace::quic::wire {

inline constexpr std::size_t max_acted_ack_ranges = 256;  // a peer that is honest needs far fewer

// Packets smallest .. largest, both included.
struct packet_range {
  std::uint64_t smallest = 0;
  std::uint64_t largest = 0;
  friend constexpr bool operator==(const packet_range&, const packet_range&) = default;
};

struct ecn_counts {  // RFC 9000 19.3.2: packets received with each mark, ever, in this number space
  std::uint64_t ect0 = 0;
  std::uint64_t ect1 = 0;
  std::uint64_t ce = 0;
  friend constexpr bool operator==(const ecn_counts&, const ecn_counts&) = default;
};

struct ack_frame {
  std::uint64_t largest = 0;
  std::uint64_t delay = 0;        // unscaled
  std::uint64_t first_range = 0;  // packets below `largest` that the first range also covers
  std::uint64_t range_count = 0;  // ranges behind the first
  base::byte_view ranges;         // range_count pairs of gap and length, encoded
  bool has_ecn = false;
  ecn_counts ecn;  // zeros when has_ecn is false
};

// RFC 9000 19.3.1: the gap counts missing packets less one, so the next range ends gap + 2 below the last one's start.
inline constexpr std::uint64_t ack_gap_bias = 2;

namespace detail {

// Ranges come as differences, newest first: each gap and length is subtracted from where the last range ended. What
// could go wrong is going below zero, which in unsigned arithmetic is a huge number: so each difference is compared
// with what is left before it is taken away. The count is not believed either: two bytes a range must be there.
[[nodiscard]] inline base::parse_status check_ranges(base::byte_reader& in, std::uint64_t count,
                                                     std::uint64_t smallest) noexcept {
  if (count > in.remaining() / 2) return {base::parse_errc::truncated, in.offset()};
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint32_t at = in.offset();
    std::uint64_t gap = 0;
    std::uint64_t length = 0;
    if (!in.varint(gap) || !in.varint(length)) return {base::parse_errc::truncated, in.offset()};
    if (smallest < ack_gap_bias || smallest - ack_gap_bias < gap) return {base::parse_errc::bad_value, at};
    const std::uint64_t largest = smallest - ack_gap_bias - gap;
    if (length > largest) return {base::parse_errc::bad_value, at};
    smallest = largest - length;
  }
  return {};
}

}  // namespace detail

// `type` is frame_ack or frame_ack_ecn, read before; `in` stands behind it.
inline base::parse_status parse(base::byte_reader& in, frame_type type, ack_frame& out) noexcept {
  // Numbers of their own instead of an ack_frame, so that they stay in registers: a frame copied out of memory just
  // behind the stores into it waits for them, longer than all of the reading takes.
  base::byte_reader at = in;
  std::uint64_t largest = 0;
  std::uint64_t delay = 0;
  std::uint64_t count = 0;
  if (!at.varint(largest) || !at.varint(delay) || !at.varint(count)) return {base::parse_errc::truncated, at.offset()};
  const std::uint32_t first_at = at.offset();
  std::uint64_t first = 0;
  if (!at.varint(first)) return {base::parse_errc::truncated, first_at};
  if (first > largest) return {base::parse_errc::bad_value, first_at};
  const base::byte_view from_here = at.rest();
  const base::parse_status status = detail::check_ranges(at, count, largest - first);
  if (!status) return status;
  const std::size_t ranges_size = from_here.size() - at.remaining();
  ecn_counts ecn;
  if (type == frame_ack_ecn && (!at.varint(ecn.ect0) || !at.varint(ecn.ect1) || !at.varint(ecn.ce)))
    return {base::parse_errc::truncated, at.offset()};
  in = at;
  out.largest = largest;
  out.delay = delay;
  out.first_range = first;
  out.range_count = count;
  out.ranges = from_here.first(ranges_size);
  out.has_ecn = type == frame_ack_ecn;
  out.ecn = ecn;
  return {};
}

// The ranges of a frame that parse() accepted. Each call of next() is one range, until it answers false.
class ack_range_reader {
  base::byte_reader in_;
  std::uint64_t left_ = 0;
  packet_range range_;
  bool first_ = true;

 public:
  explicit ack_range_reader(const ack_frame& f) noexcept
      : in_(f.ranges), left_(f.range_count), range_{f.largest - f.first_range, f.largest} {}
  [[nodiscard]] bool next(packet_range& out) noexcept {
    if (!first_) {
      std::uint64_t gap = 0;
      std::uint64_t length = 0;
      if (left_ == 0 || !in_.varint(gap) || !in_.varint(length)) return false;
      --left_;
      range_.largest = range_.smallest - ack_gap_bias - gap;
      range_.smallest = range_.largest - length;
    }
    first_ = false;
    out = range_;
    return true;
  }
};

// What emit() writes. `ranges` is not empty, descends, and leaves at least one packet between neighbours: the caller's
// duty, asserted. `delay` is already scaled down.
struct ack_to_send {
  std::span<const packet_range> ranges{};
  std::uint64_t delay = 0;
  const ecn_counts* ecn = nullptr;  // null: a frame without counts
};

[[nodiscard]] std::size_t encoded_size(const ack_to_send& ack) noexcept;
// How many ranges, from the newest on, make a frame of at most `room` bytes; 0 when not even the first does. RFC 9000
// 13.2.3: the newest matter most, and the older ones were told before.
[[nodiscard]] std::size_t fitting_ranges(const ack_to_send& ack, std::size_t room) noexcept;
// False when there is no room, or the ranges are not as they must be; nothing is written then.
[[nodiscard]] bool emit(base::byte_writer& out, const ack_to_send& ack) noexcept;

}  // namespace millrace::quic::wire
