// quic/path/cid_codec.hpp - our own connection IDs: eight bytes that only we can read.
//
// Shape    {instance, lcore, serial} under a keyed permutation of 64 bits: six Feistel rounds whose function is
//          SipHash. Two different triples never give the same ID, so no table of used ones is needed; and nobody
//          without the key can tell two IDs of one connection from those of two (RFC 9000 5.1, 9.5: unlinkable).
//          Who holds the key tells from any ID which instance and lcore own it: a load balancer, or the lcore a NIC
//          gave a stranger's packet.
// Limits   serial: 48 bits, counted by whoever owns {instance, lcore}, never again from a value used before under the
//          same key. Instances that share a key have different numbers.
// Errors   decode() reads any eight bytes. An ID that is not ours (a client's first, random one) decodes to an
//          arbitrary owner: whether that owner knows the ID is its table's business. Sizes other than eight are
//          nullopt.
// Cost     six SipHash blocks, 150 to 200 ns: for packets whose ID the own table does not know, not for each one.
// Source   RFC 9000 5.1; Patarin, Security of random Feistel schemes with 5 or more rounds.
// Tests    test/quic/path/cid_codec_test.cpp
#pragma once

#include <optional>

#include "crypto/siphash.hpp"
#include "quic/path/connection_id.hpp"

namespace millrace::quic::path {

inline constexpr std::size_t local_cid_size = 8;
inline constexpr std::size_t cid_key_size = 16;
inline constexpr std::uint64_t max_cid_serial = (std::uint64_t{1} << 48) - 1;

struct cid_owner {
  std::uint8_t instance = 0;
  std::uint8_t lcore = 0;
  friend constexpr bool operator==(const cid_owner&, const cid_owner&) noexcept = default;
};
struct cid_fields {
  cid_owner owner;
  std::uint64_t serial = 0;  // at most max_cid_serial
  friend constexpr bool operator==(const cid_fields&, const cid_fields&) noexcept = default;
};

class cid_codec {
  crypto::siphash_key key_{};

 public:
  // key: cid_key_size bytes, random at start or from the configuration; independent of every other key.
  explicit cid_codec(std::span<const std::uint8_t, cid_key_size> key) noexcept;

  // Bits of the serial above 48 are ignored (and assert).
  [[nodiscard]] connection_id encode(const cid_fields& fields) const noexcept;
  [[nodiscard]] std::optional<cid_fields> decode(base::byte_view cid) const noexcept;
};

}  // namespace millrace::quic::path
