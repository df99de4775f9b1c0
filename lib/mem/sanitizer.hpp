// mem/sanitizer.hpp - what the build's sanitizers must be told about memory that is not the heap's.
//
// Shape    macros say which sanitizer the compiler runs under; functions are empty without it.
// Why      AddressSanitizer sees no allocation inside a mempool or a hugepage, and its leak checker does not look
//          there for pointers.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define MILLRACE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MILLRACE_ASAN 1
#endif
#endif
#ifndef MILLRACE_ASAN
#define MILLRACE_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__)
#define MILLRACE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define MILLRACE_TSAN 1
#endif
#endif
#ifndef MILLRACE_TSAN
#define MILLRACE_TSAN 0
#endif

#if MILLRACE_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#endif

namespace millrace::mem {

// The leak checker reads [base, base + bytes) for pointers from now on.
inline void register_leak_root([[maybe_unused]] const void* base, [[maybe_unused]] std::size_t bytes) noexcept {
#if MILLRACE_ASAN
  __lsan_register_root_region(base, bytes);
#endif
}

// The same two values that register_leak_root() was given.
inline void unregister_leak_root([[maybe_unused]] const void* base, [[maybe_unused]] std::size_t bytes) noexcept {
#if MILLRACE_ASAN
  __lsan_unregister_root_region(base, bytes);
#endif
}

// [base, base + bytes) must not be touched until unpoison(): what lies unused in a pool.
inline void poison([[maybe_unused]] const void* base, [[maybe_unused]] std::size_t bytes) noexcept {
#if MILLRACE_ASAN
  __asan_poison_memory_region(base, bytes);
#endif
}

inline void unpoison([[maybe_unused]] const void* base, [[maybe_unused]] std::size_t bytes) noexcept {
#if MILLRACE_ASAN
  __asan_unpoison_memory_region(base, bytes);
#endif
}

[[nodiscard]] inline bool is_poisoned([[maybe_unused]] const void* at) noexcept {
#if MILLRACE_ASAN
  return __asan_address_is_poisoned(at) != 0;
#else
  return false;
#endif
}

}  // namespace millrace::mem
