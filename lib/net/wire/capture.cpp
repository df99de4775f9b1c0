// Both formats announce every length before what it covers, so one rule keeps the walk total: no header is read before
// the file is known to hold it, and no length is followed before it is known to stay inside the file or its block.
//
// What libpcap would do is followed beside what we do: it stops for good at the first thing that it refuses, so one
// flag, never reset, marks the records behind. test/net/wire/capture_test.cpp holds it against libpcap itself.

#include "net/wire/capture.hpp"

#include "base/endian.hpp"

namespace millrace::net::wire {
namespace {

constexpr std::uint32_t magic_microseconds = 0xA1B2'C3D4;
constexpr std::uint32_t magic_nanoseconds = 0xA1B2'3C4D;
constexpr std::uint32_t magic_modified = 0xA1B2'CD34;  // a patched libpcap's: eight more bytes a record header

constexpr std::size_t file_header_size = 24;
constexpr std::uint32_t modified_record_header_size = 24;

[[nodiscard]] bool is_pcap_magic(std::uint32_t magic) noexcept {
  return magic == magic_microseconds || magic == magic_nanoseconds || magic == magic_modified;
}

}  // namespace

std::string_view to_string(capture_fault fault) noexcept {
  switch (fault) {
    case capture_fault::none:
      return "none";
    case capture_fault::not_a_capture:
      return "not_a_capture";
    case capture_fault::unknown_version:
      return "unknown_version";
    case capture_fault::truncated:
      return "truncated";
    case capture_fault::bad_block_length:
      return "bad_block_length";
    case capture_fault::bad_captured_length:
      return "bad_captured_length";
    case capture_fault::bad_secrets_length:
      return "bad_secrets_length";
    case capture_fault::bad_interface_options:
      return "bad_interface_options";
    case capture_fault::unknown_interface:
      return "unknown_interface";
    case capture_fault::too_many_interfaces:
      return "too_many_interfaces";
  }
  return "unknown";
}

std::uint16_t capture_reader::u16(std::size_t at) const noexcept {
  return big_endian_ ? base::load_be16(file_.data() + at) : base::load_le16(file_.data() + at);
}

std::uint32_t capture_reader::u32(std::size_t at) const noexcept {
  return big_endian_ ? base::load_be32(file_.data() + at) : base::load_le32(file_.data() + at);
}

// The framing holds: the next record or block can still be found.
capture_reader::turn capture_reader::fail(capture_fault why) noexcept {
  fault_ = why;
  return turn::malformed;
}

capture_reader::turn capture_reader::give_up(capture_fault why) noexcept {
  format_ = format::over;
  return fail(why);
}

capture_reader::turn capture_reader::open() noexcept {
  if (file_.size() < 4) return give_up(capture_fault::not_a_capture);
  const std::uint32_t magic = base::load_le32(file_.data());
  if (magic == block_section_) {
    format_ = format::pcapng;
    return turn::none;
  }
  const std::uint32_t swapped = __builtin_bswap32(magic);
  if (!is_pcap_magic(magic) && !is_pcap_magic(swapped)) return give_up(capture_fault::not_a_capture);
  big_endian_ = is_pcap_magic(swapped);
  return open_pcap(big_endian_ ? swapped : magic);
}

// draft-ietf-opsawg-pcap 4: magic, version, two fields nobody fills, snap length, link type; versions as libpcap reads
// them. The link type's upper six bits speak of a frame check sequence.
capture_reader::turn capture_reader::open_pcap(std::uint32_t magic) noexcept {
  if (file_.size() < file_header_size) return give_up(capture_fault::truncated);
  const std::uint16_t major = u16(4);
  const std::uint16_t minor = u16(6);
  const bool odd_writer = major == 543 && minor == 0;  // DG/UX tcpdump
  if (!odd_writer && (major != 2 || minor > 4)) return give_up(capture_fault::unknown_version);
  lengths_swapped_ = odd_writer || minor < 3;
  lengths_maybe_swapped_ = !odd_writer && minor == 3;
  ns_per_tick_ = magic == magic_nanoseconds ? 1 : 1000;
  first_link_ = u32(20) & 0x03FF'FFFF;
  first_snap_length_ = usable_snap_length(u32(16));
  if (magic == magic_modified) {
    record_header_size_ = modified_record_header_size;
    // libpcap leaves room for the Ethernet header that such files' cooked captures were given.
    constexpr std::uint32_t link_ethernet = 1;
    if (first_link_ == link_ethernet && first_snap_length_ <= 0x7FFF'FFFF - 14) first_snap_length_ += 14;
  }
  format_ = format::pcap;
  at_ = file_header_size;
  return turn::none;
}

// draft-ietf-opsawg-pcap 5: seconds, fraction, captured length, original length.
capture_reader::turn capture_reader::next_pcap() noexcept {
  const std::size_t left = file_.size() - at_;
  if (left == 0) {
    format_ = format::over;
    return turn::end;
  }
  if (left < record_header_size_) return give_up(capture_fault::truncated);
  std::uint32_t captured = u32(at_ + 8);
  std::uint32_t original = u32(at_ + 12);
  if (lengths_swapped_ || (lengths_maybe_swapped_ && captured > original)) std::swap(captured, original);
  if (captured > max_captured_length) return give_up(capture_fault::bad_captured_length);
  if (captured > left - record_header_size_) return give_up(capture_fault::truncated);

  // A record longer than the file's snap length is cut to it, as libpcap does.
  const std::uint32_t used = std::min(captured, first_snap_length_);
  record_.data = file_.subspan(at_ + record_header_size_, used);
  record_.ts_ns = std::uint64_t{u32(at_)} * 1'000'000'000 + std::uint64_t{u32(at_ + 4)} * ns_per_tick_;
  record_.original_length = original;
  record_.link = first_link_;
  at_ += record_header_size_ + captured;
  return turn::record;
}

capture_event capture_reader::next() noexcept {
  fault_ = capture_fault::none;
  for (;;) {
    event_offset_ = at_;
    turn what = turn::end;
    switch (format_) {
      case format::unknown:
        what = open();
        break;
      case format::pcap:
        what = next_pcap();
        break;
      case format::pcapng:
        what = next_block();
        break;
      case format::over:
        break;
    }
    switch (what) {
      case turn::none:  // bounded: open() happens once and every block takes at least 12 bytes of the file
        break;
      case turn::record:
        return capture_event::record;
      case turn::secrets:
        return capture_event::secrets;
      case turn::malformed:
        return capture_event::malformed;
      case turn::end:
        return capture_event::end;
    }
  }
}

}  // namespace millrace::net::wire
