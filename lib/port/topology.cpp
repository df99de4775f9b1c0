#include "port/topology.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace millrace::port {
namespace {

constexpr std::array<std::pair<topology, std::string_view>, 3> names = {
    {{topology::paired, "paired"}, {topology::chained, "chained"}, {topology::loop, "loop"}}};

}  // namespace

std::optional<topology> parse_topology(std::string_view word) noexcept {
  for (const auto& [value, name] : names)
    if (name == word) return value;
  return std::nullopt;
}

std::string_view to_string(topology t) noexcept {
  for (const auto& [value, name] : names)
    if (value == t) return name;
  return "unknown";
}

std::vector<stream> make_streams(std::span<const queue_counts> ports, topology t) {
  std::vector<stream> all;
  const auto count = static_cast<unsigned>(ports.size());
  std::uint16_t most = 0;
  for (const queue_counts& p : ports) most = std::max(most, p.rxq);
  for (std::uint16_t q = 0; q < most; ++q)
    for (unsigned i = 0; i < count; ++i) {
      if (q >= ports[i].rxq) continue;
      const queue_counts& to = ports[tx_index_of(i, count, t)];
      if (to.txq == 0) continue;
      all.push_back({.rx_port = ports[i].port,
                     .rx_queue = q,
                     .tx_port = to.port,
                     .tx_queue = static_cast<std::uint16_t>(q % to.txq)});
    }
  return all;
}

std::vector<stream> make_tx_streams(std::span<const queue_counts> ports) {
  std::vector<stream> all;
  std::uint16_t most = 0;
  for (const queue_counts& p : ports) most = std::max(most, p.txq);
  for (std::uint16_t q = 0; q < most; ++q)
    for (const queue_counts& p : ports)
      if (q < p.txq) all.push_back({.rx_port = p.port, .rx_queue = q, .tx_port = p.port, .tx_queue = q});
  return all;
}

std::vector<std::vector<stream>> assign(std::span<const stream> streams, unsigned lcores) {
  std::vector<std::vector<stream>> lists(lcores);
  if (lcores == 0) return lists;
  // Streams of one transmit queue form a group; groups keep the order of their first stream.
  std::vector<std::vector<stream>> groups;
  for (const stream& s : streams) {
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const std::vector<stream>& g) {
      return g.front().tx_port == s.tx_port && g.front().tx_queue == s.tx_queue;
    });
    if (same == groups.end())
      groups.push_back({s});
    else
      same->push_back(s);
  }
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::vector<stream>& list = lists[g * lcores / std::max<std::size_t>(groups.size(), lcores)];
    list.insert(list.end(), groups[g].begin(), groups[g].end());
  }
  return lists;
}

}  // namespace millrace::port
