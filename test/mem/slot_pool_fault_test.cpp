// Faults of the caller: counted in release, the end of the program in checked builds. One half of this file is
// compiled.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include "mem/slot_pool.hpp"

namespace millrace::mem {
namespace {

slot_pool must_make(std::uint32_t count, std::size_t bytes, std::size_t alignment = 16) {
  auto made = slot_pool::make("slots", count, bytes, alignment);
  if (!made) ADD_FAILURE() << made.error().what;
  return std::move(made.value());
}

#if !MILLRACE_POOL_FAULTS_ABORT

TEST(slot_pool, counts_a_second_give_and_hands_the_slot_out_once) {
  slot_pool pool = must_make(4, 16);
  void* a = pool.get();
  void* b = pool.get();
  pool.put(a);
  pool.put(a);  // on top of the stack
  pool.put(b);
  pool.put(a);  // deeper
  EXPECT_EQ(pool.figures().count(pool_fault::double_give), 2u);
  EXPECT_EQ(pool.in_use(), 0u);
  std::set<void*> distinct;
  for (int i = 0; i < 4; ++i) distinct.insert(pool.get());
  EXPECT_EQ(distinct.size(), 4u);
  EXPECT_EQ(pool.get(), nullptr);
}

TEST(slot_pool, counts_what_is_not_its_own) {
  slot_pool pool = must_make(4, 48);
  slot_pool other = must_make(4, 48);
  std::array<std::uint64_t, 8> local{};  // large enough that the compiler sees no misuse of it
  auto* mine = static_cast<std::byte*>(pool.get());
  void* foreign = other.get();
  pool.put(&local);
  pool.put(nullptr);
  pool.put(foreign);
  for (const std::size_t offset : {1u, 8u, 16u, 32u, 47u}) pool.put(mine + offset);  // inside a slot
  pool.put(mine - 1);
  pool.put(mine + 4 * pool.slot_bytes());
  EXPECT_EQ(pool.figures().count(pool_fault::foreign_object), 9u);
  EXPECT_EQ(pool.in_use(), 1u);
  pool.put(mine);
  other.put(foreign);
  EXPECT_TRUE(pool.is_whole());
}

TEST(slot_pool, refuses_a_slot_that_it_never_handed_out) {
  slot_pool pool = must_make(4, 16);
  auto* first = static_cast<std::byte*>(pool.get());
  pool.put(first + pool.slot_bytes());
  EXPECT_EQ(pool.figures().count(pool_fault::foreign_object), 1u);
  EXPECT_EQ(pool.in_use(), 1u);
  std::set<void*> distinct = {first};
  while (void* slot = pool.get()) EXPECT_TRUE(distinct.insert(slot).second) << "handed out twice";
  EXPECT_EQ(distinct.size(), 4u);
}

TEST(slot_pool, refuses_a_give_after_one_on_another_thread_and_loses_no_slot) {
  slot_pool pool = must_make(8, 16);
  void* a = pool.get();
  void* b = pool.get();
  std::thread([&] {
    pool.put_from_elsewhere(b);
    pool.put_from_elsewhere(a);
  }).join();
  pool.put(a);
  EXPECT_EQ(pool.figures().count(pool_fault::double_give), 1u);
  EXPECT_TRUE(pool.is_whole());
  std::set<void*> distinct;
  while (void* slot = pool.get()) EXPECT_TRUE(distinct.insert(slot).second);
  EXPECT_EQ(distinct.size(), 8u);
}

TEST(slot_pool, accepts_the_beginning_of_each_slot_and_nothing_between) {
  for (const std::size_t bytes : {16u, 24u, 40u, 48u, 56u, 112u, 240u, 1016u, 65'544u}) {
    slot_pool pool = must_make(50, bytes, 8);
    std::vector<std::byte*> held;
    while (void* slot = pool.get()) held.push_back(static_cast<std::byte*>(slot));
    for (std::byte* slot : held)
      for (const std::size_t inside : {std::size_t{8}, bytes / 2 + 1, bytes - 1}) pool.put(slot + inside);
    EXPECT_EQ(pool.figures().count(pool_fault::foreign_object), 3 * held.size()) << bytes;
    for (std::byte* slot : held) pool.put(slot);
    EXPECT_TRUE(pool.is_whole());
  }
}

TEST(slot_pool, never_hands_out_again_what_was_written_to_after_its_give) {
  slot_pool pool = must_make(3, 32);
  void* a = pool.get();
  void* b = pool.get();
  pool.put(a);
  pool.put(b);
  std::memset(b, 0x41, 32);  // after its give
  EXPECT_EQ(pool.get(), a);
  EXPECT_EQ(pool.figures().count(pool_fault::use_after_give), 1u);
  void* c = pool.get();
  EXPECT_NE(c, b);
  EXPECT_EQ(pool.get(), nullptr);  // b is lost, and nothing else is
  pool.put(a);
  pool.put(c);
  EXPECT_EQ(pool.in_use(), 0u);
}

TEST(slot_pool, does_not_overrun_when_one_slot_is_given_written_and_given_for_ever) {
  slot_pool pool = must_make(8, 16);
  void* a = pool.get();
  for (int i = 0; i < 100; ++i) {
    pool.put(a);
    std::memset(a, i, 16);  // hides the mark
  }
  EXPECT_EQ(pool.figures().count(pool_fault::double_give), 92u);
  std::set<void*> distinct;
  std::size_t given = 0;
  while (void* slot = pool.get()) {
    distinct.insert(slot);
    ++given;
  }
  EXPECT_EQ(distinct.size(), given);
}

TEST(slot_pool, counts_faulty_gives_from_elsewhere) {
  slot_pool pool = must_make(4, 32);
  void* a = pool.get();
  void* b = pool.get();
  std::array<std::uint64_t, 8> local{};  // large enough that the compiler sees no misuse of it
  pool.put_from_elsewhere(&local);
  pool.put_from_elsewhere(a);
  pool.put_from_elsewhere(a);
  pool.put_from_elsewhere(b);
  EXPECT_EQ(pool.collect(), 2u);
  pool.put_from_elsewhere(b);
  EXPECT_EQ(pool.collect(), 0u);
  EXPECT_EQ(pool.figures().count(pool_fault::double_give), 2u);
  EXPECT_EQ(pool.figures().count(pool_fault::foreign_object), 1u);
  EXPECT_TRUE(pool.is_whole());
}

TEST(slot_pool, follows_a_list_that_was_written_to_no_further_than_it_can_trust) {
  slot_pool pool = must_make(4, 32);
  void* a = pool.get();
  void* b = pool.get();
  pool.put_from_elsewhere(a);
  pool.put_from_elsewhere(b);
  std::memset(b, 0x41, 32);  // mark and link are gone
  EXPECT_EQ(pool.collect(), 0u);
  EXPECT_EQ(pool.figures().count(pool_fault::use_after_give), 1u);
  EXPECT_NE(pool.get(), nullptr);
}

#else

TEST(slot_pool_death_test, a_second_give_ends_the_program_and_says_where) {
  slot_pool pool = must_make(4, 32);
  void* a = pool.get();
  pool.put(a);
  EXPECT_DEATH(pool.put(a), "pool 'slots': double_give|use-after-poison");
  EXPECT_DEATH(pool.put_from_elsewhere(a), "pool 'slots': double_give|use-after-poison");
}

TEST(slot_pool_death_test, a_foreign_object_ends_the_program) {
  slot_pool pool = must_make(4, 32);
  std::array<std::uint64_t, 8> local{};  // large enough that the compiler sees no misuse of it
  EXPECT_DEATH(pool.put(&local), "pool 'slots': foreign_object");
  pool.put(nullptr);
}

TEST(slot_pool_death_test, a_write_anywhere_after_the_give_ends_the_program) {
  slot_pool pool = must_make(4, 64);
  auto* a = static_cast<std::uint8_t*>(pool.get());
  pool.put(a);
  for (const std::size_t at : {std::size_t{0}, std::size_t{20}, std::size_t{63}})
    EXPECT_DEATH(
        {
          a[at] ^= 1;
          static_cast<void>(pool.get());
        },
        "pool 'slots': use_after_give|use-after-poison");
}

TEST(slot_pool_death_test, a_leak_ends_the_program_with_its_number) {
  EXPECT_DEATH(
      {
        slot_pool pool = must_make(4, 64);
        static_cast<void>(pool.get());
        static_cast<void>(pool.get());
      },
      "pool 'slots' ends with 2 objects");
}

TEST(slot_pool_death_test, a_thread_that_does_not_own_the_pool_ends_the_program) {
  slot_pool pool = must_make(4, 64);
  pool.put(pool.get());
  EXPECT_DEATH(std::thread([&] { static_cast<void>(pool.get()); }).join(), "pool 'slots' used by a thread");
  std::thread([&] {
    pool.adopt();
    pool.put(pool.get());
  }).join();
  pool.adopt();
  pool.put(pool.get());
}

#endif

}  // namespace
}  // namespace millrace::mem
