// app/signals.hpp - SIGINT, SIGTERM and SIGHUP as flags that loops look at.
//
// Shape    the first signal sets the flag and gives both signals their default action back, so that a second one, of
//          either kind, ends the process at once. Blocking calls of the main thread return EINTR.
//          SIGHUP asks for a reload, where a role has something to load again; else it ends the process, as ever.
// Threads  the flag is read from every lcore: a relaxed load, once a burst.
#pragma once

#include <atomic>

namespace millrace::app {

// Before workers start. Also ignores SIGPIPE: a closed pipe is a failed write, not the end of the process.
void install_stop_signals() noexcept;

// SIGHUP no longer ends the process, but is told by take_reload_request().
void install_reload_signal() noexcept;
// Whether there was a SIGHUP since the last call; several count once.
[[nodiscard]] bool take_reload_request() noexcept;

extern std::atomic<bool> stop_flag;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler stores to it");

[[nodiscard]] inline bool stop_requested() noexcept { return stop_flag.load(std::memory_order_relaxed); }
// What the handler does, for a role that ends by itself.
inline void request_stop() noexcept { stop_flag.store(true, std::memory_order_relaxed); }

}  // namespace millrace::app
