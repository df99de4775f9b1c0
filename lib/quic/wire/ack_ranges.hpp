// quic/wire/ack_ranges.hpp - the packet numbers that came, as a receiver keeps them to acknowledge them.
//
// Shape    one a packet number space. add() takes the number of a packet that was opened, in any order, and says
//          whether it is new: what is not must not be processed again (RFC 9000 12.3). ranges() descend, largest first
//          and apart from each other, as frame_ack.hpp writes them.
//          A number that follows the largest, which is the rule, costs two comparisons.
// Units    packet numbers. ECN counts are packets, ever, each counted once however often it came.
// Limits   Capacity ranges. One more pushes out the oldest: everything up to its end is forgotten, and what comes from
//          there later is `too_old`, which is treated as a duplicate (RFC 9000 13.2.3). So does forget_below().
// Errors   none: a number above 2^62 - 1 cannot come out of decode_packet_number(), and is `too_old` here.
// Source   RFC 9000 12.3 13.2.3 13.2.4 13.4.1 19.3. Tests  test/quic/wire/ack_ranges_test.cpp
#pragma once

#include <array>

#include "quic/wire/frame_ack.hpp"
#include "quic/wire/packet_number.hpp"

namespace millrace::quic::wire {

inline constexpr std::size_t default_ack_ranges = 32;

// The two bits of the IP header (RFC 3168 5).
enum class ecn_mark : std::uint8_t { not_ect = 0, ect1 = 1, ect0 = 2, ce = 3 };

enum class arrival : std::uint8_t {
  fresh,      // not seen before
  duplicate,  // seen before
  too_old,    // below what is remembered: perhaps seen before
};

namespace detail {

// The work behind add() when a number does not simply follow the largest. `ranges` holds `count` and has room for one
// more than it may keep; the caller cuts.
struct ranges_view {
  packet_range* ranges;
  std::size_t count;
};
[[nodiscard]] arrival insert_packet(ranges_view& view, std::uint64_t number) noexcept;

}  // namespace detail

template <std::size_t Capacity = default_ack_ranges>
class ack_ranges {
  static_assert(Capacity >= 1);
  std::array<packet_range, Capacity + 1> ranges_{};  // descending; one to spare while inserting
  std::size_t count_ = 0;
  std::uint64_t floor_ = 0;  // nothing below is remembered
  ecn_counts ecn_;
  std::uint64_t dropped_ = 0;

  void drop_oldest() noexcept {
    --count_;
    floor_ = ranges_[count_].largest + 1;
    ++dropped_;
  }
  void count(ecn_mark mark) noexcept {
    ecn_.ect0 += mark == ecn_mark::ect0;
    ecn_.ect1 += mark == ecn_mark::ect1;
    ecn_.ce += mark == ecn_mark::ce;
  }

 public:
  arrival add(std::uint64_t number, ecn_mark mark = ecn_mark::not_ect) noexcept {
    if (count_ != 0 && number == ranges_[0].largest + 1 && number <= max_packet_number) {
      ranges_[0].largest = number;
      count(mark);
      return arrival::fresh;
    }
    if (number < floor_ || number > max_packet_number) return arrival::too_old;
    detail::ranges_view view{ranges_.data(), count_};
    const arrival outcome = detail::insert_packet(view, number);
    count_ = view.count;
    if (count_ > Capacity) drop_oldest();
    // Of a full set, a number below all others is itself what was pushed out. It cannot be acknowledged any more, so it
    // counts as lost, and the peer sends again what it carried.
    if (number < floor_) return arrival::too_old;
    if (outcome == arrival::fresh) count(mark);
    return outcome;
  }

  // RFC 9000 13.2.4: numbers below are not acknowledged any more, and are too old from now on. To be called with 1 more
  // than the largest number of an ACK frame that the peer has acknowledged; or with less, to keep late packets welcome.
  void forget_below(std::uint64_t number) noexcept {
    if (number <= floor_) return;
    floor_ = number;
    while (count_ != 0 && ranges_[count_ - 1].largest < number) --count_;
    if (count_ != 0 && ranges_[count_ - 1].smallest < number) ranges_[count_ - 1].smallest = number;
  }

  [[nodiscard]] bool contains(std::uint64_t number) const noexcept {
    for (const packet_range& range : ranges())
      if (number >= range.smallest) return number <= range.largest;
    return false;
  }

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::span<const packet_range> ranges() const noexcept { return {ranges_.data(), count_}; }
  // no_packet_number while nothing is there to be acknowledged.
  [[nodiscard]] std::uint64_t largest() const noexcept { return count_ != 0 ? ranges_[0].largest : no_packet_number; }
  [[nodiscard]] std::uint64_t floor() const noexcept { return floor_; }
  [[nodiscard]] const ecn_counts& ecn() const noexcept { return ecn_; }
  [[nodiscard]] std::uint64_t dropped_ranges() const noexcept { return dropped_; }  // by the capacity, ever

  // What an ACK frame of now says; not empty() is the caller's to check. `delay` is scaled already. RFC 9000 13.4.1:
  // with ECN counts once a packet with a mark has come. Views this object: to be emitted before anything changes.
  [[nodiscard]] ack_to_send to_send(std::uint64_t delay) const noexcept {
    const bool marked = (ecn_.ect0 | ecn_.ect1 | ecn_.ce) != 0;
    return {.ranges = ranges(), .delay = delay, .ecn = marked ? &ecn_ : nullptr};
  }
};

}  // namespace millrace::quic::wire
