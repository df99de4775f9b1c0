// quic/wire/ack_ranges.hpp - the packet numbers that came, as a receiver keeps them to acknowledge them.
//
// Shape    one a packet number space. add() takes the number of a packet that was opened, in any order, and says
//          whether it is new: what is not must not be processed again (RFC 9000 12.3). ranges() descend, largest first
//          and apart from each other, as frame_ack.hpp writes them.
//          A number that follows the largest, which is the rule, costs two comparisons.
// Units    packet numbers. ECN counts are packets, ever, each counted once however often it came.
// Memory   Inline ranges lie in the object itself. Beyond, wants_room() asks for a place of Capacity + 1 ranges, which
//          the caller lends until gives_room(); without it there are Inline ranges. By default there is no such place.
// Limits   Capacity ranges. One more pushes out the oldest: everything up to its end is forgotten, and what comes from
//          there later is `too_old`, which is treated as a duplicate (RFC 9000 13.2.3). So does forget_below().
// Errors   none: a number above 2^62 - 1 cannot come out of decode_packet_number(), and is `too_old` here.
// Source   RFC 9000 12.3 13.2.3 13.2.4 13.4.1 19.3. Tests  test/quic/wire/ack_ranges_test.cpp
#pragma once

#include <algorithm>
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

template <std::size_t Capacity = default_ack_ranges, std::size_t Inline = Capacity>
class ack_ranges {
  static_assert(Inline >= 1 && Inline <= Capacity);
  static constexpr bool may_borrow = Inline < Capacity;
  std::array<packet_range, Inline + 1> inline_{};  // descending; one to spare while inserting
  packet_range* lent_ = nullptr;                   // where they lie instead
  std::size_t count_ = 0;
  std::uint64_t floor_ = 0;  // nothing below is remembered
  ecn_counts ecn_;
  std::uint64_t dropped_ = 0;

  [[nodiscard]] packet_range* at() noexcept { return may_borrow && lent_ != nullptr ? lent_ : inline_.data(); }
  [[nodiscard]] const packet_range* at() const noexcept {
    return may_borrow && lent_ != nullptr ? lent_ : inline_.data();
  }
  void drop_oldest() noexcept {
    --count_;
    floor_ = at()[count_].largest + 1;
    ++dropped_;
  }
  void count(ecn_mark mark) noexcept {
    ecn_.ect0 += mark == ecn_mark::ect0;
    ecn_.ect1 += mark == ecn_mark::ect1;
    ecn_.ce += mark == ecn_mark::ce;
  }

 public:
  arrival add(std::uint64_t number, ecn_mark mark = ecn_mark::not_ect) noexcept {
    if (packet_range& first = at()[0]; count_ != 0 && number == first.largest + 1 && number <= max_packet_number) {
      first.largest = number;
      count(mark);
      return arrival::fresh;
    }
    if (number < floor_ || number > max_packet_number) return arrival::too_old;
    detail::ranges_view view{at(), count_};
    const arrival outcome = detail::insert_packet(view, number);
    count_ = view.count;
    if (count_ > (lent_ != nullptr ? Capacity : Inline)) drop_oldest();
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
    packet_range* const ranges = at();
    while (count_ != 0 && ranges[count_ - 1].largest < number) --count_;
    if (count_ != 0 && ranges[count_ - 1].smallest < number) ranges[count_ - 1].smallest = number;
  }

  // One range more than there are would push out the oldest, although there could be more.
  [[nodiscard]] bool wants_room() const noexcept { return may_borrow && lent_ == nullptr && count_ == Inline; }
  void lend(std::span<packet_range, Capacity + 1> room) noexcept {
    if (!may_borrow || lent_ != nullptr) return;
    std::copy_n(inline_.begin(), count_, room.begin());
    lent_ = room.data();
  }
  // So few are left that they fit in here with some to spare.
  [[nodiscard]] bool gives_room() const noexcept { return may_borrow && lent_ != nullptr && count_ <= Inline / 2; }
  // From here on what was lent is not touched; the oldest that have no place any more are forgotten.
  void end_loan() noexcept {
    if (!may_borrow || lent_ == nullptr) return;
    while (count_ > Inline) drop_oldest();
    std::copy_n(lent_, count_, inline_.begin());
    lent_ = nullptr;
  }

  [[nodiscard]] bool contains(std::uint64_t number) const noexcept {
    for (const packet_range& range : ranges())
      if (number >= range.smallest) return number <= range.largest;
    return false;
  }

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::span<const packet_range> ranges() const noexcept { return {at(), count_}; }
  // no_packet_number while nothing is there to be acknowledged.
  [[nodiscard]] std::uint64_t largest() const noexcept { return count_ != 0 ? at()[0].largest : no_packet_number; }
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
