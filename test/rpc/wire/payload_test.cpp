#include "rpc/wire/payload.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "rpc/vectors.hpp"
#include "srmp/wire/datagram.hpp"
#include "support/guard_page.hpp"
#include "support/hostile.hpp"

namespace millrace::rpc::wire {
namespace {

namespace vectors = test_vectors;
using base::parse_errc;
using vectors::from_hex;

struct seen {
  srmp::wire::frame_header header;
  base::parse_status status;
  payload got;
  std::vector<std::uint8_t> bytes;
};

form form_of(const srmp::wire::frame_header& header) {
  return header.kind() == srmp::wire::frame_kind::error_reply ? form::error : form::plain;
}

// A whole frame, its payload ending at a guard page. Views of the answer live as long as it.
seen read(const char* text) {
  seen out;
  out.bytes = from_hex(text);
  srmp::wire::datagram_frames frames(out.bytes);
  srmp::wire::frame f;
  EXPECT_EQ(frames.next(f), base::progress::done) << text;
  EXPECT_TRUE(frames.at_end()) << text;
  out.header = f.header;
  static test::guard_page guard(4096);
  payload first;
  out.status = parse(f.payload, form_of(f.header), out.got);
  const base::parse_status again = parse(guard.place(f.payload), form_of(f.header), first);
  EXPECT_EQ(again.code, out.status.code);
  EXPECT_EQ(again.at, out.status.at);
  return out;
}

std::string_view data(const seen& of) { return base::as_text(of.got.data); }

TEST(rpc_payload, reads_the_calls_of_the_sheet) {
  const seen r1 = read(vectors::r1);
  ASSERT_TRUE(r1.status);
  EXPECT_EQ(r1.got.name, "api/all");
  EXPECT_FALSE(r1.got.has_data);
  const seen r2 = read(vectors::r2);
  ASSERT_TRUE(r2.status);
  EXPECT_EQ(r2.got.name, "api/info");
  EXPECT_EQ(data(r2), R"({"state":"abcd","state2":1234})");
  const seen r3 = read(vectors::r3);
  ASSERT_TRUE(r3.status);
  EXPECT_EQ(r3.got.name, "My/Add");
  EXPECT_EQ(data(r3), R"({"x":1,"y":2})");
  const seen r9 = read(vectors::r9);
  ASSERT_TRUE(r9.status);
  EXPECT_EQ(r9.got.name, "Notify");
  EXPECT_EQ(data(r9), R"({"Id":1})");
  const seen r10 = read(vectors::r10);
  ASSERT_TRUE(r10.status);
  EXPECT_TRUE(std::ranges::equal(r10.got.data, from_hex("00 01 02 03")));
  const seen r18 = read(vectors::r18);
  ASSERT_TRUE(r18.status);
  EXPECT_EQ(r18.got.name, "A/B");
  EXPECT_EQ(data(r18), "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
}

TEST(rpc_payload, reads_the_replies_of_the_sheet) {
  EXPECT_EQ(data(read(vectors::r4)), "3");
  const seen r5 = read(vectors::r5);
  ASSERT_TRUE(r5.status);
  EXPECT_EQ(r5.got.name, "My/Reset");
  EXPECT_FALSE(r5.got.has_data);
  const seen r6 = read(vectors::r6);
  ASSERT_TRUE(r6.status);
  EXPECT_EQ(r6.got.code, 404);
  EXPECT_EQ(r6.got.data.size(), 39u);
  const seen r7 = read(vectors::r7);
  EXPECT_EQ(r7.got.code, 500);
  EXPECT_EQ(data(r7), "boom");
  const seen r8 = read(vectors::r8);
  ASSERT_TRUE(r8.status);
  EXPECT_EQ(r8.got.code, 401);
  EXPECT_FALSE(r8.got.has_data);
  EXPECT_EQ(data(read(vectors::r11[0])), "0");
  EXPECT_EQ(data(read(vectors::r11[1])), "1");
  EXPECT_FALSE(read(vectors::r11[2]).got.has_data);
}

TEST(rpc_payload, refuses_the_malformed_ones_of_the_sheet_and_says_where) {
  const auto refused = [](const char* text, parse_errc why, std::uint32_t at) {
    const seen one = read(text);
    EXPECT_EQ(one.status.code, why) << text << ": " << to_string(one.status.code);
    EXPECT_EQ(one.status.at, at) << text;
    EXPECT_TRUE(one.got.name.empty()) << "nothing is written";
  };
  refused(vectors::r12, parse_errc::truncated, 0);
  refused(vectors::r13, parse_errc::bad_value, 1);
  refused(vectors::r14, parse_errc::bad_length, 1);
  refused(vectors::r15, parse_errc::too_long, 5);
  refused(vectors::r16, parse_errc::bad_length, 8);
  refused(vectors::r17_stray, parse_errc::truncated, 4);
  refused(vectors::r19, parse_errc::bad_length, 12);
}

TEST(rpc_payload, takes_a_negative_length_for_no_data_and_ignores_what_follows_data) {
  const seen negative = read(vectors::r17_negative);
  ASSERT_TRUE(negative.status);
  EXPECT_EQ(negative.got.name, "A/B");
  EXPECT_FALSE(negative.got.has_data);
  const seen trailing = read(vectors::r20);
  ASSERT_TRUE(trailing.status);
  EXPECT_EQ(data(trailing), "{}");
  EXPECT_EQ(trailing.got.ignored, 5u);
}

TEST(rpc_payload, leaves_names_that_are_not_ascii_to_be_judged_by_the_server) {
  const seen name = read(vectors::r17_not_ascii);
  ASSERT_TRUE(name.status);
  EXPECT_FALSE(is_callable(name.got.name));
  EXPECT_FALSE(is_callable(""));
  EXPECT_FALSE(is_callable("A\x7F"));
  EXPECT_TRUE(is_callable("A/B ~"));
}

TEST(rpc_payload, reads_long_and_longer_than_needed_name_lengths) {
  std::vector<std::uint8_t> in = from_hex("83 80 00 41 2F 42");  // 3, in three bytes
  payload got;
  ASSERT_TRUE(parse(in, form::plain, got));
  EXPECT_EQ(got.name, "A/B");
  in = from_hex("C8 01");
  in.resize(2 + 200, 'n');
  ASSERT_TRUE(parse(in, form::plain, got));
  EXPECT_EQ(got.name, std::string(200, 'n'));
  in = from_hex("FF FF FF FF 7F 41");
  EXPECT_EQ(parse(in, form::plain, got).code, parse_errc::bad_length);
}

// What was read, written again, is the very frame.
void rebuild(const char* text) {
  const seen one = read(text);
  const form what = form_of(one.header);
  ASSERT_TRUE(one.status);
  const bool with_data = one.got.has_data || what == form::error;  // errors always say how long their message is
  const std::size_t size = encoded_size(one.got.name.size(), what, with_data, one.got.data.size());
  ASSERT_EQ(size, one.header.payload_size) << text;
  test::guard_page guard(256);
  const base::byte_span room = guard.room(size);
  const payload_writer out(room, one.got.name, what, one.got.code);
  ASSERT_TRUE(out.fits());
  if (with_data) {
    ASSERT_EQ(out.data_room().size(), one.got.data.size());
    std::ranges::copy(one.got.data, out.data_room().begin());
    EXPECT_EQ(out.finish(one.got.data.size()), size);
  } else {
    EXPECT_EQ(out.finish_without_data(), size);
  }
  EXPECT_TRUE(std::ranges::equal(room, base::byte_view(one.bytes).subspan(one.header.header_size))) << text;
}

TEST(rpc_payload, writes_the_frames_of_the_sheet) {
  for (const char* text : {vectors::r1, vectors::r2, vectors::r3, vectors::r4, vectors::r5, vectors::r6, vectors::r7,
                           vectors::r8, vectors::r9, vectors::r10, vectors::r11[0], vectors::r11[2], vectors::r18})
    rebuild(text);
}

TEST(rpc_payload, writes_nothing_it_has_no_room_for) {
  const std::string name = "My/Add";
  const auto data_bytes = base::as_bytes("12345");
  const std::size_t whole = encoded_size(name.size(), form::plain, true, data_bytes.size());
  test::guard_page guard(256);
  for (std::size_t size = 0; size <= whole; ++size)
    EXPECT_EQ(emit(guard.room(size), name, data_bytes), size == whole ? whole : 0u);
  for (std::size_t size = 0; size < 64; ++size) {
    const payload_writer out(guard.room(size), name, form::error, 500);
    EXPECT_EQ(out.fits(), size >= 11);
    EXPECT_EQ(out.finish(0), size >= 15 ? 15u : 0u);
    EXPECT_EQ(out.finish(out.data_room().size() + 1), 0u);
  }
}

TEST(rpc_payload, sends_no_name_that_older_peers_cannot_answer) {
  std::vector<std::uint8_t> room(1024);
  EXPECT_EQ(emit(room, "", {}), 0u);
  EXPECT_EQ(emit(room, std::string(127, 'x'), {}), 128u);
  EXPECT_EQ(emit(room, std::string(128, 'x'), {}), 0u);
}

TEST(rpc_payload, knows_which_codes_are_success) {
  EXPECT_TRUE(is_success(0));
  EXPECT_TRUE(is_success(200));
  for (const std::int32_t code : {-1, 1, 199, 201, 404, 500}) EXPECT_FALSE(is_success(code));
}

TEST(rpc_payload, survives_every_truncation_and_every_changed_byte) {
  for (const char* text : {vectors::r2, vectors::r6, vectors::r8, vectors::r20}) {
    const std::vector<std::uint8_t> frame = from_hex(text);
    const base::byte_view whole = base::byte_view(frame).subspan(4);
    const auto check = [](base::byte_view in) {
      for (const form what : {form::plain, form::error}) {
        payload got;
        const base::parse_status status = parse(in, what, got);
        EXPECT_LE(status.at, in.size());
        if (!status) continue;
        EXPECT_FALSE(got.name.empty());
        EXPECT_EQ(got.has_data, !got.data.empty());
        EXPECT_LE(got.name.size() + got.data.size() + got.ignored, in.size());
      }
    };
    test::for_every_truncation(whole, check);
    test::for_every_byte_change(whole, check);
  }
}

}  // namespace
}  // namespace millrace::rpc::wire
