// Any bytes as frame headers, settings and a priority: in pieces they must read as they do at once, and what was read
// must write and read back.
//
// Input    byte 0: the size of the pieces; the rest: the bytes.
#include <cstdlib>
#include <vector>

#include "h3/wire/priority.hpp"
#include "h3/wire/settings.hpp"

namespace {

using namespace millrace;
namespace wire = h3::wire;

void require(bool holds) {
  if (!holds) std::abort();
}

std::vector<wire::frame_header> headers(base::byte_view in, std::size_t piece, bool& inside) {
  std::vector<wire::frame_header> out;
  wire::pair_reader r;
  wire::frame_header h;
  while (!in.empty()) {
    base::byte_view here = in.first(std::min(piece, in.size()));
    in = in.subspan(here.size());
    while (r.next(here, h) == base::progress::done) out.push_back(h);
    require(here.empty());
  }
  inside = r.is_inside();
  return out;
}

wire::error settings(base::byte_view in, std::size_t piece, wire::settings_values& out) {
  wire::settings_reader r;
  while (!in.empty()) {
    const base::byte_view here = in.first(std::min(piece, in.size()));
    in = in.subspan(here.size());
    if (const wire::error e = r.take(here, out); e != wire::error::no_error) return e;
  }
  return r.end();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = data[0] % 17 + 1u;
  const base::byte_view in(data + 1, size - 1);
  bool a = false, b = false;
  const auto whole = headers(in, in.size() + 1, a);
  require(whole == headers(in, piece, b) && a == b);
  for (const wire::frame_header& h : whole) {
    std::array<std::uint8_t, wire::max_frame_header_size> room;
    base::byte_view written(room.data(), wire::emit(room.data(), h));
    wire::pair_reader r;
    wire::frame_header again;
    require(r.next(written, again) == base::progress::done && again == h && written.empty());
    for (const auto place : {wire::frame_place::control_first, wire::frame_place::control, wire::frame_place::head,
                             wire::frame_place::body, wire::frame_place::trailers, wire::frame_place::tunnel})
      static_cast<void>(wire::error_of(wire::judge(place, (data[0] & 1) != 0, h.type)));
  }
  wire::settings_values one, two;
  require(settings(in, in.size() + 1, one) == settings(in, piece, two) && one == two);
  require(wire::parse_priority(base::as_text(in)).urgency <= 7);
  return 0;
}
