// RFC 9204 appendix B, byte by byte: what the decoder makes of it and answers, what our writers make of the same.
#include <gtest/gtest.h>

#include "h3/qpack/support.hpp"
#include "support/bytes.hpp"
#include "support/corpus_vectors.hpp"

namespace {

using namespace millrace;
using namespace millrace::test;
using qpack::error;
using qpack::section_outcome;

constexpr std::uint64_t appendix_b_capacity = 220;

TEST(qpack_vectors, rfc_9204_appendix_b_is_decoded_and_answered) {
  MILLRACE_NEEDS_CORPUS();
  const auto document = json_document(corpus() / "vectors/rfc9204-appendix-b.json");
  decoder_box box({.max_table_capacity = appendix_b_capacity});
  std::size_t sections = 0;
  std::size_t answers = 0;
  for (const json_tree& step : document["steps"].items()) {
    SCOPED_TRACE(step["what"].text());
    const bytes data = hex_member(step, "hex");
    const std::string on(step["on"].text());
    if (on == "encoder") {
      ASSERT_EQ(box.d.on_encoder_stream(data), error::none);
    } else if (on == "stream") {
      recording_sink sink;
      ASSERT_EQ(box.d.decode(step["stream"].count(), data, sink).outcome, section_outcome::done);
      field_list expected;
      for (const json_tree& f : step["fields"].items())
        expected.push_back({std::string(f.items()[0].text()), std::string(f.items()[1].text())});
      EXPECT_EQ(sink.fields, expected);
      ++sections;
      if (step["stream"].count() == 8) {  // the RFC goes on to cancel it
        EXPECT_EQ(box.poll(), bytes({0x88}));
      }
    } else if (step["stream"].is_null() && data == bytes({0x48})) {
      ASSERT_TRUE(box.d.cancel(8));
      EXPECT_EQ(box.poll(), data);
      ++answers;
    } else {
      EXPECT_EQ(box.poll(), data);
      ++answers;
    }
    EXPECT_EQ(box.d.table().size(), step["table_size_after"].count());
  }
  EXPECT_EQ(sections, 3U);
  EXPECT_EQ(answers, 3U);
  std::uint64_t index = box.d.table().oldest();
  for (const json_tree& entry : document["table_at_end"].items()) {
    EXPECT_EQ(index, entry["abs"].count());
    EXPECT_EQ(box.d.table().name(index), entry["name"].text());
    EXPECT_EQ(box.d.table().value(index), entry["value"].text());
    ++index;
  }
  EXPECT_EQ(index, box.d.insert_count());
}

TEST(qpack_vectors, rfc_9204_appendix_b_is_what_the_encoder_writes) {
  encoder_box box({.use_huffman = false});
  const field_list first = {{":path", "/index.html"}};
  EXPECT_EQ(to_hex(box.encode(0, first).section), "0000510b2f696e6465782e68746d6c");  // B.1

  ASSERT_TRUE(box.e.set_peer_settings(appendix_b_capacity, 100));
  const field_list second = {{":authority", "www.example.com"}, {":path", "/sample/path"}};
  EXPECT_EQ(to_hex(box.encode(4, second, 3).instructions), "3fbd01");  // a path is inserted when it comes again
  const encoded_section b2 = box.encode(4, second);
  EXPECT_EQ(to_hex(b2.instructions), "c00f7777772e6578616d706c652e636f6dc10c2f73616d706c652f70617468");
  EXPECT_EQ(to_hex(b2.section), "03811011");
  EXPECT_EQ(box.e.table().size(), 106U);
  EXPECT_EQ(box.e.on_decoder_stream(from_hex("84")), error::none);
  EXPECT_EQ(box.e.known_received_count(), 2U);
  EXPECT_EQ(box.e.unacked_sections_count(), 0U);

  const encoded_section b3 = box.encode(8, {{"custom-key", "custom-value"}});
  EXPECT_EQ(to_hex(b3.instructions), "4a637573746f6d2d6b65790c637573746f6d2d76616c7565");
  EXPECT_EQ(to_hex(b3.section), "048010");
  EXPECT_EQ(box.e.table().size(), 160U);
  EXPECT_EQ(box.e.on_decoder_stream(from_hex("01")), error::none);
  EXPECT_EQ(box.e.known_received_count(), 3U);
  EXPECT_EQ(box.e.unacked_sections_count(), 1U);
  EXPECT_EQ(box.e.on_decoder_stream(from_hex("48")), error::none);
  EXPECT_EQ(box.e.unacked_sections_count(), 0U);

  (void)box.encode(12, {{"custom-key", "custom-value2"}}, 0);
  const encoded_section b5 = box.encode(12, {{"custom-key", "custom-value2"}});  // the name by reference
  EXPECT_EQ(to_hex(b5.instructions), "800d637573746f6d2d76616c756532");
}

}  // namespace
