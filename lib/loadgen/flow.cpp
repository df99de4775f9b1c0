#include "loadgen/flow.hpp"

#include <charconv>
#include <cstring>

#include "loadgen/seeded_bytes.hpp"

namespace millrace::loadgen {
namespace {

enum : std::uint64_t { for_ports = 1, for_quic = 2 };  // what seeded numbers are for

constexpr std::uint32_t hosts = 65534;       // client addresses a family: no .0.0 and no .255.255
constexpr std::uint32_t servers = 16;        // server addresses a family
constexpr std::uint32_t lowest_port = 1024;  // clients' ports are above the well-known ones
constexpr std::uint32_t ports = 60000;
static_assert(std::uint64_t{hosts} * ports >= max_flows, "every flow finds an address and port of its own");

base::ip_address address(base::ip_family family, bool server, std::uint32_t host) noexcept {
  const auto high = static_cast<std::uint8_t>(host >> 8);
  const auto low = static_cast<std::uint8_t>(host);
  if (family == base::ip_family::v4) {
    const std::array<std::uint8_t, 4> v4 = {198, static_cast<std::uint8_t>(server ? 19 : 18), high, low};
    return base::ip_address::v4(v4);
  }
  std::array<std::uint8_t, 16> v6 = {0x20, 0x01, 0x0D, 0xB8, 0x00, static_cast<std::uint8_t>(server ? 0x19 : 0x18)};
  v6[14] = high;
  v6[15] = low;
  return base::ip_address::v6(v6);
}

std::uint16_t server_port(const frame_options& options, traffic_kind kind) noexcept {
  switch (kind) {
    case traffic_kind::quic:
      return quic_port;
    case traffic_kind::srmp:
      return options.srmp_port;
    case traffic_kind::udp:
    case traffic_kind::tcp:
      return discard_port;
  }
  return discard_port;
}

}  // namespace

flow make_flow(const frame_options& options, const traffic_kinds& kinds, std::uint32_t number) noexcept {
  const auto kind_count = static_cast<std::uint32_t>(kinds.size());
  flow f;
  f.number = number;
  f.kind = kinds[number % kind_count];
  const bool v6 = !options.ipv4 || (options.ipv6 && number / kind_count % 2 == 1);
  f.family = v6 ? base::ip_family::v6 : base::ip_family::v4;
  // Addresses are dealt out in order, each with a first port of its own; when they are used up, the next round takes
  // the next port.
  const std::uint32_t host = 1 + number % hosts;
  seeded_bytes random(options.seed, for_ports, host);
  const std::uint32_t port = lowest_port + (random.below(ports) + number / hosts) % ports;
  f.client = {address(f.family, false, host), static_cast<std::uint16_t>(port)};
  f.server = {address(f.family, true, 1 + number / kind_count % servers), server_port(options, f.kind)};
  return f;
}

quic_flow make_quic_flow(std::uint64_t seed, std::uint32_t number) noexcept {
  seeded_bytes random(seed, for_quic, number);
  quic_flow f;
  f.version = number % 8 == 7 ? quic::wire::version_2 : quic::wire::version_1;
  f.original_dcid = random.array<quic_cid_size>();
  f.client_cid = random.array<quic_cid_size>();
  f.server_cid = random.array<quic_cid_size>();
  // The number within keeps the IDs of different flows apart, whatever the seed; the rest stays random.
  for (quic_cid* cid : {&f.original_dcid, &f.client_cid, &f.server_cid}) base::store_be24(cid->data() + 1, number);
  return f;
}

std::string_view server_name(std::string_view domain, std::uint32_t number, name_buffer& out) noexcept {
  constexpr std::string_view prefix = "flow-";
  std::memcpy(out.data(), prefix.data(), prefix.size());
  char* at = std::to_chars(out.data() + prefix.size(), out.data() + out.size(), number).ptr;
  *at++ = '.';
  const std::size_t take = std::min(domain.size(), static_cast<std::size_t>(out.data() + out.size() - at));
  std::memcpy(at, domain.data(), take);
  return {out.data(), static_cast<std::size_t>(at - out.data()) + take};
}

}  // namespace millrace::loadgen
