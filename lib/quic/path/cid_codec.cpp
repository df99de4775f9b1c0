// How it works. The 64 bits are two halves; each round xors one half with SipHash(key, round, other half) and swaps
// them. Whatever the round function, running the rounds backwards undoes them, so the whole is a permutation: distinct
// triples, distinct IDs. Four rounds of a random function pass as a random permutation for about 2^16 chosen inputs of
// 32-bit halves; six move that to about 2^32 (Patarin), more than a server issues under one key in years.
#include "quic/path/cid_codec.hpp"

#include <utility>

#include "base/endian.hpp"

namespace millrace::quic::path {
namespace {

constexpr std::uint8_t rounds = 6;

// Five bytes are one SipHash block: half and round number.
std::uint32_t mix(const crypto::siphash_key& key, std::uint8_t round, std::uint32_t half) noexcept {
  std::array<std::uint8_t, 5> in;
  base::store_be32(in.data(), half);
  in[4] = round;
  return static_cast<std::uint32_t>(crypto::siphash_2_4(key, in));
}

}  // namespace

cid_codec::cid_codec(std::span<const std::uint8_t, cid_key_size> key) noexcept
    : key_{base::load_le64(key.data()), base::load_le64(key.data() + 8)} {}

connection_id cid_codec::encode(const cid_fields& fields) const noexcept {
  MILLRACE_ASSERT(fields.serial <= max_cid_serial);
  const std::uint64_t plain = std::uint64_t{fields.owner.instance} << 56 | std::uint64_t{fields.owner.lcore} << 48 |
                              (fields.serial & max_cid_serial);
  auto left = static_cast<std::uint32_t>(plain >> 32);
  auto right = static_cast<std::uint32_t>(plain);
  for (std::uint8_t round = 0; round < rounds; ++round) left = std::exchange(right, left ^ mix(key_, round, right));
  connection_id out;
  out.size = local_cid_size;
  base::store_be32(out.octets.data(), left);
  base::store_be32(out.octets.data() + 4, right);
  return out;
}

std::optional<cid_fields> cid_codec::decode(base::byte_view cid) const noexcept {
  if (cid.size() != local_cid_size) return std::nullopt;
  std::uint32_t left = base::load_be32(cid.data());
  std::uint32_t right = base::load_be32(cid.data() + 4);
  for (std::uint8_t round = rounds; round-- != 0;) right = std::exchange(left, right ^ mix(key_, round, left));
  cid_fields out;
  out.owner = {static_cast<std::uint8_t>(left >> 24), static_cast<std::uint8_t>(left >> 16)};
  out.serial = std::uint64_t{left & 0xFFFF} << 32 | right;
  return out;
}

}  // namespace millrace::quic::path
