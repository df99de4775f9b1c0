// Any bytes as Huffman code: decoded whole and in pieces they must give the same text or be refused by both, and text
// must encode to the very bytes it came from. The same bytes as text must come back.
#include <cstdlib>
#include <string>
#include <vector>

#include "h3/qpack/huffman.hpp"

namespace {

using namespace millrace;
using namespace millrace::h3;
using qpack::huffman_status;

void require(bool holds) {
  if (!holds) std::abort();
}

std::vector<std::uint8_t> encoded(std::string_view text) {
  std::vector<std::uint8_t> out(qpack::huffman_size(text));
  require(qpack::huffman_encode(text, out.data()) == out.data() + out.size());
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const base::byte_view in(data, size);
  std::vector<char> room(qpack::huffman_max_decoded(size));
  const qpack::huffman_result whole = qpack::huffman_decode(in, room);
  std::vector<char> other(room.size());
  qpack::huffman_reader reader;
  std::size_t length = 0;
  const std::size_t cut = size / 3;
  bool fine = reader.add(in.first(cut), other, length) == huffman_status::ok;
  fine = fine && reader.add(in.subspan(cut), other, length) == huffman_status::ok && reader.is_padded();
  require(fine == (whole.status == huffman_status::ok));
  if (fine) {
    const std::string_view text(room.data(), whole.size);
    require(text == std::string_view(other.data(), length));
    require(encoded(text) == std::vector<std::uint8_t>(in.begin(), in.end()));
  }
  const std::vector<std::uint8_t> code = encoded(base::as_text(in));
  std::vector<char> back(qpack::huffman_max_decoded(code.size()));
  const qpack::huffman_result again = qpack::huffman_decode(code, back);
  require(again.status == huffman_status::ok && std::string_view(back.data(), again.size) == base::as_text(in));
  return 0;
}
