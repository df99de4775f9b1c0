// Streams of one session, frame by frame: order, repetition, ends, limits; and the same result in any order.
#include "inspect/stream_reader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "support/bytes.hpp"

namespace millrace::inspect {
namespace {

using test::byte_list;

class stream_reading : public testing::Test {
 protected:
  limits caps_;
  std::vector<std::byte> memory_;
  stream_reader reader_;
  std::unique_ptr<session> session_ = std::make_unique<session>();

  void SetUp() override {
    caps_.max_decrypted = 1;
    caps_.max_streams = 8;
    caps_.streams_per_connection = 6;
    caps_.stream_pieces = 10;
    caps_.pieces_per_stream = 4;
    make();
  }
  void make() {
    carver measure;
    (void)stream_reader(measure, caps_, 3);
    memory_.assign(measure.bytes() + 64, std::byte{});
    auto* at = reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(memory_.data()) + 63) / 64 * 64);
    carver carve({at, measure.bytes()});
    reader_ = stream_reader(carve, caps_, 3);
    ASSERT_FALSE(carve.is_short());
    session_ = std::make_unique<session>();
  }
  void TearDown() override {
    reader_.release(*session_);
    EXPECT_EQ(reader_.streams_in_use(), 0u);
    EXPECT_EQ(reader_.pieces_in_use(), 0u);
  }

  void take(std::uint64_t id, std::uint64_t offset, const byte_list& data, bool fin = false, peer from = peer::client,
            bool is_h3 = true) {
    quic::wire::stream_frame f;
    f.stream_id = id;
    f.offset = offset;
    f.data = data;
    f.fin = fin;
    reader_.on_stream(*session_, 0, from, f, is_h3);
  }
  session_facts& facts() { return session_->facts; }
  side_facts& client() { return facts().of(peer::client); }
};

TEST_F(stream_reading, reads_in_order_whatever_order_frames_come_in) {
  take(0, 6, {9, 9, 9, 9});
  take(0, 3, {2, 0, 4});
  EXPECT_EQ(client().stream_bytes, 0u);
  EXPECT_EQ(reader_.pieces_in_use(), 2u);
  take(0, 0, {1, 1, 7});
  EXPECT_EQ(client().stream_bytes, 10u);
  EXPECT_EQ(client().h3_frames.get(h3_frame_kind::headers), 1u);
  EXPECT_EQ(client().h3_frames.get(h3_frame_kind::other), 1u);  // type 2 is none
  EXPECT_EQ(client().h3_frames.get(h3_frame_kind::settings), 1u);
  EXPECT_EQ(reader_.pieces_in_use(), 0u);
}

// One packet of many is lost and comes again some hundred packets later: nothing that was seen is given up.
TEST_F(stream_reading, waits_for_a_packet_that_is_hundreds_late) {
  caps_ = limits{};
  caps_.max_decrypted = 1;
  caps_.max_streams = 8;
  make();
  const byte_list data(1200, 0x21);
  for (std::uint64_t n = 1; n <= 800; ++n) take(0, n * data.size(), data);
  EXPECT_EQ(client().stream_bytes, 0u);
  EXPECT_EQ(facts().limits.total(), 0u);
  EXPECT_LE(reader_.pieces_in_use(), 800 * 1200 / stream_piece_bytes + 1);  // they are filled
  take(0, 0, data);
  EXPECT_EQ(client().stream_bytes, 801u * 1200u);
  EXPECT_EQ(reader_.pieces_in_use(), 0u);
  for (std::uint64_t n = 900; n != 801; --n) take(0, n * data.size(), data);  // backwards, too
  take(0, 801 * data.size(), data);
  EXPECT_EQ(client().stream_bytes, 901u * 1200u);
  EXPECT_EQ(facts().limits.total(), 0u);
}

TEST_F(stream_reading, counts_repeated_bytes_once) {
  for (int n = 0; n < 3; ++n) {
    take(0, 0, {1, 4, 0});
    take(0, 1, {4, 0, 0, 0});
    take(0, 0, {1, 4, 0, 0});
    take(0, 20, {5, 5});
    take(0, 20, {5});
  }
  EXPECT_EQ(client().stream_bytes, 5u);
  EXPECT_EQ(client().h3_frames.total(), 1u);
  EXPECT_EQ(reader_.pieces_in_use(), 1u);
}

