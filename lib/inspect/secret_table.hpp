// inspect/secret_table.hpp - the traffic secrets that key logs gave, found by a ClientHello's random.
//
// Shape    add() enters one secret; find() answers all that are known of one handshake. Nothing is ever forgotten: a
//          key log may come long before, or in a capture in the midst of, what it opens.
// Owner    memory is the carver's; a pointer from find() stays until wipe().
// Limits   limits::max_secrets handshakes; five secrets of each.
// Errors   add(): `no_room` when a new handshake finds the table full, and nothing changes.
// Threads  one. Tests  test/inspect/secret_table_test.cpp
#pragma once

#include "base/hash.hpp"
#include "crypto/wiped.hpp"
#include "inspect/hash_index.hpp"
#include "inspect/limits.hpp"
#include "tls/wire/key_log_line.hpp"

namespace millrace::inspect {

struct handshake_secrets {
  std::array<std::uint8_t, tls::wire::client_random_bytes> random;
  std::array<std::array<std::uint8_t, tls::wire::max_secret_bytes>, tls::wire::traffic_label_count> bytes;
  std::array<std::uint8_t, tls::wire::traffic_label_count> sizes;  // 0: not known

  [[nodiscard]] base::byte_view view(tls::wire::traffic_label label) const noexcept {
    const auto i = static_cast<std::size_t>(label);
    return {bytes[i].data(), sizes[i]};
  }
};

class secret_table {
  std::span<handshake_secrets> records_;
  hash_index index_;
  std::uint64_t seed_ = 0;
  std::uint32_t in_use_ = 0;
  std::uint32_t generation_ = 0;

  [[nodiscard]] std::uint32_t find_number(base::byte_view random, std::uint32_t hash) const noexcept {
    return index_.find(hash, [&](std::uint32_t n) {
      return std::memcmp(records_[n].random.data(), random.data(), tls::wire::client_random_bytes) == 0;
    });
  }
  [[nodiscard]] std::uint32_t hash(base::byte_view random) const noexcept {
    return static_cast<std::uint32_t>(base::hash_bytes(random, seed_));
  }

 public:
  enum class added : std::uint8_t { ok, repeated, no_room };

  secret_table() noexcept = default;
  secret_table(carver& memory, const limits& l, std::uint64_t seed) noexcept
      : records_(memory.take<handshake_secrets>(std::min(l.max_secrets, max_records))),
        index_(memory, std::min(l.max_secrets, max_records)),
        seed_(seed) {}

  // `repeated`: this secret of this handshake was there; the later one stays.
  added add(const tls::wire::key_log_line& line) noexcept;
  // `random`: 32 bytes. nullptr: nothing is known of this handshake.
  [[nodiscard]] const handshake_secrets* find(base::byte_view random) const noexcept {
    if (in_use_ == 0) return nullptr;
    const std::uint32_t i = find_number(random, hash(random));
    return i == nil ? nullptr : &records_[i];
  }
  // Clears every secret from memory. The table is of no use afterwards.
  void wipe() noexcept;

  // Changes with each secret: what was not found under an older one may be there now. 0: the table is empty.
  [[nodiscard]] std::uint32_t generation() const noexcept { return generation_; }
  [[nodiscard]] std::uint32_t in_use() const noexcept { return in_use_; }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return static_cast<std::uint32_t>(records_.size()); }
};

}  // namespace millrace::inspect
