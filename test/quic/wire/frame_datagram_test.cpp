#include "quic/wire/frame_datagram.hpp"

#include <gtest/gtest.h>

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
using test::refuses_to_emit;
using test::to_hex;

TEST(frame_datagram, reads_both_forms_in_place) {  // RFC 9221 4
  const byte_list body = from_hex("4002 aabb ee");
  byte_reader counted(body);
  datagram_frame f;
  ASSERT_TRUE(parse(counted, frame_datagram_length, f));
  EXPECT_EQ(f.data.data(), body.data() + 2);
  EXPECT_EQ(to_hex(f.data), "aabb");
  EXPECT_TRUE(f.has_length);
  EXPECT_EQ(counted.remaining(), 1u);
  byte_reader rest(body);
  ASSERT_TRUE(parse(rest, frame_datagram, f));
  EXPECT_EQ(to_hex(f.data), to_hex(body));
  EXPECT_FALSE(f.has_length);
  EXPECT_EQ(rest.remaining(), 0u);
}

TEST(frame_datagram, reads_messages_of_nothing) {  // RFC 9221 4
  byte_reader none{byte_view{}};
  datagram_frame f;
  EXPECT_TRUE(parse(none, frame_datagram, f));
  EXPECT_TRUE(f.data.empty());
  byte_reader zero(test::keep(from_hex("00")));
  EXPECT_TRUE(parse(zero, frame_datagram_length, f));
  EXPECT_TRUE(f.data.empty());
}

TEST(frame_datagram, refuses_every_truncation) {
  test::for_every_truncation(from_hex("4002 aabb"), [](byte_view body) {
    datagram_frame f{.more = 77};
    byte_reader in(body);
    EXPECT_EQ(parse(in, frame_datagram_length, f).code, parse_errc::truncated);
    EXPECT_EQ(f.more, 77u);
  });
  datagram_frame f;
  byte_reader lie(test::keep(from_hex("ffffffffffffffff aa")));
  EXPECT_EQ(parse(lie, frame_datagram_length, f).code, parse_errc::truncated);
}

TEST(frame_datagram, is_written_as_it_is_read) {
  const byte_view data = test::keep(from_hex("aabb"));
  EXPECT_EQ(to_hex(emitted(datagram_frame{.data = data})), "3102aabb");
  EXPECT_EQ(to_hex(emitted(datagram_frame{.data = data, .has_length = false})), "30aabb");
  EXPECT_EQ(to_hex(emitted(datagram_header{1200, true})), "3144b0");
  EXPECT_TRUE(refuses_to_emit(datagram_header{base::varint_max + 1, true}));
}

TEST(frame_datagram, tells_how_large_a_message_may_be) {
  for (std::size_t frame = 0; frame < 20000; frame += frame < 200 ? 1 : 37)
    for (const bool has_length : {false, true}) {
      const std::size_t size = datagram_capacity(frame, has_length);
      if (size != 0) {
        EXPECT_LE(encoded_size(datagram_header{size, has_length}) + size, frame);
      }
      EXPECT_GT(encoded_size(datagram_header{size + 1, has_length}) + size + 1, frame);
    }
}

}  // namespace
}  // namespace millrace::quic::wire
