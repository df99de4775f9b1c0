// port/topology.hpp - which port sends what another received, and which lcore does it.
//
// Shape    pure arithmetic on numbers of ports and queues. A stream is one receive queue, and the transmit queue its
//          packets leave by; a worker lcore polls a list of streams that nobody else touches.
//            paired   0 <-> 1, 2 <-> 3, ...; a last odd port sends back what it received
//            chained  0 -> 1 -> 2 -> ... -> 0
//            loop     every port sends back what it received
// Why      the same words and meanings as testpmd's, so that runs compare.
// Errors   assign(): streams that share a transmit queue stay on one lcore, since a queue has one writer; an lcore may
//          get nothing when there are fewer streams than lcores.
// Tests    test/port/topology_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace millrace::port {

enum class topology : std::uint8_t { paired, chained, loop };

[[nodiscard]] std::optional<topology> parse_topology(std::string_view word) noexcept;
[[nodiscard]] std::string_view to_string(topology t) noexcept;

// Index of the port that sends what port `index` of `count` received. count > 0, index < count.
[[nodiscard]] constexpr unsigned tx_index_of(unsigned index, unsigned count, topology t) noexcept {
  switch (t) {
    case topology::paired:
      return (index ^ 1u) < count ? index ^ 1u : index;
    case topology::chained:
      return (index + 1) % count;
    case topology::loop:
      break;
  }
  return index;
}

struct stream {
  std::uint16_t rx_port = 0;
  std::uint16_t rx_queue = 0;
  std::uint16_t tx_port = 0;
  std::uint16_t tx_queue = 0;
  friend bool operator==(const stream&, const stream&) = default;
};

struct queue_counts {
  std::uint16_t port = 0;  // as EAL numbers it
  std::uint16_t rxq = 1;
  std::uint16_t txq = 1;
};

// Queue by queue, within it port by port (testpmd's order). A port with more receive than transmit queues shares the
// latter in turn; one with more transmit queues leaves the rest unused.
[[nodiscard]] std::vector<stream> make_streams(std::span<const queue_counts> ports, topology t);
// For modes that only send: one stream for every transmit queue; rx_queue may be one that does not exist.
[[nodiscard]] std::vector<stream> make_tx_streams(std::span<const queue_counts> ports);

// One list for each of `lcores` workers, in blocks of neighbouring streams.
[[nodiscard]] std::vector<std::vector<stream>> assign(std::span<const stream> streams, unsigned lcores);

}  // namespace millrace::port