TEST_F(stream_reading, lets_a_stream_go_when_all_its_directions_have_ended_and_knows_it_again) {
  take(0, 0, {1, 0}, true);
  EXPECT_EQ(reader_.streams_in_use(), 1u);
  take(0, 0, {1, 0}, true, peer::server);
  EXPECT_EQ(reader_.streams_in_use(), 0u);
  take(2, 0, {0, 4, 0}, true);
  EXPECT_EQ(reader_.streams_in_use(), 0u);
  take(0, 0, {1, 0}, true);  // repetitions
  take(2, 0, {0, 4, 0}, true);
  EXPECT_EQ(reader_.streams_in_use(), 0u);
  EXPECT_EQ(client().stream_bytes, 5u);
  EXPECT_EQ(facts().streams[0], 1u);
  EXPECT_EQ(facts().streams[2], 1u);
  ASSERT_EQ(facts().streams_listed, 2u);
  EXPECT_TRUE(facts().stream[0].side[0].ended && facts().stream[0].side[1].ended);
  EXPECT_TRUE(facts().stream[1].has_type);
}

TEST_F(stream_reading, stream_that_ends_before_a_lower_one_begins_hides_it_not) {
  take(8, 0, {1, 0}, true);
  take(8, 0, {1, 0}, true, peer::server);
  take(4, 0, {1, 0}, true);
  take(0, 0, {1, 0}, true);
  EXPECT_EQ(client().h3_frames.get(h3_frame_kind::headers), 3u);
  EXPECT_EQ(facts().streams[0], 3u);
}

TEST_F(stream_reading, end_counts_only_with_every_byte_before_it) {
  take(0, 4, {0}, true);
  take(0, 5, {}, true, peer::server);
  EXPECT_FALSE(facts().stream[0].side[0].ended || facts().stream[0].side[1].ended);
  take(0, 0, {1, 3, 0, 0});
  EXPECT_TRUE(facts().stream[0].side[0].ended);
  take(0, 0, {1, 3, 0, 0, 0}, false, peer::server);
  EXPECT_TRUE(facts().stream[0].side[1].ended);
  EXPECT_EQ(reader_.streams_in_use(), 0u);
}

TEST_F(stream_reading, direction_that_would_need_too_many_pieces_is_given_up_and_counted) {
  for (std::uint64_t n = 1; n <= 6; ++n) take(0, 10 * n, {1});
  EXPECT_EQ(facts().limits.get(session_limit::stream_pieces), 1u);
  EXPECT_EQ(reader_.pieces_in_use(), 0u);
  take(0, 0, {1, 0});
  EXPECT_EQ(client().stream_bytes, 0u);
  take(0, 0, {1, 0}, false, peer::server);  // the other direction goes on
  EXPECT_EQ(facts().of(peer::server).stream_bytes, 2u);
}

TEST_F(stream_reading, pieces_of_all_streams_have_a_limit) {
  for (std::uint64_t id = 0; id < 24; id += 4)
    for (std::uint64_t n = 1; n <= 3; ++n) take(id, 10 * n, {1});
  EXPECT_LE(reader_.pieces_in_use(), 10u);
  EXPECT_GE(facts().limits.get(session_limit::stream_pieces), 1u);
}

TEST_F(stream_reading, large_frame_before_its_turn_takes_several_pieces) {
  byte_list large(3 * stream_piece_bytes + 5, 0);
  large[0] = 0xAB;
  take(0, 2, large, true, peer::client, false);
  EXPECT_EQ(reader_.pieces_in_use(), 4u);
  take(0, 2, large, true, peer::client, false);
  EXPECT_EQ(reader_.pieces_in_use(), 4u);
  take(0, 0, {1, 2}, false, peer::client, false);
  EXPECT_EQ(client().stream_bytes, large.size() + 2);
  EXPECT_TRUE(facts().stream[0].side[0].ended);
}

TEST_F(stream_reading, least_recent_stream_gives_way_and_is_counted) {
  for (std::uint64_t id = 0; id < 6 * 4; id += 4) take(id, 0, {1});
  take(0, 1, {0});      // touched again
  take(24, 0, {1, 0});  // stream 4 gives way
  EXPECT_EQ(facts().limits.get(session_limit::streams), 1u);
  EXPECT_EQ(reader_.streams_in_use(), 6u);
  take(0, 2, {1, 0});
  EXPECT_EQ(facts().stream[0].side[0].bytes, 4u);
  take(4, 1, {0});
  EXPECT_EQ(facts().stream[1].side[0].bytes, 1u);
}

