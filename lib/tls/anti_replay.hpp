// tls/anti_replay.hpp - which 0-RTT hellos were seen: each is accepted once, and only while it is fresh.
//
// Policy   A ClientHello with early data is accepted at most once. GnuTLS judges freshness (RFC 8446 8.3): the ticket's
//          age by our clock and by the client's may differ by `window_ms`, and a ticket made before this table existed
//          carries no early data. Hellos inside the window are remembered here (8.2). Whatever is not certainly new is
//          rejected: the connection goes on with 1-RTT.
// Shape    buckets of eight 64-bit entries: 40 bits of a keyed hash of the PSK binder, 24 bits of expiry in seconds.
// Limits   fixed at construction. A bucket full of fresh hellos rejects the next one (`refused_full`), so a flood costs
//          its victims a round trip, never a replay: the key of the hash is secret, nobody can aim at a bucket.
//          Sized for entries = 0-RTT hellos a second * window; the default holds 6 000 a second for ten seconds.
// Threads  any number of lcores: one table serves a process, because a replay may arrive at another lcore. Entries are
//          single words written by compare-and-swap; two lcores that race with the same hello both reject it.
// Source   RFC 8446 8, RFC 9001 9.2. Tests  test/tls/parts_test.cpp
#pragma once

#include <atomic>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "crypto/siphash.hpp"
#include "mem/region.hpp"

namespace millrace::tls {

struct anti_replay_limits {
  std::size_t entries = 65536;      // rounded up to a power of two, at least 64
  std::uint32_t window_ms = 10000;  // RFC 8446 8.2 suggests ten seconds for clients on the Internet
};

class anti_replay {
  mem::region room_;
  std::uint64_t bucket_mask_ = 0;
  crypto::siphash_key key_;
  std::uint32_t window_ms_ = 0;
  std::int64_t since_ns_ = 0;
  std::atomic<std::uint64_t> accepted_{0}, replayed_{0}, refused_full_{0};

 public:
  enum class verdict : std::uint8_t { fresh, replayed, full };

  // `now_ns` is the wall time from which hellos are remembered.
  anti_replay(const anti_replay_limits& limits, std::int64_t now_ns) noexcept;
  // False when there was no memory or no randomness: then nothing is fresh.
  [[nodiscard]] bool is_ready() const noexcept { return static_cast<bool>(room_); }

  [[nodiscard]] verdict add(base::byte_view binder, std::int64_t now_ns) noexcept;

  [[nodiscard]] std::uint32_t window_ms() const noexcept { return window_ms_; }
  [[nodiscard]] std::int64_t since_ns() const noexcept { return since_ns_; }
  [[nodiscard]] std::uint64_t accepted() const noexcept { return accepted_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t replayed() const noexcept { return replayed_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t refused_full() const noexcept { return refused_full_.load(std::memory_order_relaxed); }
};

}  // namespace millrace::tls
