// app/key_log_input.hpp - the file of `--keylog`: read once, before anything is analysed.
//
// Shape    open() judges what the path names, before EAL starts; feed() hands its text to the analyzer in pieces.
// Owner    the object holds the descriptor; the text passes through a buffer that is cleared.
// Limits   max_key_log_bytes; beyond the secrets that inspect::limits keeps, lines are counted and skipped.
// Errors   `unusable`, naming the option and the path: absent, no regular file, empty, too large; a read that fails.
// Threads  the control thread. Tests  test/e2e/keylog_test.py
#pragma once

#include <string>
#include <utility>

#include "base/result.hpp"
#include "inspect/analyzer.hpp"

namespace millrace::app {

inline constexpr std::uint64_t max_key_log_bytes = std::uint64_t{1} << 30;

class key_log_input {
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;

 public:
  key_log_input() noexcept = default;
  key_log_input(key_log_input&& other) noexcept
      : path_(std::move(other.path_)),
        descriptor_(std::exchange(other.descriptor_, -1)),
        size_(std::exchange(other.size_, 0)) {}
  key_log_input& operator=(key_log_input&&) = delete;
  ~key_log_input();

  // An empty path opens nothing.
  [[nodiscard]] static base::result<key_log_input> open(const std::string& path);

  [[nodiscard]] explicit operator bool() const noexcept { return descriptor_ >= 0; }
  // Handshakes that a file of this size can hold, so that a table can be made for them.
  [[nodiscard]] std::uint64_t most_handshakes() const noexcept;
  [[nodiscard]] base::outcome feed(inspect::analyzer& a);
};

}  // namespace millrace::app
