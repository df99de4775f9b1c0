// mem/slot_pool.hpp - equal slots of one region, handed out and taken back by one lcore: what typed pools are made of.
//
// Shape    a stack of the addresses of free slots; no atomic read-modify-write, no lock, no heap. Slots are cut from
//          the region only when the stack is empty, so how many were ever cut is the high-water mark, at no cost. A
//          free slot's first word holds a mark made of its address and a number of the pool: a give that finds the mark
//          is a second give, a get that misses it was preceded by a write (mem/pool_fault.hpp).
// Units    slots of slot_bytes(); at least 16 bytes, a multiple of 8.
// Owner    the pool owns the memory; get() hands a slot out until put(). All are back when the pool dies, or the
//          checked build ends there with their number. A region of EAL must die before EAL does.
// Limits   `count` slots, 4 GiB; nothing grows.
// Errors   get(): nullptr, counted in refused(). Faulty gives are refused and counted; see mem/pool_fault.hpp.
// Threads  get, put and collect: the owner, the first thread that calls one (adopt() hands over). Other threads give
//          back by put_from_elsewhere(), one compare-and-swap; the owner finds those when its own run out, or by
//          collect(). Figures may be read by any thread and are a moment old there.
// Tests    test/mem/slot_pool_test.cpp       Bench  bench/mem/pool_bench.cpp
#pragma once

#include <array>
#include <atomic>
#include <cstring>
#include <string>

#include "base/result.hpp"
#include "mem/pool_fault.hpp"
#include "mem/region.hpp"
#include "stats/drop_counters.hpp"

namespace millrace::mem {

// What a pool says of itself; objects.
struct pool_figures {
  std::uint32_t capacity = 0;
  std::uint32_t in_use = 0;      // handed out; those on their way home from another lcore included
  std::uint32_t high_water = 0;  // the largest in_use ever
  std::uint64_t refused = 0;     // asked for and not given
  std::array<std::uint64_t, pool_fault_count> faults{};

  [[nodiscard]] std::uint64_t count(pool_fault fault) const noexcept { return faults[static_cast<std::size_t>(fault)]; }
};

// The same address, of which the compiler knows nothing: neither which object lies there nor that its lifetime begins
// or ends, by which it may drop stores to the slot's mark as dead.
[[nodiscard]] inline void* unknown_to_compiler(void* slot) noexcept {
  asm("" : "+r"(slot));
  return slot;
}

class slot_pool {
  // One cache line that every get and put reads; only top_ is written.
  alignas(cache_line_bytes) std::atomic<void**> top_{nullptr};  // behind the last free slot's entry
  void** bottom_ = nullptr;
  void** limit_ = nullptr;  // behind the stack's last entry
  std::byte* slots_ = nullptr;
  std::atomic<std::uint64_t> cut_bytes_{0};  // of the slots ever handed out: what lies behind is no object
  std::uint64_t divisor_ = 0;                // 2^64 / slot_bytes_, rounded up
  std::uint64_t mark_ = 0;

  alignas(cache_line_bytes) std::atomic<void*> away_{nullptr};  // given back elsewhere: a list through second words
  std::uint32_t slot_bytes_ = 0;
  std::uint32_t capacity_ = 0;
  std::atomic<std::uint32_t> cut_{0};   // slots ever handed out
  std::atomic<std::uint32_t> lost_{0};  // never handed out again, after a use_after_give
  std::atomic<std::uint64_t> refused_{0};
  std::array<std::atomic<std::uint64_t>, pool_fault_count> faults_{};
  std::atomic<int> owner_{0};  // a thread's number; 0 until the first call. Checked builds only.
  region memory_;
  std::string name_;

  // Turns a slot's mark into its mark for the list of what came from elsewhere.
  static constexpr std::uint64_t away_salt = 0x5bd1'e995'a5a5'0f0f;

