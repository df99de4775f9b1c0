// base/fetch_ahead.hpp - memory that is needed soon, asked for now.
//
// Shape    a hint a cache line; nothing waits, nothing faults. Of use where a burst's objects lie apart and their
//          addresses are known some hundred ns before they are looked at.
// Tests    none: it changes nothing that can be seen. Bench  bench/quic/endpoint/endpoint_bench.cpp
#pragma once

#include <cstddef>

namespace millrace::base {

inline constexpr std::size_t cache_line_bytes = 64;

inline void fetch_ahead(const void* from, std::size_t bytes) noexcept {
  const auto* at = static_cast<const char*>(from);
  for (std::size_t i = 0; i < bytes; i += cache_line_bytes) __builtin_prefetch(at + i);
}

}  // namespace millrace::base
