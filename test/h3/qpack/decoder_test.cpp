#include "h3/qpack/decoder.hpp"

#include <gtest/gtest.h>

#include "h3/qpack/support.hpp"
#include "support/bytes.hpp"
#include "support/guard_page.hpp"
#include "support/seeded.hpp"

namespace {

using namespace millrace;
using namespace millrace::test;
using qpack::error;
using qpack::section_outcome;

error feed(decoder_box& box, std::string_view hex) { return box.d.on_encoder_stream(from_hex(hex)); }

section_outcome decode(decoder_box& box, std::uint64_t stream, std::string_view hex, field_list* out = nullptr) {
  recording_sink sink;
  const section_outcome o = box.d.decode(stream, from_hex(hex), sink).outcome;
  if (out != nullptr) *out = sink.fields;
  return o;
}

// Capacity 220 and three entries: 0 ":authority: a", 1 ":path: b", 2 "x: y".
decoder_box three_entries(qpack::decoder_settings s = {.max_table_capacity = 220}) {
  decoder_box box(s);
  EXPECT_EQ(feed(box, "3fbd01 c00161 c10162 41780179"), error::none);
  EXPECT_EQ(box.d.insert_count(), 3U);
  EXPECT_EQ(to_hex(box.poll()), "03");
  return box;
}

TEST(qpack_decoder, every_kind_of_line_means_what_the_rfc_says) {
  decoder_box box = three_entries();
  field_list f;
  // Base 2 of 3: indexed 1, indexed post-base 2, literal with dynamic name 0, with post-base name 2, static, literal.
  ASSERT_EQ(decode(box, 0, "0480 80 10 c0", &f), section_outcome::done);  // required 3, base 2
  EXPECT_EQ(f, (field_list{{":path", "b"}, {"x", "y"}, {":authority", ""}}));
  ASSERT_EQ(decode(box, 0, "0480 41 0163 00 0164 51 0165 21 6b 0166", &f), section_outcome::done);
  EXPECT_EQ(f, (field_list{{":authority", "c"}, {"x", "d"}, {":path", "e"}, {"k", "f"}}));
  ASSERT_EQ(decode(box, 0, "0480 61 0163 08 0164 71 0165 31 6b 0166", &f), section_outcome::done);
  EXPECT_EQ(f, (field_list{{":authority", "c", true}, {"x", "d", true}, {":path", "e", true}, {"k", "f", true}}));
}

TEST(qpack_decoder, refuses_references_beyond_the_required_insert_count_or_to_what_was_evicted) {
  decoder_box box = three_entries();
  EXPECT_EQ(decode(box, 0, "0400 80"), section_outcome::done);
  EXPECT_EQ(decode(box, 0, "0301 80"), section_outcome::malformed);  // required 2, base 3: index 2
  EXPECT_EQ(decode(box, 0, "0300 10"), section_outcome::malformed);  // post-base 2 of required 2
  EXPECT_EQ(decode(box, 0, "0301 40 00"), section_outcome::malformed);
  EXPECT_EQ(decode(box, 0, "0300 00 00"), section_outcome::malformed);
  EXPECT_EQ(decode(box, 0, "0400 83"), section_outcome::malformed);  // below the first
  ASSERT_EQ(feed(box, "3f01"), error::none);                         // capacity 32: all leave
  EXPECT_EQ(decode(box, 0, "0400 80"), section_outcome::malformed);
}

TEST(qpack_decoder, refuses_an_index_beyond_the_static_table) {
  decoder_box box;
  EXPECT_EQ(decode(box, 0, "0000 ff23"), section_outcome::done);       // 98
  EXPECT_EQ(decode(box, 0, "0000 ff24"), section_outcome::malformed);  // 99
  EXPECT_EQ(decode(box, 0, "0000 5f54 00"), section_outcome::malformed);
  EXPECT_EQ(feed(box, "3fe11f ff2400"), error::encoder_stream);
}

TEST(qpack_decoder, refuses_prefixes_that_no_encoder_makes) {
  decoder_box box = three_entries();
  EXPECT_EQ(decode(box, 0, "0d00"), section_outcome::malformed);  // 12 is twice MaxEntries: the most is 12
  EXPECT_EQ(decode(box, 0, "0c00"), section_outcome::malformed);  // 11 is beyond 3 + 6, and -1 before
  EXPECT_EQ(decode(box, 0, "0080"), section_outcome::malformed);  // negative Base
  EXPECT_EQ(decode(box, 0, "0483"), section_outcome::malformed);
  EXPECT_EQ(decode(box, 0, "0482"), section_outcome::done);  // Base 0
  EXPECT_EQ(decode(box, 0, ""), section_outcome::malformed);
  EXPECT_EQ(decode(box, 0, "00"), section_outcome::malformed);
  decoder_box none({.max_table_capacity = 0});
  EXPECT_EQ(decode(none, 0, "0100"), section_outcome::malformed);
  EXPECT_EQ(decode(none, 0, "0000"), section_outcome::done);
}

TEST(qpack_decoder, counts_required_inserts_through_many_rounds_of_the_remainder) {
  decoder_box box({.max_table_capacity = 64});  // MaxEntries 2, remainders of 4
  ASSERT_EQ(feed(box, "3f21"), error::none);
  for (std::uint64_t n = 1; n < 1000; ++n) {
    ASSERT_EQ(feed(box, "c00161"), error::none);
    bytes section = {static_cast<std::uint8_t>(n % 4 + 1), 0, 0x80};
    recording_sink sink;
    ASSERT_EQ(box.d.decode(4, section, sink).outcome, section_outcome::done) << n;
    section[0] = static_cast<std::uint8_t>((n + 1) % 4 + 1);
    ASSERT_EQ(box.d.decode(8, section, sink).required_insert_count, n + 1);
    (void)box.poll();
  }
}

TEST(qpack_decoder, blocked_sections_wait_for_their_entries_and_are_acknowledged) {
  decoder_box box({.max_table_capacity = 220, .max_blocked_streams = 2});
  recording_sink sink;
  const bytes section = from_hex("0381 10 11");
  const qpack::section_result r = box.d.decode(4, section, sink);
  EXPECT_EQ(r.outcome, section_outcome::blocked);
  EXPECT_EQ(r.required_insert_count, 2U);
  EXPECT_EQ(box.d.blocked_streams(), 1U);
  EXPECT_FALSE(box.d.is_ready(2));
  EXPECT_TRUE(sink.fields.empty());
  EXPECT_TRUE(box.poll().empty());
  ASSERT_EQ(feed(box, "3fbd01 c00161"), error::none);
  EXPECT_FALSE(box.d.is_ready(2));
  ASSERT_EQ(feed(box, "c10162"), error::none);
  EXPECT_TRUE(box.d.is_ready(2));
  EXPECT_EQ(box.d.blocked_streams(), 0U);
  EXPECT_EQ(box.d.decode(4, section, sink).outcome, section_outcome::done);
  EXPECT_EQ(sink.fields, (field_list{{":authority", "a"}, {":path", "b"}}));
  EXPECT_EQ(to_hex(box.poll()), "84");  // which says that two entries came
  EXPECT_FALSE(box.d.has_decoder_stream());
}

TEST(qpack_decoder, refuses_more_blocked_streams_than_it_allows) {
  for (const std::uint16_t most : {std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{3}}) {
    decoder_box box({.max_table_capacity = 220, .max_blocked_streams = most});
    for (std::uint16_t i = 0; i < most; ++i) {
      EXPECT_EQ(decode(box, i * 4U, "0381 10"), section_outcome::blocked);
      EXPECT_EQ(decode(box, i * 4U, "0381 10"), section_outcome::blocked);  // the same stream again
    }
    EXPECT_EQ(decode(box, 400, "0381 10"), section_outcome::malformed);
  }
}

TEST(qpack_decoder, a_stream_that_is_ready_or_cancelled_no_longer_counts_as_blocked) {
  decoder_box box({.max_table_capacity = 220, .max_blocked_streams = 1});
  EXPECT_EQ(decode(box, 0, "0200 80"), section_outcome::blocked);
  ASSERT_EQ(feed(box, "3fbd01 c00161"), error::none);
  EXPECT_EQ(decode(box, 4, "0300 80"), section_outcome::blocked);  // 0 is ready, though it was not decoded yet
  EXPECT_TRUE(box.d.cancel(4));
  EXPECT_EQ(decode(box, 8, "0300 80"), section_outcome::blocked);
  EXPECT_EQ(decode(box, 0, "0200 80"), section_outcome::done);
  EXPECT_EQ(to_hex(box.poll()), "4480");
}

TEST(qpack_decoder, checks_the_size_behind_each_field) {
  // RFC 9114 4.2.2: name, value and 32. ":path: b" by reference counts 38, a byte on the wire.
  decoder_box box = three_entries({.max_table_capacity = 220, .max_field_section_bytes = 38 * 3 + 1});
  recording_sink sink;
  const qpack::section_result three = box.d.decode(0, from_hex("0400 81 81 81"), sink);
  EXPECT_EQ(three.outcome, section_outcome::done);
  EXPECT_EQ(three.size_bytes, 114U);
  recording_sink more;
  const bytes bomb(5000, 0x81);
  const qpack::section_result r = box.d.decode(0, join({from_hex("0400"), bomb}), more);
  EXPECT_EQ(r.outcome, section_outcome::too_large);
  EXPECT_EQ(more.fields.size(), 3U);
  EXPECT_EQ(r.code(), error::none);
  EXPECT_EQ(to_hex(box.poll()), "8080");  // the peer need keep nothing for either
  // Raw and Huffman strings beyond the limit.
  EXPECT_EQ(decode(box, 0, "0000 51 7f01" + std::string(256, '6')), section_outcome::too_large);
  const std::string text(200, 'a');
  bytes coded = from_hex("0000 51");
  coded.resize(coded.size() + text.size() + 11);
  coded.resize(static_cast<std::size_t>(qpack::emit_string(&coded[3], qpack::value_pattern, text) - coded.data()));
  recording_sink none;
  EXPECT_EQ(box.d.decode(0, coded, none).outcome, section_outcome::too_large);
  EXPECT_TRUE(none.fields.empty());
}

TEST(qpack_decoder, stops_when_the_sink_says_so_and_acknowledges) {
  decoder_box box = three_entries();
  recording_sink sink;
  sink.most = 1;
  EXPECT_EQ(box.d.decode(4, from_hex("0400 80 81"), sink).outcome, section_outcome::stopped);
  EXPECT_EQ(sink.fields.size(), 1U);
  EXPECT_EQ(to_hex(box.poll()), "84");
}

TEST(qpack_decoder, loses_no_acknowledgment_when_its_queue_is_full) {
  decoder_box box = three_entries({.max_table_capacity = 220, .max_pending = 2});
  EXPECT_EQ(decode(box, 4, "0400 80"), section_outcome::done);
  EXPECT_TRUE(box.d.cancel(8));
  field_list f;
  EXPECT_EQ(decode(box, 12, "0400 80", &f), section_outcome::busy);
  EXPECT_TRUE(f.empty());
  EXPECT_FALSE(box.d.cancel(16));
  EXPECT_EQ(decode(box, 20, "0000 c1"), section_outcome::done);  // nothing to say of this one
  bytes one(1);
  EXPECT_EQ(box.d.poll_decoder_stream(one), 1U);
  EXPECT_EQ(to_hex(one), "84");
  EXPECT_EQ(decode(box, 12, "0400 80"), section_outcome::done);
  EXPECT_EQ(to_hex(box.poll()), "488c");
}

TEST(qpack_decoder, writes_whole_instructions_only_and_increments_last) {
  decoder_box box = three_entries();
  EXPECT_EQ(decode(box, 1000, "0400 80"), section_outcome::done);  // ff e906
  ASSERT_EQ(feed(box, "c00161"), error::none);
  bytes room(2);
  EXPECT_EQ(box.d.poll_decoder_stream(room), 0U);
  EXPECT_EQ(box.d.poll_decoder_stream({}), 0U);
  room.resize(3);
  EXPECT_EQ(box.d.poll_decoder_stream(room), 3U);
  EXPECT_EQ(to_hex(room), "ffe906");
  EXPECT_TRUE(box.d.has_decoder_stream());
  EXPECT_EQ(to_hex(box.poll()), "01");
  EXPECT_TRUE(box.poll().empty());
}

TEST(qpack_decoder, without_a_table_cancellations_are_not_told) {
  decoder_box box({.max_table_capacity = 0});
  EXPECT_TRUE(box.d.cancel(4));
  EXPECT_TRUE(box.poll().empty());
}

TEST(qpack_encoder_stream, refuses_a_capacity_above_the_limit) {
  decoder_box box({.max_table_capacity = 220});
  EXPECT_EQ(feed(box, "3fbd01"), error::none);            // 220
  EXPECT_EQ(feed(box, "3fbe01"), error::encoder_stream);  // 221
  EXPECT_EQ(feed(box, "20"), error::encoder_stream);      // for ever after
}

TEST(qpack_encoder_stream, refuses_references_to_entries_that_are_not_there) {
  for (const char* bad : {"03", "8300", "00", "8000"}) {
    decoder_box box = three_entries();
    if (std::string_view(bad) == "00" || std::string_view(bad) == "8000") {
      ASSERT_EQ(feed(box, "3f01"), error::none);  // all leave
    }
    EXPECT_EQ(feed(box, bad), error::encoder_stream) << bad;
  }
}

TEST(qpack_encoder_stream, refuses_a_string_that_cannot_fit_at_its_length) {
  // Names and values of 2^20 bytes, raw and as Huffman code, of which not one byte follows; with every capacity.
  for (const std::uint64_t capacity : {0U, 64U, 4096U}) {
    for (const char* start : {"5fe1ff3f", "7fe1ff3f", "c07f81ff3f", "c0ff81ff3f", "41617f81ff3f", "4161ff81ff3f"}) {
      decoder_box box({.max_table_capacity = capacity});
      ASSERT_EQ(box.d.on_encoder_stream(set_capacity(capacity)), error::none);
      EXPECT_EQ(feed(box, start), error::encoder_stream) << start;
    }
  }
  decoder_box none({.max_table_capacity = 0});
  EXPECT_EQ(feed(none, "40"), error::encoder_stream);  // an empty name: 32 bytes are more than 0
  decoder_box small({.max_table_capacity = 64});
  EXPECT_EQ(feed(small, "3f21 c0 16"), error::none);  // :authority and 22 bytes are 64
  decoder_box over({.max_table_capacity = 64});
  EXPECT_EQ(feed(over, "3f21 c0 17"), error::encoder_stream);
}

TEST(qpack_encoder_stream, an_entry_may_be_made_of_one_that_it_evicts) {
  decoder_box box({.max_table_capacity = 80});
  ASSERT_EQ(feed(box, "3f31 4a637573746f6d2d6b6579 03616263"), error::none);  // 10 + 3 + 32
  ASSERT_EQ(feed(box, "00"), error::none);                                    // Duplicate
  EXPECT_EQ(box.d.table().oldest(), 1U);
  EXPECT_EQ(box.d.table().name(1), "custom-key");
  EXPECT_EQ(box.d.table().value(1), "abc");
  ASSERT_EQ(feed(box, "80 04 64656667"), error::none);
  EXPECT_EQ(box.d.table().name(2), "custom-key");
  EXPECT_EQ(box.d.table().value(2), "defg");
  EXPECT_EQ(box.d.table().count(), 1U);
}

TEST(qpack_encoder_stream, integers_without_end_are_refused) {
  decoder_box box;
  EXPECT_EQ(feed(box, "3f" + std::string(24, '8')), error::encoder_stream);
  decoder_box zeros;
  std::string long_zeros = "3f";
  for (int i = 0; i < 12; ++i) long_zeros += "80";
  EXPECT_EQ(feed(zeros, long_zeros), error::encoder_stream);
}

TEST(qpack_encoder_stream, every_split_means_the_same) {
  const bytes stream = from_hex(
      "3fbd01 c00f7777772e6578616d706c652e636f6d c1 88 f1e3c2e5f23a6ba0 4a637573746f6d2d6b6579 "
      "0c637573746f6d2d76616c7565"
      "02 810d637573746f6d2d76616c756532 3f8101 00");
  decoder_box whole;
  const error expected = whole.d.on_encoder_stream(stream);
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    for (std::size_t second = cut; second <= stream.size(); ++second) {
      decoder_box box;
      const base::byte_view all(stream);
      error e = box.d.on_encoder_stream(all.first(cut));
      if (e == error::none) e = box.d.on_encoder_stream(all.subspan(cut, second - cut));
      if (e == error::none) e = box.d.on_encoder_stream(all.subspan(second));
      ASSERT_EQ(e, expected);
      ASSERT_EQ(box.d.insert_count(), whole.d.insert_count());
      ASSERT_EQ(box.d.table().size(), whole.d.table().size());
    }
  }
}

