#include "json/sink.hpp"

#include <gtest/gtest.h>

namespace millrace::json {
namespace {

TEST(buffer_sink, keeps_the_part_that_fits_and_refuses_from_then_on) {
  std::array<char, 4> room;
  buffer_sink out(room);
  EXPECT_TRUE(out.write("ab"));
  EXPECT_FALSE(out.write("cde"));
  EXPECT_EQ(out.text(), "abcd");
  EXPECT_FALSE(out.put('x'));
  EXPECT_FALSE(out.flush());
  out.reset();
  EXPECT_TRUE(out.flush());
  EXPECT_TRUE(out.write("wxyz"));
  EXPECT_EQ(out.text(), "wxyz");
  EXPECT_TRUE(out.write(""));
}

TEST(buffer_sink, refuses_over_nothing) {
  buffer_sink out({});
  EXPECT_TRUE(out.write(""));
  EXPECT_FALSE(out.put('a'));
  EXPECT_TRUE(out.text().empty());
}

TEST(string_sink, grows_past_its_window) {
  std::string text = "before ";
  std::string expected = text;
  {
    string_sink out(text);
    for (int i = 0; i < 3000; ++i) {
      const std::string piece(static_cast<std::size_t>(i % 7), static_cast<char>('a' + i % 26));
      EXPECT_TRUE(out.write(piece));
      expected += piece;
    }
    EXPECT_TRUE(out.flush());
    EXPECT_EQ(text, expected);
    out.put('!');
  }
  EXPECT_EQ(text, expected + "!");
}

TEST(file_sink, writes_more_than_its_window_and_leaves_the_file_open) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  std::string expected;
  {
    file_sink out(file);
    for (int i = 0; i < 20'000; ++i) {
      out.put(static_cast<char>('a' + i % 26));
      expected += static_cast<char>('a' + i % 26);
    }
    EXPECT_TRUE(out.flush());
    EXPECT_EQ(std::ftell(file), 20'000);
    out.write("tail");
  }
  expected += "tail";
  std::rewind(file);
  std::string got(expected.size() + 1, '\0');
  got.resize(std::fread(got.data(), 1, got.size(), file));
  EXPECT_EQ(got, expected);
  std::fclose(file);
}

TEST(file_sink, says_so_when_the_file_takes_nothing) {
  std::FILE* full = std::fopen("/dev/full", "w");
  if (full == nullptr) GTEST_SKIP() << "/dev/full is absent";
  file_sink out(full);
  EXPECT_TRUE(out.write("text"));
  EXPECT_FALSE(out.flush());
  EXPECT_TRUE(out.refused());
  EXPECT_FALSE(out.write("more"));
  std::fclose(full);
}

}  // namespace
}  // namespace millrace::json
