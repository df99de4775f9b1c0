#include "json/reader.hpp"

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "json/writer.hpp"
#include "support/guard_page.hpp"

namespace millrace::json {
namespace {

// Events as text: "{k:a s:x i:1 }" and so on.
class recorder final : public handler {
 public:
  std::string said;
  std::size_t stop_after = std::numeric_limits<std::size_t>::max();

 private:
  std::size_t events_ = 0;

  bool note(std::string_view what) noexcept {
    said += what;
    said += ' ';
    return ++events_ < stop_after;
  }
  bool on_null() noexcept override { return note("null"); }
  bool on_bool(bool v) noexcept override { return note(v ? "true" : "false"); }
  bool on_integer(std::int64_t v) noexcept override { return note("i:" + std::to_string(v)); }
  bool on_unsigned(std::uint64_t v) noexcept override { return note("u:" + std::to_string(v)); }
  bool on_double(double v) noexcept override {
    std::array<char, 32> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), v).ptr;
    return note("d:" + std::string(text.data(), end));
  }
  bool on_string(std::string_view v) noexcept override { return note("s:" + std::string(v)); }
  bool on_begin_object() noexcept override { return note("{"); }
  bool on_key(std::string_view v) noexcept override { return note("k:" + std::string(v)); }
  bool on_end_object() noexcept override { return note("}"); }
  bool on_begin_array() noexcept override { return note("["); }
  bool on_end_array() noexcept override { return note("]"); }
};

struct outcome {
  read_result result;
  std::string said;
};

outcome read(std::string_view text, const read_limits& limits = {}) {
  std::vector<std::byte> scratch(reader::scratch_size(limits));
  recorder events;
  const read_result result = reader(limits, scratch).read(base::as_bytes(text), events);
  return {result, events.said};
}

void expect_refused(std::string_view text, read_errc code, std::uint32_t at) {
  const outcome got = read(text);
  EXPECT_EQ(got.result.code, code) << text << ": " << to_string(got.result.code);
  EXPECT_EQ(got.result.at, at) << text;
}

TEST(reader, tells_a_document_as_it_stands) {
  const outcome got = read(" {\"a\" : [1, -2, 2.5, true, false, null, \"x\"],\n\t\"\":{} , \"b\":[] }\r\n");
  EXPECT_TRUE(got.result);
  EXPECT_EQ(got.said, "{ k:a [ i:1 i:-2 d:2.5 true false null s:x ] k: { } k:b [ ] } ");
  EXPECT_EQ(read("7").said, "i:7 ");
  EXPECT_EQ(read("\"\"").said, "s: ");
}

TEST(reader, keeps_integers_exact_and_falls_back_to_doubles) {
  EXPECT_EQ(read("9223372036854775807").said, "i:9223372036854775807 ");
  EXPECT_EQ(read("9223372036854775808").said, "u:9223372036854775808 ");
  EXPECT_EQ(read("18446744073709551615").said, "u:18446744073709551615 ");
  EXPECT_EQ(read("18446744073709551616").said, "d:18446744073709551616 ");
  EXPECT_EQ(read("-9223372036854775808").said, "i:-9223372036854775808 ");
  EXPECT_EQ(read("-9223372036854775809").said, "d:-9223372036854775808 ");
  EXPECT_EQ(read("1e3").said, "d:1000 ");
  EXPECT_EQ(read("1e-400").said, "d:0 ");
  EXPECT_EQ(read("1.7976931348623157e308").said, "d:1.7976931348623157e+308 ");
  EXPECT_EQ(read("-0.0").said, "d:-0 ");
  EXPECT_EQ(read("-0").said, "d:-0 ");
  EXPECT_EQ(read("0e-999999999999999999999").said, "d:0 ");
  EXPECT_EQ(read("18446744073709551615770230368547759").said, "d:1.8446744073709552e+34 ");
}

TEST(reader, tells_too_large_from_too_near_to_zero) {
  const std::string zeros(400, '0');
  for (const std::string& text : {std::string("1e400"), std::string("-1e309"), std::string("9e308"), "1" + zeros,
                                  "1" + zeros + ".5", "0." + zeros + "1e750", std::string("1e99999999999999999999")})
    EXPECT_EQ(read(text).result.code, read_errc::bad_number) << text;
  for (const std::string& text :
       {std::string("1e-400"), "0." + zeros + "1", "0." + zeros + "1e30", std::string("1e-99999999999999999999"),
        std::string("0.001e-380"), std::string("1e-9223372036854775808")})
    EXPECT_EQ(read(text).said, "d:0 ") << text;
  EXPECT_EQ(read("-1e-400").said, "d:-0 ");
  EXPECT_EQ(read("4.9e-324").said, "d:5e-324 ");
}

