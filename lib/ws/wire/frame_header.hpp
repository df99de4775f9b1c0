// ws/wire/frame_header.hpp - the 2 to 14 bytes in front of a WebSocket frame's payload.
//
//    0 1 2 3 4 5 6 7   0 1 2 3 4 5 6 7
//   +-+-+-+-+-------+ +-+-------------+ +----------------------------+ +------------------+ +---------
//   |F|R|R|R| opcode| |M| length (7)  | | 126: 16 bits, 127: 64 bits | | M: masking key   | | payload
//   +-+-+-+-+-------+ +-+-------------+ +----------------------------+ +------------------+ +---------
//
// Shape    parse_header() is resumable: done, need_more (with the bytes needed in all), or malformed. What two bytes
//          already forbid is refused before more are asked for, so the answer does not depend on how bytes arrive.
// Units    bytes.
// Limits   `ceiling` of the rules is the largest payload of one frame; at most 2^63 - 1.
// Owner    nothing.
// Errors   close_code_of() maps the reasons to what goes on the wire. `out` is written on success only.
// Source   RFC 6455 5.1, 5.2, 5.4, 5.5, RFC 6455 5.8     Tests  test/ws/wire/frame_header_test.cpp (vectors W2-W15)
#pragma once

#include <array>

#include "base/bytes.hpp"
#include "base/endian.hpp"
#include "base/parse_status.hpp"
#include "base/segments.hpp"
#include "ws/wire/close_code.hpp"

namespace millrace::ws::wire {

inline constexpr std::size_t max_header_size = 14;
inline constexpr std::size_t max_control_payload = 125;  // RFC 6455 5.5
inline constexpr std::uint64_t max_frame_payload = (std::uint64_t{1} << 63) - 1;
inline constexpr std::uint64_t default_ceiling = 16u << 20;

enum class opcode : std::uint8_t { continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

[[nodiscard]] constexpr bool is_control(opcode op) noexcept { return (static_cast<unsigned>(op) & 8) != 0; }

// Who reads. RFC 6455 5.1: a client masks every frame, a server none.
enum class role : std::uint8_t { server, client };
// What a server does about frames that are not masked: RFC 6455 5.1 ends the connection; clients of the stack whose
// place we take never mask, and are served under accept_unmasked. A client refuses masked frames under both.
enum class masking : std::uint8_t { strict, accept_unmasked };

class read_rules {
  std::uint64_t ceiling_ = default_ceiling;
  std::uint8_t mask_bit_ = 0x80;   // what the mask bit must be ...
  std::uint8_t mask_care_ = 0x80;  // ... where it matters at all

 public:
  constexpr read_rules() noexcept = default;  // a strict server's
  constexpr read_rules(role reader, masking policy, std::uint64_t ceiling) noexcept
      : ceiling_(ceiling < max_frame_payload ? ceiling : max_frame_payload),
        mask_bit_(reader == role::server ? 0x80 : 0),
        mask_care_(reader == role::server && policy == masking::accept_unmasked ? 0 : 0x80) {}

  [[nodiscard]] constexpr std::uint64_t ceiling() const noexcept { return ceiling_; }
  [[nodiscard]] constexpr unsigned wrong_mask(std::uint8_t second) const noexcept {
    return (second ^ mask_bit_) & mask_care_;
  }
};

struct frame_header {
  std::uint64_t payload_size = 0;
  std::uint32_t mask_key = 0;  // byte i of the key is bits 8i..8i+7; 0 when not masked
  opcode op = opcode::continuation;
  std::uint8_t header_size = 0;  // 2 .. 14
  bool fin = false;
  bool is_masked = false;

