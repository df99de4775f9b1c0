#include "srmp/wire/datagram.hpp"

#include <algorithm>

namespace millrace::srmp::wire {
namespace {

// Where the walk stands in one buffer.
struct flat_cursor {
  base::byte_view rest;

  [[nodiscard]] std::size_t left() const noexcept { return rest.size(); }
  [[nodiscard]] header_result parse(frame_header& out) const noexcept {
    return parse_header_stepwise(rest, max_payload, out);
  }
  void advance(std::size_t count) noexcept { rest = rest.subspan(count); }
};

// The same in several. It never goes back, so a datagram of many small buffers and many small frames costs their sum.
struct split_cursor {
  std::span<const base::byte_view> parts;  // the first one is where we are, unless it is used up
  std::size_t used = 0;                    // bytes of parts[0] behind us
  std::size_t remaining = 0;

  [[nodiscard]] std::size_t left() const noexcept { return remaining; }
  [[nodiscard]] header_result parse(frame_header& out) const noexcept {
    const base::byte_view here = parts[0].subspan(used);
    if (here.size() >= long_header_size) return parse_header_stepwise(here, max_payload, out);
    std::uint8_t joined[long_header_size];
    std::size_t size = 0;
    for (std::size_t i = 0; i < parts.size() && size < long_header_size; ++i) {
      const base::byte_view part = i == 0 ? here : parts[i];
      const std::size_t take = std::min(part.size(), long_header_size - size);
      std::copy_n(part.data(), take, joined + size);
      size += take;
    }
    return parse_header_stepwise(base::byte_view(joined, size), max_payload, out);
  }
  void advance(std::size_t count) noexcept {
    remaining -= count;
    while (count > parts[0].size() - used) {
      count -= parts[0].size() - used;
      used = 0;
      parts = parts.subspan(1);
    }
    used += count;
  }
};

// Nothing wraps: frame_size() is 32 bits, and it is compared with what is left, not added to where we are.
template <class Cursor>
datagram_summary walk(Cursor at) noexcept {
  datagram_summary seen;
  if (at.left() == 0) return seen;
  while (at.left() != 0) {
    frame_header header;
    const header_result got = at.parse(header);
    if (got.outcome == base::progress::malformed) {
      seen.kind = datagram_kind::malformed;
      return seen;
    }
    if (got.outcome == base::progress::need_more || header.frame_size() > at.left()) {
      seen.kind = datagram_kind::truncated;
      return seen;
    }
    if (seen.frames == 0) seen.first = header;
    ++seen.frames;
    seen.size += header.frame_size();
    at.advance(header.frame_size());
  }
  seen.kind = datagram_kind::exact;
  return seen;
}

}  // namespace

datagram_summary classify_datagram(base::byte_view datagram) noexcept { return walk(flat_cursor{datagram}); }

datagram_summary classify_datagram(const base::segments& datagram) noexcept {
  return walk(split_cursor{datagram.parts(), 0, datagram.size()});
}

}  // namespace millrace::srmp::wire