TEST(reader, rounds_to_the_nearest_double) {
  // Halfway between two doubles, and one digit to either side of it: what a conversion in steps gets wrong.
  EXPECT_EQ(read("9007199254740993.0").said, "d:9007199254740992 ");
  EXPECT_EQ(read("9007199254740993.0000000000000000000000000000000000001").said, "d:9007199254740994 ");
  EXPECT_EQ(read("9007199254740992.9999999999999999999999999999999999999").said, "d:9007199254740992 ");
  EXPECT_EQ(read("2.2250738585072011e-308").said, "d:2.225073858507201e-308 ");
}

TEST(reader, reads_every_double_back_that_the_writer_writes) {
  class keeper final : public handler {
   public:
    double got = 0;

   private:
    bool on_double(double v) noexcept override {
      got = v;
      return true;
    }
    bool on_integer(std::int64_t v) noexcept override {
      got = static_cast<double>(v);
      return true;
    }
    bool on_unsigned(std::uint64_t v) noexcept override {
      got = static_cast<double>(v);
      return true;
    }
  };
  std::mt19937_64 random(3);
  std::vector<std::byte> scratch(reader::scratch_size({}));
  for (int i = 0; i < 20'000; ++i) {
    const double v = i % 2 == 0 ? std::bit_cast<double>(random()) : static_cast<double>(random() % 100'000) / 1000;
    if (!std::isfinite(v)) continue;
    std::array<char, 64> room;
    buffer_sink sink(room);
    writer out(sink);
    out.value(v);
    ASSERT_EQ(out.end_document(), write_errc::ok);
    keeper events;
    ASSERT_TRUE(reader({}, scratch).read(base::as_bytes(sink.text()), events)) << sink.text();
    ASSERT_EQ(events.got, v) << sink.text();
  }
}

TEST(reader, resolves_escapes) {
  EXPECT_EQ(read(R"("\"\\\/\b\f\n\r\t\u0041\u00e9\u20AC\ud83d\ude00")").said,
            "s:\"\\/\b\f\n\r\tA\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80 ");
  const outcome zero = read(R"("a\u0000b")");
  EXPECT_TRUE(zero.result);
  EXPECT_EQ(zero.said, std::string("s:a\0b ", 6));
}

TEST(reader, refuses_text_that_is_no_unicode) {
  expect_refused(R"("\udc00")", read_errc::bad_text, 8);  // the second half alone
  EXPECT_EQ(read(R"("\ud83d")").result.code, read_errc::bad_text);
  EXPECT_EQ(read(R"("\ud83dx")").result.code, read_errc::bad_text);
  EXPECT_EQ(read(R"("\ud83d\u0041")").result.code, read_errc::bad_text);
  EXPECT_EQ(read(R"({"\udfff":1})").result.code, read_errc::bad_text);
  for (const char* broken :
       {"\"\xFF\"", "\"\xC0\xAF\"", "\"\xED\xA0\x80\"", "\"\xF4\x90\x80\x80\"", "{\"\xE2\x82\":1}"})
    EXPECT_EQ(read(broken).result.code, read_errc::bad_text) << broken;
}

TEST(reader, refuses_what_is_nearly_json) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "}",
                           "[",
                           "]",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "[1,]",
                           "[,1]",
                           "{a:1}",
                           "{'a':1}",
                           "[1 2]",
                           "nul",
                           "True",
                           "NaN",
                           "Infinity",
                           "-",
                           "+1",
                           "1.",
                           ".5",
                           "1e",
                           "1e+",
                           "\"a",
                           "\"\\x\"",
                           "\"\\u12\"",
                           "\"\\u12g4\"",
                           "\"\t\"",
                           "\"\n\"",
                           "/*x*/1",
                           "[01]",
                           "[0x1]",
                           "[1//x\n]",
                           "\xEF\xBB\xBF"
                           "1",
                           "{\"a\":1 \"b\":2}",
                           "[1}",
                           "{1:2}",
                           "{\"a\" 1}"}) {
    const outcome got = read(text);
    EXPECT_EQ(got.result.code, read_errc::malformed) << text << ": " << to_string(got.result.code);
  }
}

TEST(reader, refuses_a_second_document_and_a_nul) {
  expect_refused("1 2", read_errc::trailing_bytes, 2);
  expect_refused("{}x", read_errc::trailing_bytes, 2);
  expect_refused("01", read_errc::trailing_bytes, 1);
  expect_refused("-01", read_errc::trailing_bytes, 2);
  expect_refused("1//x", read_errc::trailing_bytes, 1);
  expect_refused(std::string_view("{}\0", 3), read_errc::trailing_bytes, 2);
  expect_refused(std::string_view("1\0,2", 4), read_errc::trailing_bytes, 1);
  EXPECT_EQ(read(std::string_view("[1\0]", 4)).result.code, read_errc::malformed);
  EXPECT_EQ(read(std::string_view("\"a\0b\"", 5)).result.code, read_errc::malformed);
  EXPECT_EQ(read(std::string_view("\0", 1)).result.code, read_errc::malformed);
}

