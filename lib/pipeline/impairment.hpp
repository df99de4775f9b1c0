// pipeline/impairment.hpp - a bad wire in front of a receive queue: it loses, delays and reorders, by a seed.
//
// Shape    receive() stands where port::rx_burst() does: it takes what the queue has, loses some of it on purpose,
// keeps
//          the rest until its time, and hands over what is due, in the order of its time and, at equal times, of its
//          arrival. A port with a wire at each end has both directions impaired. Two queues hold what waits: what is
//          only late, and what is held back behind later packets; each is in order by itself, so that releasing is a
//          merge and nothing is ever sorted.
// Units    percent of packets, ns of the caller's clock.
// Owner    what waits is the wire's; what was handed over is the burst's. Waiting packets are freed with the object.
// Limits   most_held packets wait, in an array that is made at construction. While it is full, packets stay in the
// queue
//          they came by, and figures().full counts each time: a long, thin wire fills up from behind.
// Balance  taken == passed + lost + abandoned + waiting, at any time. A loss is counted as received and dropped
// (`impaired`) in the
//          receiver's counters, so that rx + originated == tx + delivered + held + drops there as ever.
// Errors   check(): what of the settings cannot be. Threads  one lcore; figures may be read from anywhere.
// Tests    test/pipeline/impairment_test.cpp
#pragma once

#include <memory>

#include "base/result.hpp"
#include "buf/burst.hpp"
#include "pipeline/counts.hpp"

namespace millrace::pipeline {

struct impairment_settings {
  double loss_percent = 0;
  double reorder_percent = 0;  // of the packets that are not lost
  std::uint64_t delay_ns = 0;  // of every packet
  // How much longer a packet is held back: those that arrive meanwhile overtake it.
  std::uint64_t hold_back_ns = 200'000;
  std::uint64_t seed = 1;
  std::uint32_t most_held = 8192;

  // Whether there is anything to do: without it, no wire is needed.
  [[nodiscard]] bool is_needed() const noexcept { return loss_percent > 0 || reorder_percent > 0 || delay_ns != 0; }
};

struct impairment_figures {
  stats::counter taken;
  stats::counter passed;
  stats::counter lost;
  stats::counter abandoned;  // at the end
  stats::counter held_back;
  stats::counter overtaken;  // of them: a later packet was in fact handed over first
  stats::counter full;       // times that packets had to stay in the queue
};

class impairment {
  struct waiting {
    buf::packet one;
    std::uint64_t due_ns = 0;
    std::uint64_t number = 0;  // of arrival
  };
  // First in, first out; due times never go back.
  class line {
    std::unique_ptr<waiting[]> slots_;
    std::uint32_t mask_;
    std::uint32_t first_ = 0;
    std::uint32_t size_ = 0;

   public:
    explicit line(std::uint32_t slots);
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
    [[nodiscard]] const waiting& front() const noexcept { return slots_[first_ & mask_]; }
    void push(waiting&& last) noexcept { slots_[(first_ + size_++) & mask_] = std::move(last); }
    [[nodiscard]] waiting pop() noexcept {
      --size_;
      return std::move(slots_[first_++ & mask_]);
    }
  };

  std::uint64_t delay_ns_;
  std::uint64_t hold_back_ns_;
  std::uint64_t random_;
  std::uint64_t lose_below_;  // of 2^32
  std::uint64_t hold_below_;
  std::uint32_t most_held_;
  line late_;
  line held_back_;
  std::uint64_t arrivals_ = 0;
  std::uint64_t newest_passed_ = 0;  // number + 1 of the newest packet that was handed over
  impairment_figures figures_;
  buf::burst arriving_;

  [[nodiscard]] std::uint32_t next_random() noexcept;

 public:
  [[nodiscard]] static base::outcome check(const impairment_settings& settings);
  // Of settings that were checked.
  explicit impairment(const impairment_settings& settings);
  impairment(const impairment&) = delete;
  impairment& operator=(const impairment&) = delete;

  // Up to `most` packets behind those in `into`; answers how many. Called every turn: what is due waits for it.
  unsigned receive(std::uint16_t port, std::uint16_t queue, buf::burst& into, std::uint16_t most, std::uint64_t now,
                   lcore_counters& counters) noexcept;
  // Its two halves. take() empties `from`, which holds at most room() packets, without holes.
  void take(buf::burst& from, std::uint64_t now, lcore_counters& counters) noexcept;
  unsigned give(buf::burst& into, std::uint16_t most, std::uint64_t now) noexcept;

  // The end: what waits is dropped (shutdown), as received.
  void abandon(lcore_counters& counters) noexcept;

  // When the next packet is to be handed over; UINT64_MAX while none waits.
  [[nodiscard]] std::uint64_t due_ns() const noexcept {
    const std::uint64_t late = late_.empty() ? UINT64_MAX : late_.front().due_ns;
    const std::uint64_t back = held_back_.empty() ? UINT64_MAX : held_back_.front().due_ns;
    return late < back ? late : back;
  }
  [[nodiscard]] std::uint32_t waiting_pkts() const noexcept { return late_.size() + held_back_.size(); }
  [[nodiscard]] std::uint32_t room() const noexcept { return most_held_ - waiting_pkts(); }
  [[nodiscard]] const impairment_figures& figures() const noexcept { return figures_; }
};

}  // namespace millrace::pipeline
