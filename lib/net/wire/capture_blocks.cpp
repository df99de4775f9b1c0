// pcapng: blocks of type, length, body and the length again. Sections start with their own byte order; interfaces are
// numbered within one.

#include <algorithm>

#include "base/endian.hpp"
#include "net/wire/capture.hpp"

namespace millrace::net::wire {
namespace {

constexpr std::uint32_t block_interface = 1;
constexpr std::uint32_t block_old_packet = 2;
constexpr std::uint32_t block_simple_packet = 3;
constexpr std::uint32_t block_enhanced_packet = 6;
constexpr std::uint32_t block_secrets = 10;
constexpr std::uint32_t byte_order_magic = 0x1A2B'3C4D;

constexpr std::size_t block_header_size = 8;
constexpr std::size_t block_trailer_size = 4;

constexpr std::uint16_t option_end = 0;
constexpr std::uint16_t option_clock_resolution = 9;
constexpr std::uint16_t option_clock_offset = 14;

// libpcap numbers some link types otherwise in memory than in files, and where an interface follows the first it holds
// the number in the file against the one in memory: two interfaces of these types end its reading.
[[nodiscard]] std::uint32_t libpcap_number(std::uint32_t link) noexcept {
  switch (link) {
    case 100:  // ATM
      return 11;
    case 101:  // raw IP
      return 12;
    case 102:  // SLIP of BSD/OS
      return 15;
    case 103:  // PPP of BSD/OS
      return 16;
    case 106:  // classical IP over ATM
      return 19;
    default:
      return link;
  }
}

// What libpcap refuses and we need not.
constexpr std::uint32_t libpcap_longest_section_header = 1024 * 1024;
constexpr std::uint32_t libpcap_longest_block = 16 * 1024 * 1024;

// draft-ietf-opsawg-pcapng 4.2, if_tsresol: a negative power of 2 where the top bit is set, else of 10. Answers ticks a
// second; 0 where they do not fit.
[[nodiscard]] std::uint64_t ticks_per_second(std::uint8_t resolution) noexcept {
  const unsigned exponent = resolution & 0x7F;
  if ((resolution & 0x80) != 0) return exponent > 63 ? 0 : std::uint64_t{1} << exponent;
  if (exponent > 19) return 0;
  std::uint64_t ticks = 1;
  for (unsigned i = 0; i < exponent; ++i) ticks *= 10;
  return ticks;
}

// Ticks since 1970, the interface's offset added, in ns; what 64 bits cannot say is clamped.
[[nodiscard]] std::uint64_t to_ns(std::uint64_t ticks, std::uint64_t per_s, std::int64_t offset_s) noexcept {
  __extension__ using wide = __int128;
  constexpr wide ns_per_s = 1'000'000'000;
  const wide whole_s = static_cast<wide>(ticks / per_s) + offset_s;
  const wide ns = whole_s * ns_per_s + static_cast<wide>(ticks % per_s) * ns_per_s / static_cast<wide>(per_s);
  return static_cast<std::uint64_t>(std::clamp<wide>(ns, 0, ~std::uint64_t{0}));
}

}  // namespace

// draft-ietf-opsawg-pcapng 3.1.
capture_reader::turn capture_reader::next_block() noexcept {
  const std::size_t left = file_.size() - at_;
  if (left == 0) {
    format_ = format::over;
    return turn::end;
  }
  if (left < block_header_size + block_trailer_size) return give_up(capture_fault::truncated);
  std::uint32_t type = base::load_le32(file_.data() + at_);
  if (type == block_section_) {  // reads the same in either order; the order stands behind the length
    const bool was_big_endian = big_endian_;
    big_endian_ = base::load_be32(file_.data() + at_ + block_header_size) == byte_order_magic;
    if (!big_endian_ && base::load_le32(file_.data() + at_ + block_header_size) != byte_order_magic) {
      if (at_ == 0) return give_up(capture_fault::not_a_capture);
      if (described_) return give_up(capture_fault::bad_block_length);
      big_endian_ = was_big_endian;  // nothing was said in its section either
    }
    libpcap_gave_up_ |= at_ != 0 && big_endian_ != was_big_endian;
  } else {
    type = u32(at_);
  }
  const std::uint32_t length = u32(at_ + 4);
  // The file's first header has no framing before it to lose, and libpcap takes its word for its length alone.
  const bool first = at_ == 0;
  if (length < block_header_size + block_trailer_size || (length % 4 != 0 && !first))
    return give_up(capture_fault::bad_block_length);
  if (length > left) return give_up(capture_fault::truncated);
  const std::size_t block = at_;
  const std::size_t body_end = block + length - block_trailer_size;
  if (u32(body_end) != length && !first) return give_up(capture_fault::bad_block_length);
  libpcap_gave_up_ |= length > libpcap_longest_block;
  at_ = block + length;
  return take_block(type, block + block_header_size, body_end);
}

capture_reader::turn capture_reader::take_block(std::uint32_t type, std::size_t body, std::size_t body_end) noexcept {
  switch (type) {
    case block_section_:
      return take_section(body, body_end);
    case block_interface:
      return take_interface(body, body_end);
    case block_enhanced_packet:
      return take_enhanced_packet(body, body_end);
    case block_simple_packet:
      return take_simple_packet(body, body_end);
    case block_old_packet:
      return take_old_packet(body, body_end);
    case block_secrets:
      return take_secrets(body, body_end);
    default:  // names, statistics, journals, custom blocks and what comes yet: the format says to skip them
      return turn::none;
  }
}

// 4.1: byte order, version, section length (which the blocks make needless).
capture_reader::turn capture_reader::take_section(std::size_t body, std::size_t body_end) noexcept {
  constexpr std::size_t fixed_size = 16;
  const bool first = event_offset_ == 0;
  if (!first && !described_) return turn::none;  // libpcap looks at no other block before it has an interface
  if (body_end - body < fixed_size) return give_up(capture_fault::bad_block_length);
  if (u16(body + 4) != 1) return give_up(capture_fault::unknown_version);
  if (first) {
    const std::uint16_t minor = u16(body + 6);
    libpcap_gave_up_ |= minor != 0 && minor != 2;
    libpcap_gave_up_ |= body_end + block_trailer_size > libpcap_longest_section_header;
  }
  interfaces_ = 0;
  return turn::none;
}

// 4.2: link type, reserved, snap length, options.
capture_reader::turn capture_reader::take_interface(std::size_t body, std::size_t body_end) noexcept {
  constexpr std::size_t fixed_size = 8;
  if (body_end - body < fixed_size) {
    libpcap_gave_up_ = true;
    return fail(capture_fault::bad_block_length);
  }
  interface_description described;
  described.link = u16(body);
  described.snap_length = u32(body + 4);
  if (described_) {
    libpcap_gave_up_ |= described.link != libpcap_number(first_link_);
    libpcap_gave_up_ |= usable_snap_length(described.snap_length) != first_snap_length_;
  } else {
    described_ = true;
    first_link_ = described.link;
    first_snap_length_ = usable_snap_length(described.snap_length);
  }
  const bool sound = read_interface_options(body + fixed_size, body_end, described);
  libpcap_gave_up_ |= !sound;
  if (interfaces_ == max_capture_interfaces) return fail(capture_fault::too_many_interfaces);
  table_[interfaces_++] = described;  // counted even when unsound: packets name interfaces by their place
  return sound ? turn::none : fail(capture_fault::bad_interface_options);
}

// 3.5: code, length, value padded to four bytes. What stood before an unsound option is kept.
bool capture_reader::read_interface_options(std::size_t at, std::size_t end,
                                            interface_description& out) const noexcept {
  bool resolution_seen = false;
  bool offset_seen = false;
  while (at != end) {
    if (end - at < 4) return false;
    const std::uint16_t code = u16(at);
    const std::uint16_t length = u16(at + 2);
    at += 4;
    const std::size_t padded = (std::size_t{length} + 3) / 4 * 4;
    if (padded > end - at) return false;
    if (code == option_end) return length == 0;
    if (code == option_clock_resolution) {
      const std::uint64_t ticks = length == 1 && !resolution_seen ? ticks_per_second(file_[at]) : 0;
      if (ticks == 0) return false;
      out.ticks_per_s = ticks;
      resolution_seen = true;
    }
    if (code == option_clock_offset) {
      if (length != 8 || offset_seen) return false;
      const std::uint8_t* const value = file_.data() + at;
      out.offset_s = static_cast<std::int64_t>(big_endian_ ? base::load_be64(value) : base::load_le64(value));
      offset_seen = true;
    }
    at += padded;
  }
  return true;
}

// 4.3.
capture_reader::turn capture_reader::take_enhanced_packet(std::size_t body, std::size_t body_end) noexcept {
  constexpr std::size_t fixed_size = 20;
  if (body_end - body < fixed_size) {
    libpcap_gave_up_ = true;
    return fail(capture_fault::bad_block_length);
  }
  const packet_fields packet{.interface = u32(body),
                             .ticks = std::uint64_t{u32(body + 4)} << 32 | u32(body + 8),
                             .captured = u32(body + 12),
                             .original = u32(body + 16)};
  libpcap_gave_up_ |= packet.captured > first_snap_length_;
  return take_packet(packet, body + fixed_size, body_end);
}

// 4.4: of the first interface, without a time; as much is there as the interface's snap length let through.
capture_reader::turn capture_reader::take_simple_packet(std::size_t body, std::size_t body_end) noexcept {
  constexpr std::size_t fixed_size = 4;
  if (body_end - body < fixed_size) {
    libpcap_gave_up_ = true;
    return fail(capture_fault::bad_block_length);
  }
  const std::uint32_t original = u32(body);
  const std::uint32_t snap_length = usable_snap_length(interfaces_ == 0 ? 0 : table_[0].snap_length);
  const packet_fields packet{
      .interface = 0, .ticks = 0, .captured = std::min(original, snap_length), .original = original};
  const turn taken = take_packet(packet, body + fixed_size, body_end);
  record_.ts_ns = 0;
  return taken;
}

// The obsolete packet block of the format's first drafts: a 16-bit interface beside a drop count.
capture_reader::turn capture_reader::take_old_packet(std::size_t body, std::size_t body_end) noexcept {
  constexpr std::size_t fixed_size = 20;
  if (body_end - body < fixed_size) {
    libpcap_gave_up_ = true;
    return fail(capture_fault::bad_block_length);
  }
  const packet_fields packet{.interface = u16(body),
                             .ticks = std::uint64_t{u32(body + 4)} << 32 | u32(body + 8),
                             .captured = u32(body + 12),
                             .original = u32(body + 16)};
  libpcap_gave_up_ |= packet.captured > first_snap_length_;
  return take_packet(packet, body + fixed_size, body_end);
}

capture_reader::turn capture_reader::take_packet(const packet_fields& packet, std::size_t data,
                                                 std::size_t body_end) noexcept {
  if (packet.interface >= interfaces_) {
    libpcap_gave_up_ = true;
    return fail(capture_fault::unknown_interface);
  }
  if (packet.captured > body_end - data || packet.captured > max_captured_length) {
    libpcap_gave_up_ = true;
    return fail(capture_fault::bad_captured_length);
  }
  const interface_description& from = table_[packet.interface];
  record_.data = file_.subspan(data, packet.captured);
  record_.ts_ns = to_ns(packet.ticks, from.ticks_per_s, from.offset_s);
  record_.original_length = packet.original;
  record_.link = from.link;
  record_.interface = packet.interface;
  record_.beyond_libpcap = libpcap_gave_up_;
  return turn::record;
}

// 4.7: type, length, data. libpcap skips these blocks whatever they hold.
capture_reader::turn capture_reader::take_secrets(std::size_t body, std::size_t body_end) noexcept {
  constexpr std::size_t fixed_size = 8;
  if (body_end - body < fixed_size) return fail(capture_fault::bad_block_length);
  const std::uint32_t length = u32(body + 4);
  if (length > body_end - body - fixed_size) return fail(capture_fault::bad_secrets_length);
  secrets_ = {u32(body), file_.subspan(body + fixed_size, length)};
  return turn::secrets;
}

}  // namespace millrace::net::wire
