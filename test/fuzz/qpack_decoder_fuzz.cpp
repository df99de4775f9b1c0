// Any bytes as an encoder stream in pieces and as field sections: the decoder against the reference, which reads it
// whole. Input: records of a kind, a size and as many bytes.
#include <cstdlib>

#include "h3/qpack/reference.hpp"

namespace {

using namespace millrace;
using namespace millrace::test;

constexpr std::uint64_t capacity = 256;

void require(bool holds) {
  if (!holds) std::abort();
}

void expect_same_table(const qpack::decoder& d, const reference_decoder& reference) {
  require(d.insert_count() == reference.inserted() && d.table().size() == reference.size());
  std::uint64_t index = d.table().oldest();
  for (const owned_field& f : reference.table()) {
    require(d.table().name(index) == f.name && d.table().value(index) == f.value);
    ++index;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  decoder_box box(
      {.max_table_capacity = capacity, .max_blocked_streams = 2, .max_field_section_bytes = 2000, .max_pending = 4});
  reference_decoder reference(capacity);
  base::byte_view in(data, size);
  std::uint64_t stream = 0;
  while (in.size() >= 2) {
    const std::uint8_t kind = in[0];
    const base::byte_view part = in.subspan(2, std::min<std::size_t>(in[1], in.size() - 2));
    in = in.subspan(2 + part.size());
    // Exact memory, so that a byte read beyond it is found.
    const std::unique_ptr<std::uint8_t[]> copy(new std::uint8_t[part.size()]);
    std::copy(part.begin(), part.end(), copy.get());
    const base::byte_view bytes(copy.get(), part.size());
    if (kind % 4 < 2) {
      const bool fine = box.d.on_encoder_stream(bytes) == qpack::error::none;
      const bool reference_fine = reference.on_encoder_stream(bytes);
      require(reference_fine || !fine);
      if (!fine) return 0;  // perhaps earlier than the reference: at a length that cannot fit
      expect_same_table(box.d, reference);
      continue;
    }
    if (kind % 4 == 3) require(box.d.cancel(stream) || box.poll().size() >= 4);
    stream += 4;
    recording_sink sink;
    const qpack::section_result r = box.d.decode(stream, bytes, sink);
    std::uint64_t required = 0;
    const auto expected = reference.decode(bytes, required);
    std::uint64_t counted = 0;
    for (const owned_field& f : sink.fields) counted += qpack::field_size(f.name, f.value);
    require(counted <= 2000 && (r.size_bytes == counted || r.outcome == qpack::section_outcome::malformed));
    switch (r.outcome) {
      case qpack::section_outcome::done:
        require(expected.has_value() && *expected == sink.fields);
        break;
      case qpack::section_outcome::blocked:
        require(required > reference.inserted() && r.required_insert_count == required && sink.fields.empty());
        break;
      case qpack::section_outcome::malformed:
        require(!expected.has_value() || required > reference.inserted());  // blocked once too often
        break;
      case qpack::section_outcome::busy:
        (void)box.poll();
        break;
      case qpack::section_outcome::too_large:
      case qpack::section_outcome::stopped:
        break;
    }
  }
  return 0;
}
