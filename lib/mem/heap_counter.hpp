// mem/heap_counter.hpp - proof that the data path calls no heap: every heap call of a watched thread is counted.
//
// Shape    the executable's malloc, calloc, realloc, free, aligned_alloc, posix_memalign and memalign (operator new
//          and delete call them) pass through this file and on to the C library. A thread that stands inside a
//          heap_watch adds each call to the watch's tally; all other threads pay one test of a thread-local pointer.
// Units    calls: an allocation is one, a release is one (a release of nullptr is none), a realloc is one.
// Owner    the tally is the caller's and outlives the watch. Watches nest: the inner one counts (a TLS handshake
//          inside a data-path loop), the outer one goes on afterwards.
// Limits   sanitizers bring their own heap: there heap_counter_present() is false, nothing is counted, and a report
//          must say "absent" rather than 0. Calls that shared libraries make count like ours.
// Threads  a watch belongs to the thread that made it. A tally has one writer and any number of readers.
// Tests    test/mem/heap_counter_test.cpp
#pragma once

#include "stats/drop_counters.hpp"

namespace millrace::mem {

struct heap_tally {
  stats::counter calls;
};

[[nodiscard]] bool heap_counter_present() noexcept;

class heap_watch {
  heap_tally* outer_;

 public:
  explicit heap_watch(heap_tally& tally) noexcept;
  heap_watch(const heap_watch&) = delete;
  heap_watch& operator=(const heap_watch&) = delete;
  ~heap_watch();
};

}  // namespace millrace::mem
