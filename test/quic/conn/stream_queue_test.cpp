// Streams in a queue: order, and leaving it from any place, against a plain list.
#include "quic/conn/stream_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "support/seeded.hpp"

namespace millrace::quic::conn {
namespace {

using queue = stream_queue<&live_stream::data_next>;

// Streams without a connection: a queue looks at links alone.
struct crowd {
  alignas(64) std::byte nobody[64]{};
  std::deque<live_stream> streams;
  explicit crowd(std::size_t count) {
    auto& owner = reinterpret_cast<connection&>(nobody);
    for (std::size_t i = 0; i < count; ++i) streams.emplace_back(stream::stream_id(4 * i), owner, stream_limits{});
  }
  live_stream& operator[](std::size_t i) { return streams[i]; }
};

TEST(stream_queue, gives_out_what_came_first) {
  crowd c(3);
  queue q;
  EXPECT_TRUE(q.empty());
  EXPECT_EQ(q.pop_front(), nullptr);
  q.push_back(c[0]);
  EXPECT_TRUE(q.has_one());
  q.push_back(c[1]);
  q.push_front(c[2]);
  EXPECT_FALSE(q.has_one());
  EXPECT_EQ(q.front(), &c[2]);
  EXPECT_EQ(q.pop_front(), &c[2]);
  EXPECT_EQ(q.pop_front(), &c[0]);
  EXPECT_TRUE(q.has_one());
  EXPECT_EQ(q.pop_front(), &c[1]);
  EXPECT_TRUE(q.empty());
}

TEST(stream_queue, does_as_a_list_does) {
  constexpr std::size_t count = 12;
  crowd c(count);
  queue q;
  std::deque<std::size_t> model;
  test::seeded random(77);
  for (int i = 0; i < 50'000; ++i) {
    const std::size_t which = random.below(count);
    const bool inside = std::find(model.begin(), model.end(), which) != model.end();
    switch (random.below(4)) {
      case 0:
        if (inside) break;
        q.push_back(c[which]);
        model.push_back(which);
        break;
      case 1:
        if (inside) break;
        q.push_front(c[which]);
        model.push_front(which);
        break;
      case 2:
        q.remove(c[which]);  // of one that is not in it: nothing
        std::erase(model, which);
        break;
      default: {
        live_stream* const s = q.pop_front();
        ASSERT_EQ(s, model.empty() ? nullptr : &c[model.front()]);
        if (!model.empty()) model.pop_front();
      }
    }
    ASSERT_EQ(q.empty(), model.empty());
    ASSERT_EQ(q.has_one(), model.size() == 1);
    ASSERT_EQ(q.front(), model.empty() ? nullptr : &c[model.front()]);
  }
}

TEST(stream_queue, queues_over_different_links_do_not_know_of_each_other) {
  crowd c(2);
  queue data;
  stream_queue<&live_stream::event_next> events;
  data.push_back(c[0]);
  data.push_back(c[1]);
  events.push_back(c[1]);
  events.push_back(c[0]);
  EXPECT_EQ(data.pop_front(), &c[0]);
  EXPECT_EQ(events.pop_front(), &c[1]);
  EXPECT_EQ(data.pop_front(), &c[1]);
  EXPECT_EQ(events.pop_front(), &c[0]);
}

}  // namespace
}  // namespace millrace::quic::conn
