#include "ws/wire/frame_header.hpp"

namespace millrace::ws::wire {
namespace {

using base::progress;

constexpr header_result malformed(header_errc why) noexcept { return {progress::malformed, why, 0}; }

// What the first two bytes forbid.
header_errc judge_opening(std::uint8_t first, std::uint8_t second, const read_rules& rules) noexcept {
  if ((first & 0x70) != 0) return header_errc::rsv_set;
  const unsigned op = first & 15;
  if ((op > 2 && op < 8) || op > 10) return header_errc::reserved_opcode;
  if (op >= 8 && (first & 0x80) == 0) return header_errc::fragmented_control;
  if (op >= 8 && (second & 0x7F) > max_control_payload) return header_errc::control_too_long;
  if (rules.wrong_mask(second) != 0) return (second & 0x80) != 0 ? header_errc::masked : header_errc::not_masked;
  return header_errc::ok;
}

}  // namespace

std::string_view to_string(header_errc code) noexcept {
  switch (code) {
    case header_errc::ok:
      return "ok";
    case header_errc::rsv_set:
      return "rsv_set";
    case header_errc::reserved_opcode:
      return "reserved_opcode";
    case header_errc::fragmented_control:
      return "fragmented_control";
    case header_errc::control_too_long:
      return "control_too_long";
    case header_errc::not_masked:
      return "not_masked";
    case header_errc::masked:
      return "masked";
    case header_errc::length_not_minimal:
      return "length_not_minimal";
    case header_errc::length_top_bit:
      return "length_top_bit";
    case header_errc::too_large:
      return "too_large";
  }
  return "unknown";
}

header_result parse_header_stepwise(base::byte_view in, const read_rules& rules, frame_header& out) noexcept {
  if (in.size() < 2) return {progress::need_more, header_errc::ok, 2};
  const std::uint8_t* p = in.data();
  const header_errc opening = judge_opening(p[0], p[1], rules);
  if (opening != header_errc::ok) return malformed(opening);
  const bool is_masked = (p[1] & 0x80) != 0;
  std::uint64_t size = p[1] & 0x7F;
  const std::size_t key_at = size < 126 ? 2 : size == 126 ? 4 : 10;
  const std::size_t header_size = key_at + (is_masked ? 4 : 0);
  if (in.size() < key_at) return {progress::need_more, header_errc::ok, static_cast<std::uint8_t>(header_size)};
  if (key_at == 4) {
    size = base::load_be16(p + 2);
    if (size < 126) return malformed(header_errc::length_not_minimal);
  } else if (key_at == 10) {
    size = base::load_be64(p + 2);
    if (size > max_frame_payload) return malformed(header_errc::length_top_bit);
    if (size < 65536) return malformed(header_errc::length_not_minimal);
  }
  if (size > rules.ceiling()) return malformed(header_errc::too_large);
  if (in.size() < header_size) return {progress::need_more, header_errc::ok, static_cast<std::uint8_t>(header_size)};
  out.payload_size = size;
  out.mask_key = is_masked ? base::load_le32(p + key_at) : 0;
  out.op = static_cast<opcode>(p[0] & 15);
  out.header_size = static_cast<std::uint8_t>(header_size);
  out.fin = (p[0] & 0x80) != 0;
  out.is_masked = is_masked;
  return {progress::done, header_errc::ok, 0};
}

header_result parse_header(const base::segments& in, std::size_t offset, const read_rules& rules,
                           frame_header& out) noexcept {
  const base::byte_view whole = in.contiguous(offset, max_header_size);
  if (!whole.empty()) return parse_header(whole, rules, out);
  std::uint8_t joined[max_header_size];
  const std::size_t size = in.copy_out(offset, joined);
  return parse_header(base::byte_view(joined, size), rules, out);
}

std::size_t emit_header(std::uint8_t* out, const frame_header& header) noexcept {
  out[0] = static_cast<std::uint8_t>((header.fin ? 0x80u : 0u) | static_cast<unsigned>(header.op));
  const unsigned mask_bit = header.is_masked ? 0x80 : 0;
  std::uint8_t* at = out + 2;
  if (header.payload_size < 126) {
    out[1] = static_cast<std::uint8_t>(mask_bit | header.payload_size);
  } else if (header.payload_size < 65536) {
    out[1] = static_cast<std::uint8_t>(mask_bit | 126);
    base::store_be16(at, static_cast<std::uint16_t>(header.payload_size));
    at += 2;
  } else {
    out[1] = static_cast<std::uint8_t>(mask_bit | 127);
    base::store_be64(at, header.payload_size);
    at += 8;
  }
  if (header.is_masked) {
    base::store_le32(at, header.mask_key);
    at += 4;
  }
  return static_cast<std::size_t>(at - out);
}

}  // namespace millrace::ws::wire
