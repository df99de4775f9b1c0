// inspect/aged_pool.hpp - a fixed number of records, taken and given back, with the least recently used at hand.
//
// Shape    a record has a member `aging` of type age. Two lists order the records in use by their last touch: `fresh`
//          holds those only one side has been heard of, `proven` the rest. victim() names who gives way when the pool
//          is full: a fresh record while they fill an eighth or more, so that a flood of one-packet flows evicts its
//          own kind and not the conversations under observation.
// Units    nanoseconds of whatever clock the caller passes as `now`; it must not run backwards.
// Cost     touch() moves a record only when its place is older than move_grain_ns: the lists stay right to that grain
//          (seen_ns - moved_ns never reaches it), and a busy flow costs one compare instead of six writes.
// Owner    memory is the carver's. Records are never constructed: all zero bytes is their value when taken.
// Errors   take(): nullptr when none is free. Threads  one.
// Tests    test/inspect/aged_pool_test.cpp
#pragma once

#include <cstring>
#include <span>

#include "base/assert.hpp"
#include "inspect/carver.hpp"

namespace millrace::inspect {

inline constexpr std::uint32_t nil = 0xFFFF'FFFF;  // no record
inline constexpr std::uint32_t max_records = 1u
                                             << 30;  // of one pool: an index of twice as many slots has 32-bit numbers
inline constexpr std::uint64_t move_grain_ns = 10'000'000;

// A reference that tells when its record is gone or has been taken anew. Zero bytes refer to nothing.
struct record_ref {
  std::uint32_t number_and_1 = 0;
  std::uint32_t generation = 0;

  [[nodiscard]] bool empty() const noexcept { return number_and_1 == 0; }
};

enum class standing : std::uint8_t { unused, fresh, proven };

struct age {
  std::uint64_t seen_ns = 0;   // last touch
  std::uint64_t moved_ns = 0;  // last time the record went to the front of its list
  std::uint32_t newer = 0;     // neighbours in the list; of an unused record, `older` is the next unused one
  std::uint32_t older = 0;
  std::uint32_t generation = 0;  // one more each time the record is taken, so that an old reference is recognised
  standing list = standing::unused;
};

template <class Record>
class aged_pool {
  struct ends {
    std::uint32_t newest = nil;
    std::uint32_t oldest = nil;
    std::uint32_t count = 0;
  };
  std::span<Record> records_;
  std::uint32_t unused_ = nil;   // records given back
  std::uint32_t untouched_ = 0;  // records from here on were never taken, so their pages were never touched
  ends fresh_;
  ends proven_;
  std::uint64_t idle_ns_ = 0;

  [[nodiscard]] ends& list_of(const Record& r) noexcept { return r.aging.list == standing::fresh ? fresh_ : proven_; }
  void link(Record& r, standing where, std::uint64_t now) noexcept {
    const std::uint32_t i = index_of(r);
    r.aging.list = where;
    r.aging.moved_ns = now;
    ends& list = list_of(r);
    r.aging.newer = nil;
    r.aging.older = list.newest;
    (list.newest == nil ? list.oldest : records_[list.newest].aging.newer) = i;
    list.newest = i;
    ++list.count;
  }
  void unlink(Record& r) noexcept {
    ends& list = list_of(r);
    (r.aging.newer == nil ? list.newest : records_[r.aging.newer].aging.older) = r.aging.older;
    (r.aging.older == nil ? list.oldest : records_[r.aging.older].aging.newer) = r.aging.newer;
    --list.count;
  }
  [[nodiscard]] Record* oldest_of(const ends& list) noexcept {
    return list.oldest == nil ? nullptr : &records_[list.oldest];
  }

 public:
  aged_pool() noexcept = default;
  aged_pool(carver& memory, std::uint32_t capacity, std::uint64_t idle_ns) noexcept
      : records_(memory.take<Record>(capacity)), idle_ns_(idle_ns) {}

