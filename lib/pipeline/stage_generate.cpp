#include "pipeline/stage_generate.hpp"

#include <algorithm>
#include <cstring>

#include "net/wire/checksum.hpp"
#include "net/wire/numbers.hpp"
#include "pipeline/stage_mac.hpp"

namespace millrace::pipeline {
namespace {

using net::wire::update_checksum;

constexpr std::uint64_t max_rounds = std::uint64_t{1} << 24;

void mend(std::uint8_t* checksum, base::byte_view before, base::byte_view after) noexcept {
  base::store_be16(checksum, update_checksum(base::load_be16(checksum), before, after));
}

constexpr std::size_t udp_checksum_offset = 6;
constexpr std::size_t tcp_checksum_offset = 16;

// Where the transport checksum stands behind its header's start; 0: a protocol without one we know.
std::size_t transport_checksum_offset(std::uint8_t protocol) noexcept {
  if (protocol == net::wire::ip_protocol::udp) return udp_checksum_offset;
  return protocol == net::wire::ip_protocol::tcp ? tcp_checksum_offset : 0;
}

}  // namespace

bool move_to_round(base::byte_span frame, std::uint32_t round) noexcept {
  constexpr std::size_t l3 = ethernet_header_bytes;
  constexpr std::size_t least = l3 + 40 + 20;  // IPv6 with TCP, the longest plain headers
  if (round == 0 || frame.size() < l3 + 20 + 20) return false;
  const std::uint16_t type = base::load_be16(frame.data() + 12);
  const bool v4 = type == net::wire::ethertype::ipv4 && frame[l3] == 0x45;
  const bool v6 = type == net::wire::ethertype::ipv6 && frame.size() >= least;
  if (!v4 && !v6) return false;
  const std::size_t l4 = l3 + (v4 ? 20u : 40u);
  const std::size_t checksum = transport_checksum_offset(frame[l3 + (v4 ? 9u : 6u)]);
  if (checksum == 0) return false;
  std::uint8_t* const low = frame.data() + l3 + (v4 ? 12u : 20u);  // the address's last 4 bytes
  std::array<std::uint8_t, 4> before;
  std::memcpy(before.data(), low, before.size());
  base::store_be32(low, base::load_be32(low) ^ (round & 0xFF'FFFF));
  const base::byte_view after(low, before.size());
  if (v4) mend(frame.data() + l3 + 10, before, after);
  std::uint8_t* const transport = frame.data() + l4 + checksum;
  if (base::load_be16(transport) == 0 && checksum == udp_checksum_offset) return true;  // RFC 768: not summed
  mend(transport, before, after);
  if (base::load_be16(transport) == 0 && checksum == udp_checksum_offset) base::store_be16(transport, 0xFFFF);
  return true;
}

frame_cursor::frame_cursor(const frame_set& frames, std::uint64_t flows, std::uint64_t start) noexcept
    : frames_(&frames) {
  if (frames.empty()) return;
  flows_ = std::clamp<std::uint64_t>(flows, frames.size(), frames.size() * max_rounds);
  start %= flows_;
  left_ = flows_ - start;
  index_ = start % frames.size();
  round_ = static_cast<std::uint32_t>(start / frames.size());
}

void frame_cursor::advance() noexcept {
  if (++index_ == frames_->size()) {
    index_ = 0;
    ++round_;
  }
  if (--left_ != 0) return;
  left_ = flows_;
  index_ = 0;
  round_ = 0;
}

std::uint64_t frame_cursor::fill(buf::burst& packets, mem::packet_pool& pool, unsigned count) noexcept {
  if (flows_ == 0 || !packets.fill(pool, count)) return 0;
  std::uint64_t bytes = 0;
  for (unsigned i = 0; i < count; ++i) {
    const base::byte_view frame = (*frames_)[index_];
    [[maybe_unused]] const bool fits = packets.set_length(i, static_cast<std::uint16_t>(frame.size()));
    MILLRACE_ASSERT(fits);  // the engine refuses a set whose largest frame has no room in the pool's buffers
    const base::byte_span out = packets.writable_first(i);
    std::memcpy(out.data(), frame.data(), out.size());
    if (round_ != 0) move_to_round(out, round_);
    bytes += out.size();
    advance();
  }
  return bytes;
}

}  // namespace millrace::pipeline
