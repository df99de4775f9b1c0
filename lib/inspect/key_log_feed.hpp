// inspect/key_log_feed.hpp - key log text, in pieces of any size, into the table of secrets.
//
// Shape    feed() takes the next piece, finish() the last line that no newline ends. Text comes from a file
//          (`--keylog`) or from a block of a pcapng capture.
// Owner    text is borrowed for the call; the part of a line at its end is kept until the next, and cleared.
// Limits   a line longer than tls::wire::max_key_log_line_bytes is skipped as it comes and counts as malformed.
// Errors   counted, line by line. Whatever the text holds, every line is counted once.
// Threads  one. Tests  test/inspect/key_log_feed_test.cpp, test/fuzz/key_log_fuzz.cpp
#pragma once

#include "inspect/secret_table.hpp"

namespace millrace::inspect {

struct key_log_counts {
  std::uint64_t secrets = 0;        // taken
  std::uint64_t repeated = 0;       // of them: known before
  std::uint64_t no_room = 0;        // secrets that found limits::max_secrets reached
  std::uint64_t client_random = 0;  // TLS 1.2 and before: nothing of QUIC
  std::uint64_t other = 0;          // labels that protect no packet
  std::uint64_t malformed = 0;
  std::uint64_t blank = 0;

  [[nodiscard]] std::uint64_t lines() const noexcept {
    return secrets + no_room + client_random + other + malformed + blank;
  }
};

class key_log_feed {
  std::array<char, tls::wire::max_key_log_line_bytes> kept_{};
  std::size_t kept_size_ = 0;
  bool too_long_ = false;  // the line at hand is; what is left of it is skipped
  key_log_counts counts_;

  void take(std::string_view line, secret_table& to) noexcept;
  void keep(std::string_view part) noexcept;
  void end_line(secret_table& to) noexcept;

 public:
  key_log_feed() noexcept = default;
  key_log_feed(const key_log_feed&) = delete;
  key_log_feed& operator=(const key_log_feed&) = delete;
  ~key_log_feed() { crypto::wipe({reinterpret_cast<std::uint8_t*>(kept_.data()), kept_.size()}); }

  void feed(std::string_view text, secret_table& to) noexcept;
  void finish(secret_table& to) noexcept;

  [[nodiscard]] const key_log_counts& counts() const noexcept { return counts_; }
};

}  // namespace millrace::inspect
