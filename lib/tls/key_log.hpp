// tls/key_log.hpp - TLS secrets in the NSS key log format, so that tshark opens what millrace sent.
//
// Shape    a key_log_sink is a callback of one line. key_log_queue is a sink: the lcores that run handshakes put lines
//          into a ring, the control thread drains it into a key_log_file.
// Format   LABEL SPACE client_random SPACE secret, in hexadecimal, one a line.
// Units    bytes of text. Owner  the context of a sink outlives every handshake that was given it.
// Errors   a full queue drops the line and counts it; a file that cannot be written answers false.
// Threads  key_log_queue: any number of producers, because the handshakes of a context may step on any lcore; one
//          consumer. Producers take turns, for as long as it takes to copy a line: no matter where secrets are logged
//          at all. The consumer never waits and is never waited for. key_log_file: one thread.
// Source   NSS Key Log Format (SSLKEYLOGFILE). Tests  test/tls/parts_test.cpp
#pragma once

#include <atomic>
#include <string>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "mem/region.hpp"

namespace millrace::tls {

struct key_log_sink {
  void (*line)(void* context, std::string_view text) noexcept = nullptr;  // no newline; nullptr: nothing is logged
  void* context = nullptr;
};

// The longest label, a random of 32 bytes and a secret of 48, in hexadecimal.
inline constexpr std::size_t max_key_log_line = 256;

// Writes one line at `out` (max_key_log_line bytes); its size, or 0 when the parts are too large.
[[nodiscard]] std::size_t format_key_log_line(std::string_view label, base::byte_view client_random,
                                              base::byte_view secret, char* out) noexcept;

class key_log_queue {
  mem::region room_;
  std::size_t mask_ = 0;
  alignas(64) std::atomic<std::uint64_t> head_{0};  // bytes ever put in
  std::atomic_flag pushing_;
  std::atomic<std::uint64_t> dropped_{0};
  alignas(64) std::atomic<std::uint64_t> tail_{0};  // bytes ever taken out

 public:
  // `bytes` is rounded up to a power of two, at least 4096. Check has_room() before use.
  explicit key_log_queue(std::size_t bytes) noexcept;
  [[nodiscard]] bool has_room() const noexcept { return static_cast<bool>(room_); }

  // Producers. Whole lines only.
  void push(std::string_view line) noexcept;
  // Consumer: moves up to `room` bytes of whole lines (each ended by a newline) to `out`; answers how many.
  [[nodiscard]] std::size_t drain(char* out, std::size_t room) noexcept;
  // Lines that found no room.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

  [[nodiscard]] key_log_sink sink() noexcept {
    return {[](void* self, std::string_view text) noexcept { static_cast<key_log_queue*>(self)->push(text); }, this};
  }
};

// Appends to a file that only its owner may read; the control thread's.
class key_log_file {
  int fd_ = -1;

 public:
  key_log_file() noexcept = default;
  key_log_file(key_log_file&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  key_log_file& operator=(key_log_file&& other) noexcept;
  ~key_log_file();

  [[nodiscard]] static base::result<key_log_file> open(const std::string& path);
  // The path SSLKEYLOGFILE names; empty when it names none.
  [[nodiscard]] static std::string path_of_environment();
  // Everything the queue holds now. False when the file took less.
  [[nodiscard]] bool write_from(key_log_queue& queue) noexcept;
};

}  // namespace millrace::tls
