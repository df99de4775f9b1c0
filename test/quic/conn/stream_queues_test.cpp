// The order in which streams with data are served.
#include "quic/conn/stream_queues.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

namespace millrace::quic::conn {
namespace {

struct crowd {
  alignas(64) std::byte nobody[64]{};
  std::deque<live_stream> streams;
  stream_queues q;
  explicit crowd(std::size_t count) {
    auto& owner = reinterpret_cast<connection&>(nobody);
    for (std::size_t i = 0; i < count; ++i) {
      live_stream& s = streams.emplace_back(stream::stream_id(4 * i), owner, stream_limits{.send = 1000});
      s.has_send = true;
      EXPECT_TRUE(s.send.write(1000));
    }
  }
  // As connection::write_streams() does: whose frame comes next, `count` times.
  std::vector<std::uint64_t> serve(unsigned count) {
    std::vector<std::uint64_t> order;
    while (count-- != 0 && !q.data.empty()) {
      live_stream& s = *q.data.front();
      order.push_back(s.id.value() / 4);
      stream::chunk c = s.send.next_chunk(10, 1000);
      s.send.on_sent(c);
      if (q.data.goes_on(s)) continue;
      q.data.pop_front();
      s.in_data_queue = false;
      q.add_data(s);
    }
    return order;
  }
  void set(std::size_t i, std::uint8_t urgency, bool incremental) {
    streams[i].urgency = urgency;
    streams[i].is_incremental = incremental;
    q.reorder(streams[i]);
  }
};

using order = std::vector<std::uint64_t>;

TEST(stream_queues, all_take_turns_where_nobody_says_otherwise) {
  crowd c(3);
  for (live_stream& s : c.streams) c.q.add_data(s);
  EXPECT_EQ(c.serve(7), (order{0, 1, 2, 0, 1, 2, 0}));
}

TEST(stream_queues, the_more_urgent_go_first) {
  crowd c(4);
  c.set(0, 7, true);
  c.set(1, 3, true);
  c.set(2, 0, true);
  c.set(3, 3, true);
  for (live_stream& s : c.streams) c.q.add_data(s);
  EXPECT_EQ(c.serve(3), (order{2, 2, 2}));
  c.q.data.remove(c.streams[2]);
  EXPECT_EQ(c.serve(4), (order{1, 3, 1, 3}));
}

TEST(stream_queues, those_that_are_not_incremental_go_one_after_another_by_their_numbers) {
  crowd c(4);
  for (std::size_t i = 0; i < 4; ++i) c.set(i, 3, false);
  for (const std::size_t i : {2, 0, 3, 1}) c.q.add_data(c.streams[i]);
  EXPECT_EQ(c.serve(3), (order{0, 0, 0}));
  c.q.data.pop_front();
  EXPECT_EQ(c.serve(2), (order{1, 1}));
  c.q.data.pop_front();
  EXPECT_EQ(c.serve(1), (order{2}));
}

TEST(stream_queues, an_urgency_may_change_while_a_stream_waits) {
  crowd c(3);
  for (std::size_t i = 0; i < 3; ++i) c.set(i, 3, false);
  for (live_stream& s : c.streams) c.q.add_data(s);
  EXPECT_EQ(c.serve(1), (order{0}));
  c.set(2, 1, false);
  EXPECT_EQ(c.serve(1), (order{2}));
  c.set(2, 5, true);
  EXPECT_EQ(c.serve(1), (order{0}));
}

TEST(stream_queues, what_was_lost_goes_before_what_is_urgent) {
  crowd c(2);
  c.set(0, 7, false);
  c.set(1, 0, false);
  for (live_stream& s : c.streams) c.q.add_data(s);
  stream::chunk sent = c.streams[0].send.next_chunk(20, 1000);
  c.streams[0].send.on_sent(sent);
  c.streams[0].send.on_lost(0, 20, false);
  c.q.reorder(c.streams[0]);
  EXPECT_EQ(c.serve(3), (order{0, 0, 1})) << "20 bytes in two frames, then the urgent one again";
}

}  // namespace
}  // namespace millrace::quic::conn
