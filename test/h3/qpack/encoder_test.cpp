#include "h3/qpack/encoder.hpp"

#include <gtest/gtest.h>

#include "h3/qpack/reference.hpp"
#include "h3/qpack/support.hpp"
#include "support/bytes.hpp"
#include "support/guard_page.hpp"
#include "support/seeded.hpp"

namespace {

using namespace millrace;
using namespace millrace::test;
using qpack::error;

error feed(encoder_box& box, std::string_view hex) { return box.e.on_decoder_stream(from_hex(hex)); }

TEST(qpack_encoder, without_settings_of_the_peer_uses_the_static_table_alone) {
  encoder_box box;
  const encoded_section c = box.encode(0, {{":method", "GET"}, {":path", "/"}, {"x", "y"}, {"x", "y"}});
  EXPECT_TRUE(c.instructions.empty());
  EXPECT_EQ(to_hex(c.section), "0000d1c12178017921780179");
}

TEST(qpack_encoder, the_section_of_the_baseline_has_its_size) {
  encoder_box box;
  const encoded_section nine = box.encode(0, {{":method", "GET"},
                                              {":scheme", "https"},
                                              {":authority", "example.com"},
                                              {":path", "/api/v1/users?page=1&limit=20"},
                                              {"accept", "application/json"},
                                              {"accept-encoding", "gzip, deflate, br"},
                                              {"cache-control", "no-cache"},
                                              {"content-type", "application/json"},
                                              {"user-agent", "quicX/1.0"}});
  EXPECT_EQ(nine.section.size(), 64U);
}

TEST(qpack_encoder, writes_nothing_where_a_section_might_not_fit) {
  encoder_box box;
  const field_list list = {{"x", "y"}};
  const auto fields = views(list);
  bytes section(qpack::encoder::max_section_size(fields));
  EXPECT_FALSE(box.e.encode(0, fields, base::byte_span(section).first(section.size() - 1), {}).is_written);
  EXPECT_TRUE(box.e.encode(0, fields, section, {}).is_written);
}

TEST(qpack_encoder, instructions_are_written_only_where_the_room_holds_them_whole) {
  const field_list list = {{"name-one", "value-one"}, {"name-two", "value-two"}};
  for (std::size_t credit = 0; credit < 80; ++credit) {
    encoder_box box({.use_huffman = false});
    reference_decoder peer(4096);
    ASSERT_TRUE(box.e.set_peer_settings(4096, 10));
    guard_page guard;
    const auto fields = views(list);
    bytes section(qpack::encoder::max_section_size(fields));
    const base::byte_span room = guard.room(credit);
    const qpack::encoded r = box.e.encode(0, fields, section, room);
    ASSERT_LE(r.instructions, credit);
    ASSERT_TRUE(peer.on_encoder_stream(room.first(r.instructions)));
    ASSERT_EQ(peer.inserted(), box.e.insert_count());
    std::uint64_t required = 0;
    ASSERT_EQ(*peer.decode(base::byte_view(section).first(r.section), required), list);
  }
}

TEST(qpack_encoder, keeps_secrets_as_literals_that_are_never_indexed) {
  encoder_box box({.use_huffman = false});
  ASSERT_TRUE(box.e.set_peer_settings(4096, 100));
  const field_list list = {{"authorization", "Basic abc"},
                           {"cookie", "id=1"},
                           {"set-cookie", "id=1"},
                           {"x-token", "1234", true},
                           {":method", "GET", true}};
  for (int i = 0; i < 4; ++i) {
    const encoded_section c = box.encode(4, list);
    EXPECT_EQ(box.e.insert_count(), 0U);
    decoder_box to;
    recording_sink sink;
    ASSERT_EQ(to.d.decode(4, c.section, sink).outcome, qpack::section_outcome::done);
    for (const owned_field& f : sink.fields) EXPECT_TRUE(f.never_index) << f.name;
    EXPECT_EQ(plain(sink.fields), plain(list));
  }
  (void)box.encode(4, {{"cookie", "a-long-value-that-nobody-guesses=1"}});
  EXPECT_EQ(box.e.insert_count(), 1U);
}

TEST(qpack_encoder, what_came_as_a_never_indexed_literal_goes_on_as_one) {
  decoder_box from;
  recording_sink sink;
  ASSERT_EQ(from.d.decode(0, from_hex("0000 31 6b 0166 71 0165 21 6b 0166"), sink).outcome,
            qpack::section_outcome::done);
  encoder_box box;
  ASSERT_TRUE(box.e.set_peer_settings(4096, 100));
  decoder_box to;
  const encoded_section c = box.encode(0, sink.fields);
  ASSERT_EQ(to.d.on_encoder_stream(c.instructions), error::none);
  recording_sink again;
  ASSERT_EQ(to.d.decode(0, c.section, again).outcome, qpack::section_outcome::done);
  EXPECT_EQ(again.fields, sink.fields);
}

TEST(qpack_encoder, blocks_no_more_streams_than_the_peer_allows) {
  for (const std::uint64_t most : {0U, 1U, 3U}) {
    encoder_box box;
    ASSERT_TRUE(box.e.set_peer_settings(4096, most));
    decoder_box to({.max_table_capacity = 4096, .max_blocked_streams = static_cast<std::uint16_t>(most)});
    std::size_t blocked = 0;
    bytes instructions;
    for (std::uint64_t i = 0; i < 20; ++i) {
      const encoded_section c = box.encode(i * 4, {{"x-" + std::to_string(i), "y"}});
      instructions.insert(instructions.end(), c.instructions.begin(), c.instructions.end());
      recording_sink sink;
      const qpack::section_result r = to.d.decode(i * 4, c.section, sink);  // before any instruction
      ASSERT_NE(r.outcome, qpack::section_outcome::malformed);
      blocked += r.outcome == qpack::section_outcome::blocked ? 1 : 0;
    }
    EXPECT_EQ(blocked, most);
    ASSERT_EQ(to.d.on_encoder_stream(instructions), error::none);
    ASSERT_EQ(box.e.on_decoder_stream(to.poll()), error::none);
    EXPECT_EQ(box.e.known_received_count(), 20U);
  }
}

TEST(qpack_encoder, evicts_nothing_that_is_referenced_or_not_acknowledged) {
  encoder_box box({.max_table_capacity = 128});
  ASSERT_TRUE(box.e.set_peer_settings(128, 10));
  const auto one = [&](std::uint64_t stream, const char* name) {
    (void)box.encode(stream, {{name, "1"}});
    return box.encode(stream, {{name, "1"}}).instructions.size();
  };
  // 34 bytes each: three fit. Each is encoded twice, as a second sight is what inserts into a full table.
  (void)one(0, "a");
  (void)one(4, "b");
  (void)one(8, "c");
  EXPECT_EQ(box.e.insert_count(), 3U);
  EXPECT_EQ(one(12, "d"), 0U);  // not acknowledged
  EXPECT_EQ(feed(box, "03"), error::none);
  EXPECT_EQ(one(12, "d"), 0U);  // acknowledged, but referenced
  EXPECT_EQ(feed(box, "80"), error::none);
  (void)one(12, "d");
  EXPECT_EQ(box.e.insert_count(), 4U);
  EXPECT_EQ(box.e.table().oldest(), 1U);
  EXPECT_EQ(feed(box, "44"), error::none);  // the peer lets go of stream 4
  (void)one(16, "e");
  EXPECT_EQ(box.e.table().oldest(), 2U);
}

TEST(qpack_encoder, evicts_nothing_whose_insertion_is_not_acknowledged) {
  encoder_box box({.max_table_capacity = 128});
  ASSERT_TRUE(box.e.set_peer_settings(128, 0));  // so that no section refers to what was just inserted
  for (const char* name : {"a", "a", "b", "b", "c", "c", "d", "d"}) (void)box.encode(0, {{name, "1"}});
  EXPECT_EQ(box.e.unacked_sections_count(), 0U);
  EXPECT_EQ(box.e.insert_count(), 3U);
  EXPECT_EQ(feed(box, "01"), error::none);
  (void)box.encode(0, {{"d", "1"}});
  EXPECT_EQ(box.e.insert_count(), 4U);
  (void)box.encode(0, {{"e", "1"}});
  (void)box.encode(0, {{"e", "1"}});
  EXPECT_EQ(box.e.insert_count(), 4U);
}

TEST(qpack_encoder, duplicates_what_is_about_to_be_evicted_and_used_again) {
  encoder_box box({.max_table_capacity = 34 * 16});
  decoder_box to({.max_table_capacity = 34 * 16});
  ASSERT_TRUE(box.e.set_peer_settings(34 * 16, 16));
  const auto send = [&](const char* name) {
    const encoded_section c = box.encode(0, {{name, "1"}});
    EXPECT_EQ(to.d.on_encoder_stream(c.instructions), error::none);
    recording_sink sink;
    EXPECT_EQ(to.d.decode(0, c.section, sink).outcome, qpack::section_outcome::done);
    EXPECT_EQ(sink.fields, (field_list{{name, "1"}}));
    EXPECT_EQ(box.e.on_decoder_stream(to.poll()), error::none);
    return to_hex(c.instructions);
  };
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"}) send(name);
  ASSERT_EQ(box.e.table().count(), 16U);
  EXPECT_EQ(send("c"), "");    // far enough from the end
  EXPECT_EQ(send("a"), "0f");  // the oldest of 16, which it evicts
  EXPECT_EQ(box.e.table().oldest(), 1U);
  EXPECT_EQ(send("a"), "");
}

TEST(qpack_encoder, keeps_a_bounded_number_of_sections_that_are_not_acknowledged) {
  encoder_box box({.max_unacked_sections = 4});
  ASSERT_TRUE(box.e.set_peer_settings(4096, 1000));
  for (std::uint64_t i = 0; i < 100; ++i) {
    const encoded_section c = box.encode(i * 4, {{"x", "y"}});
    EXPECT_EQ(c.section[0] != 0, i < 4) << i;
  }
  EXPECT_EQ(box.e.unacked_sections_count(), 4U);
  EXPECT_EQ(feed(box, "88"), error::none);
  EXPECT_NE(box.encode(400, {{"x", "y"}}).section[0], 0);
  encoder_box none({.max_unacked_sections = 0});
  ASSERT_TRUE(none.e.set_peer_settings(4096, 1000));
  EXPECT_EQ(none.encode(0, {{"x", "y"}}).section[0], 0);
}

TEST(qpack_encoder, uses_no_more_of_the_table_than_either_side_allows) {
  encoder_box small({.max_table_capacity = 100});
  ASSERT_TRUE(small.e.set_peer_settings(4096, 10));
  EXPECT_EQ(to_hex(small.encode(0, {}).instructions), "3f45");
  encoder_box large({.max_table_capacity = 4096});
  ASSERT_TRUE(large.e.set_peer_settings(100, 10));
  EXPECT_EQ(to_hex(large.encode(0, {}).instructions), "3f45");
  EXPECT_FALSE(large.e.set_peer_settings(200, 10));
  EXPECT_TRUE(large.e.set_peer_settings(100, 20));
}

TEST(qpack_decoder_stream, refuses_what_no_decoder_says) {
  const auto fresh = [] {
    auto box = std::make_unique<encoder_box>();
    EXPECT_TRUE(box->e.set_peer_settings(4096, 10));
    (void)box->encode(4, {{"x", "y"}});
    return box;
  };
  EXPECT_EQ(feed(*fresh(), "80"), error::decoder_stream);    // no section of stream 0
  EXPECT_EQ(feed(*fresh(), "8484"), error::decoder_stream);  // only one of stream 4
  EXPECT_EQ(feed(*fresh(), "00"), error::decoder_stream);    // an increment of nothing
  EXPECT_EQ(feed(*fresh(), "02"), error::decoder_stream);    // one entry was sent
  EXPECT_EQ(feed(*fresh(), "8401"), error::decoder_stream);  // and the acknowledgment told of it
  EXPECT_EQ(feed(*fresh(), "3fffffffffffffffffffffff"), error::decoder_stream);
  EXPECT_EQ(feed(*fresh(), "84"), error::none);
  EXPECT_EQ(feed(*fresh(), "01"), error::none);
  EXPECT_EQ(feed(*fresh(), "0184"), error::none);
  EXPECT_EQ(feed(*fresh(), "4448"), error::none);
  auto broken = fresh();
  EXPECT_EQ(feed(*broken, "00"), error::decoder_stream);
  EXPECT_EQ(feed(*broken, "01"), error::decoder_stream);  // for ever after
}

TEST(qpack_decoder_stream, every_split_means_the_same) {
  const bytes stream = from_hex("ff8107 7f8507 01");
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    encoder_box box;
    ASSERT_TRUE(box.e.set_peer_settings(4096, 10));
    (void)box.encode(1024, {{"x", "y"}});
    (void)box.encode(960, {{"x", "z"}});
    const base::byte_view all(stream);
    ASSERT_EQ(box.e.on_decoder_stream(all.first(cut)), error::none);
    ASSERT_EQ(box.e.on_decoder_stream(all.subspan(cut)), error::none);
    ASSERT_EQ(box.e.known_received_count(), 2U);
    ASSERT_EQ(box.e.unacked_sections_count(), 1U);
  }
}

