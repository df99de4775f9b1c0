#include "h3/qpack/huffman.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/corpus_vectors.hpp"
#include "support/guard_page.hpp"
#include "support/seeded.hpp"

namespace {

using namespace millrace;
using namespace millrace::h3;
using qpack::huffman_status;
using bytes = std::vector<std::uint8_t>;

bytes encoded(std::string_view text) {
  bytes out(qpack::huffman_size(text));
  EXPECT_EQ(qpack::huffman_encode(text, out.data()), out.data() + out.size());
  return out;
}

// What the reader of pieces makes of it, cut behind every `step` bytes; `status` of the worst piece.
huffman_status piecewise(base::byte_view in, std::size_t step, std::string& text) {
  qpack::huffman_reader reader;
  std::vector<char> room(qpack::huffman_max_decoded(in.size()));
  std::size_t size = 0;
  while (!in.empty()) {
    const std::size_t take = std::min(step, in.size());
    const huffman_status s = reader.add(in.first(take), room, size);
    if (s != huffman_status::ok) return s;
    in = in.subspan(take);
  }
  text.assign(room.data(), size);
  return reader.is_padded() ? huffman_status::ok : huffman_status::malformed;
}

// Decodes with input and output that end at guard pages; both decoders must agree.
huffman_status decoded(base::byte_view in, std::string& text) {
  static test::guard_page input;
  static test::guard_page output;
  const base::byte_span room = output.room(qpack::huffman_max_decoded(in.size()));
  const qpack::huffman_result r =
      qpack::huffman_decode(input.place(in), {reinterpret_cast<char*>(room.data()), room.size()});
  text.assign(reinterpret_cast<const char*>(room.data()), r.size);
  for (const std::size_t step : {std::size_t{1}, std::size_t{3}}) {
    std::string other;
    EXPECT_EQ(piecewise(in, step, other), r.status);
    if (r.status == huffman_status::ok) {
      EXPECT_EQ(other, text);
    }
  }
  return r.status;
}

void expect_round_trip(const std::string& text) {
  std::string back;
  ASSERT_EQ(decoded(encoded(text), back), huffman_status::ok);
  EXPECT_EQ(back, text);
}

TEST(huffman, encodes_and_decodes_what_rfc_7541_c_4_prints) {
  const bytes wire = {0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff};
  EXPECT_EQ(encoded("www.example.com"), wire);
  std::string text;
  ASSERT_EQ(decoded(wire, text), huffman_status::ok);
  EXPECT_EQ(text, "www.example.com");
  EXPECT_EQ(encoded("no-cache"), (bytes{0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf}));
  EXPECT_EQ(encoded("custom-value"), (bytes{0x25, 0xa8, 0x49, 0xe9, 0x5b, 0xb8, 0xe8, 0xb4, 0xbf}));
}

TEST(huffman, agrees_with_every_vector_of_rfc_7541_appendix_c) {
  MILLRACE_NEEDS_CORPUS();
  const auto document = test::json_document(test::corpus() / "vectors/rfc7541-appendix-c.json");
  ASSERT_FALSE(document["huffman"].items().empty());
  for (const test::json_tree& one : document["huffman"].items()) {
    const bytes wire = test::hex_member(one, "hex");
    std::string text;
    ASSERT_EQ(decoded(wire, text), huffman_status::ok);
    EXPECT_EQ(text, one["text"].text());
    EXPECT_EQ(encoded(text), wire);
  }
}

TEST(huffman, brings_every_byte_back_alone_in_runs_and_beside_every_other) {
  for (int a = 0; a < 256; ++a) {
    for (std::size_t run = 1; run < 20; ++run) expect_round_trip(std::string(run, static_cast<char>(a)));
    for (int b = 0; b < 256; b += 3) expect_round_trip({static_cast<char>(a), static_cast<char>(b)});
  }
}

TEST(huffman, brings_texts_of_every_size_back) {
  test::seeded random(1);
  constexpr std::string_view usual = "aeiost012 %-./3456789=A_bcdfghlmnpru:BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz&*,;XZ";
  for (std::size_t size = 0; size < 300; ++size) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) {
      text += random.below(20) == 0 ? static_cast<char>(random.below(256)) : usual[random.below(usual.size())];
    }
    expect_round_trip(text);
  }
}

TEST(huffman, refuses_padding_that_is_long_or_not_ones) {
  std::string text;
  EXPECT_EQ(decoded(bytes{0x1f}, text), huffman_status::ok);  // a, three ones
  EXPECT_EQ(text, "a");
  EXPECT_EQ(decoded(bytes{0x1e}, text), huffman_status::malformed);
  EXPECT_EQ(decoded(bytes{0x1f, 0xff}, text), huffman_status::malformed);  // eleven bits of it
  EXPECT_EQ(decoded(bytes{0xff}, text), huffman_status::malformed);        // eight
  for (std::size_t size = 1; size < 40; ++size) {
    bytes wire = encoded(std::string(size * 8, 'a'));  // five whole bytes for eight characters: no padding
    wire.push_back(0xff);
    EXPECT_EQ(decoded(wire, text), huffman_status::malformed) << size;
  }
}

TEST(huffman, refuses_eos_wherever_it_stands) {
  for (std::size_t before = 0; before < 40; ++before) {
    for (std::size_t behind = 0; behind < 20; ++behind) {
      bytes wire = encoded(std::string(before * 8, 'a'));
      wire.insert(wire.end(), {0xff, 0xff, 0xff, 0xfc | 3});
      wire.insert(wire.end(), behind, 0x18);
      std::string text;
      EXPECT_EQ(decoded(wire, text), huffman_status::malformed) << before << ' ' << behind;
    }
  }
}

TEST(huffman, says_so_when_there_is_no_room_and_writes_nothing_behind_it) {
  const std::string text = "no room for this: \x01\x02 the last character does not fit, whatever its size {}";
  const bytes wire = encoded(text);
  test::guard_page output;
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const base::byte_span room = output.room(size);
    const std::span<char> chars{reinterpret_cast<char*>(room.data()), room.size()};
    const huffman_status expected = size < text.size() ? huffman_status::no_room : huffman_status::ok;
    EXPECT_EQ(qpack::huffman_decode(wire, chars).status, expected) << size;
    qpack::huffman_reader reader;
    std::size_t used = 0;
    EXPECT_EQ(reader.add(wire, chars, used), expected) << size;
  }
}

TEST(huffman, survives_every_truncation_and_byte_change) {
  const bytes good = encoded("https://www.example.com/a?b=\"c\"&d=\x7f\xff");
  std::string text;
  for (std::size_t size = 0; size < good.size(); ++size) {
    if (decoded(base::byte_view(good).first(size), text) != huffman_status::ok) continue;
    EXPECT_EQ(encoded(text), bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)));
  }
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (unsigned by = 1; by < 256; ++by) {
      bytes changed = good;
      changed[i] = static_cast<std::uint8_t>(changed[i] ^ by);
      if (decoded(changed, text) == huffman_status::ok) {
        EXPECT_EQ(encoded(text), changed);  // one text, one code
      }
    }
  }
}

}  // namespace