TEST(qpack_encoder_stream, every_truncation_waits_and_every_byte_change_survives) {
  const bytes stream = from_hex("3fbd01 c0 8c f1e3c2e5f23a6ba0ab90f4ff 4163 0161 00 80 8162 810162");
  guard_page guard;
  for (std::size_t size = 0; size <= stream.size(); ++size) {
    decoder_box box;
    (void)box.d.on_encoder_stream(guard.place(base::byte_view(stream).first(size)));
  }
  for (std::size_t i = 0; i < stream.size(); ++i) {
    for (unsigned value = 0; value < 256; ++value) {
      bytes changed = stream;
      changed[i] = static_cast<std::uint8_t>(value);
      decoder_box box({.max_table_capacity = 220});
      (void)box.d.on_encoder_stream(guard.place(changed));
      ASSERT_LE(box.d.table().size(), 220U);
    }
  }
}

TEST(qpack_decoder, every_truncation_and_every_byte_change_of_a_section_is_judged) {
  const bytes section =
      from_hex("0480 80 10 c0 41 0163 00 0164 51 8c f1e3c2e5f23a6ba0ab90f4ff 2f01 25a849e95ba97d7f 0166");
  guard_page guard;
  decoder_box box = three_entries({.max_table_capacity = 220, .max_blocked_streams = 100});
  recording_sink all;
  ASSERT_EQ(box.d.decode(0, section, all).outcome, section_outcome::done);
  ASSERT_EQ(all.fields.size(), 7U);
  for (std::size_t size = 0; size < section.size(); ++size) {
    recording_sink sink;
    const section_outcome o = box.d.decode(0, guard.place(base::byte_view(section).first(size)), sink).outcome;
    ASSERT_TRUE(o == section_outcome::malformed || o == section_outcome::done);
    ASSERT_LT(sink.fields.size(), 7U);
    (void)box.poll();
  }
  for (std::size_t i = 0; i < section.size(); ++i) {
    for (unsigned value = 0; value < 256; ++value) {
      bytes changed = section;
      changed[i] = static_cast<std::uint8_t>(value);
      recording_sink sink;
      (void)box.d.decode(0, guard.place(changed), sink);
      (void)box.poll();
    }
  }
}

}  // namespace
