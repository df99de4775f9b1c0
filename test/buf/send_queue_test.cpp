#include "buf/send_queue.hpp"

#include <gtest/gtest.h>

#include "support/packets.hpp"

namespace millrace::buf {
namespace {

using test::checked_pool;

chain message(checked_pool& pool, std::size_t size) {
  chain made;
  EXPECT_TRUE(made.append_copy(test::counting_bytes(size), *pool));
  return made;
}

TEST(send_queue, refuses_above_its_mark_and_leaves_the_message_with_the_caller) {
  checked_pool pool;
  int rooms = 0;
  send_queue queue({.high_bytes = 100, .low_bytes = 50}, *pool, &rooms,
                   [](void* count) noexcept { ++*static_cast<int*>(count); });
  EXPECT_EQ(queue.push(message(pool, 99)), push_status::taken);
  EXPECT_EQ(queue.push(message(pool, 5000)), push_status::taken);  // one message beyond the mark, whatever its length
  chain kept = message(pool, 7);
  EXPECT_EQ(queue.push(std::move(kept)), push_status::full);
  EXPECT_EQ(kept.size(), 7u);  // NOLINT: refused, so still ours
  queue.consume(5049);
  EXPECT_TRUE(queue.is_full());
  EXPECT_EQ(rooms, 0);
  queue.consume(1);
  EXPECT_EQ(rooms, 1);
  EXPECT_EQ(queue.push(std::move(kept)), push_status::taken);
  EXPECT_EQ(queue.size(), 56u);
}

TEST(send_queue, calls_only_who_was_refused) {
  checked_pool pool;
  int rooms = 0;
  send_queue queue({.high_bytes = 10, .low_bytes = 5}, *pool, &rooms,
                   [](void* count) noexcept { ++*static_cast<int*>(count); });
  EXPECT_EQ(queue.push(message(pool, 10)), push_status::taken);
  queue.clear();
  EXPECT_EQ(rooms, 0);
  EXPECT_FALSE(queue.is_full());
}

TEST(send_queue, gives_bytes_in_order_whatever_the_messages_were) {
  checked_pool pool;
  send_queue queue({}, *pool);
  for (std::uint8_t i = 0; i < 5; ++i) {
    chain part;
    ASSERT_TRUE(part.append_copy(test::counting_bytes(10, static_cast<std::uint8_t>(10 * i)), *pool));
    ASSERT_EQ(queue.push(std::move(part)), push_status::taken);
  }
  std::vector<std::uint8_t> all;
  chain out;
  while (queue.pop(7, out)) {
    std::vector<std::uint8_t> part(out.size());
    out.copy_out(0, part);
    all.insert(all.end(), part.begin(), part.end());
  }
  EXPECT_EQ(all, test::counting_bytes(50));
  EXPECT_FALSE(queue.pop(1, out));
}

TEST(send_queue, keeps_what_it_took_after_it_is_closed) {
  checked_pool pool;
  send_queue queue({}, *pool);
  EXPECT_EQ(queue.push(message(pool, 3)), push_status::taken);
  queue.close();
  EXPECT_EQ(queue.push(message(pool, 3)), push_status::closed);
  EXPECT_EQ(queue.size(), 3u);
}

TEST(send_queue, separates_a_shared_end_or_says_that_it_cannot) {
  checked_pool pool(2);
  chain whole = message(pool, 10);
  chain front;
  ASSERT_TRUE(whole.cut(4, front));  // both halves hold one mbuf
  packet other = packet::alloc(*pool);
  send_queue queue({}, *pool);
  EXPECT_EQ(queue.push(std::move(front)), push_status::exhausted);
  EXPECT_EQ(front.size(), 4u);  // NOLINT: refused
  other = packet{};
  EXPECT_EQ(queue.push(std::move(front)), push_status::taken);
  EXPECT_EQ(queue.push(std::move(whole)), push_status::taken);
  std::vector<std::uint8_t> bytes(10);
  EXPECT_EQ(queue.front().copy_out(0, bytes), 10u);
  EXPECT_EQ(bytes, test::counting_bytes(10));
}

}  // namespace
}  // namespace millrace::buf
