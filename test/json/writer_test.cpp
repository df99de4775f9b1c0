#include "json/writer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

namespace millrace::json {
namespace {

// What `write` produces, and how it ended.
template <class Write>
std::string written(Write write, write_errc expected = write_errc::ok) {
  std::string text;
  string_sink out(text);
  writer w(out);
  write(w);
  EXPECT_EQ(w.end_document(), expected);
  return text;
}

std::string one(auto v) {
  return written([&](writer& w) { w.value(v); });
}

TEST(writer, puts_commas_and_colons_where_they_belong) {
  const std::string text = written([](writer& w) {
    w.begin_object();
    w.member("a", 1);
    w.key("b");
    w.begin_array();
    w.value(true);
    w.null();
    w.begin_object();
    w.end_object();
    w.begin_array();
    w.end_array();
    w.value("x");
    w.end_array();
    w.member("c", false);
    w.end_object();
  });
  EXPECT_EQ(text, R"({"a":1,"b":[true,null,{},[],"x"],"c":false})");
}

TEST(writer, writes_integers_exactly_at_their_ends) {
  EXPECT_EQ(one(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(one(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(one(std::uint8_t{255}), "255");
  EXPECT_EQ(one(std::int16_t{-32768}), "-32768");
  EXPECT_EQ(one(0u), "0");
}

TEST(writer, writes_the_shortest_double_that_reads_back) {
  EXPECT_EQ(one(0.1), "0.1");
  EXPECT_EQ(one(1.0), "1");
  EXPECT_EQ(one(-0.5), "-0.5");
  EXPECT_EQ(one(5e-324), "5e-324");
  EXPECT_EQ(one(9.5), "9.5");
  EXPECT_EQ(one(1e23), "1e+23");
  EXPECT_EQ(one(std::numeric_limits<double>::max()), "1.7976931348623157e+308");
  std::mt19937_64 random(7);
  for (int i = 0; i < 10'000; ++i) {
    const double v = std::bit_cast<double>(random());
    if (!std::isfinite(v)) continue;
    const std::string text = one(v);
    ASSERT_EQ(std::strtod(text.c_str(), nullptr), v) << text;
    ASSERT_LE(text.size(), 24u) << text;
  }
}

TEST(writer, rounds_measurements_to_the_places_asked) {
  const auto fixed = [](double v, int places) { return written([&](writer& w) { w.fixed(v, places); }); };
  EXPECT_EQ(fixed(12.345678, 3), "12.346");
  EXPECT_EQ(fixed(12.0, 3), "12");
  EXPECT_EQ(fixed(0.0004, 3), "0");
  EXPECT_EQ(fixed(-0.0004, 3), "0");
  EXPECT_EQ(fixed(1200.0, 0), "1200");
  EXPECT_EQ(fixed(-std::numeric_limits<double>::max(), 17).size(), 310u);
}

TEST(writer, refuses_what_json_cannot_say) {
  for (const double v : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                         -std::numeric_limits<double>::infinity()}) {
    written([&](writer& w) { w.value(v); }, write_errc::not_finite);
    written([&](writer& w) { w.fixed(v, 2); }, write_errc::not_finite);
  }
}

TEST(writer, escapes_quotes_backslashes_and_controls) {
  std::string all;
  for (char c = 0; c < 0x20; ++c) all += c;
  EXPECT_EQ(one(std::string_view(all)),
            R"("\u0000\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e\u000f)"
            R"(\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c\u001d\u001e\u001f")");
  EXPECT_EQ(one("a\"b\\c/d\x7F"), "\"a\\\"b\\\\c/d\x7F\"");
  EXPECT_EQ(written([](writer& w) {
              w.begin_object();
              w.member("k\"\n", 1);
              w.end_object();
            }),
            R"({"k\"\n":1})");
}

TEST(writer, finds_what_needs_an_escape_at_every_place_of_a_long_text) {
  const std::string plain = "abcdefghijklmnopqrstuvwxyz !#[]^_`{|}~";
  for (std::size_t size = 0; size <= plain.size(); ++size)
    EXPECT_EQ(one(std::string_view(plain).substr(0, size)), '"' + plain.substr(0, size) + '"');
  for (unsigned byte = 0; byte < 256; ++byte) {
    const std::string alone = one(std::string_view(std::string(1, static_cast<char>(byte))));
    const std::string inner = alone.substr(1, alone.size() - 2);
    for (std::size_t at = 0; at < plain.size(); ++at) {
      std::string text = plain;
      text[at] = static_cast<char>(byte);
      ASSERT_EQ(one(std::string_view(text)), '"' + plain.substr(0, at) + inner + plain.substr(at + 1) + '"') << byte;
    }
  }
}

TEST(writer, keeps_utf8_and_replaces_each_broken_part_once) {
  EXPECT_EQ(one("na\xC3\xAFve \xF0\x9F\x98\x80"), "\"na\xC3\xAFve \xF0\x9F\x98\x80\"");
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(one("a\xFF"
                "b"),
            "\"a" + r + "b\"");
  EXPECT_EQ(one("\xE2\x82"), "\"" + r + "\"");
  EXPECT_EQ(one("\xED\xA0\x80"), "\"" + r + r + r + "\"");
  EXPECT_EQ(one("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), "\"" + r + r + r + r + "A\"");
  EXPECT_EQ(one("\xC3\""), "\"" + r + "\\\"\"");
}

TEST(writer, reads_no_byte_behind_the_text_it_was_given) {
  const std::string emoji = "\xF0\x9F\x98\x80";
  EXPECT_EQ(one(std::string_view(emoji).substr(0, 3)), "\"\xEF\xBF\xBD\"");
}

TEST(writer, writes_bytes_as_hexadecimal) {
  const std::array<std::uint8_t, 4> cid = {0x00, 0x9A, 0xBC, 0xFF};
  EXPECT_EQ(written([&](writer& w) { w.hex(cid); }), "\"009abcff\"");
  EXPECT_EQ(written([&](writer& w) { w.hex({}); }), "\"\"");
}

TEST(writer, nests_to_its_limit_and_not_beyond) {
  const auto nest = [](std::size_t depth) {
    return [depth](writer& w) {
      for (std::size_t i = 0; i < depth; ++i) w.begin_array();
      for (std::size_t i = 0; i < depth; ++i) w.end_array();
    };
  };
  EXPECT_EQ(written(nest(writer::max_depth)), std::string(32, '[') + std::string(32, ']'));
  written(nest(writer::max_depth + 1), write_errc::too_deep);
}

TEST(writer, answers_misuse_and_says_nothing_more) {
  const auto misuse = [](auto write) { return written(write, write_errc::misuse); };
  misuse([](writer& w) {
    w.begin_object();
    w.value(1);
  });
  misuse([](writer& w) {
    w.begin_object();
    w.key("a");
    w.key("b");
  });
  misuse([](writer& w) {
    w.begin_object();
    w.key("a");
    w.end_object();
  });
  misuse([](writer& w) {
    w.begin_array();
    w.end_object();
  });
  misuse([](writer& w) {
    w.begin_object();
    w.end_array();
  });
  misuse([](writer& w) {
    w.begin_array();
    w.key("a");
  });
  misuse([](writer& w) { w.end_object(); });
  misuse([](writer& w) { w.end_array(); });
  misuse([](writer& w) { w.key("a"); });
  misuse([](writer&) {});
  misuse([](writer& w) { w.begin_array(); });
  EXPECT_EQ(misuse([](writer& w) {
              w.value(1);
              w.value(2);
              w.value(3);
            }),
            "1");
}

TEST(writer, writes_one_document_a_line_and_forgets_a_broken_one) {
  std::string text;
  {
    string_sink out(text);
    writer w(out);
    for (int i = 0; i < 3; ++i) {
      w.begin_object();
      w.member("i", i);
      if (i == 1) w.member("bad", std::nan(""));
      w.end_object();
      EXPECT_EQ(w.end_line(), i == 1 ? write_errc::not_finite : write_errc::ok);
    }
  }
  EXPECT_EQ(text, "{\"i\":0}\n{\"i\":1,\"bad\"\n{\"i\":2}\n");
}

TEST(writer, answers_no_room_for_every_buffer_that_is_too_small) {
  const auto document = [](writer& w) {
    w.begin_object();
    w.member("text", "a\xFF\n\"z");
    w.member("n", -12.5);
    w.end_object();
  };
  const std::string whole = written(document);
  std::array<char, 64> room;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    room.fill('#');
    buffer_sink out{std::span<char>(room).first(size)};
    writer w(out);
    document(w);
    EXPECT_EQ(w.status(), size < whole.size() ? write_errc::no_room : write_errc::ok);
    EXPECT_EQ(w.end_document(), size < whole.size() ? write_errc::no_room : write_errc::ok);
    EXPECT_EQ(out.text(), whole.substr(0, size));
    EXPECT_EQ(room[size], '#');
  }
}

}  // namespace
}  // namespace millrace::json