// Random lists over a small vocabulary, random capacities and credit, answers late, out of order or lost with their
// streams: what comes back is what was sent, by our decoder and the reference.
TEST(qpack_encoder, random_traffic_comes_back_whatever_the_order) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    seeded random(seed);
    const std::uint64_t capacity = random.below(3) == 0 ? 4096 : 64 + random.below(500);
    const auto blocked = static_cast<std::uint16_t>(random.below(4));
    encoder_box from({.max_table_capacity = capacity, .max_unacked_sections = 16});
    decoder_box to({.max_table_capacity = capacity, .max_blocked_streams = blocked, .max_pending = 8});
    reference_decoder reference(capacity);
    ASSERT_TRUE(from.e.set_peer_settings(capacity, blocked));
    bytes in_flight;  // encoder stream
    struct waiting {
      std::uint64_t stream;
      bytes section;
      field_list list;
    };
    std::vector<waiting> sections;
    for (std::uint64_t i = 0; i < 150; ++i) {
      field_list list;
      for (std::size_t n = random.below(6); n != 0; --n) {
        const std::string name = random.below(5) == 0 ? "cookie" : "name-" + std::to_string(random.below(6));
        list.push_back({name, std::string(random.below(40), static_cast<char>('a' + random.below(4)))});
      }
      const encoded_section c = from.encode(i * 4, list, random.below(4) == 0 ? random.below(60) : 4096);
      in_flight.insert(in_flight.end(), c.instructions.begin(), c.instructions.end());
      sections.push_back({i * 4, c.section, list});
      const std::size_t arrives = random.below(in_flight.size() + 1);
      const base::byte_view part = base::byte_view(in_flight).first(arrives);
      ASSERT_EQ(to.d.on_encoder_stream(part), error::none);
      ASSERT_TRUE(reference.on_encoder_stream(part));
      ASSERT_EQ(reference.inserted(), to.d.insert_count());
      ASSERT_EQ(reference.size(), to.d.table().size());
      in_flight.erase(in_flight.begin(), in_flight.begin() + static_cast<std::ptrdiff_t>(arrives));
      for (std::size_t tries = sections.size(); tries != 0; --tries) {
        const std::size_t at = random.below(sections.size());
        if (random.below(8) == 0 && to.d.cancel(sections[at].stream)) {
          sections.erase(sections.begin() + static_cast<std::ptrdiff_t>(at));
          break;
        }
        recording_sink sink;
        const qpack::section_result r = to.d.decode(sections[at].stream, sections[at].section, sink);
        ASSERT_NE(r.outcome, qpack::section_outcome::malformed);
        if (r.outcome != qpack::section_outcome::done) continue;
        ASSERT_EQ(plain(sink.fields), sections[at].list);
        std::uint64_t required = 0;
        ASSERT_EQ(*reference.decode(sections[at].section, required), sink.fields);
        sections.erase(sections.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      }
      if (random.below(3) == 0) {
        bytes answer(random.below(12));
        answer.resize(to.d.poll_decoder_stream(answer));
        ASSERT_EQ(from.e.on_decoder_stream(answer), error::none);
      }
    }
  }
}

}  // namespace
