// quic/recovery/max_filter.hpp - the largest value of the last rounds, in three samples.
//
// Shape    the best, and the best of what came after it, twice: when the first is too old the second takes its place.
// Source   Kathleen Nichols' windowed filter, as BBR uses it. Tests  test/quic/recovery/bbr_test.cpp
#pragma once

#include <cstdint>

namespace millrace::quic::recovery {

class max_filter {
  struct sample {
    std::uint64_t value = 0;
    std::uint64_t round = 0;
  };
  std::uint64_t rounds_;
  sample best_[3];

 public:
  explicit max_filter(std::uint64_t rounds) noexcept : rounds_(rounds) {}

  void add(std::uint64_t value, std::uint64_t round) noexcept {
    const sample now{value, round};
    if (value >= best_[0].value || round - best_[2].round > rounds_) {
      best_[0] = best_[1] = best_[2] = now;
      return;
    }
    if (value >= best_[1].value)
      best_[1] = best_[2] = now;
    else if (value >= best_[2].value)
      best_[2] = now;
    const std::uint64_t age = round - best_[0].round;
    if (age > rounds_) {
      best_[0] = best_[1];
      best_[1] = best_[2];
      best_[2] = now;
      if (round - best_[0].round > rounds_) {
        best_[0] = best_[1];
        best_[1] = best_[2];
      }
    } else if (best_[1].round == best_[0].round && age > rounds_ / 4) {
      best_[1] = best_[2] = now;
    } else if (best_[2].round == best_[1].round && age > rounds_ / 2) {
      best_[2] = now;
    }
  }
  [[nodiscard]] std::uint64_t get() const noexcept { return best_[0].value; }  // 0 before the first
};

}  // namespace millrace::quic::recovery
