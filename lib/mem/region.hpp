// mem/region.hpp - one owned block of zeroed memory for tables made at start: hugepages where EAL runs.
//
// Shape    make() asks rte_zmalloc_socket once EAL has lcores, so the block lies in EAL's (huge) pages and counts
//          against its memory; with no EAL it comes from the heap, aligned alike, so that tables run in plain tests.
// Units    bytes. Alignment is a power of two, at least a cache line by default.
// Owner    the object; move-only. Views from data() and array() die with it. An EAL block must die before EAL does.
// Limits   size fixed; nothing grows. Set-up and control code only: never on the data path.
// Errors   no memory: an empty region (`!region`), nothing changed. A request of 0 bytes is an empty region too.
// Tests    test/mem/region_test.cpp, test/mem/packet_pool_test.cpp (under EAL)
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include "base/assert.hpp"

namespace millrace::mem {

inline constexpr int any_socket = -1;  // EAL's SOCKET_ID_ANY
inline constexpr std::size_t cache_line_bytes = 64;

class region {
  void* base_ = nullptr;
  std::size_t size_bytes_ = 0;
  bool from_eal_ = false;

 public:
  region() noexcept = default;
  region(region&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)),
        size_bytes_(std::exchange(other.size_bytes_, 0)),
        from_eal_(std::exchange(other.from_eal_, false)) {}
  region& operator=(region&& other) noexcept {
    if (this != &other) {
      release();
      base_ = std::exchange(other.base_, nullptr);
      size_bytes_ = std::exchange(other.size_bytes_, 0);
      from_eal_ = std::exchange(other.from_eal_, false);
    }
    return *this;
  }
  ~region() { release(); }

  // `what` names the block in EAL's memory dumps and must outlive the call only.
  [[nodiscard]] static region make(const char* what, std::size_t bytes, std::size_t alignment = cache_line_bytes,
                                   int socket = any_socket) noexcept;

  // Room for `count` objects of T, all bytes zero; empty as well when count * sizeof(T) does not fit a size.
  template <class T>
  [[nodiscard]] static region make_array(const char* what, std::size_t count, int socket = any_socket) noexcept {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) return {};
    return make(what, count * sizeof(T), alignof(T) > cache_line_bytes ? alignof(T) : cache_line_bytes, socket);
  }

  [[nodiscard]] explicit operator bool() const noexcept { return base_ != nullptr; }
  [[nodiscard]] std::byte* data() noexcept { return static_cast<std::byte*>(base_); }
  [[nodiscard]] const std::byte* data() const noexcept { return static_cast<const std::byte*>(base_); }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_bytes_; }
  [[nodiscard]] bool is_eal_memory() const noexcept { return from_eal_; }

  // As many whole T as fit. Only types that need neither a constructor call (zero bytes are a value) nor a destructor.
  template <class T>
  [[nodiscard]] std::span<T> array() noexcept {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>,
                  "a region hands out zeroed bytes and runs no destructors");
    MILLRACE_ASSERT(reinterpret_cast<std::uintptr_t>(base_) % alignof(T) == 0);
    return {static_cast<T*>(base_), size_bytes_ / sizeof(T)};
  }

 private:
  void release() noexcept;
};

}  // namespace millrace::mem
