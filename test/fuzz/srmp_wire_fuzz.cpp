// Any bytes, cut anywhere: one buffer and many must answer the same, and every frame must lie inside the datagram.
//
// Input    byte 0: how many cuts (0..7); one byte a cut: its distance from the one before; the rest: the datagram.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "srmp/wire/datagram.hpp"

namespace {

using namespace millrace;

void require(bool holds) {
  if (!holds) std::abort();
}

void headers_agree(base::byte_view flat, const base::segments& split, std::size_t at) {
  for (const std::uint32_t ceiling : {srmp::wire::max_payload, srmp::wire::default_ceiling, 100u}) {
    srmp::wire::frame_header one;
    srmp::wire::frame_header other;
    const auto a = parse_header(flat.subspan(at), ceiling, one);
    const auto b = parse_header(split, at, ceiling, other);
    require(a.outcome == b.outcome && a.why == b.why && a.need == b.need && one == other);
    require((a.outcome == base::progress::malformed) == (a.why != srmp::wire::header_errc::ok));
    if (a.outcome == base::progress::done) require(one.payload_size <= ceiling);
    if (a.outcome == base::progress::need_more) require(a.need > flat.size() - at);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t cuts = std::min<std::size_t>(data[0] & 7, size - 1);
  const base::byte_view distances(data + 1, cuts);
  const base::byte_view flat(data + 1 + cuts, size - 1 - cuts);

  std::array<base::byte_view, 8> parts;
  base::byte_view left = flat;
  for (std::size_t i = 0; i < cuts; ++i) {
    const std::size_t take = std::min<std::size_t>(distances[i], left.size());
    parts[i] = left.first(take);
    left = left.subspan(take);
  }
  parts[cuts] = left;
  const base::segments split(std::span<const base::byte_view>(parts).first(cuts + 1));

  const auto one = srmp::wire::classify_datagram(flat);
  const auto other = srmp::wire::classify_datagram(split);
  require(one.kind == other.kind && one.frames == other.frames && one.size == other.size && one.first == other.first);
  require(one.size <= flat.size());

  srmp::wire::datagram_frames frames(flat);
  std::uint32_t count = 0;
  std::size_t at = 0;
  headers_agree(flat, split, 0);
  for (srmp::wire::frame f; frames.next(f) == base::progress::done; ++count) {
    require(f.payload.size() == f.header.payload_size);
    require(f.payload.data() == flat.data() + at + f.header.header_size);
    at += f.header.frame_size();
    if (count < 64) headers_agree(flat, split, at);
  }
  require(count == one.frames && at == one.size);
  require(frames.at_end() == (at == flat.size()));
  return 0;
}
