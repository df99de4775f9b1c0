// quic/path/path_responses.hpp - the PATH_CHALLENGEs of one path that wait for their answer.
//
// Shape    one object a path: the answer leaves on the path the challenge came by (RFC 9000 8.2.2). take() once a
//          datagram, which is made 1200 bytes large where that is allowed: padded_probe_size(). Answers are sent once
//          and not repeated when lost (RFC 9000 13.3): the peer asks again.
// Limits   four wait; a fifth pushes out the oldest, which is counted (CVE-2023-6193). The same challenge twice is one.
// Source   RFC 9000 8.2.2, 13.3, 19.17. Tests  test/quic/path/path_challenge_test.cpp
#pragma once

#include <optional>

#include "base/fixed_vector.hpp"
#include "quic/wire/frame_path.hpp"

namespace millrace::quic::path {

inline constexpr std::size_t max_path_responses = 4;

class path_responses {
  base::fixed_vector<wire::path_data, max_path_responses> waiting_;  // the oldest first
  std::uint64_t dropped_ = 0;

 public:
  // False: an older one gave way, and gets no answer.
  bool on_challenge(const wire::path_challenge_frame& frame) noexcept;
  [[nodiscard]] bool is_empty() const noexcept { return waiting_.empty(); }
  // The newest: with a flood of others in front the peer's latest question is still answered.
  [[nodiscard]] std::optional<wire::path_response_frame> take() noexcept;
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }
};

}  // namespace millrace::quic::path
