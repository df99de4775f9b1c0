// srmp/pending_requests.hpp - a client's requests to one peer that wait for their replies: 256 at most, the sequence is
// one byte.
//
// Shape    begin() numbers a request and keeps its cookie and deadline; match() finds whose reply a sequence is, the
//          newest of that number first; expire() gives up those whose deadline has passed.
// Numbers  1, 2, ... 255, 0, 1, ... leaving out those that still wait, so that a reply names one request. With `wanted`
//          a caller insists on a number, also on one that waits: then the newer request is answered first.
// Time     passed in, in the caller's unit. Nothing expires before its deadline; a time that goes back expires nothing.
// Owner    nothing; cookies are the caller's. The table is its own memory, some 7 KB: put it where tables lie.
// Errors   begin(): nullopt when 256 wait. match(): nullopt for a sequence nobody waits for. Both are values.
// Threads  one.
// Source   the SRMP sheet, 3. Tests  test/srmp/pending_requests_test.cpp
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "srmp/wire/exchange.hpp"

namespace millrace::srmp {

struct pending_request {
  std::uint64_t cookie = 0;
  std::uint64_t deadline = 0;  // UINT64_MAX: waits for ever
  std::uint8_t seq = 0;
};

class pending_requests {
  static constexpr std::size_t count = wire::max_in_flight;
  static constexpr std::uint16_t none = count;
  using bits = std::array<std::uint64_t, count / 64>;

  struct entry {
    std::uint64_t cookie;
    std::uint64_t deadline;
    std::uint16_t older;  // of the same sequence; none when there is no other
    std::uint8_t seq;
  };

  std::array<entry, count> entries_{};
  std::array<std::uint16_t, count> newest_;  // by sequence; none when nobody waits for it
  bits used_{};                              // entries
  bits waiting_{};                           // sequences
  std::size_t size_ = 0;
  std::uint64_t earliest_ = UINT64_MAX;  // no deadline is before it
  std::uint8_t last_ = 0;

  static void set(bits& in, std::size_t i) noexcept { in[i / 64] |= std::uint64_t{1} << (i % 64); }
  static void clear(bits& in, std::size_t i) noexcept { in[i / 64] &= ~(std::uint64_t{1} << (i % 64)); }
  // The first unset bit at or after `from`, around the end; one is unset.
  [[nodiscard]] static std::size_t first_unset(const bits& in, std::size_t from) noexcept {
    std::size_t word = from / 64;
    std::uint64_t open = ~in[word] & ~std::uint64_t{0} << (from % 64);
    while (open == 0) {
      word = (word + 1) % in.size();
      open = ~in[word];
    }
    return word * 64 + static_cast<std::size_t>(std::countr_zero(open));
  }

  // Takes `at` out of its sequence's chain, which is one entry long unless callers choose numbers.
  void remove(std::size_t at) noexcept {
    const entry& gone = entries_[at];
    if (newest_[gone.seq] == at) {
      newest_[gone.seq] = gone.older;
      if (gone.older == none) clear(waiting_, gone.seq);
    } else {
      std::size_t newer = newest_[gone.seq];
      while (entries_[newer].older != at) newer = entries_[newer].older;
      entries_[newer].older = gone.older;
    }
    clear(used_, at);
    --size_;
  }

 public:
  pending_requests() noexcept { newest_.fill(none); }

  // The sequence to send; nullopt when the table is full, nothing changed.
  [[nodiscard]] std::optional<std::uint8_t> begin(std::uint64_t cookie, std::uint64_t deadline,
                                                  std::optional<std::uint8_t> wanted = std::nullopt) noexcept {
    if (size_ == count) return std::nullopt;
    if (!wanted) {
      // 256 may wait under fewer numbers only when callers choose them, so one is free unless all 256 wait.
      last_ = static_cast<std::uint8_t>(first_unset(waiting_, static_cast<std::uint8_t>(last_ + 1)));
    }
    const std::uint8_t seq = wanted.value_or(last_);
    const std::size_t at = first_unset(used_, 0);
    entries_[at] = {cookie, deadline, newest_[seq], seq};
    newest_[seq] = static_cast<std::uint16_t>(at);
    set(used_, at);
    set(waiting_, seq);
    ++size_;
    earliest_ = std::min(earliest_, deadline);
    return seq;
  }

  // The request that a reply with `seq` answers, which waits no longer.
  [[nodiscard]] std::optional<pending_request> match(std::uint8_t seq) noexcept {
    const std::size_t at = newest_[seq];
    if (at == none) return std::nullopt;
    const pending_request found{entries_[at].cookie, entries_[at].deadline, seq};
    remove(at);
    return found;
  }

  // The same without taking it: for replies that come in several frames.
  [[nodiscard]] std::optional<pending_request> find(std::uint8_t seq) const noexcept {
    const std::size_t at = newest_[seq];
    if (at == none) return std::nullopt;
    return pending_request{entries_[at].cookie, entries_[at].deadline, seq};
  }

  // Takes back the newest request of `seq`, e.g. when it could not be sent. False when there is none.
  bool cancel(std::uint8_t seq) noexcept { return match(seq).has_value(); }

  // on_expired(pending_request) for each whose deadline is `now` or before; it is gone by then, and the call may begin
  // another. Answers how many. Looks at the table only when something can have expired.
  template <class OnExpired>
  std::size_t expire(std::uint64_t now, OnExpired&& on_expired) noexcept {
    if (now < earliest_ || size_ == 0) return 0;
    std::array<pending_request, count> gone;
    std::size_t expired = 0;
    earliest_ = UINT64_MAX;
    for (std::size_t word = 0; word < used_.size(); ++word)
      for (std::uint64_t left = used_[word]; left != 0; left &= left - 1) {
        const std::size_t at = word * 64 + static_cast<std::size_t>(std::countr_zero(left));
        const entry& one = entries_[at];
        if (one.deadline > now || one.deadline == UINT64_MAX) {
          earliest_ = std::min(earliest_, one.deadline);
        } else {
          gone[expired++] = {one.cookie, one.deadline, one.seq};
          remove(at);
        }
      }
    for (std::size_t i = 0; i < expired; ++i) on_expired(gone[i]);
    return expired;
  }

  // All of them, whatever their deadline: the conversation is over.
  template <class OnGone>
  void abandon(OnGone&& on_gone) noexcept {
    for (std::size_t seq = 0; seq < count; ++seq)
      while (const auto one = match(static_cast<std::uint8_t>(seq))) on_gone(*one);
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] static constexpr std::size_t capacity() noexcept { return count; }
  // No deadline is before it; UINT64_MAX when there is none. May lie before the first one after a reply came.
  [[nodiscard]] std::uint64_t next_deadline() const noexcept { return size_ == 0 ? UINT64_MAX : earliest_; }
};

}  // namespace millrace::srmp
