// Any bytes as the stream of a WebSocket peer, cut anywhere: whole, in pieces and byte by byte the receiver must give
// the same messages, control frames and failure. Headers in segments must read as they do in one buffer, and what was
// read must write and read back. Closes are answered, and the answer is a legal frame.
//
// Input    byte 0: how many cuts (0..15); byte 1: role, policy and limits; one byte a cut; the rest: the stream.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>
#include <vector>

#include "ws/wire/mask.hpp"
#include "ws/wire/receiver.hpp"

namespace {

using namespace millrace;
using base::progress;
namespace wire = ws::wire;
using bytes = std::vector<std::uint8_t>;

void require(bool holds) {
  if (!holds) std::abort();
}

// A message or control frame: what it is, and all its bytes.
struct item {
  wire::event_kind kind;
  wire::opcode op;
  unsigned code;
  bytes payload;
  friend bool operator==(const item&, const item&) = default;
};

bytes copy(base::byte_view in) { return {in.begin(), in.end()}; }

struct listener {
  wire::receiver from;
  std::vector<item> items;
  bytes open;
  bool failed = false;

  explicit listener(const wire::receive_limits& limits) : from(limits) {}

  void take(base::byte_span in) {
    while (!failed) {
      const wire::event e = from.next(in);
      switch (e.kind) {
        case wire::event_kind::need_more:
          require(in.empty());
          return;
        case wire::event_kind::data:
          require(e.begins == false || open.empty());
          open.insert(open.end(), e.bytes.begin(), e.bytes.end());
          if (e.ends) items.push_back({e.kind, e.op, 0, std::exchange(open, {})});
          break;
        case wire::event_kind::ping:
        case wire::event_kind::pong:
          items.push_back({e.kind, wire::opcode::continuation, 0, copy(e.bytes)});
          break;
        case wire::event_kind::close: {
          items.push_back({e.kind, wire::opcode::continuation, e.close.code, copy(e.close.reason)});
          std::uint8_t room[wire::max_control_frame];
          require(wire::emit_close(room, e.close.code, e.close.reason) >= 2);
          break;
        }
        case wire::event_kind::failed:
          items.push_back({e.kind, wire::opcode::continuation, static_cast<unsigned>(e.failure), {}});
          failed = true;
          break;
      }
    }
  }
};

// Every header of the stream, in one buffer and in segments, and written again.
void check_headers(base::byte_view flat, const base::segments& split, const wire::read_rules& rules) {
  std::size_t at = 0;
  for (unsigned i = 0; i < 64 && at < flat.size(); ++i) {
    wire::frame_header one;
    wire::frame_header other;
    wire::frame_header third;
    const auto a = wire::parse_header(flat.subspan(at), rules, one);
    const auto b = wire::parse_header(split, at, rules, other);
    const auto c = wire::parse_header_stepwise(flat.subspan(at), rules, third);
    require(a.outcome == b.outcome && a.why == b.why && a.need == b.need && one == other);
    require(a.outcome == c.outcome && a.why == c.why && a.need == c.need && one == third);
    if (a.outcome == progress::need_more) require(a.need > flat.size() - at);
    if (a.outcome != progress::done) return;
    std::uint8_t room[wire::max_header_size];
    require(wire::emit_header(room, one) == one.header_size);
    require(std::equal(room, room + one.header_size, flat.begin() + static_cast<std::ptrdiff_t>(at)));
    if (one.payload_size > flat.size() - at - one.header_size) return;
    at += one.header_size + static_cast<std::size_t>(one.payload_size);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const wire::role reader = (data[1] & 1) != 0 ? wire::role::client : wire::role::server;
  const wire::masking policy = (data[1] & 2) != 0 ? wire::masking::accept_unmasked : wire::masking::strict;
  const std::uint64_t ceiling = (data[1] & 4) != 0 ? 100 : 1u << 20;
  const std::uint64_t max_message = (data[1] & 8) != 0 ? 60 : 1u << 20;
  const wire::receive_limits limits = {wire::read_rules(reader, policy, ceiling), max_message};
  const std::size_t cuts = std::min<std::size_t>(data[0] & 15, size - 2);
  const base::byte_view flat(data + 2 + cuts, size - 2 - cuts);

  listener whole(limits);
  bytes once = copy(flat);
  whole.take(once);

  listener pieces(limits);
  bytes twice = copy(flat);
  std::array<base::byte_view, 16> parts;
  base::byte_span left(twice);
  std::size_t at = 0;
  for (std::size_t i = 0; i <= cuts; ++i) {
    const std::size_t take = i == cuts ? left.size() : std::min<std::size_t>(data[2 + i] & 63, left.size());
    parts[i] = flat.subspan(at, take);
    at += take;
    pieces.take(left.first(take));
    left = left.subspan(take);
  }
  listener bytewise(limits);
  bytes thrice = copy(flat);
  for (std::uint8_t& byte : thrice) bytewise.take({&byte, 1});
  require(whole.items == pieces.items && whole.items == bytewise.items);
  require(whole.from.is_idle() == bytewise.from.is_idle() && whole.from.is_closed() == pieces.from.is_closed());
  if (!whole.failed) require(whole.open == pieces.open && whole.open == bytewise.open);

  check_headers(flat, base::segments(std::span<const base::byte_view>(parts).first(cuts + 1)), limits.frames);
  return 0;
}
