#include "quic/wire/gquic_frame.hpp"

namespace millrace::quic::wire::detail {
namespace {

// The type byte of an ACK is 01n0llmm in bits: n says that more blocks follow, ll and mm code sizes.
constexpr std::uint8_t more_blocks = 0x20;
constexpr std::size_t delay_size = 2;

std::size_t coded_size(unsigned code) noexcept {
  constexpr std::size_t sizes[] = {1, 2, 4, 6};
  return sizes[code & 3];
}

bool read_number(base::byte_reader& in, std::size_t size, std::uint64_t& out) noexcept {
  base::byte_view bytes;
  if (!in.bytes(size, bytes)) return false;
  out = 0;
  for (const std::uint8_t b : bytes) out = out << 8 | b;
  return true;
}

// Receive times: none, or a delta and 4 bytes for the first, a delta and 2 bytes for each other.
bool skip_timestamps(base::byte_reader& in) noexcept {
  std::uint8_t count = 0;
  if (!in.u8(count)) return false;
  return count == 0 || in.skip(1 + 4 + (count - 1u) * (1 + 2));
}

}  // namespace

bool read_google_ack(base::byte_reader& in, std::uint8_t type, google_ack_frame& out) noexcept {
  google_ack_frame f;
  const std::size_t block_size = coded_size(type);
  if (!read_number(in, coded_size(type >> 2), f.largest) || !in.skip(delay_size)) return false;
  if ((type & more_blocks) != 0) {
    std::uint8_t blocks = 0;
    if (!in.u8(blocks)) return false;
    f.blocks = blocks;
  }
  // The first block, then a gap byte in front of each other.
  if (!in.skip(block_size + f.blocks * (1 + block_size)) || !skip_timestamps(in)) return false;
  out = f;
  return true;
}

bool read_google_close(base::byte_reader& in, connection_close_frame& out) noexcept {
  connection_close_frame f;
  std::uint32_t code = 0;
  std::uint16_t size = 0;
  if (!in.u32(code) || !in.u16(size) || !in.bytes(size, f.reason)) return false;
  f.error_code = code;
  out = f;
  return true;
}

}  // namespace millrace::quic::wire::detail
