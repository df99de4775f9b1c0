// 1-RTT and Handshake packets under known keys. Any bytes are opened, in one run and in parts, and must be refused or
// be what the keys' owner sealed; any payload is sealed, in pieces, over key updates, opened again and compared; one
// changed byte must be found out. IPsec-MB is not instrumented, so packets end at a page that nobody may touch.
//
// Input    byte 0: bit 7 raw packet, bit 6 long header, bits 0-1 suite, bit 2 a key update (short header); byte 1 size
// of the
//          connection ID, 2 pieces, 3..10 packet number, 11..12 the byte to change, 13 how; then packet or payload.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/endian.hpp"
#include "quic/protect/receive_keys.hpp"
#include "quic/protect/send_keys.hpp"
#include "quic/wire/frame_walker.hpp"

namespace {

using namespace millrace;
using quic::protect::open_errc;

void require(bool holds) {
  if (!holds) std::abort();
}

class guarded {
  static constexpr std::size_t capacity_ = 1 << 17;
  std::uint8_t* begin_;

 public:
  guarded() {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* room = mmap(nullptr, capacity_ + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(room != MAP_FAILED);
    begin_ = static_cast<std::uint8_t*>(room);
    require(mprotect(begin_ + capacity_, page, PROT_NONE) == 0);
  }
  base::byte_span room(std::size_t size) { return {begin_ + capacity_ - size, size}; }
};

guarded packet_memory;

crypto::engine& engine() {
  static std::optional<crypto::engine> made = crypto::engine::make();
  require(made.has_value());
  return *made;
}

struct both_sides {
  quic::protect::send_keys send;
  quic::protect::receive_keys receive;
};

// Fresh copies of keys that were derived once.
both_sides keys_of(unsigned suite_number) {
  static const std::array<both_sides, 3> derived = [] {
    std::array<both_sides, 3> out;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const quic::protect::key_context context{1, static_cast<quic::protect::cipher_suite>(0x1301 + i)};
      const std::array<std::uint8_t, 48> bytes{1, 2, 3};
      quic::protect::traffic_secret secret;
      require(set_secret(context.suite, base::byte_view(bytes).first(i == 1 ? 48 : 32), secret));
      require(out[i].send.install(engine(), context, secret) && out[i].receive.install(engine(), context, secret));
    }
    return out;
  }();
  return derived[suite_number % derived.size()];
}

std::vector<crypto::text_part> parts_of(base::byte_span packet, std::size_t pieces) {
  std::vector<crypto::text_part> out;
  const std::size_t step = packet.size() / pieces + 1;
  while (packet.size() > step) {
    out.push_back({packet.data(), packet.data(), step});
    packet = packet.subspan(step);
  }
  out.push_back({packet.data(), packet.data(), packet.size()});
  return out;
}

void take_packet(both_sides& keys, base::byte_view in, std::uint32_t pn_offset, std::size_t pieces,
                 std::uint64_t largest) {
  const base::byte_span packet = packet_memory.room(in.size());
  std::copy(in.begin(), in.end(), packet.begin());
  quic::protect::opened_packet opened;
  const open_errc whole = keys.receive.open(engine(), packet, pn_offset, largest, opened);
  if (whole == open_errc::ok) require(opened.header_size + opened.payload_size + 16u == packet.size());
  std::copy(in.begin(), in.end(), packet.begin());
  const open_errc parts = keys.receive.open(engine(), parts_of(packet, pieces), pn_offset, largest, opened);
  require(parts == whole || parts == open_errc::too_many_parts);
}

struct shape {
  bool is_long;
  std::uint32_t pn_offset;
  std::uint8_t pn_size;
  std::size_t pieces;
  std::uint64_t number;
};

base::byte_span seal(both_sides& keys, const shape& s, base::byte_view payload) {
  const base::byte_span packet = packet_memory.room(s.pn_offset + s.pn_size + payload.size() + 16);
  std::fill(packet.begin(), packet.end(), std::uint8_t{0});
  packet[0] = static_cast<std::uint8_t>((s.is_long ? 0xe0u : 0x40u) | (s.pn_size - 1u));
  std::vector<base::byte_view> pieces;
  for (const crypto::text_part& part :
       parts_of({const_cast<std::uint8_t*>(payload.data()), payload.size()}, s.pieces)) {
    pieces.emplace_back(part.from, part.size);
  }
  quic::protect::seal_request request{
      .out = packet, .pn_offset = s.pn_offset, .pn_size = s.pn_size, .packet_number = s.number, .payload = pieces};
  const bool can_be_sampled = s.pn_size + payload.size() >= 4;
  require((keys.send.seal(engine(), request) == quic::protect::seal_errc::ok) == can_be_sampled);
  return can_be_sampled ? packet : base::byte_span{};
}

// Frames behind a tag that fits are what a peer may do to us: they are read as the connection reads them.
struct frame_bytes : quic::wire::frame_visitor {
  using frame_visitor::on;
  std::size_t total = 0;
  bool on(const quic::wire::stream_frame& f) noexcept {
    total += f.data.size();
    return true;
  }
  bool on(const quic::wire::crypto_frame& f) noexcept {
    total += f.data.size();
    return true;
  }
};

void make_packet(both_sides& keys, const shape& s, base::byte_view payload, std::uint16_t at, std::uint8_t change) {
  const base::byte_span packet = seal(keys, s, payload);
  if (packet.empty()) return;
  const std::vector<std::uint8_t> sealed(packet.begin(), packet.end());
  quic::protect::opened_packet opened;
  const both_sides before = keys;
  require(keys.receive.open(engine(), packet, s.pn_offset, s.number - 1, opened) == open_errc::ok);
  require(opened.packet_number == s.number && opened.payload_size == payload.size());
  const base::byte_view frames = packet.subspan(opened.header_size, opened.payload_size);
  require(std::ranges::equal(frames, payload));
  frame_bytes visitor;
  static_cast<void>(
      walk_frames(frames, s.is_long ? quic::wire::packet_type::handshake : quic::wire::packet_type::one_rtt, visitor));
  require(visitor.total <= frames.size());

  keys = before;
  std::copy(sealed.begin(), sealed.end(), packet.begin());
  packet[at % packet.size()] = static_cast<std::uint8_t>(packet[at % packet.size()] ^ change);
  const open_errc code = keys.receive.open(engine(), parts_of(packet, s.pieces), s.pn_offset, s.number - 1, opened);
  require(code == (change == 0 ? open_errc::ok : open_errc::auth_failed) || code == open_errc::too_many_parts);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t fixed = 14;
  if (size < fixed || size > 65535) return 0;
  const base::byte_view rest = base::byte_view(data, size).subspan(fixed);
  both_sides keys = keys_of(data[0] & 3u);
  const shape s{.is_long = (data[0] & 0x40) != 0,
                .pn_offset = 1u + data[1],
                .pn_size = static_cast<std::uint8_t>((data[2] >> 6) + 1),
                .pieces = (data[2] & 0x3fu) + 1u,
                .number = base::load_be64(data + 3) >> 2};
  if ((data[0] & 0x80) != 0) {
    take_packet(keys, rest, s.pn_offset, s.pieces, s.number);
    return 0;
  }
  // At most one update, because phases are followed one at a time; and none where no key phase says so.
  if ((data[0] & 0x04) != 0 && !s.is_long) keys.send.update(engine());
  make_packet(keys, s, rest, base::load_be16(data + 11), data[13]);
  return 0;
}