  [[nodiscard]] std::uint64_t mark_of(const void* slot) const noexcept {
    return mark_ ^ reinterpret_cast<std::uintptr_t>(slot);
  }
  // The first word of a slot, whatever lies there.
  [[nodiscard]] static std::uint64_t word(const void* slot) noexcept {
    std::uint64_t value = 0;
    std::memcpy(&value, slot, sizeof value);
    return value;
  }
  static void set_word(void* slot, std::uint64_t value) noexcept { std::memcpy(slot, &value, sizeof value); }
  // False for nearly every slot that is out; true for each that carries one of the two marks.
  [[nodiscard]] bool may_be_marked(const void* slot) const noexcept {
    return ((word(slot) ^ mark_of(slot)) & ~away_salt) == 0;
  }
  // The beginning of a slot that was handed out once: n is a multiple of d exactly when n * ceil(2^64 / d) mod 2^64 is
  // below that factor, for n and d below 2^32 (Lemire, Kaser, Kurz: Faster remainder by direct computation, 2019).
  [[nodiscard]] bool is_slot(const void* at) const noexcept {
    const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(at) - reinterpret_cast<std::uintptr_t>(slots_);
    return offset < cut_bytes_.load(std::memory_order_relaxed) && offset * divisor_ < divisor_;
  }
  [[nodiscard]] void* get_slowly() noexcept;
  [[nodiscard]] bool may_put_marked(void* slot) noexcept;
  void fault(pool_fault what, const void* slot) noexcept;
  void check_owner() noexcept;
  void hide(void* slot) noexcept;
  [[nodiscard]] bool show(void* slot) noexcept;

  slot_pool(region memory, std::string name) noexcept : memory_(std::move(memory)), name_(std::move(name)) {}

 public:
  slot_pool(slot_pool&& other) noexcept;  // before anything was handed out
  slot_pool& operator=(slot_pool&&) = delete;
  ~slot_pool();

  // `alignment`: a power of two; slots are `slot_bytes` rounded up to it.
  [[nodiscard]] static base::result<slot_pool> make(std::string name, std::uint32_t count, std::size_t slot_bytes,
                                                    std::size_t alignment = 16, int socket = any_socket);

  // A slot of undefined content, or nullptr.
  [[nodiscard]] void* get() noexcept {
    if constexpr (pool_faults_abort) check_owner();
    void** top = top_.load(std::memory_order_relaxed);
    if (top == bottom_) [[unlikely]]
      return get_slowly();
    void* slot = *--top;
    top_.store(top, std::memory_order_relaxed);
    if constexpr (pool_faults_abort) {
      if (!show(slot)) return nullptr;
    } else if (word(slot) != mark_of(slot)) [[unlikely]] {
      fault(pool_fault::use_after_give, slot);
      return get_slowly();
    }
    set_word(slot, 0);
    return slot;
  }

  // Takes a slot that get() handed out. nullptr is nothing.
  void put(void* slot) noexcept {
    if constexpr (pool_faults_abort) check_owner();
    if (!is_slot(slot)) [[unlikely]]
      return refuse(slot);
    void** top = top_.load(std::memory_order_relaxed);
    if (is_poisoned(slot) || may_be_marked(slot) || top == limit_) [[unlikely]]
      if (!may_put_marked(slot)) return;
    set_word(slot, mark_of(slot));
    if constexpr (pool_faults_abort) hide(slot);
    *top = slot;
    top_.store(top + 1, std::memory_order_relaxed);
  }

  // Whether put() would take it; when not, that is counted, or the end. For owners that destroy before they give.
  [[nodiscard]] bool may_put(void* slot) noexcept;
  // What put() does with an object that is none of this pool: counts it, or the end.
  void refuse(const void* object) noexcept;

  // The same as put(), on a thread that does not own the pool.
  void put_from_elsewhere(void* slot) noexcept;
  // Takes what other threads gave back; the answer is how many.
  std::uint32_t collect() noexcept;
  // The calling thread owns the pool from now on; the former owner has stopped using it.
  void adopt() noexcept;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::uint32_t slot_bytes() const noexcept { return slot_bytes_; }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::size_t memory_bytes() const noexcept { return memory_.size_bytes(); }
  [[nodiscard]] std::uint32_t in_use() const noexcept;
  [[nodiscard]] pool_figures figures() const noexcept;
  // Owner only: collects, then says whether every object is back.
  [[nodiscard]] bool is_whole() noexcept {
    collect();
    return in_use() == 0;
  }
};

}  // namespace millrace::mem