TEST_F(stream_reading, without_room_for_streams_only_numbers_are_told) {
  caps_.max_streams = 0;
  make();
  take(40, 0, {1, 0});
  EXPECT_EQ(facts().streams[0], 11u);
  EXPECT_EQ(facts().limits.get(session_limit::streams), 1u);
  EXPECT_EQ(client().stream_bytes, 0u);
}

TEST_F(stream_reading, reset_ends_a_direction_and_what_waited_for_it) {
  take(0, 10, {1, 2, 3});
  take(0, 0, {1, 0}, true, peer::server);
  reader_.on_reset(*session_, 0, peer::client, {.stream_id = 0, .error_code = 1, .final_size = 13}, true);
  EXPECT_EQ(reader_.streams_in_use(), 0u);
  EXPECT_EQ(reader_.pieces_in_use(), 0u);
  EXPECT_TRUE(facts().stream[0].side[0].reset);
  EXPECT_FALSE(facts().stream[0].side[0].ended);
}

TEST_F(stream_reading, nobody_sends_on_a_stream_that_is_only_the_others) {
  take(2, 0, {1, 0}, false, peer::server);
  take(3, 0, {1, 0}, false, peer::client);
  reader_.on_reset(*session_, 0, peer::server, {.stream_id = 2, .error_code = 1, .final_size = 0}, true);
  EXPECT_EQ(reader_.streams_in_use(), 0u);
  EXPECT_EQ(client().stream_bytes + facts().of(peer::server).stream_bytes, 0u);
}

TEST_F(stream_reading, lists_the_first_streams_and_says_when_there_are_more) {
  for (std::uint64_t id = 0; id < 4 * (max_streams_listed + 3); id += 4) {
    take(id, 0, {1, 0}, true);
    take(id, 0, {1, 0}, true, peer::server);
  }
  EXPECT_EQ(facts().streams_listed, max_streams_listed);
  EXPECT_TRUE(facts().more_streams);
  EXPECT_EQ(client().stream_bytes, 2 * (max_streams_listed + 3));
}

TEST_F(stream_reading, numbers_up_to_the_last_are_taken) {
  const std::uint64_t last = (std::uint64_t{1} << 62) - 4;
  take(last, 0, {1, 0}, true);
  take(last, base::varint_max - 1, {1});
  EXPECT_EQ(facts().streams[0], (last >> 2) + 1);
  EXPECT_EQ(client().stream_bytes, 2u);
}

// A stream cut into pieces that overlap, shuffled and repeated, against the same stream in one piece.
TEST_F(stream_reading, says_the_same_in_any_order) {
  caps_.stream_pieces = 512;
  caps_.pieces_per_stream = 512;
  for (unsigned seed = 0; seed < 30; ++seed) {
    make();
    std::mt19937 random(seed);
    byte_list stream;
    std::uint64_t frames = 0;
    while (stream.size() < 6000) {
      const std::size_t size = random() % 60;
      stream.push_back(static_cast<std::uint8_t>(random() % 2));
      stream.push_back(static_cast<std::uint8_t>(size));
      stream.resize(stream.size() + size, 0x3F);
      ++frames;
    }
    struct cut {
      std::size_t at;
      std::size_t size;
    };
    std::vector<cut> cuts;
    for (std::size_t at = 0; at < stream.size();) {
      const std::size_t size = std::min<std::size_t>(1 + random() % 400, stream.size() - at);
      const std::size_t before = std::min<std::size_t>(at, random() % 50);
      cuts.push_back({at - before, size + before});
      if (random() % 3 == 0) cuts.push_back(cuts.back());
      at += size;
    }
    std::shuffle(cuts.begin(), cuts.end(), random);
    for (const cut& c : cuts) {
      const auto begin = stream.begin() + static_cast<std::ptrdiff_t>(c.at);
      take(0, c.at, byte_list(begin, begin + static_cast<std::ptrdiff_t>(c.size)), c.at + c.size == stream.size());
    }
    ASSERT_EQ(client().stream_bytes, stream.size()) << seed;
    ASSERT_EQ(client().h3_frames.total(), frames) << seed;
    ASSERT_TRUE(facts().stream[0].side[0].ended) << seed;
    ASSERT_EQ(reader_.pieces_in_use(), 0u) << seed;
    reader_.release(*session_);
  }
}

}  // namespace
}  // namespace millrace::inspect
