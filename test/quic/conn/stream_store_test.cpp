// The table of streams: found by connection and number, refused when it is full, places used again.
#include "quic/conn/stream_store.hpp"

#include <gtest/gtest.h>

#include <map>

#include "support/seeded.hpp"

namespace millrace::quic::conn {
namespace {

// Addresses that stand for connections; nobody looks inside.
struct owners {
  alignas(64) std::byte bytes[4 * 64]{};
  connection& operator[](std::size_t i) { return reinterpret_cast<connection&>(bytes[64 * i]); }
};

TEST(stream_store, finds_a_stream_of_a_connection_and_not_that_of_another) {
  owners who;
  stream_store store(8, 1);
  ASSERT_EQ(store.capacity(), 8u);
  live_stream* a = store.open(who[0], stream::stream_id(4), {});
  live_stream* b = store.open(who[1], stream::stream_id(4), {});
  ASSERT_TRUE(a != nullptr && b != nullptr && a != b);
  EXPECT_EQ(store.find(who[0], 4), a);
  EXPECT_EQ(store.find(who[1], 4), b);
  EXPECT_EQ(store.find(who[0], 8), nullptr);
  EXPECT_EQ(store.find(who[2], 4), nullptr);
  EXPECT_NE(a->number, b->number);
  store.close(a);
  EXPECT_EQ(store.find(who[0], 4), nullptr);
  EXPECT_EQ(store.find(who[1], 4), b);
  store.close(b);
  EXPECT_EQ(store.open_streams(), 0u);
}

TEST(stream_store, refuses_one_more_than_it_has_room_for) {
  owners who;
  stream_store store(3, 2);
  std::vector<live_stream*> open;
  for (std::uint64_t i = 0; i < 3; ++i) open.push_back(store.open(who[0], stream::stream_id(4 * i), {}));
  EXPECT_FALSE(store.has_room());
  EXPECT_EQ(store.open(who[0], stream::stream_id(12), {}), nullptr);
  EXPECT_EQ(store.find(who[0], 12), nullptr);
  store.close(open[1]);
  EXPECT_TRUE(store.has_room());
  open[1] = store.open(who[1], stream::stream_id(12), {});
  EXPECT_EQ(store.find(who[1], 12), open[1]);
  for (live_stream* s : open) store.close(s);
}

TEST(stream_store, of_no_streams_finds_none) {
  owners who;
  stream_store store(0, 3);
  EXPECT_EQ(store.find(who[0], 0), nullptr);
  EXPECT_EQ(store.open(who[0], stream::stream_id(0), {}), nullptr);
}

TEST(stream_store, does_as_a_map_does) {
  owners who;
  stream_store store(64, 4);
  std::map<std::pair<std::size_t, std::uint64_t>, live_stream*> model;
  test::seeded random(5);
  for (int i = 0; i < 100'000; ++i) {
    const std::pair<std::size_t, std::uint64_t> key{random.below(4), random.below(40)};
    const auto known = model.find(key);
    live_stream* const found = store.find(who[key.first], key.second);
    ASSERT_EQ(found, known == model.end() ? nullptr : known->second);
    if (known != model.end()) {
      if (random.below(2) == 0) continue;
      store.close(known->second);
      model.erase(known);
    } else if (live_stream* fresh = store.open(who[key.first], stream::stream_id(key.second), {})) {
      ASSERT_LT(fresh->number, store.capacity());
      for (const auto& [other, s] : model) ASSERT_NE(s, fresh);
      model[key] = fresh;
    } else {
      ASSERT_EQ(model.size(), 64u);
    }
    ASSERT_EQ(store.open_streams(), model.size());
  }
  for (const auto& [key, s] : model) store.close(s);
}

}  // namespace
}  // namespace millrace::quic::conn
