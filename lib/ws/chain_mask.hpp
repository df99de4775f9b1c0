// ws/chain_mask.hpp - wire::mask() over the segments of a chain, as a payload lies there that was taken off a pipe.
//
// Shape    in place; answers the phase behind the last byte, as wire::mask() does.
// Owner    the caller's chain, whose segments nobody else may hold: a segment that was cut between two frames is held
//          by both, and is then copied or unmasked before the cut (wire::receiver does the latter).
// Errors   nullopt, and no byte changed, when a segment is shared.
// Source   RFC 6455 5.3     Tests  test/ws/chain_mask_test.cpp
#pragma once

#include <optional>

#include "buf/chain.hpp"
#include "ws/wire/mask.hpp"

namespace millrace::ws {

[[nodiscard]] inline std::optional<unsigned> mask(buf::chain& payload, std::uint32_t key, unsigned phase = 0) noexcept {
  const bool changed =
      payload.change_in_place([&](base::byte_span segment) { phase = wire::mask(segment, key, phase); });
  if (!changed) return std::nullopt;
  return phase;
}

}  // namespace millrace::ws
