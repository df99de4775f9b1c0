#include "loadgen/traffic.hpp"

#include <algorithm>
#include <array>

namespace millrace::loadgen {
namespace {

constexpr std::array<std::string_view, traffic_kind_count> names = {"quic", "srmp", "udp", "tcp"};

base::failure unusable(std::string what, std::string hint) { return {std::move(what), std::move(hint), true}; }

// The kinds asked for, or all of them.
traffic_kinds kinds_of(const frame_options& options) {
  if (!options.kinds.empty()) return options.kinds;
  traffic_kinds all;
  for (std::size_t i = 0; i < traffic_kind_count; ++i) static_cast<void>(all.push_back(static_cast<traffic_kind>(i)));
  return all;
}

// A failure when one of the kinds cannot be as small as the size asked for.
base::outcome check_size(const frame_options& options) {
  const std::uint32_t size = options.frame_size;
  if (size == 0) return base::done{};
  const std::string asked = "--size " + std::to_string(size);
  if (size < min_frame_size)
    return unusable(asked + ": an Ethernet frame has at least 60 bytes, not counting its FCS", "--size 60");
  if (size > max_frame_size)
    return unusable(asked + ": the largest frame is " + std::to_string(max_frame_size) + " bytes",
                    "--size " + std::to_string(max_frame_size));
  const traffic_kinds kinds = kinds_of(options);
  const base::ip_family family = options.ipv6 ? base::ip_family::v6 : base::ip_family::v4;
  std::uint32_t needed = 0;
  traffic_kind largest{};
  for (const traffic_kind kind : kinds) {
    if (smallest_frame(kind, family) <= needed) continue;
    needed = smallest_frame(kind, family);
    largest = kind;
  }
  if (size >= needed) return base::done{};
  return unusable(asked + ": the smallest " + std::string(to_string(largest)) + " frame over " +
                      (options.ipv6 ? "IPv6" : "IPv4") + " has " + std::to_string(needed) + " bytes",
                  "--size " + std::to_string(needed) + ", or a --traffic without " + std::string(to_string(largest)));
}

}  // namespace

std::string_view to_string(traffic_kind kind) noexcept { return names[static_cast<std::size_t>(kind)]; }

base::result<traffic_kinds> parse_traffic_kinds(std::string_view text) {
  traffic_kinds kinds;
  std::string_view left = text;
  for (bool more = true; more;) {
    const std::size_t comma = left.find(',');
    more = comma != std::string_view::npos;
    const std::string_view word = left.substr(0, comma);
    left.remove_prefix(more ? comma + 1 : left.size());
    const auto found = std::find(names.begin(), names.end(), word);
    if (found == names.end())
      return unusable("--traffic " + std::string(text) + ": there is no traffic '" + std::string(word) + "'",
                      "choose among quic, srmp, udp and tcp, separated by commas");
    if (!kinds.push_back(static_cast<traffic_kind>(found - names.begin())))
      return unusable("--traffic " + std::string(text) + ": more than 16 kinds", "name fewer");
  }
  return kinds;
}

std::uint32_t smallest_frame(traffic_kind kind, base::ip_family family) noexcept {
  const std::uint32_t network = 14 + (family == base::ip_family::v6 ? 40 : 20);
  std::uint32_t least = 0;
  switch (kind) {
    case traffic_kind::quic:
      least = 8 + 29;  // UDP; 1 + 8 + 4 + 16: RFC 9001 5.4.2 wants a 16-byte sample 4 bytes behind the number's start
      break;
    case traffic_kind::srmp:
      least = 8 + 4;
      break;
    case traffic_kind::udp:
      least = 8 + 1;
      break;
    case traffic_kind::tcp:
      least = 20;
      break;
  }
  return std::max(network + least, min_frame_size);
}

base::outcome check(const frame_options& options) {
  if (options.flows == 0 || options.flows > max_flows)
    return unusable(
        "--flows " + std::to_string(options.flows) + ": from 1 to " + std::to_string(max_flows) + " are possible", "");
  if (!options.ipv4 && !options.ipv6) return unusable("neither IPv4 nor IPv6 frames are wanted", "");
  if (options.domain.empty() || options.domain.size() > max_domain_size)
    return unusable("the domain of the generated names has 1 to " + std::to_string(max_domain_size) + " characters",
                    "");
  return check_size(options);
}

}  // namespace millrace::loadgen
