// env/clock.hpp - the time stamp counter, read by whoever owns a loop and passed down.
//
// Units    cycles; tsc_hz() a second. Rooms of protocols never call it: they take `now`.
#pragma once

#include <cstdint>

namespace millrace::env {

[[nodiscard]] inline std::uint64_t read_tsc() noexcept { return __builtin_ia32_rdtsc(); }

// Time of day, ns since 1970: one reading at a start, none per packet.
[[nodiscard]] std::int64_t wall_now_ns() noexcept;

// Measured by EAL once it runs; before that from the kernel clock over 20 ms.
[[nodiscard]] std::uint64_t tsc_hz() noexcept;

}  // namespace millrace::env
