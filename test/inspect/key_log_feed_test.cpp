#include "inspect/key_log_feed.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace millrace::inspect {
namespace {

std::string line(char handshake, std::string_view label = "CLIENT_TRAFFIC_SECRET_0") {
  return std::string(label) + " " + std::string(64, handshake) + " " + std::string(64, 'a');
}

struct bed {
  std::vector<std::byte> memory;
  secret_table table;
  key_log_feed feed;

  explicit bed(std::uint32_t handshakes = 16) {
    limits l;
    l.max_secrets = handshakes;
    carver measure;
    (void)secret_table(measure, l, 1);
    memory.resize(measure.bytes() + 64);
    auto* at = reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 63) / 64 * 64);
    carver carve({at, measure.bytes()});
    table = secret_table(carve, l, 1);
  }
  const key_log_counts& take(std::string_view text) {
    feed.feed(text, table);
    feed.finish(table);
    return feed.counts();
  }
};

const std::string mixed = "# made by a test\n" + line('1') + "\r\n" + "CLIENT_RANDOM " + std::string(64, '1') + " " +
                          std::string(96, 'b') + "\n\n" + line('2') + "\n" + line('2') + "\n" +
                          line('3', "EXPORTER_SECRET") + "\nnonsense\n" + line('4');

void expect_mixed(const key_log_counts& c) {
  EXPECT_EQ(c.secrets, 4u);
  EXPECT_EQ(c.repeated, 1u);
  EXPECT_EQ(c.client_random, 1u);
  EXPECT_EQ(c.other, 1u);
  EXPECT_EQ(c.malformed, 1u);
  EXPECT_EQ(c.blank, 2u);
  EXPECT_EQ(c.no_room, 0u);
}

TEST(key_log_feed, counts_every_line_once) {
  bed b;
  expect_mixed(b.take(mixed));
  EXPECT_EQ(b.table.in_use(), 3u);
}

TEST(key_log_feed, byte_order_mark_costs_no_secret) {
  bed b;
  const key_log_counts& c = b.take("\xEF\xBB\xBF" + line('1') + "\n" + line('2') + "\n");
  EXPECT_EQ(c.secrets, 2u);
  EXPECT_EQ(c.other + c.malformed, 0u);
}

TEST(key_log_feed, says_the_same_wherever_the_text_is_cut) {
  for (std::size_t cut = 0; cut <= mixed.size(); ++cut) {
    bed b;
    b.feed.feed(std::string_view(mixed).substr(0, cut), b.table);
    expect_mixed(b.take(std::string_view(mixed).substr(cut)));
  }
  bed b;
  for (const char c : mixed) b.feed.feed({&c, 1}, b.table);
  b.feed.finish(b.table);
  expect_mixed(b.feed.counts());
}

TEST(key_log_feed, skips_a_line_without_end_and_reads_on_behind_it) {
  for (const std::size_t piece : {1u, 7u, 511u, 512u, 513u, 4096u}) {
    bed b;
    const std::string text =
        std::string(100'000, 'A') + "\n" + line('1') + "\n" + std::string(600, ' ') + "\n" + std::string(20'000, 'B');
    for (std::size_t at = 0; at < text.size(); at += piece)
      b.feed.feed(std::string_view(text).substr(at, piece), b.table);
    b.feed.finish(b.table);
    EXPECT_EQ(b.feed.counts().malformed + b.feed.counts().blank, 3u) << piece;
    EXPECT_EQ(b.feed.counts().secrets, 1u) << piece;
  }
}

TEST(key_log_feed, line_as_long_as_may_be_is_the_same_in_one_piece_and_in_two) {
  const std::string label = line('1');
  for (const std::size_t size : {511u, 512u, 513u, 514u}) {
    const std::string text = label + std::string(size - label.size(), ' ') + "\n";
    bed whole;
    (void)whole.take(text);
    bed halves;
    halves.feed.feed(std::string_view(text).substr(0, 100), halves.table);
    (void)halves.take(std::string_view(text).substr(100));
    EXPECT_EQ(whole.feed.counts().secrets, halves.feed.counts().secrets) << size;
    EXPECT_EQ(whole.feed.counts().secrets, size <= 512 ? 1u : 0u) << size;
  }
}

TEST(key_log_feed, counts_secrets_that_find_no_room) {
  bed b(2);
  std::string text;
  for (const char c : {'1', '2', '3', '4', '1'}) text += line(c) + "\n";
  const key_log_counts& c = b.take(text);
  EXPECT_EQ(c.secrets, 3u);
  EXPECT_EQ(c.no_room, 2u);
}

TEST(key_log_feed, survives_bytes_of_any_kind) {
  std::mt19937 random(1);
  bed b(2);
  std::uint64_t newlines = 0;
  for (int n = 0; n < 2000; ++n) {
    std::string piece(random() % 300, '\0');
    for (char& c : piece) c = static_cast<char>(random());
    newlines += static_cast<std::uint64_t>(std::count(piece.begin(), piece.end(), '\n'));
    b.feed.feed(piece, b.table);
  }
  const key_log_counts& c = b.take("\n");
  EXPECT_EQ(c.secrets + c.no_room + c.client_random + c.other, 0u);
  EXPECT_EQ(c.malformed + c.blank, newlines + 1);
}

}  // namespace
}  // namespace millrace::inspect
