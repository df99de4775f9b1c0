// The frames that give credit and that ask for it.
#include <gtest/gtest.h>

#include "quic/wire/frame_data_blocked.hpp"
#include "quic/wire/frame_max_data.hpp"
#include "quic/wire/frame_max_stream_data.hpp"
#include "quic/wire/frame_stream_data_blocked.hpp"
#include "quic/wire/frame_streams_blocked.hpp"
#include "support/emitted.hpp"
#include "support/hostile.hpp"

namespace millrace::quic::wire {
namespace {

using base::byte_reader;
using base::byte_view;
using base::parse_errc;
using base::varint_max;
using test::byte_list;
using test::emitted;
using test::from_hex;
using test::refuses_to_emit;
using test::to_hex;

// Reads the body of a frame from hex; the reader has to stop at its end, one byte before the text's.
template <class Frame>
Frame read(std::string_view hex) {
  const byte_list body = from_hex(hex);
  byte_reader in(body);
  Frame f;
  EXPECT_TRUE(parse(in, f)) << hex;
  EXPECT_EQ(in.remaining(), 1u) << hex;
  return f;
}
template <class Frame>
Frame read(std::string_view hex, frame_type type) {
  const byte_list body = from_hex(hex);
  byte_reader in(body);
  Frame f;
  EXPECT_TRUE(parse(in, type, f)) << hex;
  EXPECT_EQ(in.remaining(), 1u) << hex;
  return f;
}
template <class Frame>
parse_errc code_of(std::string_view hex, frame_type type) {
  const byte_list body = from_hex(hex);
  byte_reader in(body);
  Frame f;
  return parse(in, type, f).code;
}

TEST(frame_max_data, carries_any_limit) {  // RFC 9000 19.9
  EXPECT_EQ(read<max_data_frame>("00 ff").maximum, 0u);
  EXPECT_EQ(read<max_data_frame>("ffffffffffffffff ff").maximum, varint_max);
  EXPECT_EQ(to_hex(emitted(max_data_frame{65536})), "1080010000");
  EXPECT_TRUE(refuses_to_emit(max_data_frame{varint_max + 1}));
}

TEST(frame_max_stream_data, carries_a_stream_and_its_limit) {  // RFC 9000 19.10
  const max_stream_data_frame f = read<max_stream_data_frame>("4008 ffffffffffffffff ff");
  EXPECT_EQ(f.stream_id, 8u);
  EXPECT_EQ(f.maximum, varint_max);
  EXPECT_EQ(to_hex(emitted(max_stream_data_frame{8, 16384})), "110880004000");
}

TEST(frame_max_streams, carries_counts_up_to_2_to_the_60_and_no_more) {  // RFC 9000 19.11
  const max_streams_frame bidi = read<max_streams_frame>("d000000000000000 ff", frame_max_streams_bidi);
  EXPECT_EQ(bidi.maximum, max_stream_count);
  EXPECT_FALSE(bidi.unidirectional);
  EXPECT_TRUE(read<max_streams_frame>("03 ff", frame_max_streams_uni).unidirectional);
  for (const frame_type type : {frame_max_streams_bidi, frame_max_streams_uni}) {
    EXPECT_EQ(code_of<max_streams_frame>("d000000000000001", type), parse_errc::bad_value);
    EXPECT_EQ(code_of<max_streams_frame>("ffffffffffffffff", type), parse_errc::bad_value);
    EXPECT_EQ(code_of<max_streams_frame>("d0000000000000", type), parse_errc::truncated);
  }
  EXPECT_EQ(to_hex(emitted(max_streams_frame{false, 100})), "124064");
  EXPECT_EQ(to_hex(emitted(max_streams_frame{true, 3})), "1303");
  EXPECT_TRUE(refuses_to_emit(max_streams_frame{false, max_stream_count + 1}));
}

TEST(frame_data_blocked, carries_where_the_sender_stopped) {  // RFC 9000 19.12
  EXPECT_EQ(read<data_blocked_frame>("4400 ff").limit, 1024u);
  EXPECT_EQ(to_hex(emitted(data_blocked_frame{1024})), "144400");
}

TEST(frame_stream_data_blocked, carries_where_a_stream_stopped) {  // RFC 9000 19.13
  const stream_data_blocked_frame f = read<stream_data_blocked_frame>("03 4400 ff");
  EXPECT_EQ(f.stream_id, 3u);
  EXPECT_EQ(f.limit, 1024u);
  EXPECT_EQ(to_hex(emitted(f)), "15034400");
}

TEST(frame_streams_blocked, carries_counts_up_to_2_to_the_60_and_no_more) {  // RFC 9000 19.14
  EXPECT_EQ(read<streams_blocked_frame>("d000000000000000 ff", frame_streams_blocked_bidi).limit, max_stream_count);
  EXPECT_TRUE(read<streams_blocked_frame>("03 ff", frame_streams_blocked_uni).unidirectional);
  for (const frame_type type : {frame_streams_blocked_bidi, frame_streams_blocked_uni})
    EXPECT_EQ(code_of<streams_blocked_frame>("d000000000000001", type), parse_errc::bad_value);
  EXPECT_EQ(to_hex(emitted(streams_blocked_frame{false, 100})), "164064");
  EXPECT_EQ(to_hex(emitted(streams_blocked_frame{true, 3})), "1703");
  EXPECT_TRUE(refuses_to_emit(streams_blocked_frame{true, max_stream_count + 1}));
}

TEST(frame_limits, leave_the_output_alone_when_they_are_cut_off) {
  test::for_every_truncation(from_hex("4008 80010000"), [](byte_view body) {
    max_stream_data_frame most{77, 78};
    byte_reader first(body);
    EXPECT_EQ(parse(first, most).code, parse_errc::truncated);
    EXPECT_EQ(most.stream_id + most.maximum, 77u + 78u);
    stream_data_blocked_frame blocked{77, 78};
    byte_reader second(body);
    EXPECT_EQ(parse(second, blocked).code, parse_errc::truncated);
    EXPECT_EQ(blocked.stream_id + blocked.limit, 77u + 78u);
  });
  test::for_every_truncation(from_hex("80010000"), [](byte_view body) {
    max_data_frame most{77};
    byte_reader first(body);
    EXPECT_EQ(parse(first, most).code, parse_errc::truncated);
    EXPECT_EQ(most.maximum, 77u);
    data_blocked_frame blocked{77};
    byte_reader second(body);
    EXPECT_EQ(parse(second, blocked).code, parse_errc::truncated);
    EXPECT_EQ(blocked.limit, 77u);
  });
}

}  // namespace
}  // namespace millrace::quic::wire
