// json/rapidjson.hpp - RapidJSON as this room compiles it; included by .cpp files of lib/json only, so that its macros
// mean the same in every translation unit.
//
// Shape    a block is what its parser and writer take for an allocator, and Stack<block> their stack inside it.
// Owner    the block's memory is the caller's, and big enough by construction: who makes it has counted what can be
//          pushed. A push beyond it is our own bug, caught in debug builds.
#pragma once

#include <cstddef>

#include "base/assert.hpp"

#define RAPIDJSON_ASSERT(expression) MILLRACE_ASSERT(expression)

#include <rapidjson/reader.h>
#include <rapidjson/writer.h>

namespace millrace::json {

struct block {
  static constexpr bool kNeedFree = false;
  std::byte* begin = nullptr;
  std::size_t size = 0;
};

}  // namespace millrace::json

// RapidJSON's own stack takes its memory at the first push, by adding to a null pointer, and grows without asking
// whether it may. This one begins in its block and stays there. The members are those the parser and writer call.
template <>
class rapidjson::internal::Stack<millrace::json::block> {
  char* bottom_ = nullptr;
  char* top_ = nullptr;
  char* end_ = nullptr;

 public:
  Stack(millrace::json::block* memory, std::size_t) noexcept
      : bottom_(reinterpret_cast<char*>(memory->begin)), top_(bottom_), end_(bottom_ + memory->size) {}
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  void Clear() noexcept { top_ = bottom_; }
  void ShrinkToFit() noexcept {}
  template <class T>
  void Reserve([[maybe_unused]] std::size_t count = 1) noexcept {
    MILLRACE_ASSERT(count * sizeof(T) <= static_cast<std::size_t>(end_ - top_));
  }
  template <class T>
  [[nodiscard]] T* Push(std::size_t count = 1) noexcept {
    Reserve<T>(count);
    return PushUnsafe<T>(count);
  }
  template <class T>
  [[nodiscard]] T* PushUnsafe(std::size_t count = 1) noexcept {
    T* pushed = reinterpret_cast<T*>(static_cast<void*>(top_));
    top_ += count * sizeof(T);
    return pushed;
  }
  template <class T>
  T* Pop(std::size_t count) noexcept {
    MILLRACE_ASSERT(count * sizeof(T) <= GetSize());
    top_ -= count * sizeof(T);
    return reinterpret_cast<T*>(static_cast<void*>(top_));
  }
  template <class T>
  [[nodiscard]] T* Top() const noexcept {
    MILLRACE_ASSERT(sizeof(T) <= GetSize());
    return reinterpret_cast<T*>(static_cast<void*>(top_ - sizeof(T)));
  }
  [[nodiscard]] bool Empty() const noexcept { return top_ == bottom_; }
  [[nodiscard]] std::size_t GetSize() const noexcept { return static_cast<std::size_t>(top_ - bottom_); }
  [[nodiscard]] std::size_t GetCapacity() const noexcept { return static_cast<std::size_t>(end_ - bottom_); }
};
