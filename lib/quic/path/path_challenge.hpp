// quic/path/path_challenge.hpp - is the peer at this address? One validation of one path.
//
//   idle -start-> validating -response-> validated           the answered challenge travelled in 1200 bytes
//                     |   `-----response-> address_only      it did not, as the address had sent too little: the
//                     |                       |              address is proven, the path's size is asked for once more
//                     |                       |-response-> validated
//                     `------3 PTO------------'----------> failed
//
// Shape    start(), then while wants_challenge(now): random bytes into a PATH_CHALLENGE, on_sent(). deadline_ns() is
//          when the next one is due or the validation fails: on_timeout(now).
// Limits   three challenges are remembered, the newest; an answer to any of them counts. One is sent each PTO.
// Errors   an answer that fits none of them is `unknown`: counted, never an error (RFC 9000 19.18 lets us choose, and
//          late answers to forgotten challenges look the same). That it came on another path is no matter (8.2.3).
// Units    ns. Source  RFC 9000 8.2, 19.17 19.18. Tests  test/quic/path/path_challenge_test.cpp
#pragma once

#include <algorithm>
#include <array>

#include "quic/recovery/types.hpp"
#include "quic/wire/frame_path.hpp"
#include "quic/wire/header.hpp"

namespace millrace::quic::path {

enum class validation_state : std::uint8_t { idle, validating, address_only, validated, failed };

// RFC 9000 8.2.1, 8.2.2: how large a datagram with PATH_CHALLENGE or PATH_RESPONSE is to be made: 1200 bytes, or as
// large as its frames are (0) when the address may not be sent that much yet.
[[nodiscard]] constexpr std::size_t padded_probe_size(std::uint64_t budget_bytes) noexcept {
  return budget_bytes >= wire::min_initial_datagram_size ? wire::min_initial_datagram_size : 0;
}

class path_challenge {
 public:
  static constexpr std::size_t remembered = 3;
  static constexpr std::uint64_t ptos = 3;  // RFC 9000 8.2.4: at least three

  enum class answer : std::uint8_t { unknown, address_only, validated };

 private:
  struct sent {
    wire::path_data data;
    bool padded;
    bool open;
  };
  std::array<sent, remembered> sent_{};
  std::uint64_t pto_ns_ = 0;
  std::uint64_t next_ns_ = recovery::never_ns;  // the next challenge is due
  std::uint64_t fails_ns_ = recovery::never_ns;
  std::uint64_t unknown_ = 0;
  std::uint32_t challenges_ = 0;
  std::uint8_t next_slot_ = 0;
  validation_state state_ = validation_state::idle;

 public:
  // Begins (anew, whatever was). pto_ns: the larger of the PTO in use and that of a path without samples, RFC 9000
  // 8.2.4 (three times the initial RTT).
  void start(std::uint64_t now_ns, std::uint64_t pto_ns) noexcept;
  void stop() noexcept;  // the path is given up: idle

  [[nodiscard]] bool wants_challenge(std::uint64_t now_ns) const noexcept { return is_running() && next_ns_ <= now_ns; }
  // `data` is unpredictable and new each time; `padded`: the datagram has at least 1200 bytes.
  void on_sent(const wire::path_data& data, bool padded, std::uint64_t now_ns) noexcept;
  [[nodiscard]] answer on_response(const wire::path_data& data, std::uint64_t now_ns) noexcept;

  // never_ns when there is nothing to wait for.
  [[nodiscard]] std::uint64_t deadline_ns() const noexcept {
    return is_running() ? std::min(next_ns_, fails_ns_) : recovery::never_ns;
  }
  // When the validation fails; never_ns when none runs.
  [[nodiscard]] std::uint64_t failure_ns() const noexcept { return is_running() ? fails_ns_ : recovery::never_ns; }
  // True when the validation has failed now: once.
  [[nodiscard]] bool on_timeout(std::uint64_t now_ns) noexcept;

  [[nodiscard]] validation_state state() const noexcept { return state_; }
  [[nodiscard]] bool is_running() const noexcept {
    return state_ == validation_state::validating || state_ == validation_state::address_only;
  }
  [[nodiscard]] std::uint32_t challenges() const noexcept { return challenges_; }  // sent since start()
  [[nodiscard]] std::uint64_t unknown_responses() const noexcept { return unknown_; }
};

}  // namespace millrace::quic::path
