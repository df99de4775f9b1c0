// How it works: the region holds the stack of free addresses, then the slots. `cut_` slots from the front have been
// handed out at least once; each of those is with a holder, in the stack, or in the list of what came from elsewhere.
//
// A give from another thread links the slot through its second word and writes a second kind of mark into the first, so
// that a slot cannot get into that list twice one after the other. Two threads that give one slot at the same moment
// can still make a loop of it; collect() therefore follows no more links than there are slots.
//
// In checked builds a free slot is filled with a pattern (and poisoned under AddressSanitizer), so that a write
// anywhere in it is seen; release builds look at the first word.
#include "mem/slot_pool.hpp"

#include <rte_cycles.h>
#include <rte_eal.h>

#include <algorithm>
#include <bit>

namespace millrace::mem {
namespace {

constexpr std::uint8_t pattern = 0xdd;
constexpr std::size_t link_at = 8;
constexpr std::size_t least_slot = 16;

std::uint64_t mix(std::uint64_t x) noexcept {  // the finaliser of splitmix64
  x = (x ^ (x >> 30)) * 0xbf58'476d'1ce4'e5b9;
  x = (x ^ (x >> 27)) * 0x94d0'49bb'1331'11eb;
  return x ^ (x >> 31);
}

void* link_of(const void* slot) noexcept {
  void* next = nullptr;
  std::memcpy(&next, static_cast<const std::byte*>(slot) + link_at, sizeof next);
  return next;
}

void set_link(void* slot, void* next) noexcept {
  std::memcpy(static_cast<std::byte*>(slot) + link_at, &next, sizeof next);
}

}  // namespace

slot_pool::slot_pool(slot_pool&& other) noexcept
    : top_(other.top_.exchange(nullptr)),
      bottom_(std::exchange(other.bottom_, nullptr)),
      limit_(std::exchange(other.limit_, nullptr)),
      slots_(std::exchange(other.slots_, nullptr)),
      cut_bytes_(other.cut_bytes_.exchange(0)),
      divisor_(other.divisor_),
      mark_(other.mark_),
      away_(other.away_.exchange(nullptr)),
      slot_bytes_(other.slot_bytes_),
      capacity_(std::exchange(other.capacity_, 0)),
      cut_(other.cut_.exchange(0)),
      lost_(other.lost_.exchange(0)),
      refused_(other.refused_.load()),
      owner_(other.owner_.load()),
      memory_(std::move(other.memory_)),
      name_(std::move(other.name_)) {
  for (std::size_t i = 0; i < pool_fault_count; ++i) faults_[i] = other.faults_[i].load();
}

slot_pool::~slot_pool() {
  if (!memory_) return;
  collect();
  unpoison(memory_.data(), memory_.size_bytes());
  if constexpr (pool_faults_abort)
    if (in_use() != 0) die_of_leak(name_.c_str(), in_use());
}

base::result<slot_pool> slot_pool::make(std::string name, std::uint32_t count, std::size_t slot_bytes,
                                        std::size_t alignment, int socket) {
  if (!std::has_single_bit(alignment) || count == 0 || slot_bytes == 0 || slot_bytes > UINT32_MAX / 2 ||
      alignment > UINT32_MAX / 2)
    return base::failure{
        "a pool '" + name + "' of " + std::to_string(count) + " x " + std::to_string(slot_bytes) + " bytes cannot be",
        "at least one object, of at least one byte", true};
  alignment = std::max(alignment, sizeof(std::uint64_t));
  const std::size_t each = (std::max(slot_bytes, least_slot) + alignment - 1) & ~(alignment - 1);
  const std::size_t whole_line = std::max(alignment, cache_line_bytes);
  // The gap keeps the stack's first entries and the first slots, which are used most, from lying at one offset of their
  // pages: a load that looks like an earlier store by its low address bits waits for it.
  constexpr std::size_t gap_bytes = 9 * cache_line_bytes;
  const std::size_t stack_bytes = (count * sizeof(void*) + gap_bytes + whole_line - 1) & ~(whole_line - 1);
  const std::uint64_t span = std::uint64_t{count} * each;
  region memory;
  if (span <= UINT32_MAX) memory = region::make(name.c_str(), stack_bytes + span, whole_line, socket);
  if (!memory)
    return base::failure{
        "no pool '" + name + "' of " + std::to_string(count) + " x " + std::to_string(each) + " bytes",
        "give EAL more memory (-m MEGABYTES, or more hugepages), or ask for fewer (at most 4 GiB in one pool)"};
  slot_pool made{std::move(memory), std::move(name)};
  made.bottom_ = reinterpret_cast<void**>(made.memory_.data());
  made.limit_ = made.bottom_ + count;
  made.top_ = made.bottom_;
  made.slots_ = made.memory_.data() + stack_bytes;
  made.divisor_ = UINT64_MAX / each + 1;
  made.mark_ = mix(reinterpret_cast<std::uintptr_t>(made.slots_) ^ rte_rdtsc()) | 1;  // odd: no slot's mark is 0
  made.slot_bytes_ = static_cast<std::uint32_t>(each);
  made.capacity_ = count;
  poison(made.slots_, span);
  return made;
}

void* slot_pool::get_slowly() noexcept {
  for (;;) {
    void** top = top_.load(std::memory_order_relaxed);
    if (top == bottom_ && collect() == 0) break;
    top = top_.load(std::memory_order_relaxed) - 1;
    void* slot = *top;
    top_.store(top, std::memory_order_relaxed);
    if constexpr (pool_faults_abort) {
      if (!show(slot)) return nullptr;
    } else if (word(slot) != mark_of(slot)) {
      fault(pool_fault::use_after_give, slot);
      continue;  // bounded: each round takes one from the stack
    }
    set_word(slot, 0);
    return slot;
  }
  const std::uint32_t cut = cut_.load(std::memory_order_relaxed);
  if (cut == capacity_) {
    refused_.store(refused_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return nullptr;
  }
  void* slot = slots_ + std::size_t{cut} * slot_bytes_;
  unpoison(slot, slot_bytes_);
  cut_.store(cut + 1, std::memory_order_relaxed);
  cut_bytes_.store((std::uint64_t{cut} + 1) * slot_bytes_, std::memory_order_relaxed);
  return slot;
}

// A slot that may carry a mark, or a stack that is full: a second give, unless the holder's bytes happen to be the mark
// of a slot in the stack. What is in the list of other threads is not looked for: its mark is believed.
bool slot_pool::may_put_marked(void* slot) noexcept {
  void** top = top_.load(std::memory_order_relaxed);
  const std::uint64_t difference = is_poisoned(slot) ? 0 : word(slot) ^ mark_of(slot);
  const bool is_free = difference == away_salt || (difference == 0 && std::find(bottom_, top, slot) != top);
  if (top != limit_ && !is_poisoned(slot) && !is_free) return true;
  fault(pool_fault::double_give, slot);
  return false;
}

bool slot_pool::may_put(void* slot) noexcept {
  if (!is_slot(slot)) {
    fault(pool_fault::foreign_object, slot);
    return false;
  }
  if (is_poisoned(slot) || word(slot) == mark_of(slot)) return may_put_marked(slot);
  if (word(slot) != (mark_of(slot) ^ away_salt)) return true;
  fault(pool_fault::double_give, slot);
  return false;
}

void slot_pool::fault(pool_fault what, const void* slot) noexcept {
  if constexpr (pool_faults_abort) die_of(what, name_.c_str(), slot);
  faults_[static_cast<std::size_t>(what)].fetch_add(1, std::memory_order_relaxed);
  if (what == pool_fault::use_after_give) lost_.fetch_add(1, std::memory_order_relaxed);
}

void slot_pool::refuse(const void* object) noexcept {
  if (object != nullptr) fault(pool_fault::foreign_object, object);
}

void slot_pool::check_owner() noexcept {
  const int self = rte_gettid();
  int owner = 0;
  if (!owner_.compare_exchange_strong(owner, self) && owner != self) die_of_stranger(name_.c_str());
}

void slot_pool::adopt() noexcept { owner_ = rte_gettid(); }

void slot_pool::hide(void* slot) noexcept {
  std::memset(static_cast<std::byte*>(slot) + sizeof(std::uint64_t), pattern, slot_bytes_ - sizeof(std::uint64_t));
  poison(slot, slot_bytes_);
}

bool slot_pool::show(void* slot) noexcept {
  unpoison(slot, slot_bytes_);
  const auto* bytes = static_cast<const std::uint8_t*>(slot);
  const bool untouched = word(slot) == mark_of(slot) && std::all_of(bytes + sizeof(std::uint64_t), bytes + slot_bytes_,
                                                                    [](std::uint8_t b) { return b == pattern; });
  if (!untouched) fault(pool_fault::use_after_give, slot);
  return untouched;
}

void slot_pool::put_from_elsewhere(void* slot) noexcept {
  if (!is_slot(slot)) return refuse(slot);
  const std::uint64_t away_mark = mark_of(slot) ^ away_salt;
  if (is_poisoned(slot) || word(slot) == mark_of(slot) || word(slot) == away_mark)
    return fault(pool_fault::double_give, slot);
  set_word(slot, away_mark);
  void* head = away_.load(std::memory_order_relaxed);
  do {
    set_link(slot, head);
  } while (!away_.compare_exchange_weak(head, slot, std::memory_order_release, std::memory_order_relaxed));
}

std::uint32_t slot_pool::collect() noexcept {
  if (away_.load(std::memory_order_relaxed) == nullptr) return 0;
  void* slot = away_.exchange(nullptr, std::memory_order_acquire);
  std::uint32_t taken = 0;
  for (std::uint32_t links = 0; slot != nullptr && links < capacity_; ++links) {
    if (is_poisoned(slot) || word(slot) == mark_of(slot)) {  // a loop: taken a moment ago
      fault(pool_fault::double_give, slot);
      break;
    }
    void* next = link_of(slot);
    if (word(slot) == (mark_of(slot) ^ away_salt)) {
      set_word(slot, 0);
      put(slot);
      ++taken;
    } else {
      fault(pool_fault::use_after_give, slot);
    }
    slot = is_slot(next) ? next : nullptr;
  }
  return taken;
}

std::uint32_t slot_pool::in_use() const noexcept {
  const auto free = static_cast<std::uint32_t>(top_.load(std::memory_order_relaxed) - bottom_);
  const std::uint32_t not_out = free + lost_.load(std::memory_order_relaxed);
  const std::uint32_t cut = cut_.load(std::memory_order_relaxed);
  return cut > not_out ? cut - not_out : 0;
}

pool_figures slot_pool::figures() const noexcept {
  pool_figures all{.capacity = capacity_,
                   .in_use = in_use(),
                   .high_water = cut_.load(std::memory_order_relaxed),
                   .refused = refused_.load(std::memory_order_relaxed)};
  for (std::size_t i = 0; i < pool_fault_count; ++i) all.faults[i] = faults_[i].load(std::memory_order_relaxed);
  return all;
}

}  // namespace millrace::mem
