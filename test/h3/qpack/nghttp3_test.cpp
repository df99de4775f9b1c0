// Our encodings decoded by nghttp3, and nghttp3's by ours, with tables of several capacities, blocked streams allowed
// or not, and acknowledgments at once, late or never.
#include <gtest/gtest.h>

#include "h3/qpack/nghttp3_peer.hpp"
#include "h3/qpack/static_table.hpp"
#include "support/corpus.hpp"

namespace {

using namespace millrace;
using namespace millrace::test;
using qpack::error;
using qpack::section_outcome;

struct setting {
  std::uint64_t capacity;
  std::uint16_t blocked;
  std::size_t acks_every;  // sections; 0: never
};

template <class Check>
void for_all(Check check) {
  for (const char* name : {"netbsd", "netbsd-hq", "fb-req", "fb-resp", "long-codes"}) {
    auto lists = read_qif(corpus() / "qpack/qifs" / (std::string(name) + ".qif"));
    if (lists.size() > 150) lists.resize(150);
    for (const std::uint64_t capacity : {0U, 64U, 256U, 1000U, 4096U}) {
      for (const std::uint16_t blocked : {std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{100}}) {
        for (const std::size_t every : {std::size_t{1}, std::size_t{7}, std::size_t{0}}) {
          SCOPED_TRACE(std::string(name) + " capacity " + std::to_string(capacity) + " blocked " +
                       std::to_string(blocked) + " acks " + std::to_string(every));
          check(lists, setting{capacity, blocked, every});
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

void ours_to_nghttp3(const std::vector<field_list>& lists, setting s) {
  encoder_box from({.max_table_capacity = s.capacity});
  ASSERT_TRUE(from.e.set_peer_settings(s.capacity, s.blocked));
  nghttp3_decoder to(s.capacity, s.blocked);
  std::uint64_t stream = 0;
  for (const field_list& list : lists) {
    const encoded_section c = from.encode(stream, list);
    field_list got;
    const auto take = [&](std::string_view name, std::string_view value, bool) {
      got.push_back({std::string(name), std::string(value)});
    };
    // What may block arrives before its instructions half of the time.
    if (stream % 8 == 0 && s.blocked == 100) {
      const auto early = to.decode(stream, c.section, take);
      ASSERT_NE(early, nghttp3_decoder::answer::failed);
      ASSERT_TRUE(to.on_encoder_stream(c.instructions));
      if (early == nghttp3_decoder::answer::blocked) {
        ASSERT_EQ(to.decode(stream, c.section, take), nghttp3_decoder::answer::done);
      }
    } else {
      ASSERT_TRUE(to.on_encoder_stream(c.instructions));
      ASSERT_EQ(to.decode(stream, c.section, take), nghttp3_decoder::answer::done);
    }
    ASSERT_EQ(got, list);
    stream += 4;
    if (s.acks_every != 0 && stream / 4 % s.acks_every == 0) {
      ASSERT_EQ(from.e.on_decoder_stream(to.poll()), error::none);
    }
  }
}

void nghttp3_to_ours(const std::vector<field_list>& lists, setting s) {
  nghttp3_encoder from(s.capacity, s.blocked);
  decoder_box to({.max_table_capacity = s.capacity, .max_blocked_streams = s.blocked, .max_pending = 200});
  std::uint64_t stream = 0;
  for (const field_list& list : lists) {
    const encoded_section c = from.encode(stream, list);
    recording_sink sink;
    section_outcome o = to.d.decode(stream, c.section, sink).outcome;
    ASSERT_EQ(to.d.on_encoder_stream(c.instructions), error::none);
    if (o == section_outcome::blocked) o = to.d.decode(stream, c.section, sink).outcome;
    ASSERT_EQ(o, section_outcome::done);
    ASSERT_EQ(plain(sink.fields), list);
    stream += 4;
    if (s.acks_every != 0 && stream / 4 % s.acks_every == 0) {
      ASSERT_TRUE(from.on_decoder_stream(to.poll()));
    }
  }
}

TEST(qpack_nghttp3, decodes_what_we_encode) {
  MILLRACE_NEEDS_CORPUS();
  for_all(ours_to_nghttp3);
}

TEST(qpack_nghttp3, encodes_what_we_decode) {
  MILLRACE_NEEDS_CORPUS();
  for_all(nghttp3_to_ours);
}

TEST(qpack_nghttp3, has_the_same_static_table) {
  nghttp3_decoder to(0, 0);
  for (std::size_t i = 0; i < qpack::static_table_size; ++i) {
    bytes section(2 + qpack::max_integer_size);
    const std::uint8_t* const end = qpack::emit_integer(&section[2], qpack::indexed_static_pattern, i);
    section.resize(static_cast<std::size_t>(end - section.data()));
    field_list got;
    const auto take = [&](std::string_view name, std::string_view value, bool) {
      got.push_back({std::string(name), std::string(value)});
    };
    ASSERT_EQ(to.decode(0, section, take), nghttp3_decoder::answer::done);
    ASSERT_EQ(got.size(), 1U);
    EXPECT_EQ(got[0].name, qpack::static_at(i).name) << i;
    EXPECT_EQ(got[0].value, qpack::static_at(i).value) << i;
  }
}

TEST(qpack_nghttp3, sees_the_fields_that_we_never_index) {
  encoder_box from;
  nghttp3_decoder to(4096, 0);
  const encoded_section c = from.encode(0, {{"authorization", "x"}, {"k", "v", true}, {"accept", "*/*"}});
  std::vector<bool> never;
  ASSERT_EQ(to.decode(0, c.section, [&](auto, auto, bool n) { never.push_back(n); }), nghttp3_decoder::answer::done);
  EXPECT_EQ(never, (std::vector<bool>{true, true, false}));
}

}  // namespace
