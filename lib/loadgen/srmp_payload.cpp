#include <algorithm>
#include <array>

#include "loadgen/payload.hpp"
#include "srmp/wire/frame_header.hpp"

namespace millrace::loadgen {
namespace {

namespace wire = srmp::wire;

constexpr std::uint32_t max_frames = 3;
constexpr std::uint32_t smallest_of_several = 16;  // bytes of a frame that shares its datagram

// A call of "Echo" with as many bytes of argument as fit: name | dlen LE | data. A payload too small for that is a call
// without argument, of a name that fits; an empty one stays empty.
void fill_call(seeded_bytes& random, base::byte_span out) noexcept {
  constexpr std::array<std::uint8_t, 5> echo = {4, 'E', 'c', 'h', 'o'};
  constexpr std::size_t before_data = echo.size() + 4;
  if (out.empty()) return;
  if (out.size() <= before_data) {
    out[0] = static_cast<std::uint8_t>(out.size() - 1);
    std::fill(out.begin() + 1, out.end(), std::uint8_t{'e'});
    return;
  }
  std::copy(echo.begin(), echo.end(), out.begin());
  base::store_le32(out.data() + echo.size(), static_cast<std::uint32_t>(out.size() - before_data));
  random.fill(out.subspan(before_data));
}

}  // namespace

bool fill_srmp(payload_request& r, base::byte_span out) noexcept {
  if (out.size() < wire::short_header_size) return false;
  const auto size = static_cast<std::uint32_t>(out.size());
  const std::uint32_t frames = std::clamp(1 + r.random.below(max_frames), 1u, std::max(size / smallest_of_several, 1u));
  const std::uint8_t flags = wire::make_flags(r.plan.from_client ? wire::frame_kind::request : wire::frame_kind::reply,
                                              wire::data_kind::packet);
  std::uint32_t left = size;
  for (std::uint32_t i = 0; i < frames; ++i) {
    // What the frames behind this one need at least is left to them; the last one takes the rest.
    std::uint32_t take = left;
    if (i + 1 < frames) take = smallest_of_several + r.random.below(left - (frames - i) * smallest_of_several + 1);
    const base::byte_span frame = out.subspan(size - left, take);
    const auto payload = static_cast<std::uint32_t>(take - wire::short_header_size);
    // A reply carries the number of the request one step before it.
    const auto seq = static_cast<std::uint8_t>(r.plan.step / 2 * max_frames + i + 1);
    fill_call(r.random, frame.subspan(wire::emit_header(frame.data(), flags, seq, payload)));
    left -= take;
  }
  return true;
}

void fill_text(payload_request& r, base::byte_span out) noexcept {
  r.random.fill(out);
  for (std::uint8_t& byte : out) byte = 0x20 | (byte & 0x1F);
}

}  // namespace millrace::loadgen
