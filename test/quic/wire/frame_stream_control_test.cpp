// RESET_STREAM and STOP_SENDING: two integers more or less set them apart.
#include <gtest/gtest.h>

#include "quic/wire/frame_reset_stream.hpp"
#include "quic/wire/frame_stop_sending.hpp"
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

TEST(frame_reset_stream, carries_the_stream_its_error_and_its_size) {  // RFC 9000 19.4
  const byte_list body = from_hex("08 4101 ffffffffffffffff ee");
  byte_reader in(body);
  reset_stream_frame f;
  ASSERT_TRUE(parse(in, f));
  EXPECT_EQ(f.stream_id, 8u);
  EXPECT_EQ(f.error_code, 257u);
  EXPECT_EQ(f.final_size, varint_max);
  EXPECT_EQ(in.remaining(), 1u);
  EXPECT_EQ(to_hex(emitted(reset_stream_frame{8, 257, 65536})), "0408410180010000");
  EXPECT_TRUE(refuses_to_emit(reset_stream_frame{8, 257, varint_max + 1}));
}

TEST(frame_stop_sending, carries_the_stream_and_an_error) {  // RFC 9000 19.5
  const byte_list body = from_hex("4007 4102 ee");
  byte_reader in(body);
  stop_sending_frame f;
  ASSERT_TRUE(parse(in, f));
  EXPECT_EQ(f.stream_id, 7u);
  EXPECT_EQ(f.error_code, 258u);
  EXPECT_EQ(in.remaining(), 1u);
  EXPECT_EQ(to_hex(emitted(f)), "05074102");
  EXPECT_TRUE(refuses_to_emit(stop_sending_frame{varint_max + 1, 0}));
}

TEST(frame_stream_control, leave_the_output_alone_when_they_are_cut_off) {
  test::for_every_truncation(from_hex("08 4101 80010000"), [](byte_view body) {
    reset_stream_frame f{77, 78, 79};
    byte_reader in(body);
    EXPECT_EQ(parse(in, f).code, parse_errc::truncated);
    EXPECT_EQ(f.stream_id + f.error_code + f.final_size, 77u + 78u + 79u);
  });
  test::for_every_truncation(from_hex("4007 4102"), [](byte_view body) {
    stop_sending_frame f{77, 78};
    byte_reader in(body);
    EXPECT_EQ(parse(in, f).code, parse_errc::truncated);
    EXPECT_EQ(f.stream_id + f.error_code, 77u + 78u);
  });
}

}  // namespace
}  // namespace millrace::quic::wire
