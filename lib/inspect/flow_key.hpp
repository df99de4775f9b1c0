// inspect/flow_key.hpp - a 5-tuple that is the same in both directions.
//
// Shape    the lower endpoint stands first; `from_low` of make_flow_key() says who sent the packet at hand.
// Units    addresses in network order, ports in host order. All bytes count: equality is a comparison of 40 bytes.
// Owner    a value. Tests  test/inspect/flow_key_test.cpp
#pragma once

#include <array>
#include <cstring>

#include "base/hash.hpp"
#include "base/ip_address.hpp"

namespace millrace::inspect {

struct flow_key {
  std::array<std::uint8_t, 16> low_address{};
  std::array<std::uint8_t, 16> high_address{};
  std::uint16_t low_port = 0;
  std::uint16_t high_port = 0;
  std::uint8_t protocol = 0;  // IP protocol number
  base::ip_family family = base::ip_family::none;
  std::array<std::uint8_t, 2> zero{};

  [[nodiscard]] base::endpoint low() const noexcept { return {{low_address, family}, low_port}; }
  [[nodiscard]] base::endpoint high() const noexcept { return {{high_address, family}, high_port}; }

  friend bool operator==(const flow_key& a, const flow_key& b) noexcept { return std::memcmp(&a, &b, sizeof a) == 0; }
};
static_assert(sizeof(flow_key) == 40, "no padding: equality and hash take the bytes");

struct directed_key {
  flow_key key;
  bool from_low = false;  // the packet's source is the key's low end
};

[[nodiscard]] inline directed_key make_flow_key(const base::endpoint& src, const base::endpoint& dst,
                                                std::uint8_t protocol) noexcept {
  const auto rank = [](const base::endpoint& e) {
    struct {
      std::uint64_t high;
      std::uint64_t low;
    } r{base::load_be64(e.address.octets.data()), base::load_be64(e.address.octets.data() + 8)};
    return r;
  };
  const auto s = rank(src);
  const auto d = rank(dst);
  directed_key out;
  out.from_low = s.high != d.high ? s.high < d.high : s.low != d.low ? s.low < d.low : src.port <= dst.port;
  const base::endpoint& low = out.from_low ? src : dst;
  const base::endpoint& high = out.from_low ? dst : src;
  out.key.low_address = low.address.octets;
  out.key.high_address = high.address.octets;
  out.key.low_port = low.port;
  out.key.high_port = high.port;
  out.key.protocol = protocol;
  out.key.family = src.address.family;
  return out;
}

[[nodiscard]] inline std::uint32_t hash_of(const flow_key& key, std::uint64_t seed) noexcept {
  const auto* p = reinterpret_cast<const std::uint8_t*>(&key);
  const std::uint64_t tail = base::load_le64(p + 32);  // ports, protocol, family
  if (key.family == base::ip_family::v4) {             // half the multiplications: bytes 4..15 of an address are zero
    const std::uint64_t pair = std::uint64_t{base::load_le32(p)} << 32 | base::load_le32(p + 16);
    return static_cast<std::uint32_t>(
        base::hash_mix(base::hash_mix(pair ^ seed, 0x9E37'79B9'7F4A'7C15) ^ tail, 0xD1B5'4A32'D192'ED03));
  }
  return static_cast<std::uint32_t>(base::hash_bytes({p, sizeof key}, seed));
}

}  // namespace millrace::inspect
