// inspect/hash_index.hpp - base::hash_index with its slots carved from the analyzer's memory.
//
// Shape    as base/hash_index.hpp says; `nil` is its no_record.
// Limits   `capacity` numbers. Owner  memory is the carver's. Threads  one. Tests  test/inspect/hash_index_test.cpp
#pragma once

#include "base/hash_index.hpp"
#include "inspect/aged_pool.hpp"

namespace millrace::inspect {

static_assert(nil == base::no_record);

class hash_index : public base::hash_index {
 public:
  hash_index() noexcept = default;
  hash_index(carver& memory, std::uint32_t capacity) noexcept
      : base::hash_index(memory.take<slot>(slots_for(capacity))) {}
};

}  // namespace millrace::inspect
