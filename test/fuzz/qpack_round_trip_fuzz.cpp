// Any bytes as lists of fields and as the order in which streams arrive: what one side encodes the other decodes, and
// neither finds fault with the other.
#include <cstdlib>

#include "h3/qpack/support.hpp"

namespace {

using namespace millrace;
using namespace millrace::test;

void require(bool holds) {
  if (!holds) std::abort();
}

struct reader {
  base::byte_view in;
  std::uint8_t byte() {
    if (in.empty()) return 0;
    const std::uint8_t b = in[0];
    in = in.subspan(1);
    return b;
  }
  std::string text() {
    const base::byte_view part = in.first(std::min<std::size_t>(byte() % 70, in.size()));
    in = in.subspan(part.size());
    return std::string(base::as_text(part));
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  reader in{{data, size}};
  const std::uint64_t capacity = in.byte() * 2U;
  const std::uint16_t blocked = in.byte() % 4;
  encoder_box from({.max_table_capacity = capacity, .max_unacked_sections = 8, .use_huffman = in.byte() % 2 == 0});
  decoder_box to({.max_table_capacity = capacity, .max_blocked_streams = blocked, .max_pending = 4});
  require(from.e.set_peer_settings(capacity, blocked));
  bytes stream;
  std::uint64_t id = 0;
  while (!in.in.empty()) {
    const std::uint8_t what = in.byte();
    field_list list;
    for (unsigned n = what % 5U; n != 0; --n) {
      std::string name = in.text();
      list.push_back({std::move(name), in.text(), in.byte() % 16 == 0});
    }
    id += 4;
    const encoded_section c = from.encode(id, list, what >= 0xE0 ? what - 0xE0 : 4096);
    stream.insert(stream.end(), c.instructions.begin(), c.instructions.end());
    recording_sink sink;
    qpack::section_result r = to.d.decode(id, c.section, sink);
    if (r.outcome == qpack::section_outcome::busy || r.outcome == qpack::section_outcome::blocked) {
      require(from.e.on_decoder_stream(to.poll()) == qpack::error::none);
      require(to.d.on_encoder_stream(stream) == qpack::error::none);
      stream.clear();
      r = to.d.decode(id, c.section, sink);
    }
    require(r.outcome == qpack::section_outcome::done && plain(sink.fields) == plain(list));
    for (std::size_t i = 0; i < list.size(); ++i) require(!list[i].never_index || sink.fields[i].never_index);
    if (what % 3 == 0) require(from.e.on_decoder_stream(to.poll()) == qpack::error::none);
  }
  return 0;
}
