// srmp/wire/datagram.hpp - the frames of one UDP datagram.
//
// Shape    datagram_frames::next() walks frame by frame; classify_datagram() walks to the end and says whether one or
//          several frames fill the datagram exactly, which is what makes a datagram SRMP: there is no magic.
// Rules    every frame lies whole in its datagram: a frame that is cut, or cannot be, ends the walk and spoils what is
//          left; a datagram is never continued by the next one.
// Limits   a datagram of n bytes has at most n/4 frames, so the walk is bounded; no frame is larger than its datagram,
//          so no other ceiling applies.
// Owner    nothing; payloads are views into the datagram, which may lie in several buffers: then offsets are answered.
// Tests    test/srmp/wire/datagram_test.cpp (vectors Q1, Q5-Q7), test/fuzz/srmp_wire_fuzz.cpp
#pragma once

#include "srmp/wire/frame.hpp"

namespace millrace::srmp::wire {

enum class datagram_kind : std::uint8_t {
  empty,      // no byte at all: a v11 client says goodbye so
  exact,      // one or several frames, and nothing else
  truncated,  // a frame, or its header, runs past the end
  malformed,  // a length that cannot be
};

[[nodiscard]] constexpr std::string_view to_string(datagram_kind kind) noexcept {
  switch (kind) {
    case datagram_kind::empty:
      return "empty";
    case datagram_kind::exact:
      return "exact";
    case datagram_kind::truncated:
      return "truncated";
    case datagram_kind::malformed:
      return "malformed";
  }
  return "unknown";
}

struct datagram_summary {
  datagram_kind kind = datagram_kind::empty;
  std::uint32_t frames = 0;  // whole frames from the front, also of a datagram that is not exact
  std::uint32_t size = 0;    // bytes of them
  frame_header first;        // of the first one; all zero when frames is 0
};

[[nodiscard]] datagram_summary classify_datagram(base::byte_view datagram) noexcept;
[[nodiscard]] datagram_summary classify_datagram(const base::segments& datagram) noexcept;

// The question the data path asks: do frames fill it exactly? Stops at the first byte that says no.
[[nodiscard]] inline bool fills_exactly(base::byte_view datagram) noexcept {
  return classify_datagram(datagram).kind == datagram_kind::exact;
}

// for (frame f; frames.next(f) == base::progress::done;) ...
class datagram_frames {
  base::byte_view rest_;
  header_errc why_ = header_errc::ok;

 public:
  explicit datagram_frames(base::byte_view datagram) noexcept : rest_(datagram) {}

  // done: `out` is the next frame. need_more: no whole frame is left; at_end() tells an exact end from a cut frame.
  // malformed: why() says so. After either of the two the answer stays what it is.
  base::progress next(frame& out) noexcept {
    if (why_ != header_errc::ok) return base::progress::malformed;
    frame_header header;
    const header_result got = parse_header_stepwise(rest_, max_payload, header);
    if (got.outcome != base::progress::done) {
      why_ = got.why;
      return got.outcome;
    }
    if (header.frame_size() > rest_.size()) return base::progress::need_more;
    out = {header, rest_.subspan(header.header_size, header.payload_size)};
    rest_ = rest_.subspan(header.frame_size());
    return base::progress::done;
  }
  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }
  [[nodiscard]] base::byte_view rest() const noexcept { return rest_; }
  [[nodiscard]] header_errc why() const noexcept { return why_; }
};

}  // namespace millrace::srmp::wire
