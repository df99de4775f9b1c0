// A stream of SRMP frames, cut anywhere: whole, in segments and byte by byte it must give the same frames, the same end
// and the same judgement of its first bytes; and frames built from what was read must read back.
//
// Input    byte 0: how many cuts (0..15); byte 1: which ceiling; one byte a cut: its distance from the one before; the
//          rest: the stream.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "srmp/wire/exchange.hpp"
#include "srmp/wire/frame.hpp"
#include "srmp/wire/opening.hpp"

namespace {

using namespace millrace;
using base::progress;
namespace wire = srmp::wire;

void require(bool holds) {
  if (!holds) std::abort();
}

struct taken {
  std::vector<wire::frame_header> headers;
  std::size_t end = 0;  // where the walk stopped
  wire::frame_result why;
};

void require_same(const taken& a, const taken& b) {
  require(a.headers == b.headers && a.end == b.end && a.why.outcome == b.why.outcome);
  require(a.why.why == b.why.why && a.why.need == b.why.need);
}

taken take_flat(base::byte_view in, std::uint32_t ceiling) {
  taken out;
  wire::frame f;
  while ((out.why = parse_frame(in.subspan(out.end), ceiling, f)).outcome == progress::done) {
    require(f.payload.data() == in.data() + out.end + f.header.header_size);
    out.headers.push_back(f.header);
    out.end += f.header.frame_size();
  }
  return out;
}

taken take_split(const base::segments& in, std::uint32_t ceiling) {
  taken out;
  wire::frame_header header;
  while ((out.why = parse_frame(in, out.end, ceiling, header)).outcome == progress::done) {
    out.headers.push_back(header);
    out.end += header.frame_size();
  }
  return out;
}

// As a connection that looks again only when the bytes it needs are there.
taken take_bytewise(base::byte_view in, std::uint32_t ceiling) {
  taken out;
  for (std::size_t have = 0; have <= in.size();) {
    wire::frame f;
    const base::byte_view kept = in.subspan(out.end, have - out.end);
    out.why = parse_frame(kept, ceiling, f);
    if (out.why.outcome == progress::malformed) return out;
    if (out.why.outcome == progress::done) {
      out.headers.push_back(f.header);
      out.end += f.header.frame_size();
      continue;
    }
    require(out.why.need > kept.size());
    have = std::max<std::size_t>(have + 1, std::min<std::size_t>(out.end + out.why.need, in.size() + 1));
  }
  return out;
}

void build_again(const taken& seen, base::byte_view in) {
  std::size_t at = 0;
  std::vector<std::uint8_t> room;
  for (const wire::frame_header& header : seen.headers) {
    const base::byte_view payload = in.subspan(at + header.header_size, header.payload_size);
    room.resize(wire::frame_size_for(header.payload_size));
    require(wire::emit_frame(room, header.flags, header.seq, payload) == room.size());
    wire::frame back;
    require(wire::parse_frame(room, header.payload_size, back).outcome == progress::done);
    require(back.header.flags == header.flags && back.header.seq == header.seq);
    require(std::equal(back.payload.begin(), back.payload.end(), payload.begin(), payload.end()));
    require(wire::reply_to(header, false).has_value() != wire::is_reply(header));
    at += header.frame_size();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  constexpr std::array<std::uint32_t, 4> ceilings = {wire::max_payload, wire::default_ceiling, 100, 0};
  const std::uint32_t ceiling = ceilings[data[1] & 3];
  const std::size_t cuts = std::min<std::size_t>(data[0] & 15, size - 2);
  const base::byte_view distances(data + 2, cuts);
  const base::byte_view flat(data + 2 + cuts, size - 2 - cuts);

  std::array<base::byte_view, 16> parts;
  base::byte_view left = flat;
  wire::opening whole;
  wire::opening cut;
  wire::opening bytewise;
  for (std::size_t i = 0; i <= cuts; ++i) {
    const std::size_t take = i == cuts ? left.size() : std::min<std::size_t>(distances[i] & 31, left.size());
    parts[i] = left.first(take);
    left = left.subspan(take);
    cut.on_bytes(parts[i]);
  }
  whole.on_bytes(flat);
  for (std::size_t i = 0; i < flat.size(); ++i) bytewise.on_bytes(flat.subspan(i, 1));
  require(whole.kind() == cut.kind() && whole.kind() == bytewise.kind());

  const taken one = take_flat(flat, ceiling);
  require_same(one, take_split(base::segments(std::span<const base::byte_view>(parts).first(cuts + 1)), ceiling));
  require_same(one, take_bytewise(flat, ceiling));
  build_again(one, flat);
  return 0;
}
