// net/wire/capture.hpp - the records of a capture file, pcap or pcapng, over bytes that the caller has mapped.
//
// Shape    next() answers one event: a record, a block of decryption secrets, something malformed, or the end. After
//          `malformed` it goes on where the file's framing still holds and answers `end` where it does not.
// Lock     the records whose beyond_libpcap is false are, in number, order and bytes, those that libpcap 1.10 and so
// the step     net_pcap port deliver from the same file (captures of USB and D-Bus apart, whose records may be longer).
//          libpcap gives a file up at things that we read on behind: a second link type, snap length or byte order.
// Units    times are ns since 1970, 0 where a record has none; lengths and offsets are bytes.
// Owner    nothing; views die with the file's bytes. The reader itself is about 32 KiB (its interface table).
// Errors   capture_fault, with the offset of the record or block that has it. Never reads past the end.
// Source   IETF drafts draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng; libpcap's older magic numbers.
// Tests    test/net/wire/capture_test.cpp (against libpcap), test/fuzz/net_capture_fuzz.cpp
#pragma once

#include <array>

#include "base/bytes.hpp"

namespace millrace::net::wire {

enum class capture_fault : std::uint8_t {
  none,
  not_a_capture,          // no magic number that we know
  unknown_version,        // of the file or of a section
  truncated,              // the file ends inside a header, record or block
  bad_block_length,       // too short for its type, no multiple of 4, or its two copies differ
  bad_captured_length,    // more than its block holds, or than any frame has
  bad_secrets_length,     // more than its block holds
  bad_interface_options,  // a length or a clock resolution that cannot be
  unknown_interface,      // a packet of an interface that nothing described
  too_many_interfaces,    // beyond max_capture_interfaces
};

[[nodiscard]] std::string_view to_string(capture_fault fault) noexcept;

inline constexpr std::size_t max_capture_interfaces = 1024;       // of one section
inline constexpr std::uint32_t max_captured_length = 256 * 1024;  // libpcap's limit for network link types

struct capture_record {
  base::byte_view data;  // as captured
  std::uint64_t ts_ns = 0;
  std::uint32_t original_length = 0;  // as the file says: may even be less than data holds
  std::uint32_t link = 0;             // LINKTYPE number; from_linktype_number() takes it
  std::uint32_t interface = 0;        // within its section; 0 in pcap
  bool beyond_libpcap = false;
};

inline constexpr std::uint32_t secrets_tls_key_log = 0x544C'534B;  // "TLSK": text as SSLKEYLOGFILE has it

struct capture_secrets {
  std::uint32_t type = 0;
  base::byte_view data;
};

enum class capture_event : std::uint8_t { record, secrets, malformed, end };

class capture_reader {
  struct interface_description {
    std::uint64_t ticks_per_s = 1'000'000;
    std::int64_t offset_s = 0;
    std::uint32_t link = 0;
    std::uint32_t snap_length = 0;  // 0: no limit
  };
  enum class format : std::uint8_t { unknown, pcap, pcapng, over };

  base::byte_view file_;
  std::size_t at_ = 0;            // next header, record or block
  std::size_t event_offset_ = 0;  // of what next() answered last
  capture_record record_;
  capture_secrets secrets_;
  capture_fault fault_ = capture_fault::none;
  format format_ = format::unknown;
  bool big_endian_ = false;
  bool libpcap_gave_up_ = false;

  // pcap
  std::uint32_t record_header_size_ = 16;
  std::uint32_t ns_per_tick_ = 1000;
  bool lengths_swapped_ = false;        // before version 2.3 the original length came first
  bool lengths_maybe_swapped_ = false;  // in 2.3 the larger is the original

  // pcapng
  bool described_ = false;  // an interface was described in any section; the next two are the first one's
  std::uint32_t first_link_ = 0;
  std::uint32_t first_snap_length_ = 0;
  std::size_t interfaces_ = 0;
  std::array<interface_description, max_capture_interfaces> table_{};

  // One turn: none means that nothing came of it and the next block is due.
  enum class turn : std::uint8_t { none, record, secrets, malformed, end };

  static constexpr std::uint32_t block_section_ = 0x0A0D'0D0A;  // what a pcapng file begins with

  // libpcap takes 0 and what an int cannot hold for "no limit".
  [[nodiscard]] static constexpr std::uint32_t usable_snap_length(std::uint32_t announced) noexcept {
    return announced == 0 || announced > 0x7FFF'FFFF ? max_captured_length : announced;
  }
  [[nodiscard]] std::uint16_t u16(std::size_t at) const noexcept;
  [[nodiscard]] std::uint32_t u32(std::size_t at) const noexcept;
  turn fail(capture_fault why) noexcept;
  turn give_up(capture_fault why) noexcept;
  turn open() noexcept;

  turn open_pcap(std::uint32_t magic) noexcept;
  turn next_pcap() noexcept;

  turn next_block() noexcept;
  turn take_block(std::uint32_t type, std::size_t body, std::size_t body_end) noexcept;
  turn take_section(std::size_t body, std::size_t body_end) noexcept;
  turn take_interface(std::size_t body, std::size_t body_end) noexcept;
  turn take_enhanced_packet(std::size_t body, std::size_t body_end) noexcept;
  turn take_simple_packet(std::size_t body, std::size_t body_end) noexcept;
  turn take_old_packet(std::size_t body, std::size_t body_end) noexcept;
  turn take_secrets(std::size_t body, std::size_t body_end) noexcept;
  [[nodiscard]] bool read_interface_options(std::size_t at, std::size_t end, interface_description& out) const noexcept;

  struct packet_fields {
    std::uint32_t interface;
    std::uint64_t ticks;
    std::uint32_t captured;
    std::uint32_t original;
  };
  turn take_packet(const packet_fields& packet, std::size_t data, std::size_t body_end) noexcept;

 public:
  explicit capture_reader(base::byte_view file) noexcept : file_(file) {}

  [[nodiscard]] capture_event next() noexcept;

  // What the last event was about; each stands until the next call of next().
  [[nodiscard]] const capture_record& record() const noexcept { return record_; }
  [[nodiscard]] const capture_secrets& secrets() const noexcept { return secrets_; }
  [[nodiscard]] capture_fault fault() const noexcept { return fault_; }
  [[nodiscard]] std::uint64_t offset() const noexcept { return event_offset_; }
};

}  // namespace millrace::net::wire
