// srmp/wire/frame_header.hpp - the 4 or 8 bytes in front of every SRMP payload.
//
//   offset 0        1        2            4                 8
//          +--------+--------+------------+-----------------+----------
//   short  | flags  |  seq   | len16 LE   | payload (len16 = 0 .. 65534)
//   long   | flags  |  seq   | FF FF      | len32 LE        | payload (len32 = 0 .. 2^31-1)
//          +--------+--------+------------+-----------------+----------
//
// Shape    parse_header() is resumable: done, need_more (with the bytes needed in all) or malformed (with the reason).
//          A length does not count its header. The long form of a short length is read, and never written.
// Units    bytes. Owner  nothing.
// Errors   negative_length: the top bit of len32, which is a signed number on the wire. too_large: above the ceiling
//          the caller set. Neither can be told from noise: SRMP has no magic and no checksum.
// Tests    test/srmp/wire/frame_header_test.cpp (vectors S1-S22), test/fuzz/srmp_wire_fuzz.cpp
#pragma once

#include <bit>
#include <type_traits>

#include "base/bytes.hpp"
#include "base/endian.hpp"
#include "base/parse_status.hpp"
#include "base/segments.hpp"

namespace millrace::srmp::wire {

inline constexpr std::size_t short_header_size = 4;
inline constexpr std::size_t long_header_size = 8;
inline constexpr std::uint32_t max_short_payload = 0xFFFE;   // FFFF announces the long form, it is no length
inline constexpr std::uint32_t max_payload = 0x7FFF'FFFF;    // len32 is signed
inline constexpr std::uint32_t default_ceiling = 16u << 20;  // of a frame handled as a whole

// Bits 7..6 of the flags. Bit 6 means one-way on a request and error on a reply.
enum class frame_kind : std::uint8_t { request = 0, one_way = 1, reply = 2, error_reply = 3 };

// Bits 5..0, opaque to framing; values beyond these four are carried through.
enum class data_kind : std::uint8_t { text = 0, packet = 1, binary_object = 2, json = 3 };
inline constexpr std::uint8_t data_kind_mask = 0x3F;

[[nodiscard]] constexpr std::uint8_t make_flags(frame_kind kind, std::uint8_t data) noexcept {
  return static_cast<std::uint8_t>(static_cast<unsigned>(kind) << 6 | (data & data_kind_mask));
}
[[nodiscard]] constexpr std::uint8_t make_flags(frame_kind kind, data_kind data) noexcept {
  return make_flags(kind, static_cast<std::uint8_t>(data));
}

struct frame_header {
  std::uint8_t flags = 0;
  std::uint8_t seq = 0;
  std::uint16_t header_size = 0;   // 4 or 8
  std::uint32_t payload_size = 0;  // 0 .. max_payload

  [[nodiscard]] constexpr frame_kind kind() const noexcept { return static_cast<frame_kind>(flags >> 6); }
  [[nodiscard]] constexpr std::uint8_t data() const noexcept { return flags & data_kind_mask; }
  // Header and payload; at most max_payload + 8, which fits.
  [[nodiscard]] constexpr std::uint32_t frame_size() const noexcept { return header_size + payload_size; }

