// inspect/cid_index.hpp - which connections use a connection ID, whatever addresses it travels between.
//
// Shape    add() enters an ID of a connection and who receives by it; for_each() visits the connections with exactly
//          this ID; a connection's IDs form a list, so that it takes them along when it goes.
// Why      a packet is found by its Destination Connection ID when its addresses are new (migration, NAT rebinding) and
//          when several connections share one 5-tuple. A short header does not say how long its ID is: lengths() has a
//          bit for each length in use, so that only those are tried.
// Limits   max_flows * cids_per_flow IDs in all, cids_per_connection of one connection. Two connections may hold the
//          same ID: clients choose at will, and may do so on purpose; at most max_same_cid are kept.
// Owner    memory is the carver's. Errors  add: false when a cap is reached; nothing changes. Threads  one.
// Source   RFC 9000 5.1 5.2. Tests  test/inspect/cid_index_test.cpp
#pragma once

#include "base/bytes.hpp"
#include "base/hash.hpp"
#include "inspect/hash_index.hpp"
#include "inspect/limits.hpp"

namespace millrace::inspect {

inline constexpr std::size_t cid_bytes = 20;     // RFC 9000 17.2
inline constexpr std::size_t min_cid_alone = 4;  // shorter IDs are too likely to be met by chance
inline constexpr unsigned max_same_cid = 4;

// A connection ID by value.
struct cid {
  std::array<std::uint8_t, cid_bytes> bytes{};
  std::uint8_t size = 0;
  bool too_long = false;  // it had more bytes than fit, and none is kept

  [[nodiscard]] base::byte_view view() const noexcept { return {bytes.data(), size}; }
  // IDs of unknown versions may have up to 255 bytes (RFC 8999 5.1).
  void assign(base::byte_view v) noexcept {
    too_long = v.size() > cid_bytes;
    size = too_long ? std::uint8_t{0} : static_cast<std::uint8_t>(v.size());
    if (size != 0) std::memcpy(bytes.data(), v.data(), size);
  }
  [[nodiscard]] bool equals(base::byte_view v) const noexcept {
    return !too_long && v.size() == size && (size == 0 || std::memcmp(v.data(), bytes.data(), size) == 0);
  }
};

enum class cid_owner : std::uint8_t { client, server };  // who receives packets by it

// The part of a connection that the index keeps: a list of its IDs.
struct cid_list {
  std::uint32_t first_and_1 = 0;  // 0: none
  std::uint32_t count = 0;
};

class cid_index {
 public:
  struct entry {
    cid id;
    cid_owner owner{};
    std::uint32_t connection = 0;
    std::uint32_t hash = 0;
    std::uint32_t next_and_1 = 0;  // of the same connection, or of the free list
  };

 private:
  std::span<entry> entries_;
  hash_index index_;
  std::uint64_t seed_ = 0;
  std::uint32_t untouched_ = 0;
  std::uint32_t free_and_1_ = 0;
  std::uint32_t in_use_ = 0;
  std::uint32_t per_connection_ = 0;
  std::array<std::uint32_t, cid_bytes + 1> of_length_{};
  std::uint32_t lengths_ = 0;

  void give(std::uint32_t number) noexcept;
  [[nodiscard]] std::uint32_t hash(base::byte_view id) const noexcept {
    return static_cast<std::uint32_t>(base::hash_bytes(id, seed_));
  }

 public:
  cid_index() noexcept = default;
  cid_index(carver& memory, const limits& l, std::uint64_t seed) noexcept;

  // Enters `id` (1..20 bytes). An ID the connection already has counts as entered.
  [[nodiscard]] bool add(std::uint32_t connection, cid_list& list, cid_owner owner, base::byte_view id) noexcept;
  // The same for one more ID that its owner announced: when the connection has as many as it may, the owner's oldest
  // gives way.
  [[nodiscard]] bool add_issued(std::uint32_t connection, cid_list& list, cid_owner owner, base::byte_view id) noexcept;
  void remove_all(cid_list& list) noexcept;

  // visit(const entry&) -> bool: true ends the walk. Answers whether one did. There are at most max_same_cid.
  template <class Visit>
  bool for_each(base::byte_view id, Visit visit) const noexcept {
    if (id.empty() || id.size() > cid_bytes) return false;
    return index_.find(hash(id), [&](std::uint32_t n) { return entries_[n].id.equals(id) && visit(entries_[n]); }) !=
           nil;
  }
  // visit(const entry&) for each ID of one connection.
  template <class Visit>
  void for_each_of(const cid_list& list, Visit visit) const noexcept {
    for (std::uint32_t n = list.first_and_1; n != 0; n = entries_[n - 1].next_and_1) visit(entries_[n - 1]);
  }

  [[nodiscard]] std::uint32_t lengths() const noexcept { return lengths_; }  // bit n: an ID of n bytes is known
  [[nodiscard]] std::uint32_t in_use() const noexcept { return in_use_; }
  [[nodiscard]] std::uint32_t high_water() const noexcept { return untouched_; }  // the most in use at one time
  [[nodiscard]] std::uint32_t capacity() const noexcept { return static_cast<std::uint32_t>(entries_.size()); }
};

}  // namespace millrace::inspect
