// mem/size_class_pool.hpp - small objects of 1 to 256 bytes in 16 size classes, for one lcore.
//
// Shape    classes 16, 32, 48, ... 256: steps of 16 waste at most 15 bytes an object and keep every object aligned as
//          malloc would. Each class is a slot_pool with its own share of memory; whoever gives back says the size he
//          asked for, so that the class costs a shift and no header.
// Units    bytes asked for; objects of a class.
// Owner    get(): the caller owns the object until give() with the same size. The pool outlives it and does not move
//          once something was handed out.
// Limits   per_class objects of each class, or the numbers of `counts`; nothing grows, and no class borrows.
// Errors   get(): nullptr when the class is out (counted there) or the size is 0 or above 256 (counted in oversized()).
//          give() with another size than get() had is a foreign_object of that class: mem/pool_fault.hpp.
// Threads  as slot_pool: one lcore; give_from_elsewhere() on others.
// Tests    test/mem/size_class_pool_test.cpp       Bench  bench/mem/pool_bench.cpp
#pragma once

#include <array>

#include "mem/slot_pool.hpp"

namespace millrace::mem {

inline constexpr std::size_t size_class_step = 16;
inline constexpr std::size_t size_class_count = 16;
inline constexpr std::size_t largest_small = size_class_step * size_class_count;

struct size_class_config {
  std::string name = "small";
  std::uint32_t per_class = 1024;
  // Where not 0, the number of objects of this class (16 bytes first) in place of per_class.
  std::array<std::uint32_t, size_class_count> counts{};
  int socket = any_socket;
};

class size_class_pool {
  std::array<slot_pool, size_class_count> classes_;
  std::atomic<std::uint64_t> oversized_{0};

  explicit size_class_pool(std::array<slot_pool, size_class_count> classes) noexcept : classes_(std::move(classes)) {}

  [[nodiscard]] static constexpr std::size_t class_of(std::size_t bytes) noexcept {
    return (bytes - 1) / size_class_step;  // 0 wraps to far above any class
  }
  [[nodiscard]] void* refuse() noexcept;

 public:
  size_class_pool(size_class_pool&& other) noexcept
      : classes_(std::move(other.classes_)), oversized_(other.oversized_.load()) {}

  [[nodiscard]] static base::result<size_class_pool> make(const size_class_config& config);

  // At least `bytes` bytes of undefined content, aligned to 16, or nullptr.
  [[nodiscard]] void* get(std::size_t bytes) noexcept {
    const std::size_t at = class_of(bytes);
    if (at >= size_class_count) [[unlikely]]
      return refuse();
    return classes_[at].get();
  }
  // `bytes` as given to get(); of a size that no class has, the largest class says that it is not its own. nullptr is
  // nothing.
  void give(void* object, std::size_t bytes) noexcept {
    const std::size_t at = class_of(bytes);
    if (at >= size_class_count) [[unlikely]]
      return classes_.back().refuse(object);
    classes_[at].put(object);
  }
  void give_from_elsewhere(void* object, std::size_t bytes) noexcept {
    const std::size_t at = class_of(bytes);
    if (at >= size_class_count) return classes_.back().refuse(object);
    classes_[at].put_from_elsewhere(object);
  }

  std::uint32_t collect() noexcept;
  void adopt() noexcept;
  // The class that serves `bytes` (1..256).
  [[nodiscard]] const slot_pool& of(std::size_t bytes) const noexcept { return classes_[class_of(bytes)]; }
  // Sums over the classes; the high water is the sum of theirs, which need not have been at one time.
  [[nodiscard]] pool_figures figures() const noexcept;
  [[nodiscard]] std::uint32_t in_use() const noexcept { return figures().in_use; }
  [[nodiscard]] bool is_whole() noexcept {
    collect();
    return in_use() == 0;
  }
  // Requests of a size that no class serves.
  [[nodiscard]] std::uint64_t oversized() const noexcept { return oversized_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t memory_bytes() const noexcept;
};

}  // namespace millrace::mem
