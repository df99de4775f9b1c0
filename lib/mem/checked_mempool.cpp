// How it works: in front of each element lies the mempool's header for it, rounded up to a cache line, so that there is
// room for one word of ours at its beginning: the element's address mixed with "free" or "out". Elements are written
// "out" when the mempool is populated, which then enqueues each of them.
#include "mem/checked_mempool.hpp"

#include <cerrno>
#include <cstring>
#include <string_view>

namespace millrace::mem {
namespace {

constexpr const char* handler_name = "mr_checked";
constexpr const char* inner_name = "ring_mp_mc";
constexpr std::uint8_t pattern = 0xdd;
constexpr std::uint64_t free_word = 0x6d72'2066'7265'6521;
constexpr std::uint64_t out_word = 0x6d72'2074'616b'656e;

const rte_mempool_ops* ops_called(std::string_view name) noexcept {
  for (unsigned i = 0; i < rte_mempool_ops_table.num_ops; ++i)
    if (name == rte_mempool_ops_table.ops[i].name) return &rte_mempool_ops_table.ops[i];
  return nullptr;
}

// DPDK's ring, whose functions keep their state where ours expect it: in the mempool.
const rte_mempool_ops& inner() noexcept {
  static const rte_mempool_ops* found = ops_called(inner_name);
  return *found;
}

std::uint64_t* word_of(const rte_mempool* pool, void* element) noexcept {
  return reinterpret_cast<std::uint64_t*>(static_cast<std::byte*>(element) - pool->header_size);
}

std::uint64_t marked(std::uint64_t word, const void* element) noexcept {
  return word ^ reinterpret_cast<std::uintptr_t>(element);
}

struct payload {
  std::uint8_t* first;
  std::size_t bytes;
};

payload payload_of(const rte_mempool* pool, void* element) noexcept {
  const auto kept = static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(pool->pool_config));
  return {static_cast<std::uint8_t*>(element) + kept, pool->elt_size - kept};
}

int enqueue(rte_mempool* pool, void* const* elements, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    void* element = elements[i];
    if (rte_mempool_from_obj(element) != pool) die_of(pool_fault::foreign_object, pool->name, element);
    std::uint64_t* word = word_of(pool, element);
    if (*word == marked(free_word, element)) die_of(pool_fault::double_give, pool->name, element);
    if (*word != marked(out_word, element)) die_of(pool_fault::foreign_object, pool->name, element);
    *word = marked(free_word, element);
    const payload bytes = payload_of(pool, element);
    std::memset(bytes.first, pattern, bytes.bytes);
    poison(bytes.first, bytes.bytes);
  }
  return inner().enqueue(pool, elements, count);
}

int dequeue(rte_mempool* pool, void** elements, unsigned count) {
  const int status = inner().dequeue(pool, elements, count);
  if (status != 0) return status;
  for (unsigned i = 0; i < count; ++i) {
    const payload bytes = payload_of(pool, elements[i]);
    unpoison(bytes.first, bytes.bytes);
    // Equal to itself moved by one: every byte is the first.
    if (bytes.first[0] != pattern || std::memcmp(bytes.first, bytes.first + 1, bytes.bytes - 1) != 0)
      die_of(pool_fault::use_after_give, pool->name, elements[i]);
    *word_of(pool, elements[i]) = marked(out_word, elements[i]);
  }
  return 0;
}

struct wrapped {
  rte_mempool_populate_obj_cb_t* call;
  void* argument;
};

void mark_and_call(rte_mempool* pool, void* argument, void* element, rte_iova_t iova) {
  const auto* inner_call = static_cast<const wrapped*>(argument);
  inner_call->call(pool, inner_call->argument, element, iova);
  *word_of(pool, element) = marked(out_word, element);
}

int populate(rte_mempool* pool, unsigned most, void* memory, rte_iova_t iova, std::size_t bytes,
             rte_mempool_populate_obj_cb_t* call, void* argument) {
  wrapped both{call, argument};
  return rte_mempool_op_populate_default(pool, most, memory, iova, bytes, mark_and_call, &both);
}

int alloc(rte_mempool* pool) { return inner().alloc(pool); }
void free_handler(rte_mempool* pool) { inner().free(pool); }
unsigned count_free(const rte_mempool* pool) { return inner().get_count(pool); }

}  // namespace

int use_checked_handler(rte_mempool* pool, std::uint32_t kept_bytes) noexcept {
  if (kept_bytes >= pool->elt_size || pool->header_size < sizeof(rte_mempool_objhdr) + sizeof(std::uint64_t))
    return -EINVAL;
  if (ops_called(inner_name) == nullptr) return -ENOENT;
  if (ops_called(handler_name) == nullptr) {
    rte_mempool_ops ours{};
    std::strncpy(ours.name, handler_name, sizeof ours.name - 1);
    ours.alloc = alloc;
    ours.free = free_handler;
    ours.enqueue = enqueue;
    ours.dequeue = dequeue;
    ours.get_count = count_free;
    ours.populate = populate;
    if (const int index = rte_mempool_register_ops(&ours); index < 0) return index;
  }
  return rte_mempool_set_ops_byname(pool, handler_name, reinterpret_cast<void*>(std::uintptr_t{kept_bytes}));
}

void uncover_memory(rte_mempool* pool) noexcept {
  rte_mempool_mem_iter(
      pool, [](rte_mempool*, void*, rte_mempool_memhdr* chunk, unsigned) { unpoison(chunk->addr, chunk->len); },
      nullptr);
}

}  // namespace millrace::mem
