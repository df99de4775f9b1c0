// base/fetch_ahead.hpp - memory that is needed soon, asked for now.
//
// Shape    a hint a cache line; nothing waits, nothing faults. Of use where a burst's objects lie apart and their
//          addresses are known some hundred ns before they are looked at.
// Tests    none: it changes nothing that can be seen. Bench  bench/quic/endpoint/endpoint_bench.cpp
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::base {

inline constexpr std::size_t cache_line_bytes = 64;

// A function that does nothing but prefetch has no effect as g++ sees it, and calls of it are dropped when they are not
// inlined: the empty statement is one.
inline void fetch_ahead(const void* from, std::size_t bytes) noexcept {
  const auto* const at = static_cast<const char*>(from);
  const std::size_t before = reinterpret_cast<std::uintptr_t>(from) % cache_line_bytes;
  for (std::size_t i = 0; i < before + bytes; i += cache_line_bytes) __builtin_prefetch(at - before + i);
  asm volatile("");
}
// From one member to another that stands behind it, which is not asked for.
inline void fetch_ahead(const void* from, const void* to) noexcept {
  fetch_ahead(from, static_cast<std::size_t>(static_cast<const char*>(to) - static_cast<const char*>(from)));
}

}  // namespace millrace::base
