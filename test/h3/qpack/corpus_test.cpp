// Every encoded file of the corpus against its header lists; our own encodings of those lists, by our decoder and by
// the reference, with acknowledgments that come at once, late or never.
#include <gtest/gtest.h>

#include <map>

#include "h3/qpack/reference.hpp"
#include "h3/qpack/support.hpp"
#include "support/corpus.hpp"

namespace {

using namespace millrace;
using namespace millrace::test;
using qpack::error;
using qpack::section_outcome;

struct interop_name {
  std::string list;
  std::uint64_t capacity = 0;
  std::uint16_t blocked = 0;
};

interop_name parse_name(const std::string& file) {
  interop_name n;
  const std::size_t out = file.find(".out.");
  n.list = file.substr(0, out);
  n.capacity = std::stoull(file.substr(out + 5));
  n.blocked = static_cast<std::uint16_t>(std::stoul(file.substr(file.find('.', out + 5) + 1)));
  return n;
}

qpack::decoder_settings settings_of(const interop_name& n) {
  return {.max_table_capacity = n.capacity, .max_blocked_streams = n.blocked};
}

// All sections by stream; the test has failed when one is malformed.
std::map<std::uint64_t, field_list> decode_file(decoder_box& box, const std::vector<interop_record>& records) {
  std::map<std::uint64_t, field_list> lists;
  std::vector<interop_record> blocked;
  EXPECT_EQ(box.d.on_encoder_stream(set_capacity(box.d.table().most())), error::none);
  const auto decode = [&](const interop_record& r) {
    recording_sink sink;
    const qpack::section_result result = box.d.decode(r.stream, r.data, sink);
    if (result.outcome == section_outcome::blocked) {
      blocked.push_back(r);
      return;
    }
    EXPECT_EQ(result.outcome, section_outcome::done);
    lists[r.stream] = sink.fields;
  };
  for (const interop_record& r : records) {
    if (r.stream != 0) {
      decode(r);
    } else {
      EXPECT_EQ(box.d.on_encoder_stream(r.data), error::none);
      const std::vector<interop_record> again = std::exchange(blocked, {});
      for (const interop_record& b : again) decode(b);
    }
    (void)box.poll();
  }
  EXPECT_TRUE(blocked.empty());
  return lists;
}

TEST(qpack_corpus, every_encoded_file_decodes_to_its_lists) {
  MILLRACE_NEEDS_CORPUS();
  std::size_t files = 0;
  std::size_t fields = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(corpus() / "qpack/encoded")) {
    if (!file.is_regular_file()) continue;
    SCOPED_TRACE(file.path().string());
    const interop_name n = parse_name(file.path().filename().string());
    if (n.list == "examples") continue;  // appendix B, which has its own test
    const std::vector<field_list> expected = read_qif(corpus() / "qpack/qifs" / (n.list + ".qif"));
    decoder_box box(settings_of(n));
    const auto lists = decode_file(box, read_interop(read_file(file.path())));
    ASSERT_EQ(lists.size(), expected.size());
    std::size_t i = 0;
    for (const auto& [stream, list] : lists) {
      ASSERT_EQ(plain(list), expected[i++]) << "stream " << stream;
      fields += list.size();
    }
    ++files;
  }
  EXPECT_EQ(files, 148U);
  EXPECT_GT(fields, 100'000U);
}

TEST(qpack_corpus, encoder_streams_mean_the_same_however_they_are_cut) {
  MILLRACE_NEEDS_CORPUS();
  for (const char* name : {"ls-qpack/netbsd-hq.out.4096.100.1", "nghttp3/netbsd.out.256.100.0"}) {
    const auto records = read_interop(read_file(corpus() / "qpack/encoded" / name));
    const interop_name n = parse_name(name);
    for (const std::size_t step : {1U, 2U, 3U, 7U, 50U}) {
      decoder_box whole(settings_of(n));
      decoder_box cut(settings_of(n));
      ASSERT_EQ(whole.d.on_encoder_stream(set_capacity(n.capacity)), error::none);
      ASSERT_EQ(cut.d.on_encoder_stream(set_capacity(n.capacity)), error::none);
      for (const interop_record& r : records) {
        if (r.stream != 0) continue;
        ASSERT_EQ(whole.d.on_encoder_stream(r.data), error::none);
        for (std::size_t at = 0; at < r.data.size(); at += step) {
          const base::byte_view piece = base::byte_view(r.data).subspan(at, std::min(step, r.data.size() - at));
          ASSERT_EQ(cut.d.on_encoder_stream(piece), error::none);
        }
        ASSERT_EQ(whole.d.insert_count(), cut.d.insert_count());
        for (std::uint64_t i = whole.d.table().oldest(); i < whole.d.insert_count(); ++i) {
          ASSERT_EQ(whole.d.table().name(i), cut.d.table().name(i));
          ASSERT_EQ(whole.d.table().value(i), cut.d.table().value(i));
        }
      }
    }
  }
}

TEST(qpack_corpus, files_with_errors_are_refused_with_the_right_code) {
  MILLRACE_NEEDS_CORPUS();
  const std::map<std::string, error> expected = {
      {"err1", error::decompression_failed},
      {"err2", error::decompression_failed},
      {"err4", error::decompression_failed},
      {"err5", error::decompression_failed},
      {"err7", error::decompression_failed},
      {"err9", error::none},
      {"err10", error::none},
      {"err11", error::encoder_stream},
  };
  for (const auto& [name, code] : expected) {
    const auto records = read_interop(read_file(corpus() / "qpack/errors" / name));
    ASSERT_FALSE(records.empty()) << name;
    decoder_box box;
    error found = error::none;
    for (const interop_record& r : records) {
      recording_sink sink;
      const error e = r.stream == 0 ? box.d.on_encoder_stream(r.data) : box.d.decode(r.stream, r.data, sink).code();
      if (found == error::none) found = e;
    }
    EXPECT_EQ(found, code) << name;
  }
}

enum class acks : std::uint8_t { at_once, late, never };

struct outcome {
  std::size_t sections = 0;
  std::size_t instructions = 0;
};

// Our encoder to our decoder and the reference.
outcome run(const std::vector<field_list>& lists, std::uint64_t capacity, std::uint16_t blocked, acks when) {
  encoder_box from({.max_table_capacity = capacity});
  decoder_box to({.max_table_capacity = capacity, .max_blocked_streams = blocked});
  reference_decoder reference(capacity);
  EXPECT_TRUE(from.e.set_peer_settings(capacity, blocked));
  outcome sum;
  std::vector<bytes> late;
  std::uint64_t stream = 0;
  for (const field_list& list : lists) {
    const encoded_section coded = from.encode(stream, list);
    sum.sections += coded.section.size();
    sum.instructions += coded.instructions.size();
    // With blocked streams allowed, the section comes first.
    recording_sink early;
    const qpack::section_result first = to.d.decode(stream, coded.section, early);
    if (blocked == 0) {
      EXPECT_EQ(first.outcome, section_outcome::done);
    }
    EXPECT_EQ(to.d.on_encoder_stream(coded.instructions), error::none);
    EXPECT_TRUE(reference.on_encoder_stream(coded.instructions));
    recording_sink sink;
    if (first.outcome == section_outcome::blocked) {
      EXPECT_TRUE(to.d.is_ready(first.required_insert_count));
      EXPECT_EQ(to.d.decode(stream, coded.section, sink).outcome, section_outcome::done);
    } else {
      EXPECT_EQ(first.outcome, section_outcome::done);
      sink.fields = early.fields;
    }
    EXPECT_EQ(plain(sink.fields), list);
    if (stream % 16 == 0) {
      std::uint64_t required = 0;
      const auto read = reference.decode(coded.section, required);
      EXPECT_TRUE(read.has_value() && *read == sink.fields);
    }
    if (::testing::Test::HasFailure()) return sum;
    const bytes answer = to.poll();
    if (when == acks::at_once) {
      EXPECT_EQ(from.e.on_decoder_stream(answer), error::none);
    }
    if (when == acks::late) late.push_back(answer);
    if (late.size() == 10) {
      for (const bytes& a : late) EXPECT_EQ(from.e.on_decoder_stream(a), error::none);
      late.clear();
    }
    stream += 4;
  }
  return sum;
}

TEST(qpack_corpus, our_encodings_come_back_whatever_the_table_and_the_acknowledgments) {
  MILLRACE_NEEDS_CORPUS();
  for (const char* name : {"netbsd", "netbsd-hq", "fb-req", "fb-resp", "long-codes"}) {
    auto lists = read_qif(corpus() / "qpack/qifs" / (std::string(name) + ".qif"));
    if (lists.size() > 120) lists.resize(120);
    for (const std::uint64_t capacity : {0U, 32U, 256U, 4096U, 65536U}) {
      for (const std::uint16_t blocked : {std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{100}}) {
        for (const acks when : {acks::at_once, acks::late, acks::never}) {
          SCOPED_TRACE(std::string(name) + " " + std::to_string(capacity) + " " + std::to_string(blocked));
          (void)run(lists, capacity, blocked, when);
          ASSERT_FALSE(HasFailure());
        }
      }
    }
  }
}

// Bytes of a file of another encoder, both streams.
std::size_t size_of(const std::filesystem::path& path) {
  std::size_t sum = 0;
  for (const interop_record& r : read_interop(read_file(path))) sum += r.data.size();
  return sum;
}

TEST(qpack_corpus, our_encodings_are_not_much_longer_than_those_of_the_best) {
  MILLRACE_NEEDS_CORPUS();
  for (const char* name : {"netbsd", "fb-req", "fb-resp"}) {
    const auto lists = read_qif(corpus() / "qpack/qifs" / (std::string(name) + ".qif"));
    const outcome ours = run(lists, 4096, 100, acks::at_once);
    const std::string file = std::string(name) + ".out.4096.100.1";
    std::size_t best = SIZE_MAX;
    for (const char* coder : {"ls-qpack", "nghttp3", "f5", "proxygen"})
      best = std::min(best, size_of(corpus() / "qpack/encoded" / coder / file));
    EXPECT_LE((ours.sections + ours.instructions) * 100, best * 115) << name << ": " << best;
  }
}

}  // namespace
