// DATAGRAM frames that wait: copied, in order, given back; want of memory changes nothing.
#include "quic/conn/datagram_queue.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "support/plain_pool.hpp"

namespace millrace::quic::conn {
namespace {

struct fixture {
  test::plain_pool packets;
  mem::object_pool<stream::piece> pool;
  stream::piece_store store;
  stream::piece_account account;
  datagram_queue queue;

  explicit fixture(std::size_t buffers = 16, std::uint32_t pieces = 16, std::uint32_t most = 16)
      : packets(buffers, 2048),
        pool(std::move(mem::object_pool<stream::piece>::make("pieces", pieces).value())),
        store(pool, packets),
        account(store, most) {}
  ~fixture() {
    queue.clear(account);
    EXPECT_TRUE(pool.is_whole());
  }
  bool push(std::size_t size, std::uint8_t fill) {
    const std::vector<std::uint8_t> bytes(size, fill);
    return queue.push(account, bytes);  // `bytes` dies: it was copied
  }
};

TEST(datagram_queue, keeps_copies_in_order) {
  fixture f;
  EXPECT_TRUE(f.queue.empty());
  EXPECT_TRUE(f.push(10, 1) && f.push(1200, 2) && f.push(1, 3));
  EXPECT_EQ(f.queue.size(), 3u);
  for (const auto& [size, fill] : {std::pair<std::size_t, int>{10, 1}, {1200, 2}, {1, 3}}) {
    ASSERT_FALSE(f.queue.empty());
    const base::byte_view front = f.queue.front();
    ASSERT_EQ(front.size(), size);
    for (const std::uint8_t b : front) ASSERT_EQ(b, fill);
    f.queue.pop(f.account);
  }
  EXPECT_TRUE(f.queue.empty());
  EXPECT_EQ(f.pool.in_use(), 0u);
}

TEST(datagram_queue, without_a_piece_or_a_buffer_refuses_and_stays_as_it_was) {
  {
    fixture f(16, 2);
    EXPECT_TRUE(f.push(5, 1) && f.push(5, 2));
    EXPECT_FALSE(f.push(5, 3));
    EXPECT_EQ(f.queue.size(), 2u);
    f.queue.pop(f.account);
    EXPECT_TRUE(f.push(5, 4));
    EXPECT_EQ(f.queue.front()[0], 2);
  }
  fixture f(1, 16);
  unsigned taken = 0;
  while (taken < 16 && f.push(900, 1)) ++taken;
  EXPECT_LT(taken, 16u) << "one buffer holds them all";
  EXPECT_EQ(f.queue.size(), taken);
}

TEST(datagram_queue, gives_everything_back) {
  fixture f;
  for (std::uint8_t i = 0; i < 8; ++i) EXPECT_TRUE(f.push(1000, i));
  f.queue.clear(f.account);
  EXPECT_TRUE(f.queue.empty());
  EXPECT_EQ(f.queue.size(), 0u);
  EXPECT_EQ(f.pool.in_use(), 0u);
  EXPECT_LE(f.packets.in_use(), 1u) << "the store keeps one, for small pieces";
}

}  // namespace
}  // namespace millrace::quic::conn
