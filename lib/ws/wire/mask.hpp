// ws/wire/mask.hpp - masking a payload in place; the same call masks and unmasks.
//
// Shape    byte i of the payload is combined with byte i mod 4 of the key. `phase` is i mod 4 of the first byte handed
//          in: 0 at the payload's start; each call answers the phase of the byte behind it, so a payload may come in
//          pieces of any size.
// Units    bytes; at more than 20 GB/s in cache.
// Owner    the caller owns the bytes, and holds them alone: a shared mbuf is read-only.
// Errors   none. Source  RFC 6455 5.3, 10.3     Tests  test/ws/wire/mask_test.cpp     Bench  bench/ws/wire/ws_bench.cpp
#pragma once

#include "base/bytes.hpp"

namespace millrace::ws::wire {

// `key` as frame_header::mask_key holds it.
unsigned mask(base::byte_span bytes, std::uint32_t key, unsigned phase = 0) noexcept;

// The same over a payload in several buffers.
inline unsigned mask(std::span<const base::byte_span> parts, std::uint32_t key, unsigned phase = 0) noexcept {
  for (const base::byte_span part : parts) phase = mask(part, key, phase);
  return phase;
}

}  // namespace millrace::ws::wire
