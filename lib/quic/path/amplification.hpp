// quic/path/amplification.hpp - what may be sent to an address before it is known to be the peer's: three times what
// came.
//
// Shape    one a path. Every byte of UDP payload counts, both ways, padding and what could not be opened included
//          (RFC 9000 8.1: all datagrams uniquely attributed to the connection); on_sent() after budget() allowed it.
//          A client's path to the server it chose begins validated.
// Units    bytes of UDP payload.
// Errors   none; sends_blocked() counts how often budget did not suffice.
// Source   RFC 9000 8.1, 8.2.1, 9.3. Tests  test/quic/path/amplification_test.cpp
#pragma once

#include <cstdint>

namespace millrace::quic::path {

class amplification {
  std::uint64_t received_bytes_ = 0;
  std::uint64_t sent_bytes_ = 0;
  std::uint64_t sends_blocked_ = 0;
  bool validated_ = false;

 public:
  static constexpr std::uint64_t factor = 3;  // RFC 9000 8
  static constexpr std::uint64_t no_limit = UINT64_MAX;

  amplification() noexcept = default;
  explicit amplification(bool validated) noexcept : validated_(validated) {}

  void on_received(std::uint64_t bytes) noexcept { received_bytes_ = capped_sum(received_bytes_, bytes); }
  void on_sent(std::uint64_t bytes) noexcept { sent_bytes_ = capped_sum(sent_bytes_, bytes); }
  void on_validated() noexcept { validated_ = true; }

  // The largest datagram that may leave now; no_limit once the address is validated.
  [[nodiscard]] std::uint64_t budget_bytes() const noexcept {
    if (validated_) return no_limit;
    const std::uint64_t most = received_bytes_ > no_limit / factor ? no_limit - 1 : received_bytes_ * factor;
    return most > sent_bytes_ ? most - sent_bytes_ : 0;
  }
  // May a datagram of `bytes` leave? A refusal is counted.
  [[nodiscard]] bool allows(std::uint64_t bytes) noexcept {
    if (bytes <= budget_bytes()) return true;
    ++sends_blocked_;
    return false;
  }
  // RFC 9002 A.6: at the limit there is nothing a timer could send.
  [[nodiscard]] bool is_blocked() const noexcept { return budget_bytes() == 0; }
  [[nodiscard]] bool is_validated() const noexcept { return validated_; }
  [[nodiscard]] std::uint64_t received_bytes() const noexcept { return received_bytes_; }
  [[nodiscard]] std::uint64_t sent_bytes() const noexcept { return sent_bytes_; }
  [[nodiscard]] std::uint64_t sends_blocked() const noexcept { return sends_blocked_; }

 private:
  [[nodiscard]] static constexpr std::uint64_t capped_sum(std::uint64_t a, std::uint64_t b) noexcept {
    return a > no_limit - b ? no_limit : a + b;
  }
};

}  // namespace millrace::quic::path
