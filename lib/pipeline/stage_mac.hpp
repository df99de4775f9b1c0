// pipeline/stage_mac.hpp - Ethernet addresses rewritten in a whole burst: macswap and mac.
//
// Shape    each packet's first 16 bytes are loaded once, shuffled or blended, stored once; the mbuf is only read.
//          Frames shorter than an Ethernet header are dropped (l2_truncated); that leaves holes, which are closed.
// Owner    the burst keeps what is not dropped. Answers the bytes that stay in it.
// Errors   none but the drops. Threads  one lcore.
// Tests    test/pipeline/stage_mac_test.cpp      Bench  bench/pipeline/stage_bench.cpp
#pragma once

#include <immintrin.h>

#include <array>
#include <cstring>

#include "buf/burst.hpp"

namespace millrace::pipeline {

inline constexpr std::size_t ethernet_header_bytes = 14;

// Destination and source as they stand in a frame, and 4 bytes of slack for the vector load.
struct alignas(16) address_pair {
  std::array<std::uint8_t, 12> dst_src{};
  std::array<std::uint8_t, 4> unused{};
};

namespace detail {

// Applies `change` to the first 16 bytes of every frame. Of frames of 14 or 15 bytes only what they hold is touched.
template <class Change>
inline std::uint64_t change_ethernet(buf::burst& packets, std::uint64_t& received_bytes, stats::drop_counters& drops,
                                     Change change) noexcept {
  constexpr unsigned ahead = 4;
  const unsigned count = packets.size();
  for (unsigned i = 0; i < ahead && i < count; ++i) packets.prefetch_header(i);
  std::uint64_t bytes = 0;
  std::uint64_t dropped_bytes = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (i + ahead < count) packets.prefetch_header(i + ahead);
    const base::byte_span frame = packets.writable_first(i);
    const std::uint32_t length = packets.length(i);
    bytes += length;
    if (frame.size() >= 16) [[likely]] {
      auto* at = reinterpret_cast<__m128i*>(frame.data());
      _mm_storeu_si128(at, change(_mm_loadu_si128(at)));
    } else if (frame.size() >= ethernet_header_bytes) {
      alignas(16) std::uint8_t head[16] = {};
      std::memcpy(head, frame.data(), frame.size());
      auto* at = reinterpret_cast<__m128i*>(head);
      _mm_store_si128(at, change(_mm_load_si128(at)));
      std::memcpy(frame.data(), head, frame.size());
    } else {
      dropped_bytes += length;
      packets.drop(i, stats::drop_reason::l2_truncated, drops);
    }
  }
  packets.compact();
  received_bytes = bytes;
  return bytes - dropped_bytes;
}

}  // namespace detail

// Source and destination change places.
inline std::uint64_t swap_addresses(buf::burst& packets, std::uint64_t& received_bytes,
                                    stats::drop_counters& drops) noexcept {
  const __m128i order = _mm_setr_epi8(6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 12, 13, 14, 15);
  return detail::change_ethernet(packets, received_bytes, drops,
                                 [order](__m128i head) { return _mm_shuffle_epi8(head, order); });
}

// Both addresses replaced.
inline std::uint64_t set_addresses(buf::burst& packets, const address_pair& addresses, std::uint64_t& received_bytes,
                                   stats::drop_counters& drops) noexcept {
  const __m128i wanted = _mm_load_si128(reinterpret_cast<const __m128i*>(&addresses));
  constexpr int first_twelve = 0x3F;  // in 16-bit lanes
  return detail::change_ethernet(packets, received_bytes, drops,
                                 [wanted](__m128i head) { return _mm_blend_epi16(head, wanted, first_twelve); });
}

}  // namespace millrace::pipeline
