// mem/object_pool.hpp - objects of one type from memory reserved at the start, for one lcore.
//
// Shape    a slot_pool whose slots are T: get() constructs, give() destroys. A `pooled<T>` gives its object back on
//          destruction, like a unique_ptr.
// Units    objects.
// Owner    get(): the caller owns the object and gives it back, or holds it in a pooled<T>. The pool outlives both, and
//          does not move once something was handed out.
// Limits   `count` objects; nothing grows.
// Errors   get(), make_pooled(): nullptr or an empty handle when all are out, nothing constructed; counted as refused.
//          A give that cannot be right is refused and counted (release) or ends the program (checked builds), and then
//          no destructor runs: mem/pool_fault.hpp.
// Threads  one lcore owns a pool. An object that ends on another lcore goes home by give_from_elsewhere(), a handle by
//          send_home(): the destructor of T runs there, the memory waits until the owner collect()s or runs out.
// Tests    test/mem/object_pool_test.cpp       Bench  bench/mem/pool_bench.cpp
#pragma once

#include <memory>
#include <new>
#include <utility>

#include "mem/slot_pool.hpp"

namespace millrace::mem {

template <class T>
class object_pool;

// Owns one object of a pool, or none. Move-only.
template <class T>
class pooled {
  object_pool<T>* pool_ = nullptr;
  T* object_ = nullptr;

  friend class object_pool<T>;
  pooled(object_pool<T>* pool, T* object) noexcept : pool_(pool), object_(object) {}

 public:
  pooled() noexcept = default;
  pooled(pooled&& other) noexcept : pool_(other.pool_), object_(std::exchange(other.object_, nullptr)) {}
  pooled& operator=(pooled&& other) noexcept {
    if (this != &other) {
      reset();
      pool_ = other.pool_;
      object_ = std::exchange(other.object_, nullptr);
    }
    return *this;
  }
  ~pooled() { reset(); }

  // On the pool's lcore.
  void reset() noexcept {
    if (object_ != nullptr) pool_->give(std::exchange(object_, nullptr));
  }
  // On any other.
  void send_home() noexcept {
    if (object_ != nullptr) pool_->give_from_elsewhere(std::exchange(object_, nullptr));
  }
  // The caller gives it back by hand.
  [[nodiscard]] T* release() noexcept { return std::exchange(object_, nullptr); }

  [[nodiscard]] explicit operator bool() const noexcept { return object_ != nullptr; }
  [[nodiscard]] T* get() const noexcept { return object_; }
  [[nodiscard]] T& operator*() const noexcept { return *object_; }
  [[nodiscard]] T* operator->() const noexcept { return object_; }
};

template <class T>
class object_pool {
  static_assert(std::is_nothrow_destructible_v<T>);
  slot_pool slots_;

  explicit object_pool(slot_pool slots) noexcept : slots_(std::move(slots)) {}

 public:
  // `name` stands in messages and in EAL's memory dumps.
  [[nodiscard]] static base::result<object_pool> make(std::string name, std::uint32_t count, int socket = any_socket) {
    auto slots = slot_pool::make(std::move(name), count, sizeof(T), alignof(T), socket);
    if (!slots) return slots.error();
    return object_pool{std::move(slots.value())};
  }

  template <class... Args>
  [[nodiscard]] T* get(Args&&... args) noexcept {
    static_assert(std::is_nothrow_constructible_v<T, Args...>, "the data path cannot say that a constructor threw");
    void* slot = slots_.get();
    if (slot == nullptr) [[unlikely]]
      return nullptr;
    return ::new (unknown_to_compiler(slot)) T(std::forward<Args>(args)...);
  }
  template <class... Args>
  [[nodiscard]] pooled<T> make_pooled(Args&&... args) noexcept {
    return {this, get(std::forward<Args>(args)...)};
  }

  // Destroys the object and takes its memory back. nullptr is nothing.
  void give(T* object) noexcept {
    if (object == nullptr) return;
    void* slot = unknown_to_compiler(object);
    if constexpr (!std::is_trivially_destructible_v<T>) {
      if (!slots_.may_put(slot)) return;
      object->~T();
    }
    slots_.put(slot);
  }
  // The same, on a thread that does not own the pool.
  void give_from_elsewhere(T* object) noexcept {
    if (object == nullptr) return;
    void* slot = unknown_to_compiler(object);
    if constexpr (!std::is_trivially_destructible_v<T>) {
      if (!slots_.may_put(slot)) return;
      object->~T();
    }
    slots_.put_from_elsewhere(slot);
  }

  std::uint32_t collect() noexcept { return slots_.collect(); }
  void adopt() noexcept { slots_.adopt(); }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return slots_.capacity(); }
  [[nodiscard]] std::uint32_t in_use() const noexcept { return slots_.in_use(); }
  [[nodiscard]] bool is_whole() noexcept { return slots_.is_whole(); }
  [[nodiscard]] pool_figures figures() const noexcept { return slots_.figures(); }
  [[nodiscard]] const std::string& name() const noexcept { return slots_.name(); }
  [[nodiscard]] std::size_t memory_bytes() const noexcept { return slots_.memory_bytes(); }
  [[nodiscard]] std::uint32_t slot_bytes() const noexcept { return slots_.slot_bytes(); }
};

}  // namespace millrace::mem