  [[nodiscard]] std::uint32_t capacity() const noexcept { return static_cast<std::uint32_t>(records_.size()); }
  [[nodiscard]] std::uint32_t in_use() const noexcept { return fresh_.count + proven_.count; }
  [[nodiscard]] std::uint32_t high_water() const noexcept { return untouched_; }  // the most in use at one time
  [[nodiscard]] std::uint32_t fresh_count() const noexcept { return fresh_.count; }
  [[nodiscard]] bool full() const noexcept { return unused_ == nil && untouched_ == records_.size(); }
  [[nodiscard]] std::uint32_t index_of(const Record& r) const noexcept {
    return static_cast<std::uint32_t>(&r - records_.data());
  }
  [[nodiscard]] Record& at(std::uint32_t i) noexcept { return records_[i]; }
  [[nodiscard]] const Record& at(std::uint32_t i) const noexcept { return records_[i]; }
  [[nodiscard]] record_ref ref_to(const Record& r) const noexcept { return {index_of(r) + 1, r.aging.generation}; }
  // The record, if it is still the one the reference was made to.
  [[nodiscard]] Record* resolve(record_ref ref) noexcept {
    if (ref.empty()) return nullptr;
    Record& r = records_[ref.number_and_1 - 1];
    return r.aging.generation == ref.generation && r.aging.list != standing::unused ? &r : nullptr;
  }

  // A zeroed record at the front of `fresh`.
  [[nodiscard]] Record* take(std::uint64_t now) noexcept {
    std::uint32_t i = unused_;
    if (i != nil) {
      unused_ = records_[i].aging.older;
    } else if (untouched_ < records_.size()) {
      i = untouched_++;
    } else {
      return nullptr;
    }
    Record& r = records_[i];
    const std::uint32_t generation = r.aging.generation + 1;
    std::memset(static_cast<void*>(&r), 0, sizeof r);
    r.aging.generation = generation;
    r.aging.seen_ns = now;
    link(r, standing::fresh, now);
    return &r;
  }
  void give(Record& r) noexcept {
    MILLRACE_ASSERT(r.aging.list != standing::unused);
    unlink(r);
    r.aging.list = standing::unused;
    r.aging.older = unused_;
    unused_ = index_of(r);
  }
  void touch(Record& r, std::uint64_t now) noexcept {
    r.aging.seen_ns = now;
    if (now - r.aging.moved_ns < move_grain_ns) return;
    const standing where = r.aging.list;
    unlink(r);
    link(r, where, now);
  }
  // Both sides have been heard: it leaves `fresh`.
  void prove(Record& r) noexcept {
    if (r.aging.list != standing::fresh) return;
    unlink(r);
    link(r, standing::proven, r.aging.seen_ns);
  }

  // A record silent for longer than the idle time, or nullptr.
  [[nodiscard]] Record* expired(std::uint64_t now) noexcept {
    for (const ends* list : {&fresh_, &proven_}) {
      Record* r = oldest_of(*list);
      if (r != nullptr && now - r->aging.seen_ns > idle_ns_) return r;
    }
    return nullptr;
  }
  // Who gives way to a newcomer: nullptr when all are younger than `min_age_ns`, or when none is in use.
  [[nodiscard]] Record* victim(std::uint64_t now, std::uint64_t min_age_ns) noexcept {
    const ends* first = fresh_.count >= records_.size() / 8 ? &fresh_ : &proven_;
    const ends* second = first == &fresh_ ? &proven_ : &fresh_;
    for (const ends* list : {first, second}) {
      Record* r = oldest_of(*list);
      if (r != nullptr && now - r->aging.seen_ns >= min_age_ns) return r;
    }
    return nullptr;
  }
  // Any record in use, or nullptr: to empty the pool at the end.
  [[nodiscard]] Record* any() noexcept {
    const ends& list = fresh_.oldest != nil ? fresh_ : proven_;
    return list.oldest == nil ? nullptr : &records_[list.oldest];
  }
  // fn(Record&) for each record in use, in order of their place in memory.
  template <class Function>
  void for_each(Function fn) {
    for (std::uint32_t i = 0; i < untouched_; ++i)
      if (records_[i].aging.list != standing::unused) fn(records_[i]);
  }
};

}  // namespace millrace::inspect