  friend constexpr bool operator==(const frame_header& a, const frame_header& b) noexcept {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  }
};
static_assert(sizeof(frame_header) == 8 && std::has_unique_object_representations_v<frame_header>,
              "read, written and compared in one register");

enum class header_errc : std::uint8_t { ok, negative_length, too_large };

[[nodiscard]] constexpr std::string_view to_string(header_errc code) noexcept {
  switch (code) {
    case header_errc::ok:
      return "ok";
    case header_errc::negative_length:
      return "negative_length";
    case header_errc::too_large:
      return "too_large";
  }
  return "unknown";
}

struct [[nodiscard]] header_result {
  base::progress outcome = base::progress::need_more;
  header_errc why = header_errc::ok;  // malformed: the reason
  std::uint8_t need = 0;              // need_more: bytes of header needed in all, 4 or 8
};

// Step by step, with a branch on the form. parse_header() below answers the same; this one serves it when its fast path
// says no, and walks over many frames: there the next header's place waits for this length, which a branch guessed
// right (datagrams hardly mix forms) hides and arithmetic does not.
inline header_result parse_header_stepwise(base::byte_view in, std::uint32_t ceiling, frame_header& out) noexcept {
  using base::progress;
  if (in.size() < short_header_size) return {progress::need_more, header_errc::ok, short_header_size};
  const std::uint8_t* p = in.data();
  std::uint32_t size = base::load_le16(p + 2);
  std::uint16_t header_size = short_header_size;
  if (size > max_short_payload) {
    if (in.size() < long_header_size) return {progress::need_more, header_errc::ok, long_header_size};
    size = base::load_le32(p + 4);
    header_size = long_header_size;
    if (size > max_payload) return {progress::malformed, header_errc::negative_length, 0};
  }
  if (size > ceiling) return {progress::malformed, header_errc::too_large, 0};
  out = {p[0], p[1], header_size, size};
  return {progress::done, header_errc::ok, 0};
}

// The header in eight bytes already loaded (little-endian, first byte lowest; whatever follows a short header is
// ignored). False, and `out` untouched, when its length is above `ceiling`, which is at most max_payload.
// No branch on the form: peers that mix small and large frames make it a coin toss, and a wrong guess costs more than
// everything else here together.
inline bool decode_header(std::uint64_t opening, std::uint32_t ceiling, frame_header& out) noexcept {
  const auto short_size = static_cast<std::uint32_t>(opening >> 16 & 0xFFFF);
  const auto is_long = static_cast<std::uint32_t>(short_size > max_short_payload);
  const std::uint32_t long_only = 0u - is_long;
  const std::uint32_t size = (static_cast<std::uint32_t>(opening >> 32) & long_only) | (short_size & ~long_only);
  if (size > ceiling) [[unlikely]]
    return false;
  out = {static_cast<std::uint8_t>(opening), static_cast<std::uint8_t>(opening >> 8),
         static_cast<std::uint16_t>(short_header_size + (is_long << 2)), size};
  return true;
}

// The same with a branch on the form, for streams of frames: the next header's place waits for this length, and a form
// guessed wrong is a frame of 64 KiB or the first one behind it, which is cheap by the byte.
inline bool decode_header_in_stream(std::uint64_t opening, std::uint32_t ceiling, frame_header& out) noexcept {
  std::uint32_t size = static_cast<std::uint16_t>(opening >> 16);
  std::uint32_t header_size = short_header_size;
  if (size > max_short_payload) [[unlikely]] {
    size = static_cast<std::uint32_t>(opening >> 32);
    header_size = long_header_size;
  }
  if (size > ceiling) [[unlikely]]
    return false;
  // One store: what reads the header next would wait for four.
  out = std::bit_cast<frame_header>((opening & 0xFFFF) | std::uint64_t{header_size} << 16 | std::uint64_t{size} << 32);
  return true;
}

[[nodiscard]] constexpr std::uint32_t clamp_ceiling(std::uint32_t ceiling) noexcept {
  return ceiling < max_payload ? ceiling : max_payload;
}

// Reads the header at the front of `in`. `out` is written on success only. A payload above `ceiling` is too_large.
inline header_result parse_header(base::byte_view in, std::uint32_t ceiling, frame_header& out) noexcept {
  if (in.size() >= long_header_size && decode_header(base::load_le64(in.data()), clamp_ceiling(ceiling), out))
      [[likely]]
    return {base::progress::done, header_errc::ok, 0};
  return parse_header_stepwise(in, ceiling, out);
}

// The 0 to 7 bytes of `few`, first byte lowest, zeros above. A size is the sum of its bits, so what is there is one
// load of 4, 2 and 1 bytes; a load whose bit is off goes to zeros, which is cheaper than a branch guessed wrong.
[[nodiscard]] inline std::uint64_t load_few(base::byte_view few) noexcept {
  alignas(8) static constexpr std::uint8_t zeros[8] = {};
  const std::size_t size = few.size();
  const std::uint8_t* at = few.data();
  const std::uint64_t four = base::load_le32((size & 4) != 0 ? at : zeros);
  at += size & 4;
  const std::uint64_t two = base::load_le16((size & 2) != 0 ? at : zeros);
  at += size & 2;
  const std::uint64_t one = *((size & 1) != 0 ? at : zeros);
  return four | two << (8 * (size & 4)) | one << (8 * (size & 6));
}

// The same over a payload in several buffers, `offset` bytes in; a header may be cut anywhere.
inline header_result parse_header(const base::segments& in, std::size_t offset, std::uint32_t ceiling,
                                  frame_header& out) noexcept {
  std::span<const base::byte_view> parts = in.parts();
  while (!parts.empty() && offset >= parts[0].size()) {
    offset -= parts[0].size();
    parts = parts.subspan(1);
  }
  if (parts.empty()) return {base::progress::need_more, header_errc::ok, short_header_size};
  const base::byte_view here = parts[0].subspan(offset);
  if (here.size() >= long_header_size || parts.size() == 1) return parse_header(here, ceiling, out);
  // Cut: the usual cut has a whole header's worth of bytes behind it, so both sides are loaded at once.
  const base::byte_view next = parts[1];
  if (next.size() >= long_header_size) [[likely]] {
    const std::uint64_t opening = load_few(here) | base::load_le64(next.data()) << (8 * here.size());
    if (decode_header(opening, clamp_ceiling(ceiling), out)) [[likely]]
      return {base::progress::done, header_errc::ok, 0};
  }
  std::uint8_t joined[long_header_size];  // cut more than once, or not to be
  std::size_t size = 0;
  for (std::size_t i = 0; i < parts.size() && size < long_header_size; ++i) {
    const base::byte_view part = i == 0 ? here : parts[i];
    for (std::size_t k = 0; k < part.size() && size < long_header_size; ++k) joined[size++] = part[k];
  }
  return parse_header_stepwise(base::byte_view(joined, size), ceiling, out);
}

[[nodiscard]] constexpr std::size_t header_size_for(std::uint32_t payload_size) noexcept {
  return payload_size > max_short_payload ? long_header_size : short_header_size;
}

// Writes the header of a payload of `payload_size` <= max_payload bytes at `out`, where header_size_for() bytes are
// free; answers that size. The short form is used whenever it can be: some readers refuse the long form of a short
// length. Both forms take the same two stores, the short one the same four bytes twice, so that no branch is guessed.
inline std::size_t emit_header(std::uint8_t* out, std::uint8_t flags, std::uint8_t seq,
                               std::uint32_t payload_size) noexcept {
  const auto is_long = static_cast<std::uint32_t>(payload_size > max_short_payload);
  const std::uint32_t long_only = 0u - is_long;
  const std::uint32_t opening = static_cast<std::uint32_t>(flags) | static_cast<std::uint32_t>(seq) << 8 |
                                (payload_size << 16 | (long_only << 16));
  const std::size_t more = std::size_t{is_long} << 2;
  base::store_le32(out, opening);
  base::store_le32(out + more, (payload_size & long_only) | (opening & ~long_only));
  return short_header_size + more;
}

}  // namespace millrace::srmp::wire
