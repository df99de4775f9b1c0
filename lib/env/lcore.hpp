// env/lcore.hpp - EAL's lcores: which ones there are, where they sit, and work started on them.
//
// Shape    launch() hands a worker lcore a function and its argument; wait() joins it and answers what it returned.
// Owner    the argument is the caller's and must outlive wait().
// Errors   launch: false when the lcore is no worker, or still runs something.
// Threads  launch and wait from the main lcore only.
// Tests    test/port/port_test.cpp, test/pipeline/engine_test.cpp (two lcores)
#pragma once

#include <cstdint>
#include <vector>

namespace millrace::env {

inline constexpr unsigned no_lcore = ~0u;

// The calling thread's lcore; no_lcore on a thread that EAL does not know.
[[nodiscard]] unsigned current_lcore() noexcept;
[[nodiscard]] unsigned main_lcore() noexcept;
[[nodiscard]] std::vector<unsigned> worker_lcores();  // ascending; empty when the main lcore is alone
[[nodiscard]] int socket_of_lcore(unsigned lcore) noexcept;

[[nodiscard]] bool launch(unsigned lcore, int (*work)(void*), void* argument) noexcept;
int wait(unsigned lcore) noexcept;

// Time the calling thread has had a CPU, in nanoseconds: against the clock it says whether the lcore was alone on its.
[[nodiscard]] std::uint64_t thread_cpu_ns() noexcept;

// A hint to the core that this is a spin: some 40 to 140 cycles in which a sibling thread runs.
inline void pause() noexcept { __builtin_ia32_pause(); }

}  // namespace millrace::env
