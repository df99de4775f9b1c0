#include "inspect/h3_scanner.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/bytes.hpp"
#include "support/hostile.hpp"

namespace millrace::inspect {
namespace {

using test::byte_list;

struct notes {
  std::string said;
  void on_stream_type(std::uint64_t type) { said += "type " + std::to_string(type) + "; "; }
  void on_frame(std::uint64_t type, std::uint64_t length) {
    said += std::to_string(type) + ":" + std::to_string(length) + "; ";
  }
};

h3_scanner scanner(bool unidirectional) {
  h3_scanner s;
  s.begin(unidirectional);
  return s;
}
std::string scan(bool unidirectional, const byte_list& bytes) {
  h3_scanner s = scanner(unidirectional);
  notes n;
  s.feed(bytes, n);
  return n.said;
}

TEST(h3_scanner, tells_frames_by_their_headers) {
  EXPECT_EQ(scan(false, {1, 2, 9, 9, 0, 0, 0x40, 0x00, 3, 7, 7, 7}), "1:2; 0:0; 0:3; ");
  EXPECT_EQ(scan(false, {0x80, 0x0f, 0x07, 0x00, 1, 5}), "984832:1; ");
  EXPECT_EQ(scan(false, {}), "");
}

TEST(h3_scanner, tells_the_type_of_a_stream_first) {
  EXPECT_EQ(scan(true, {0, 4, 2, 1, 1, 7, 1, 4}), "type 0; 4:2; 7:1; ");
  EXPECT_EQ(scan(true, {1, 9, 1, 1, 0}), "type 1; 1:1; ");  // a push ID stands before the frames
  for (const int opaque : {2, 3, 0x21})
    EXPECT_EQ(scan(true, {static_cast<std::uint8_t>(opaque), 1, 1, 1, 1}), "type " + std::to_string(opaque) + "; ");
}

TEST(h3_scanner, skips_what_a_webtransport_stream_holds) { EXPECT_EQ(scan(false, {0x40, 0x41, 4, 1, 2, 0}), "65:0; "); }

TEST(h3_scanner, says_the_same_wherever_the_stream_is_cut) {
  const byte_list stream = {0x40, 0x00, 4, 0x40, 0x03, 1, 2, 3, 0xc0, 0, 0, 0, 0, 0, 0, 33, 2, 5, 5, 7, 0};
  const std::string whole = scan(true, stream);
  EXPECT_EQ(whole, "type 0; 4:3; 33:2; 7:0; ");
  for (std::size_t first = 0; first <= stream.size(); ++first) {
    for (std::size_t second = first; second <= stream.size(); ++second) {
      h3_scanner s = scanner(true);
      notes n;
      const base::byte_view all(stream);
      s.feed(all.first(first), n);
      s.feed(all.subspan(first, second - first), n);
      s.feed(all.subspan(second), n);
      ASSERT_EQ(n.said, whole) << first << " " << second;
      ASSERT_FALSE(s.is_inside());
    }
  }
}

TEST(h3_scanner, knows_that_a_frame_was_cut) {
  const byte_list stream = {1, 3, 9, 9, 9, 0x40};
  for (std::size_t size = 0; size <= stream.size(); ++size) {
    h3_scanner s = scanner(false);
    notes n;
    s.feed(base::byte_view(stream).first(size), n);
    EXPECT_EQ(s.is_inside(), size != 0 && size != 5) << size;
  }
}

TEST(h3_scanner, lengths_of_62_bits_end_nothing) {
  const byte_list stream = {0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1, 1};
  EXPECT_EQ(scan(false, stream), "0:4611686018427387903; ");
  test::for_every_byte_change(stream, [](base::byte_view changed) {
    for (const bool unidirectional : {false, true}) {
      h3_scanner s = scanner(unidirectional);
      notes n;
      s.feed(changed, n);
    }
  });
}

TEST(h3_scanner, knows_what_is_reserved) {
  EXPECT_TRUE(is_h3_reserved(0x21) && is_h3_reserved(0x40) && is_h3_reserved(0x21 + 31 * 1'000'000));
  EXPECT_FALSE(is_h3_reserved(0) || is_h3_reserved(2) || is_h3_reserved(0x20) || is_h3_reserved(0x22));
}

}  // namespace
}  // namespace millrace::inspect
