#include "inspect/initial_frames.hpp"

namespace millrace::inspect {
namespace {

using base::byte_reader;
using base::byte_view;
using base::parse_errc;

bool skip_varints(byte_reader& at, std::uint64_t count) noexcept {
  std::uint64_t ignored = 0;
  for (std::uint64_t i = 0; i < count; ++i)
    if (!at.varint(ignored)) return false;  // each takes a byte at least: bounded by the packet, whatever `count` says
  return true;
}

// RFC 9000 19.3: largest, delay, range count, first range, then a gap and a length for each range, and three counts
// when the type's low bit is set.
bool skip_ack(byte_reader& at, bool with_ecn) noexcept {
  std::uint64_t ranges = 0;
  if (!skip_varints(at, 2) || !at.varint(ranges) || !skip_varints(at, 1)) return false;
  return ranges <= at.remaining() && skip_varints(at, 2 * ranges) && (!with_ecn || skip_varints(at, 3));
}

// RFC 9000 19.19, 0x1c: error code, frame type, reason.
bool skip_close(byte_reader& at) noexcept {
  std::uint64_t size = 0;
  return skip_varints(at, 2) && at.varint(size) && at.skip(size);
}

bool read_crypto(byte_reader& at, crypto_frame& out) noexcept {
  std::uint64_t size = 0;
  return at.varint(out.offset) && at.varint(size) && at.bytes(size, out.data);
}

void skip_zeroes(byte_reader& at) noexcept {
  std::uint8_t next = 0;
  while (at.peek(next) && next == 0) (void)at.skip(1);
}

parse_errc ietf_frame(byte_reader& at, crypto_frame& out, bool& is_crypto) noexcept {
  std::uint64_t type = 0;
  if (!at.varint(type)) return parse_errc::truncated;
  bool whole = true;
  switch (type) {
    case 0x00:
      skip_zeroes(at);
      break;
    case 0x01:  // PING
      break;
    case 0x02:
    case 0x03:
      whole = skip_ack(at, type == 0x03);
      break;
    case 0x06:
      whole = is_crypto = read_crypto(at, out);
      break;
    case 0x1C:
      whole = skip_close(at);
      break;
    default:
      return parse_errc::bad_value;
  }
  return whole ? parse_errc::ok : parse_errc::truncated;
}

// gQUIC wire specification, "ACK frame": 01 n ll mm; sizes of 1, 2, 4 or 6 bytes.
bool skip_gquic_ack(byte_reader& at, std::uint8_t type) noexcept {
  constexpr std::uint8_t sizes[] = {1, 2, 4, 6};
  const unsigned largest = sizes[type >> 2 & 3];
  const unsigned block = sizes[type & 3];
  std::uint8_t more = 0;
  if (!at.skip(largest + 2u)) return false;  // and the delay
  if ((type & 0x20) != 0 && !at.u8(more)) return false;
  if (!at.skip(block + more * (1u + block))) return false;
  std::uint8_t stamps = 0;
  if (!at.u8(stamps)) return false;
  return stamps == 0 || at.skip(5u + 3u * (stamps - 1u));
}

parse_errc gquic_frame(byte_reader& at, crypto_frame& out, bool& is_crypto) noexcept {
  std::uint8_t type = 0;
  if (!at.u8(type)) return parse_errc::truncated;
  bool whole = true;
  if ((type & 0xC0) == 0x40) {
    whole = skip_gquic_ack(at, type);
  } else if (type == 0x00) {
    skip_zeroes(at);
  } else if (type == 0x08) {
    whole = is_crypto = read_crypto(at, out);
  } else if (type != 0x07) {  // PING
    return parse_errc::bad_value;
  }
  return whole ? parse_errc::ok : parse_errc::truncated;
}

}  // namespace

parse_errc next_initial_frame(byte_reader& at, frame_numbering numbering, crypto_frame& out, bool& is_crypto) noexcept {
  is_crypto = false;
  return numbering == frame_numbering::ietf ? ietf_frame(at, out, is_crypto) : gquic_frame(at, out, is_crypto);
}

}  // namespace millrace::inspect
