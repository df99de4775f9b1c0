// A stream of length-field frames in any format, cut anywhere: one buffer, segments and byte by byte must agree; what
// is read can be written and reads back.
//
// Input    byte 0: size of the length (mod 7); byte 1: offset; byte 2: how many cuts (0..15); one byte a cut; the
// stream.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "srmp/wire/length_field.hpp"

namespace {

using namespace millrace;
using base::progress;
namespace wire = srmp::wire;

constexpr std::uint32_t ceiling = 1u << 20;

void require(bool holds) {
  if (!holds) std::abort();
}

// Every header of the stream up to its end; `parse(at, out)` reads the one at an offset.
template <class Parse>
std::vector<wire::length_header> walk(std::size_t size, wire::length_result& last, Parse parse) {
  std::vector<wire::length_header> out;
  std::size_t at = 0;
  for (;;) {
    wire::length_header header;
    last = parse(at, header);
    if (last.outcome != progress::done) return out;
    out.push_back(header);
    if (header.frame_size() > size - at) return out;
    at += header.frame_size();
  }
}

void write_again(const wire::length_header& header, wire::length_format format) {
  std::uint8_t room[wire::max_length_header];
  const std::size_t used = wire::emit_length_field(room, format, header.payload_size);
  require(used == wire::length_header_size(format, header.payload_size) && used != 0 && used <= header.header_size);
  wire::length_header back;
  require(wire::parse_length_field(base::byte_view(room, used), format, ceiling, back).outcome == progress::done);
  require(back.payload_size == header.payload_size && back.header_size == used);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  constexpr std::array<int, 7> sizes = {0, 1, 2, 4, -1, -2, -4};
  const auto format = wire::length_format::make(sizes[data[0] % 7], data[1] % (wire::max_length_offset + 1));
  require(format.has_value());
  const std::size_t cuts = std::min<std::size_t>(data[2] & 15, size - 3);
  const base::byte_view flat(data + 3 + cuts, size - 3 - cuts);
  std::array<base::byte_view, 16> parts;
  base::byte_view left = flat;
  for (std::size_t i = 0; i < cuts; ++i) {
    const std::size_t take = std::min<std::size_t>(data[3 + i] & 31, left.size());
    parts[i] = left.first(take);
    left = left.subspan(take);
  }
  parts[cuts] = left;
  const base::segments split(std::span<const base::byte_view>(parts).first(cuts + 1));

  wire::length_result a;
  wire::length_result b;
  wire::length_result c;
  const auto one = walk(flat.size(), a, [&](std::size_t at, wire::length_header& out) {
    return wire::parse_length_field(flat.subspan(at), *format, ceiling, out);
  });
  const auto other = walk(flat.size(), b, [&](std::size_t at, wire::length_header& out) {
    return wire::parse_length_field(split, at, *format, ceiling, out);
  });
  const auto bytewise = walk(flat.size(), c, [&](std::size_t at, wire::length_header& out) {
    for (std::size_t have = 0;; ++have) {
      const base::byte_view in = flat.subspan(at, have);
      const wire::length_result got = wire::parse_length_field(in, *format, ceiling, out);
      if (got.outcome != progress::need_more || at + have == flat.size()) return got;
      require(got.need > have);
    }
  });
  require(one == other && one == bytewise);
  require(a.outcome == b.outcome && a.why == b.why && a.need == b.need);
  require(a.outcome == c.outcome && a.why == c.why && a.need == c.need);
  for (const wire::length_header& header : one) write_again(header, *format);
  return 0;
}
