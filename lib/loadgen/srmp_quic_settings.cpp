#include "loadgen/srmp_quic_settings.hpp"

#include <algorithm>
#include <limits>

#include "quic/conn/chain_source.hpp"

namespace millrace::loadgen {
namespace {

constexpr std::uint64_t least_payload = 1'100;       // of a full packet
constexpr std::uint64_t frame_overhead = 8;          // a long header
constexpr std::uint32_t remembered = 16;             // closed connections, each for three PTO
constexpr std::uint32_t blocks_of_a_connection = 8;  // of sent packets: its packet number spaces and a tail
constexpr std::uint64_t most_kept_packets = 1u << 20;
constexpr std::size_t store_bytes = 66'000;  // a block of the intake's, and its scratch

base::failure unusable(std::string what) { return {std::move(what), "", true}; }

std::uint32_t capped(std::uint64_t value) noexcept {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

base::outcome check(const srmp_quic_settings& s) {
  if (auto sound = check(s.load); !sound) return sound;
  if (s.streams == 0) return unusable("a connection without streams asks for nothing");
  if (s.streams > max_srmp_streams)
    return unusable("a connection has 1 to " + std::to_string(max_srmp_streams) + " streams");
  if (std::uint32_t{s.streams} * s.load.connections > max_srmp_in_all)
    return unusable("connections times streams of each are more than " + std::to_string(max_srmp_in_all));
  if (std::uint64_t{s.streams} * s.load.connections > s.endpoint.streams)
    return unusable("the endpoint has no room for " + std::to_string(s.load.connections) + " connections of " +
                    std::to_string(s.streams) + " streams");
  return base::done{};
}

std::uint32_t fit(srmp_quic_settings& s) noexcept {
  quic::endpoint::endpoint_settings& e = s.endpoint;
  const std::uint64_t n = std::max<std::uint64_t>(s.load.connections, 1);
  const std::uint64_t lines = n * std::max<std::uint64_t>(s.streams, 1);
  // A stream asks for no more when so much waits to be acknowledged.
  const std::uint64_t bytes =
      std::min<std::uint64_t>(std::uint64_t{s.load.window} * (s.load.size + frame_overhead),
                              quic::conn::chain_source::default_limits.pause_bytes + s.load.size);
  // Requests and replies of every window, each twice: what was sent anew may meet what is not acknowledged yet.
  const std::uint64_t packets = std::min(lines * (4 * bytes / least_payload + 8) + 64 * n, most_kept_packets);
  e.transport.keep_tickets_ns = 0;
  e.connections = e.handshakes = capped(n + remembered);
  e.streams = capped(2 * lines + 64);
  e.sent_blocks = capped(n * blocks_of_a_connection + 2 * packets / quic::recovery::packets_per_block + 64);
  e.pieces = capped(packets + 1'024);
  e.source_slots = 64;  // nobody connects to us
  return capped(packets);
}

std::size_t memory_bytes(const srmp_quic_settings& s) noexcept {
  const std::uint64_t lines = std::uint64_t{s.load.connections} * s.streams;
  return quic::endpoint::memory_bytes(s.endpoint) + (std::min<std::size_t>(lines, 64) + 1) * store_bytes;
}

}  // namespace millrace::loadgen
