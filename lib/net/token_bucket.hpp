// net/token_bucket.hpp - a rate limit: so many a second, so many at once.
//
// Units    events, ns. `now` must not run backwards; if it does, nothing is added.
// Errors   take(): false when there is no token. Threads  one. Tests  test/net/tables_test.cpp
#pragma once

#include <algorithm>

#include "net/limits.hpp"

namespace millrace::net {

class token_bucket {
  // One token is `ns_per_token_` of credit, so that no fraction is lost however often take() is called.
  std::uint64_t ns_per_token_ = 0;  // 0: no limit
  std::uint64_t full_ns_ = 0;
  std::uint64_t credit_ns_ = 0;
  std::uint64_t last_ns_ = 0;

 public:
  token_bucket() noexcept = default;
  // A rate of 0 is no limit.
  explicit token_bucket(const rate_limit& limit) noexcept
      : ns_per_token_(limit.per_second == 0 ? 0 : 1'000'000'000 / std::min(limit.per_second, 1'000'000'000u)),
        full_ns_(ns_per_token_ * std::max(limit.burst, 1u)),
        credit_ns_(full_ns_) {}

  // All of `tokens`, or none.
  [[nodiscard]] bool take(std::uint64_t now, std::uint64_t tokens = 1) noexcept {
    if (ns_per_token_ == 0) return true;
    if (now > last_ns_) {
      credit_ns_ = std::min(full_ns_, credit_ns_ + std::min(now - last_ns_, full_ns_));
      last_ns_ = now;
    }
    if (tokens > credit_ns_ / ns_per_token_) return false;
    credit_ns_ -= ns_per_token_ * tokens;
    return true;
  }
};

}  // namespace millrace::net