  friend constexpr bool operator==(const frame_header&, const frame_header&) noexcept = default;
};
static_assert(sizeof(frame_header) == 16, "returned in two registers");

enum class header_errc : std::uint8_t {
  ok,
  rsv_set,             // RFC 6455 5.2: no extension was negotiated that gives them meaning
  reserved_opcode,     // 3-7, B-F
  fragmented_control,  // RFC 6455 5.5
  control_too_long,    // RFC 6455 5.5: more than 125 bytes
  not_masked,          // RFC 6455 5.1, from a client
  masked,              // RFC 6455 5.1, from a server
  length_not_minimal,  // RFC 6455 5.2
  length_top_bit,      // RFC 6455 5.2
  too_large,           // above the ceiling
};

[[nodiscard]] std::string_view to_string(header_errc code) noexcept;

// 1009 for too_large, 1002 for the others.
[[nodiscard]] constexpr close_code close_code_of(header_errc code) noexcept {
  return code == header_errc::too_large ? close_code::too_big : close_code::protocol_error;
}

struct [[nodiscard]] header_result {
  base::progress outcome = base::progress::need_more;
  header_errc why = header_errc::ok;  // malformed: the reason
  std::uint8_t need = 0;              // need_more: bytes of header needed in all, as far as is known
};

// Step by step: what the fast path below leaves to it, and what names the reason.
header_result parse_header_stepwise(base::byte_view in, const read_rules& rules, frame_header& out) noexcept;

namespace detail {

// What a header's second byte says, mask bit included.
struct second_byte {
  std::uint32_t least = 0;       // the smallest length its form may carry
  std::uint8_t shift = 0;        // of the 64 bits behind it, to leave the length
  std::uint8_t is_extended = 0;  // the length is in those bits
  std::uint8_t key_at = 0;
  std::uint8_t header_size = 0;
};

constexpr std::array<second_byte, 256> make_second_bytes() noexcept {
  std::array<second_byte, 256> out{};
  for (unsigned i = 0; i < 256; ++i) {
    const unsigned low = i & 0x7F;
    const unsigned key_at = low < 126 ? 2 : low == 126 ? 4 : 10;
    out[i] = {low < 126    ? 0u
              : low == 126 ? 126u
                           : 65536u,
              static_cast<std::uint8_t>(low == 126 ? 48 : 0), static_cast<std::uint8_t>(low < 126 ? 0 : 1),
              static_cast<std::uint8_t>(key_at), static_cast<std::uint8_t>(key_at + (i >> 7) * 4)};
  }
  return out;
}

// What a first byte forbids: 0x80 itself, 1 an extended length, which no control frame has.
constexpr std::array<std::uint8_t, 256> make_first_bytes() noexcept {
  std::array<std::uint8_t, 256> out{};
  for (unsigned i = 0; i < 256; ++i) {
    const unsigned op = i & 15;
    const bool is_known = op <= 2 || (op >= 8 && op <= 10);
    const bool is_fragmented_control = op >= 8 && (i & 0x80) == 0;
    out[i] = (i & 0x70) != 0 || !is_known || is_fragmented_control ? 0x80 : op >= 8 ? 1 : 0;
  }
  return out;
}

inline constexpr std::array<second_byte, 256> second_bytes = make_second_bytes();
inline constexpr std::array<std::uint8_t, 256> first_bytes = make_first_bytes();

}  // namespace detail

// Reads the header at the front of `in`. With a whole header's worth of bytes there is no branch on length, mask or
// opcode: a peer that mixes them would make each a coin toss.
inline header_result parse_header(base::byte_view in, const read_rules& rules, frame_header& out) noexcept {
  if (in.size() < max_header_size) [[unlikely]]
    return parse_header_stepwise(in, rules, out);
  const std::uint8_t* p = in.data();
  const std::uint8_t first = p[0];
  const std::uint8_t second = p[1];
  const detail::second_byte form = detail::second_bytes[second];
  const std::uint64_t extended = base::load_be64(p + 2) >> form.shift;
  const std::uint64_t size = form.is_extended != 0 ? extended : second & 0x7Fu;
  const unsigned bad = (detail::first_bytes[first] & (0x80u | form.is_extended)) | rules.wrong_mask(second) |
                       (size < form.least ? 1u : 0u) | (size > rules.ceiling() ? 1u : 0u);
  if (bad != 0) [[unlikely]]
    return parse_header_stepwise(in, rules, out);
  const std::uint32_t is_masked = second >> 7;
  out.payload_size = size;
  out.mask_key = base::load_le32(p + form.key_at) & (0u - is_masked);
  out.op = static_cast<opcode>(first & 15);
  out.header_size = form.header_size;
  out.fin = (first & 0x80) != 0;
  out.is_masked = is_masked != 0;
  return {base::progress::done, header_errc::ok, 0};
}

// The same over bytes in several buffers, `offset` bytes in; a header may be cut anywhere.
header_result parse_header(const base::segments& in, std::size_t offset, const read_rules& rules,
                           frame_header& out) noexcept;

[[nodiscard]] constexpr std::size_t header_size_for(std::uint64_t payload_size, bool is_masked) noexcept {
  return 2u + (payload_size < 126 ? 0u : payload_size < 65536 ? 2u : 8u) + (is_masked ? 4u : 0u);
}

// Writes `header`, whose payload_size <= max_frame_payload, in its shortest form at `out`, where
// header_size_for(header.payload_size, header.is_masked) bytes are free; answers that size. header.header_size is not
// looked at. The caller obeys the rules of parse_header(), and draws each key from crypto/random.hpp (RFC 6455 5.3).
std::size_t emit_header(std::uint8_t* out, const frame_header& header) noexcept;

}  // namespace millrace::ws::wire
