#include "quic/path/path_responses.hpp"

#include <algorithm>

namespace millrace::quic::path {

bool path_responses::on_challenge(const wire::path_challenge_frame& frame) noexcept {
  bool kept_all = true;
  const auto* same = std::find(waiting_.begin(), waiting_.end(), frame.data);
  if (same != waiting_.end()) {
    waiting_.erase(static_cast<std::size_t>(same - waiting_.begin()));  // it is the newest now
  } else if (waiting_.full()) {
    waiting_.erase(0);
    ++dropped_;
    kept_all = false;
  }
  static_cast<void>(waiting_.push_back(frame.data));
  return kept_all;
}

std::optional<wire::path_response_frame> path_responses::take() noexcept {
  if (waiting_.empty()) return std::nullopt;
  const std::size_t newest = waiting_.size() - 1;
  const wire::path_response_frame out{waiting_[newest]};
  waiting_.erase(newest);
  return out;
}

}  // namespace millrace::quic::path
