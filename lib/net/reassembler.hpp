// net/reassembler.hpp - datagrams put together from their fragments, IPv4 and IPv6 by one policy.
//
// Shape    add() copies a fragment's data to its place; when nothing is missing packet() is the whole packet, with a
//          header as if it had never been cut (RFC 8200 4.5). The copy is the price of one run of bytes at the end.
// Policy   a fragment that overlaps another ends its datagram, also for fragments still to come (RFC 5722); an exact
//          duplicate is ignored. Two different ends, or data behind the end, are the same.
// Units    bytes, ns.
// Owner    the reassembler owns what it keeps; packet() and quote() live until the next add() or expire().
// Limits   host_limits: datagrams, bytes (in blocks of 2 KiB), fragments of one datagram. When one is full the oldest
//          unfinished datagram gives way, so that a flood of first fragments stops nobody who is quick.
// Errors   fragment_outcome. Threads  one lcore.
// Source   RFC 791 3.2, RFC 815, RFC 1122 3.3.2, RFC 8200 4.5, RFC 5722, RFC 6946. Tests  test/net/host_ip_test.cpp
#pragma once

#include <array>

#include "mem/region.hpp"
#include "net/limits.hpp"
#include "net/wire/ip_datagram.hpp"

namespace millrace::net {

enum class fragment_outcome : std::uint8_t {
  kept,
  complete,   // packet() is whole
  duplicate,  // the very same bytes were there
  overlap,    // and with it the datagram is refused
  refused,    // belongs to a datagram that was refused
  too_many,   // fragments for one datagram: it is refused
  too_long,   // the whole would not fit an IP packet, or its headers not our room: it is refused
  full,       // no block was to be had
};

class reassembler {
 public:
  reassembler(const host_limits& limits, std::uint64_t seed) noexcept;
  [[nodiscard]] explicit operator bool() const noexcept { return ready_; }

  // `packet`: from its IP header, `header` what parse_ipv4() or parse_ipv6() said of it; header.fragment holds.
  [[nodiscard]] fragment_outcome add(const wire::ip_datagram& header, base::byte_view packet,
                                     std::uint64_t now) noexcept;
  [[nodiscard]] base::byte_view packet() const noexcept { return whole_; }

  // Forgets one datagram whose time is over; false when there is none. quote() is then the beginning of its first
  // fragment, empty when that never came (RFC 1122 3.3.2, RFC 8200 4.5: no error then).
  [[nodiscard]] bool expire(std::uint64_t now) noexcept;
  [[nodiscard]] base::byte_view quote() const noexcept { return quote_; }
  static constexpr std::uint64_t never = UINT64_MAX;
  [[nodiscard]] std::uint64_t due_ns() const noexcept;

  [[nodiscard]] std::uint32_t in_use() const noexcept { return in_use_; }
  [[nodiscard]] std::uint32_t blocks_in_use() const noexcept { return blocks_in_use_; }
  [[nodiscard]] std::uint32_t blocks() const noexcept { return block_count_; }
  [[nodiscard]] std::uint64_t evicted() const noexcept { return evicted_; }

  static constexpr std::size_t block_bytes = 2048;

 private:
  static constexpr std::size_t max_fragments = 128;
  static constexpr std::size_t blocks_per_datagram = 65536 / block_bytes;
  static constexpr std::size_t max_header = 128;  // IPv4: 60. IPv6: hop-by-hop, routing, with room for both
  static constexpr std::uint16_t none = UINT16_MAX;

  struct range {
    std::uint16_t begin;
    std::uint16_t size;
  };
  struct datagram {
    base::ip_address src;
    base::ip_address dst;
    std::uint32_t id;
    std::uint8_t protocol;  // IPv4 only: part of the key
    bool poisoned;          // refused; fragments to come as well
    bool has_first;
    bool has_last;
    std::uint16_t older;  // neighbours in order of age
    std::uint16_t newer;
    std::uint16_t fragments;
    std::uint16_t header_size;  // of the first fragment, up to its data
    std::uint16_t named_at;     // IPv6: the byte that named the fragment header
    std::uint32_t total;        // bytes of data, once the last fragment came
    std::uint32_t received;     // bytes of data
    std::uint64_t ends_ns;
    std::array<range, max_fragments> ranges;
    std::array<std::uint16_t, blocks_per_datagram> blocks;
    std::array<std::uint8_t, max_header> header;
  };

  host_limits limits_;
  std::uint64_t seed_;
  bool ready_ = false;
  mem::region datagrams_memory_;
  mem::region tags_memory_;
  mem::region blocks_memory_;
  mem::region links_memory_;
  mem::region whole_memory_;
  std::span<datagram> datagrams_;
  std::span<std::uint32_t> tags_;   // 0: unused; else the key's hash with its lowest bit set
  std::span<std::uint16_t> links_;  // of free blocks
  std::uint16_t free_block_ = none;
  std::uint32_t block_count_ = 0;
  std::uint32_t blocks_in_use_ = 0;
  std::uint32_t in_use_ = 0;
  std::uint16_t oldest_ = none;
  std::uint16_t newest_ = none;
  std::uint64_t evicted_ = 0;
  base::byte_view whole_;
  base::byte_view quote_;

  [[nodiscard]] std::uint32_t tag_of(const wire::ip_datagram& header) const noexcept;
  [[nodiscard]] datagram* obtain(const wire::ip_datagram& header, std::uint64_t now) noexcept;
  void release(datagram& d) noexcept;
  void release_blocks(datagram& d) noexcept;
  [[nodiscard]] fragment_outcome poison(datagram& d, fragment_outcome why) noexcept;
  [[nodiscard]] bool provide_blocks(datagram& d, std::uint32_t begin, std::uint32_t size) noexcept;
  [[nodiscard]] bool holds(const datagram& d, std::uint32_t begin, base::byte_view data) noexcept;
  void put(datagram& d, std::uint32_t begin, base::byte_view data) noexcept;
  [[nodiscard]] fragment_outcome finish(datagram& d) noexcept;
  [[nodiscard]] std::uint8_t* block(std::uint16_t number) noexcept {
    return reinterpret_cast<std::uint8_t*>(blocks_memory_.data()) + number * block_bytes;
  }
  [[nodiscard]] std::uint16_t number_of(const datagram& d) const noexcept {
    return static_cast<std::uint16_t>(&d - datagrams_.data());
  }
  [[nodiscard]] std::uint8_t* whole() noexcept { return reinterpret_cast<std::uint8_t*>(whole_memory_.data()); }
};

}  // namespace millrace::net
