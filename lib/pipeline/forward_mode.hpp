// pipeline/forward_mode.hpp - what forwarding does with a burst between receive and transmit.
//
// Shape    testpmd's words and meanings, and one of ours:
//            io        nothing
//            mac       destination = the peer 02:00:00:00:00:PORT, source = the transmitting port's address
//            macswap   source and destination change places
//            rxonly    everything received is dropped (rx_only)
//            txonly    frames of the frame set are sent, nothing is received
//            flowgen   the same over many flows, addresses changing from frame to frame; what arrives is dropped
//            parse     L2-L4, then QUIC or SRMP, of every packet; malformed L2-L4 is dropped with its reason
// Tests    test/pipeline/engine_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace millrace::pipeline {

enum class forward_mode : std::uint8_t { io, mac, macswap, rxonly, txonly, flowgen, parse };

inline constexpr std::array<std::pair<forward_mode, std::string_view>, 7> forward_modes = {{
    {forward_mode::io, "io"},
    {forward_mode::mac, "mac"},
    {forward_mode::macswap, "macswap"},
    {forward_mode::rxonly, "rxonly"},
    {forward_mode::txonly, "txonly"},
    {forward_mode::flowgen, "flowgen"},
    {forward_mode::parse, "parse"},
}};

[[nodiscard]] constexpr std::optional<forward_mode> parse_forward_mode(std::string_view word) noexcept {
  for (const auto& [mode, name] : forward_modes)
    if (name == word) return mode;
  return std::nullopt;
}

[[nodiscard]] constexpr std::string_view to_string(forward_mode wanted) noexcept {
  for (const auto& [mode, name] : forward_modes)
    if (mode == wanted) return name;
  return "unknown";
}

// Makes packets of its own while it runs.
[[nodiscard]] constexpr bool generates(forward_mode mode) noexcept {
  return mode == forward_mode::txonly || mode == forward_mode::flowgen;
}
[[nodiscard]] constexpr bool receives(forward_mode mode) noexcept { return mode != forward_mode::txonly; }
// Sends on what it received, so that frames put into a loop of rings keep going round.
[[nodiscard]] constexpr bool forwards(forward_mode mode) noexcept {
  return receives(mode) && mode != forward_mode::rxonly && mode != forward_mode::flowgen;
}
// Reads each packet's length anyway; io does not, since that alone would cost it a cache line a packet.
[[nodiscard]] constexpr bool counts_bytes(forward_mode mode) noexcept { return mode != forward_mode::io; }

}  // namespace millrace::pipeline
