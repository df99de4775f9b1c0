// Any bytes as a decoder stream, between sections of our own: the encoder never refers to what the reference, which is
// given every instruction, does not have. The first bytes say what the peer allows.
#include <cstdlib>

#include "h3/qpack/reference.hpp"

namespace {

using namespace millrace;
using namespace millrace::test;

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::uint64_t capacity = data[0] * 4U;
  encoder_box box({.max_table_capacity = 600, .max_unacked_sections = 6});
  reference_decoder reference(capacity);
  require(box.e.set_peer_settings(capacity, data[1] % 8));
  for (std::size_t i = 2; i < size; ++i) {
    const std::uint8_t b = data[i];
    field_list list;
    for (unsigned n = 0; n < b % 4U; ++n)
      list.push_back({"name-" + std::to_string((b >> 2 & 3) + n), std::string(b >> 4, static_cast<char>('a' + n))});
    const encoded_section c = box.encode((i % 32) * 4, list, b >= 0xF0 ? 10 : 4096);
    require(reference.on_encoder_stream(c.instructions) && reference.inserted() == box.e.insert_count());
    std::uint64_t required = 0;
    const auto decoded = reference.decode(c.section, required);
    require(decoded.has_value() && plain(*decoded) == list && box.e.unacked_sections_count() <= 6);
    const bytes answer = {b};
    if (box.e.on_decoder_stream(answer) != qpack::error::none) return 0;
    require(box.e.known_received_count() <= box.e.insert_count());
  }
  return 0;
}
