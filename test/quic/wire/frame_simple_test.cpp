// PADDING, PING, CRYPTO and CONNECTION_CLOSE: each small enough to share a file.
#include <gtest/gtest.h>

#include "quic/wire/frame_connection_close.hpp"
#include "quic/wire/frame_crypto.hpp"
#include "quic/wire/frame_padding.hpp"
#include "support/bytes.hpp"
#include "support/emitted.hpp"
#include "support/hostile.hpp"

namespace millrace::quic::wire {
namespace {

using base::byte_reader;
using base::byte_view;
using base::parse_errc;
using test::byte_list;
using test::emitted;
using test::from_hex;
using test::to_hex;

TEST(frame_padding, takes_every_run_of_zeros_to_its_end) {
  test::guard_page guard;
  for (std::size_t zeros = 0; zeros < 40; ++zeros)
    for (std::size_t tail = 0; tail < 3; ++tail) {
      byte_list bytes(zeros, 0);
      bytes.resize(zeros + tail, 0x80);
      byte_reader in(guard.place(bytes));
      padding_frame f;
      parse(in, f);
      EXPECT_EQ(f.count, zeros + 1);
      EXPECT_EQ(in.remaining(), tail);
    }
}

TEST(frame_padding, is_written_as_that_many_zeros) {
  EXPECT_EQ(to_hex(emitted(padding_frame{5})), "0000000000");
  EXPECT_EQ(to_hex(emitted(ping_frame{})), "01");
}

TEST(frame_crypto, reads_a_piece_in_place) {
  const byte_list body = from_hex("4100 03 aabbcc dd");
  byte_reader in(body);
  crypto_frame f;
  ASSERT_TRUE(parse(in, f));
  EXPECT_EQ(f.offset, 256u);
  EXPECT_EQ(f.data.data(), body.data() + 3);
  EXPECT_EQ(to_hex(f.data), "aabbcc");
  EXPECT_EQ(in.remaining(), 1u);
}

TEST(frame_crypto, refuses_a_piece_that_would_end_beyond_the_largest_offset) {  // RFC 9000 19.6
  crypto_frame f;
  byte_list body = from_hex("ffffffffffffffff 01 aa");
  byte_reader beyond(body);
  EXPECT_EQ(parse(beyond, f).code, parse_errc::bad_value);
  body = from_hex("fffffffffffffffe 01 aa");
  byte_reader at_the_end(body);
  EXPECT_TRUE(parse(at_the_end, f));
  body = from_hex("00 ffffffffffffffff aa");
  byte_reader lie(body);
  EXPECT_EQ(parse(lie, f).code, parse_errc::truncated);
}

TEST(frame_crypto, is_written_in_the_shortest_form) {
  EXPECT_EQ(to_hex(emitted(crypto_frame{256, from_hex("aabb")})), "06410002aabb");
  EXPECT_EQ(to_hex(emitted(crypto_frame{0, {}})), "060000");
}

TEST(frame_crypto, fills_a_room_of_any_size_as_far_as_it_can) {
  for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{63}, std::uint64_t{64}, std::uint64_t{20000}})
    for (std::size_t room = 0; room < 17000; room += room < 200 ? 1 : 97) {
      const std::size_t size = crypto_capacity(room, offset);
      if (size == 0) {
        EXPECT_LT(room, crypto_overhead(offset, 1) + 1);
        continue;
      }
      EXPECT_LE(crypto_overhead(offset, size) + size, room);
      EXPECT_GT(crypto_overhead(offset, size + 1) + size + 1, room);
    }
}

TEST(frame_connection_close, reads_both_kinds) {
  byte_list body = from_hex("0a 18 02 6f6b ff");
  byte_reader transport(body);
  connection_close_frame f;
  ASSERT_TRUE(parse(transport, frame_connection_close, f));
  EXPECT_FALSE(f.from_application);
  EXPECT_EQ(f.error_code, 10u);
  EXPECT_EQ(f.offending_type, 0x18u);
  EXPECT_EQ(base::as_text(f.reason), "ok");
  EXPECT_EQ(transport.remaining(), 1u);
  body = from_hex("4100 00");
  byte_reader application(body);
  ASSERT_TRUE(parse(application, frame_connection_close_app, f));
  EXPECT_TRUE(f.from_application);
  EXPECT_EQ(f.error_code, 256u);
  EXPECT_EQ(f.offending_type, 0u);
  EXPECT_TRUE(f.reason.empty());
}

TEST(frame_connection_close, refuses_a_reason_that_is_not_there) {
  const byte_list body = from_hex("0a 00 05 6f6b");
  byte_reader in(body);
  connection_close_frame f;
  f.error_code = 99;
  EXPECT_EQ(parse(in, frame_connection_close, f).code, parse_errc::truncated);
  EXPECT_EQ(f.error_code, 99u);
}

TEST(frame_connection_close, is_written_as_it_is_read) {
  const byte_list reason = test::from_text("ok");
  EXPECT_EQ(to_hex(emitted(connection_close_frame{false, 10, 0x18, reason})), "1c0a18026f6b");
  EXPECT_EQ(to_hex(emitted(connection_close_frame{true, 256, 0, reason})), "1d4100026f6b");
}

TEST(frame_simple, refuse_every_truncation) {
  test::for_every_truncation(from_hex("4100 03 aabbcc"), [](byte_view in) {
    byte_reader reader(in);
    crypto_frame f;
    EXPECT_EQ(parse(reader, f).code, parse_errc::truncated);
  });
  test::for_every_truncation(from_hex("4100 4018 02 6f6b"), [](byte_view in) {
    byte_reader reader(in);
    connection_close_frame f;
    EXPECT_EQ(parse(reader, frame_connection_close, f).code, parse_errc::truncated);
  });
}

}  // namespace
}  // namespace millrace::quic::wire