TEST(reader, counts_levels_and_not_elements) {
  const read_limits limits{.max_bytes = 4096, .max_depth = 3};
  EXPECT_TRUE(read("[[[1]],[[2]],[{}]]", limits).result);
  const outcome deep = read("[[{\"a\":[]}]]", limits);
  EXPECT_EQ(deep.result.code, read_errc::too_deep);
  EXPECT_EQ(deep.result.at, 7u);
  EXPECT_EQ(deep.said, "[ [ { k:a ");
  EXPECT_EQ(read("[]", {.max_bytes = 10, .max_depth = 0}).result.code, read_errc::too_deep);
  EXPECT_TRUE(read("1", {.max_bytes = 10, .max_depth = 0}).result);
}

TEST(reader, survives_a_tower_as_high_as_its_document) {
  const read_limits limits{.max_bytes = 100'000, .max_depth = 100'000};
  EXPECT_TRUE(read(std::string(50'000, '[') + std::string(50'000, ']'), limits).result);
  EXPECT_EQ(read(std::string(100'000, '['), limits).result.code, read_errc::malformed);
}

TEST(reader, judges_the_size_first) {
  const read_limits limits{.max_bytes = 5, .max_depth = 3};
  EXPECT_TRUE(read("[1,2]", limits).result);
  const outcome large = read("[1,2] ", limits);
  EXPECT_EQ(large.result.code, read_errc::too_large);
  EXPECT_EQ(large.said, "");
}

TEST(reader, lowers_its_limit_to_the_scratch_it_has) {
  alignas(16) std::array<std::byte, 200> room;
  for (std::size_t shift = 0; shift < 16; ++shift) {
    for (std::size_t size = 0; size + shift <= room.size(); ++size) {
      reader in({.max_bytes = 1000, .max_depth = 2}, std::span(room).subspan(shift, size));
      recorder events;
      const std::string text = "\"" + std::string(98, 'x') + "\"";
      const read_result got = in.read(base::as_bytes(text), events);
      ASSERT_TRUE(got || got.code == read_errc::too_large);
      if (size >= reader::scratch_size({100, 2})) {
        ASSERT_TRUE(got) << shift << ' ' << size;
      }
    }
  }
}

TEST(reader, needs_no_more_scratch_than_it_says) {
  // The most demanding documents: all levels open, and a text or number that fills what is left.
  for (const std::uint32_t depth : {0u, 1u, 7u, 32u}) {
    for (const char fill : {'x', '7'}) {
      const read_limits limits{.max_bytes = 300, .max_depth = depth};
      std::string text(depth, '[');
      const std::size_t left = 300 - 2 * depth;
      text += fill == 'x' ? '"' + std::string(left - 2, 'x') + '"' : "1." + std::string(left - 2, '7');
      text += std::string(depth, ']');
      ASSERT_EQ(text.size(), 300u);
      test::guard_page guard(4096);
      const base::byte_span room = guard.room(reader::scratch_size(limits));
      recorder events;
      EXPECT_TRUE(reader(limits, std::as_writable_bytes(room)).read(base::as_bytes(text), events)) << depth << fill;
    }
  }
}

TEST(reader, stops_when_its_handler_says_so) {
  const std::string text = R"({"a":[1,true,null,"s",2.5],"b":{}})";
  for (std::size_t n = 1; n <= 14; ++n) {
    std::vector<std::byte> scratch(reader::scratch_size({}));
    recorder events;
    events.stop_after = n;
    const read_result got = reader({}, scratch).read(base::as_bytes(text), events);
    EXPECT_EQ(got.code, n <= 13 ? read_errc::refused : read_errc::ok) << n;
  }
}

TEST(reader, survives_every_cut_and_every_changed_byte) {
  const std::string good = R"({"k\u00e9y":[1,-2.5e3,true,false,null,"a\\\"\ud83d\ude00z"],"o":{"":0}})";
  ASSERT_TRUE(read(good).result);
  test::guard_page guard(good.size());
  std::vector<std::byte> scratch(reader::scratch_size({}));
  for (std::size_t size = 0; size < good.size(); ++size) {
    recorder events;
    const base::byte_view cut = guard.place(base::as_bytes(good).first(size));
    EXPECT_FALSE(reader({}, scratch).read(cut, events)) << size;
  }
  const base::byte_span changed = guard.place(base::as_bytes(good));
  for (std::size_t i = 0; i < changed.size(); ++i) {
    for (unsigned by = 1; by < 256; ++by) {
      changed[i] = static_cast<std::uint8_t>(changed[i] ^ by);
      recorder events;
      const read_result got = reader({}, scratch).read(changed, events);
      EXPECT_LE(got.at, changed.size());
      changed[i] = static_cast<std::uint8_t>(changed[i] ^ by);
    }
  }
}

}  // namespace
}  // namespace millrace::json
