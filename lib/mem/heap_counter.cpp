// How it works: a definition of malloc in the executable precedes the C library's for every object of the process, so
// calls from shared libraries arrive here as well. The work is left to the C library's own entry points, which it
// exports under __libc_ names. Nothing here may allocate, and the thread-local pointer is of the executable's static
// TLS block (constant-initialised), so that reading it never calls back into malloc.
#include "mem/heap_counter.hpp"

#include <bit>
#include <cerrno>
#include <cstddef>

#include "mem/sanitizer.hpp"

namespace millrace::mem {
namespace {

constinit thread_local heap_tally* current_tally = nullptr;

}  // namespace

bool heap_counter_present() noexcept { return MILLRACE_ASAN == 0 && MILLRACE_TSAN == 0; }

heap_watch::heap_watch(heap_tally& tally) noexcept : outer_(current_tally) { current_tally = &tally; }

heap_watch::~heap_watch() { current_tally = outer_; }

}  // namespace millrace::mem

#if MILLRACE_ASAN == 0 && MILLRACE_TSAN == 0

namespace {

inline void note_call() noexcept {
  if (millrace::mem::heap_tally* tally = millrace::mem::current_tally; tally != nullptr) [[unlikely]]
    tally->calls.add(1);
}

}  // namespace

extern "C" {

void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* block);

// NOLINTBEGIN: names and signatures are the C library's.
void* malloc(std::size_t size) noexcept {
  note_call();
  return __libc_malloc(size);
}

void* calloc(std::size_t count, std::size_t size) noexcept {
  note_call();
  return __libc_calloc(count, size);
}

void* realloc(void* old, std::size_t size) noexcept {
  note_call();
  return __libc_realloc(old, size);
}

void free(void* block) noexcept {
  if (block != nullptr) note_call();
  __libc_free(block);
}

void* memalign(std::size_t alignment, std::size_t size) noexcept {
  note_call();
  return __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  note_call();
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** out, std::size_t alignment, std::size_t size) noexcept {
  if (!std::has_single_bit(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  note_call();
  void* block = __libc_memalign(alignment, size);
  if (block == nullptr) return ENOMEM;
  *out = block;
  return 0;
}
// NOLINTEND

}  // extern "C"

#endif
