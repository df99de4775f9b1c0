// tls/wall_clock.hpp - the time GnuTLS sees: what the caller passes, and nothing else.
//
// Shape    GnuTLS asks a process-wide function for the time (ticket ages, certificate validity). Ours answers the time
//          of the scope that the calling thread stands in, so simulated time works and no clock is read. A thread
//          outside any scope (other users of GnuTLS in the process) gets the system's time.
// Units    nanoseconds since 1970, as the system clock counts.
// Why      GnuTLS has a public hook for seconds (gnutls_global_set_time_function) and exports another, meant for its
//          own tests, for ticket ages in milliseconds; without the latter wall_time_is_complete() is false, and 0-RTT
//          is refused because its freshness could not be judged in the caller's time.
// Threads  a scope belongs to its thread; scopes nest. The variable behind it lives for one call, not for a handshake,
//          so a handshake may take its next step on another lcore.
// Tests    test/tls/parts_test.cpp
#pragma once

#include <cstdint>

namespace millrace::tls {

class wall_time_scope {
  std::int64_t outer_ns_;

 public:
  explicit wall_time_scope(std::int64_t now_ns) noexcept;
  wall_time_scope(const wall_time_scope&) = delete;
  wall_time_scope& operator=(const wall_time_scope&) = delete;
  ~wall_time_scope();
};

// The time of the scope this thread stands in; the system's outside any.
[[nodiscard]] std::int64_t scoped_wall_time_ns() noexcept;

[[nodiscard]] bool wall_time_is_complete() noexcept;

}  // namespace millrace::tls
