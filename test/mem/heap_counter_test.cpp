#include "mem/heap_counter.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace millrace::mem {
namespace {

// Keeps the compiler from removing a pair of malloc and free.
void* volatile sink;

#define MILLRACE_NEEDS_HEAP_COUNTER() \
  if (!heap_counter_present()) GTEST_SKIP() << "this build's sanitizer brings its own heap"

TEST(heap_counter, counts_every_kind_of_c_allocation_and_its_release) {
  MILLRACE_NEEDS_HEAP_COUNTER();
  heap_tally tally;
  {
    heap_watch watch(tally);
    sink = std::malloc(10);
    std::free(sink);
    EXPECT_EQ(tally.calls.get(), 2u);
    sink = std::calloc(3, 5);
    sink = std::realloc(sink, 500);
    std::free(sink);
    EXPECT_EQ(tally.calls.get(), 5u);
    sink = std::aligned_alloc(64, 128);
    std::free(sink);
    EXPECT_EQ(tally.calls.get(), 7u);
    void* block = nullptr;
    ASSERT_EQ(posix_memalign(&block, 128, 100), 0);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 128, 0u);
    sink = block;
    std::free(sink);
    EXPECT_EQ(tally.calls.get(), 9u);
    std::free(nullptr);
    EXPECT_EQ(tally.calls.get(), 9u);
  }
}

TEST(heap_counter, counts_operator_new_and_the_library_s_own_allocations) {
  MILLRACE_NEEDS_HEAP_COUNTER();
  heap_tally tally;
  std::uint64_t after_new = 0;
  std::uint64_t after_string = 0;
  {
    heap_watch watch(tally);
    auto* number = new int(5);
    sink = number;
    delete number;
    after_new = tally.calls.get();
    std::string text(100, 'x');
    sink = text.data();
    after_string = tally.calls.get();
  }
  EXPECT_EQ(after_new, 2u);
  EXPECT_EQ(after_string, 3u);
}

TEST(heap_counter, counts_nothing_outside_a_watch_or_on_another_thread) {
  MILLRACE_NEEDS_HEAP_COUNTER();
  heap_tally tally;
  {
    heap_watch watch(tally);
  }
  sink = std::malloc(10);
  std::free(sink);
  EXPECT_EQ(tally.calls.get(), 0u);
  std::thread other([] {
    for (int i = 0; i < 100; ++i) {
      sink = std::malloc(10);
      std::free(sink);
    }
  });
  {
    heap_watch watch(tally);
    other.join();
  }
  EXPECT_LT(tally.calls.get(), 100u);  // join() itself may release the thread's state here
}

TEST(heap_counter, gives_an_inner_watch_its_calls_and_goes_on_with_the_outer_one) {
  MILLRACE_NEEDS_HEAP_COUNTER();
  heap_tally data_path;
  heap_tally handshake;
  {
    heap_watch outer(data_path);
    sink = std::malloc(1);
    {
      heap_watch inner(handshake);
      std::free(sink);
      sink = std::malloc(1);
    }
    std::free(sink);
  }
  EXPECT_EQ(data_path.calls.get(), 2u);
  EXPECT_EQ(handshake.calls.get(), 2u);
}

}  // namespace
}  // namespace millrace::mem
