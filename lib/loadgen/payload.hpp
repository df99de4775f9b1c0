// loadgen/payload.hpp - what generated frames carry; for the files of this room.
//
// Shape    one function a kind; each fills `out` to its last byte, from a seed that names flow and step.
// Errors   false: `out` is smaller than the packet can be, or larger than 16 KiB for QUIC, whose length field it is.
// Tests    through frame_generator
#pragma once

#include "crypto/engine.hpp"
#include "loadgen/flow.hpp"
#include "loadgen/frame_generator.hpp"
#include "loadgen/seeded_bytes.hpp"

namespace millrace::loadgen {

// `random` is good for any bytes that only have to be there.
struct payload_request {
  const flow& of;
  const frame_plan& plan;
  std::uint64_t seed = 0;
  std::string_view domain;
  seeded_bytes random;
};

[[nodiscard]] bool fill_quic_initial(crypto::engine& engine, payload_request& r, base::byte_span out) noexcept;
[[nodiscard]] bool fill_quic_handshake(payload_request& r, base::byte_span out) noexcept;
[[nodiscard]] bool fill_quic_one_rtt(payload_request& r, base::byte_span out) noexcept;
[[nodiscard]] bool fill_srmp(payload_request& r, base::byte_span out) noexcept;
// Letters between 0x20 and 0x3F: neither a QUIC header nor a gQUIC version can begin so.
void fill_text(payload_request& r, base::byte_span out) noexcept;

}  // namespace millrace::loadgen
