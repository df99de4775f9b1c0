// service/settings.hpp - what the built-in endpoints let their callers do.
//
// Units    bytes, counts. Tests  test/service/builtin_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::service {

struct settings {
  std::uint32_t streamed = 4096;           // answers of /bytes/N longer than a block, at a time; beyond: 503
  std::uint32_t discarded = 1024;          // bodies of /discard, at a time; beyond: 503
  std::uint32_t json_bodies = 1024;        // of POST /json, at a time; beyond: 503
  std::uint32_t json_bytes = 64u << 10;    // of one; beyond: 413
  std::uint64_t most_bytes = 1ull << 50;   // of /bytes/N; beyond: 404
  std::uint32_t stats_bytes = 256u << 10;  // of an answer of /stats
};

}  // namespace millrace::service
