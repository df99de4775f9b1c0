// json/rapidjson.hpp - RapidJSON as this room compiles it; included by .cpp files of lib/json only, so that its macros
// mean the same in every translation unit.
#pragma once

#include "base/assert.hpp"

#define RAPIDJSON_ASSERT(expression) MILLRACE_ASSERT(expression)
#define RAPIDJSON_HAS_STDSTRING      0

#include <rapidjson/reader.h>
#include <rapidjson/writer.h>

namespace millrace::json {

// Memory for RapidJSON's stacks out of one block that is big enough by construction: they ask once and never grow.
class block_allocator {
  std::byte* block_ = nullptr;
  std::size_t size_ = 0;

 public:
  static constexpr bool kNeedFree = false;

  block_allocator() noexcept = default;  // RapidJSON names it for the case of no allocator, which never is
  block_allocator(std::byte* block, std::size_t size) noexcept : block_(block), size_(size) {}
  void* Malloc(std::size_t size) noexcept { return Realloc(nullptr, 0, size); }
  void* Realloc(void* old, std::size_t, std::size_t size) noexcept {
    MILLRACE_ASSERT(old == nullptr && size <= size_);
    return old == nullptr && size <= size_ ? block_ : nullptr;
  }
  static void Free(void*) noexcept {}
};

}  // namespace millrace::json
