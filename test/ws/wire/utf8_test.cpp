#include "ws/wire/utf8.hpp"

#include <gtest/gtest.h>

#include "support/bytes.hpp"
#include "support/guard_page.hpp"
#include "support/seeded.hpp"

namespace millrace::ws::wire {
namespace {

using test::byte_list;
using test::from_hex;

// Decodes as RFC 3629 3 says and asks whether the shortest form of what came out is what went in: a second way to
// judge.
bool is_utf8_by_decoding(base::byte_view in) {
  for (std::size_t i = 0; i < in.size();) {
    const unsigned lead = in[i];
    const std::size_t size = lead < 0x80 ? 1 : (lead >> 5) == 6 ? 2 : (lead >> 4) == 14 ? 3 : (lead >> 3) == 30 ? 4 : 0;
    if (size == 0 || in.size() - i < size) return false;
    std::uint32_t point = size == 1 ? lead : lead & (0x7Fu >> size);
    for (std::size_t k = 1; k < size; ++k) {
      if ((in[i + k] & 0xC0) != 0x80) return false;
      point = point << 6 | (in[i + k] & 0x3Fu);
    }
    const std::size_t shortest = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    if (shortest != size || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) return false;
    i += size;
  }
  return true;
}

void append(byte_list& out, std::uint32_t point) {
  const auto tail = [&](unsigned shift) { out.push_back(static_cast<std::uint8_t>(0x80 | (point >> shift & 0x3F))); };
  if (point < 0x80) {
    out.push_back(static_cast<std::uint8_t>(point));
  } else if (point < 0x800) {
    out.push_back(static_cast<std::uint8_t>(0xC0 | point >> 6));
    tail(0);
  } else if (point < 0x10000) {
    out.push_back(static_cast<std::uint8_t>(0xE0 | point >> 12));
    tail(6);
    tail(0);
  } else {
    out.push_back(static_cast<std::uint8_t>(0xF0 | point >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

// The text at every place of a buffer that is judged in blocks.
void expect_everywhere(base::byte_view text, bool valid, std::string_view what) {
  EXPECT_EQ(is_utf8(text), valid) << what;
  for (std::size_t before = 0; before < 70; ++before) {
    byte_list padded(before, 'a');
    padded.insert(padded.end(), text.begin(), text.end());
    padded.resize(std::max<std::size_t>(padded.size(), 100), 'z');
    ASSERT_EQ(is_utf8(padded), valid && is_utf8_by_decoding(padded)) << what << " behind " << before;
  }
}

TEST(ws_utf8, accepts_every_character_and_refuses_every_surrogate) {
  for (std::uint32_t point = 0; point <= 0x10FFFF; point += point < 0x11000 ? 1 : 61) {
    byte_list text;
    append(text, point);
    const bool is_surrogate = point >= 0xD800 && point <= 0xDFFF;
    ASSERT_EQ(is_utf8(text), !is_surrogate) << std::hex << point;
    byte_list block(40, 'a');
    std::copy(text.begin(), text.end(), block.begin() + 3 + point % 30);
    ASSERT_EQ(is_utf8(block), !is_surrogate) << std::hex << point << " in a block";
  }
}

TEST(ws_utf8, refuses_what_is_no_character) {
  for (const char* text : {"80",
                           "BF",
                           "C0 80",
                           "C1 BF",
                           "C2",
                           "C2 41",
                           "C2 C2",
                           "C3 A9 A9",
                           "E0 80 80",
                           "E0 9F BF",
                           "E0 A0",
                           "E0 A0 41",
                           "E1 80 80 80",
                           "ED A0 80",
                           "ED BF BF",
                           "EF BF",
                           "F0 80 80 80",
                           "F0 8F BF BF",
                           "F0 90 80",
                           "F0 90 80 41",
                           "F0 90 80 80 80",
                           "F4 90 80 80",
                           "F5 80 80 80",
                           "F8 88 80 80 80",
                           "FC 84 80 80 80 80",
                           "FE",
                           "FF",
                           "E2 82 F0 9F 98 80",
                           "F0 9F E2 82 AC"})
    expect_everywhere(from_hex(text), false, text);
}

TEST(ws_utf8, accepts_the_edges_of_every_length) {
  for (const char* text : {"00", "7F", "C2 80", "DF BF", "E0 A0 80", "ED 9F BF", "EE 80 80", "EF BF BF", "F0 90 80 80",
                           "F4 8F BF BF", "CE BA E1 BD B9 CF 83 CE BC CE B5"})
    expect_everywhere(from_hex(text), true, text);
}

TEST(ws_utf8, every_pair_and_every_three_bytes_of_note_agree_with_decoding) {
  for (unsigned a = 0; a < 256; ++a) {
    for (unsigned b = 0; b < 256; ++b) {
      byte_list text(64, 'a');
      const std::size_t at = 30 + (a + b) % 4;
      text[at] = static_cast<std::uint8_t>(a);
      text[at + 1] = static_cast<std::uint8_t>(b);
      ASSERT_EQ(is_utf8(text), is_utf8_by_decoding(text)) << a << " " << b;
      for (const unsigned c : {0x00u, 0x7Fu, 0x80u, 0x8Fu, 0x90u, 0x9Fu, 0xA0u, 0xBFu, 0xC0u, 0xF0u}) {
        text[at + 2] = static_cast<std::uint8_t>(c);
        ASSERT_EQ(is_utf8(text), is_utf8_by_decoding(text)) << a << " " << b << " " << c;
        text[at + 3] = 0x80;
        ASSERT_EQ(is_utf8(text), is_utf8_by_decoding(text)) << a << " " << b << " " << c << " 80";
        text[at + 3] = 'a';
      }
      text[at + 2] = 'a';
    }
  }
}

byte_list random_text(test::seeded& random, std::size_t characters) {
  byte_list out;
  const std::size_t kinds = 1 + random.below(4);
  for (std::size_t i = 0; i < characters; ++i) {
    static constexpr std::uint32_t limits[] = {0x80, 0x800, 0xD800, 0x110000};
    const std::size_t kind = random.below(kinds);
    const std::uint32_t point = static_cast<std::uint32_t>(random.below(limits[kind]));
    append(out, point >= 0xD800 && point <= 0xDFFF ? 0x20AC : point);
  }
  return out;
}

TEST(ws_utf8, agrees_with_decoding_on_random_texts_good_and_spoilt) {
  test::seeded random(71);
  for (int round = 0; round < 4000; ++round) {
    byte_list text = random_text(random, random.below(120));
    ASSERT_TRUE(is_utf8(text)) << "seed 71 round " << round;
    for (std::size_t n = 0; n < 3 && !text.empty(); ++n) {
      text[random.below(text.size())] = static_cast<std::uint8_t>(random.next());
      ASSERT_EQ(is_utf8(text), is_utf8_by_decoding(text)) << "seed 71 round " << round << ": " << test::to_hex(text);
    }
    if (!text.empty()) {
      text.resize(random.below(text.size()));
      ASSERT_EQ(is_utf8(text), is_utf8_by_decoding(text)) << "seed 71 round " << round;
    }
  }
}

TEST(ws_utf8, gives_the_same_in_one_piece_and_in_many) {
  test::seeded random(72);
  for (int round = 0; round < 3000; ++round) {
    byte_list text = random_text(random, random.below(200));
    if (random.below(2) == 0 && !text.empty())
      text[random.below(text.size())] = static_cast<std::uint8_t>(random.next());
    if (random.below(3) == 0 && !text.empty()) text.resize(random.below(text.size()));
    utf8_validator pieces;
    bool valid = true;
    for (base::byte_view left(text); !left.empty();) {
      const std::size_t take = random.below(std::min<std::size_t>(left.size(), 100) + 1);
      valid = pieces.on_bytes(left.first(take));
      left = left.subspan(take);
    }
    utf8_validator whole;
    ASSERT_EQ(whole.on_bytes(text), valid) << "seed 72 round " << round;
    ASSERT_EQ(whole.is_complete(), pieces.is_complete()) << "seed 72 round " << round;
  }
}

TEST(ws_utf8, refuses_at_the_first_byte_that_cannot_be) {
  for (const char* text : {"F4 90", "ED A0", "E0 9F", "F0 8F", "C0", "F5"}) {
    const byte_list bytes = from_hex(text);
    utf8_validator v;
    for (std::size_t i = 0; i + 1 < bytes.size(); ++i) EXPECT_TRUE(v.on_bytes(base::byte_view(bytes).subspan(i, 1)));
    EXPECT_FALSE(v.on_bytes(base::byte_view(bytes).last(1))) << text;
    EXPECT_FALSE(v.on_bytes(base::as_bytes("a"))) << "once refused, refused";
    v.reset();
    EXPECT_TRUE(v.on_bytes(base::as_bytes("a")));
  }
}

TEST(ws_utf8, reads_nothing_behind_its_text) {
  test::guard_page guard(300);
  for (std::size_t size = 0; size < 300; ++size) EXPECT_TRUE(is_utf8(guard.place(byte_list(size, 'a'))));
}

}  // namespace
}  // namespace millrace::ws::wire
