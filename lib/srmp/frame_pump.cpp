// The slow half: bodies to drain, headers that are cut, frames not there yet, and the ends of a stream. Each call loops
// until it can answer; a turn of the loop follows only upon bytes that came during the turn before (a writer may write
// from within on_resume), so it ends.
#include "srmp/frame_pump.hpp"

#include <algorithm>

namespace millrace::srmp {

using base::progress;

std::string_view to_string(pump_status status) noexcept {
  switch (status) {
    case pump_status::ready:
      return "ready";
    case pump_status::wait:
      return "wait";
    case pump_status::ended:
      return "ended";
    case pump_status::truncated:
      return "truncated";
    case pump_status::failed:
      return "failed";
    case pump_status::malformed:
      return "malformed";
    case pump_status::exhausted:
      return "exhausted";
    case pump_status::closed:
      return "closed";
  }
  return "unknown";
}

// Reads the header at the front without taking it. False: more bytes are needed, or why_ is set.
bool frame_pump::peek(std::uint32_t ceiling, wire::frame_header& out) noexcept {
  std::uint8_t opening[wire::long_header_size];
  const std::size_t size = from_->data().copy_out(0, opening);
  const wire::header_result got = wire::parse_header(base::byte_view(opening, size), ceiling, out);
  why_ = got.why;
  return got.outcome == progress::done;
}

// Says that everything there was looked at, and asks for more. `ready`: there is more, look again.
pump_status frame_pump::wait_for_more() noexcept {
  const std::size_t seen = from_->size();
  const bool marked = from_->advance_to(0, seen);
  MILLRACE_ASSERT(marked);
  static_cast<void>(marked);
  const buf::read_status status = from_->poll();
  // Bytes that came from within poll() are looked at before an end is believed that came with them.
  if (from_->size() != seen) return pump_status::ready;
  switch (status) {
    case buf::read_status::data:
      return pump_status::ready;
    case buf::read_status::wait:
      return pump_status::wait;
    case buf::read_status::ended:
      return is_inside_frame() ? pump_status::truncated : pump_status::ended;
    case buf::read_status::truncated:
      return pump_status::truncated;
    case buf::read_status::failed:
      return pump_status::failed;
    case buf::read_status::closed:
      break;
  }
  return pump_status::closed;
}

pump_status frame_pump::next_header_slowly(wire::frame_header& out) noexcept {
  for (;;) {
    if (why_ != wire::header_errc::ok) return pump_status::malformed;
    wire::frame_header header;
    if (body_.drain() == 0 && peek(limits_.streamed, header) && bind_body(header)) {
      out = header;
      return pump_status::ready;
    }
    if (why_ != wire::header_errc::ok) return pump_status::malformed;
    const pump_status status = wait_for_more();
    if (status != pump_status::ready) return status;
  }
}

pump_status frame_pump::next_whole_slowly(whole_frame& out) noexcept {
  for (;;) {
    if (why_ != wire::header_errc::ok) return pump_status::malformed;
    wire::frame_header header;
    if (body_.drain() == 0 && peek(limits_.whole, header)) {
      if (from_->size() >= header.frame_size()) {
        if (!from_->take(header.frame_size(), out.bytes)) return pump_status::exhausted;
        out.header = header;
        return pump_status::ready;
      }
    }
    if (why_ != wire::header_errc::ok) return pump_status::malformed;
    const pump_status status = wait_for_more();
    if (status != pump_status::ready) return status;
  }
}

}  // namespace millrace::srmp
