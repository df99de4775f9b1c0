// mem/pool_fault.hpp - what can be wrong with a give, and with an object that lay in its pool.
//
// Shape    in checked builds (assertions on, or AddressSanitizer) a fault ends the program with a line that names the
//          pool, the fault and the address; in release it is counted, and the pool keeps itself sound: a refused give
//          changes nothing, an object that was written to while it lay in the pool is never handed out again.
// Tests    test/mem/slot_pool_fault_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "mem/sanitizer.hpp"

namespace millrace::mem {

enum class pool_fault : std::uint8_t {
  double_give,     // the object lies in the pool already
  foreign_object,  // no object of this pool, or not the beginning of one
  use_after_give,  // written to between its give and its next get
  count_
};
inline constexpr std::size_t pool_fault_count = static_cast<std::size_t>(pool_fault::count_);

#if defined(NDEBUG) && !MILLRACE_ASAN
#define MILLRACE_POOL_FAULTS_ABORT 0
#else
#define MILLRACE_POOL_FAULTS_ABORT 1
#endif
inline constexpr bool pool_faults_abort = MILLRACE_POOL_FAULTS_ABORT != 0;

[[nodiscard]] std::string_view to_string(pool_fault fault) noexcept;  // the key, e.g. "double_give"

// The line and the end, in checked builds only.
[[noreturn]] void die_of(pool_fault fault, const char* pool, const void* object) noexcept;
[[noreturn]] void die_of_leak(const char* pool, std::uint32_t in_use) noexcept;
[[noreturn]] void die_of_stranger(const char* pool) noexcept;  // used by a thread that does not own it

}  // namespace millrace::mem
