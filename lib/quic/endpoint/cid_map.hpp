// quic/endpoint/cid_map.hpp - from connection IDs to connections: ours, eight bytes; and those that clients made up.
//
// Shape    two tables. Ours are random to the eye (path/cid_codec.hpp), so their own bytes are the hash, and a client
//          cannot choose them. A client's first destination is its own choice: those stand in a table of their own
//          under a seeded hash, one a handshake, and go when it is confirmed.
// Limits   as made; add(): false when full.
// Owner    nothing; records are numbers of the caller's. Threads  one lcore.
// Source   RFC 9000 5.2. Tests  test/quic/sim/
#pragma once

#include <cstring>

#include "base/fetch_ahead.hpp"
#include "base/hash_index.hpp"
#include "crypto/constant_time.hpp"
#include "crypto/siphash.hpp"
#include "mem/region.hpp"
#include "quic/path/connection_id.hpp"
#include "quic/wire/stateless_reset.hpp"

namespace millrace::quic::endpoint {

template <class Key>
class cid_table {
  struct entry {
    Key key;
    void* value;
    std::uint32_t next_free;
  };
  mem::region memory_, slots_;
  std::span<entry> entries_;
  base::hash_index index_;
  std::uint32_t capacity_;
  std::uint32_t fresh_ = 0;
  std::uint32_t free_ = base::no_record;
  std::uint32_t used_ = 0;

 public:
  static constexpr std::size_t entry_bytes = sizeof(entry);

  explicit cid_table(std::uint32_t capacity, int socket = mem::any_socket) noexcept
      : memory_(mem::region::make_array<entry>("quic_cids", capacity, socket)),
        slots_(mem::region::make_array<base::hash_index::slot>("quic_cid_index", base::hash_index::slots_for(capacity),
                                                               socket)),
        entries_(memory_.array<entry>()),
        index_(slots_.array<base::hash_index::slot>()),
        capacity_(memory_ && slots_ ? capacity : 0) {}

  [[nodiscard]] void* find(std::uint32_t hash, const Key& key) const noexcept {
    if (capacity_ == 0) return nullptr;
    const std::uint32_t n = index_.find(hash, [&](std::uint32_t i) { return entries_[i].key == key; });
    return n == base::no_record ? nullptr : entries_[n].value;
  }
  // Into the cache, one after the other: where a look-up begins, and what it then reads.
  void fetch_slot_ahead(std::uint32_t hash) const noexcept {
    if (capacity_ != 0) index_.fetch_ahead(hash);
  }
  void fetch_entry_ahead(std::uint32_t hash) const noexcept {
    if (capacity_ == 0) return;
    if (const std::uint32_t n = index_.guess(hash); n != base::no_record)
      base::fetch_ahead(&entries_[n], sizeof(entry));
  }
  [[nodiscard]] bool add(std::uint32_t hash, const Key& key, void* value) noexcept {
    std::uint32_t n = free_;
    if (n != base::no_record)
      free_ = entries_[n].next_free;
    else if (fresh_ < capacity_)
      n = fresh_++;
    else
      return false;
    entries_[n] = {key, value, base::no_record};
    index_.insert(hash, n);
    ++used_;
    return true;
  }
  void remove(std::uint32_t hash, const Key& key) noexcept {
    if (capacity_ == 0) return;
    free(hash, index_.find(hash, [&](std::uint32_t i) { return entries_[i].key == key; }));
  }
  // Of several entries with the same key, the one with this value.
  void remove(std::uint32_t hash, const Key& key, const void* value) noexcept {
    if (capacity_ == 0) return;
    free(hash,
         index_.find(hash, [&](std::uint32_t i) { return entries_[i].value == value && entries_[i].key == key; }));
  }
  // Each value, once an entry. `call` changes nothing in the table.
  template <class Call>
  void for_each(Call&& call) const noexcept {
    for (std::uint32_t i = 0; i < fresh_; ++i)
      if (entries_[i].value != nullptr) call(entries_[i].value);
  }
  [[nodiscard]] std::uint32_t size() const noexcept { return used_; }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }

 private:
  void free(std::uint32_t hash, std::uint32_t n) noexcept {
    if (n == base::no_record) return;
    index_.erase(hash, n);
    entries_[n].value = nullptr;
    entries_[n].next_free = free_;
    free_ = n;
    --used_;
  }
};

// A peer's stateless reset token, compared in a time that does not depend on how much of it is right (RFC 9000 10.3.1).
struct reset_token {
  wire::stateless_reset_token_value bytes{};
  friend bool operator==(const reset_token& a, const reset_token& b) noexcept {
    return crypto::equal_secret(a.bytes, b.bytes);
  }
};

class cid_map {
  cid_table<std::uint64_t> ours_;
  cid_table<path::connection_id> strange_;
  cid_table<reset_token> tokens_;
  crypto::siphash_key key_;

  [[nodiscard]] static std::uint64_t word(base::byte_view eight) noexcept {
    std::uint64_t w;
    std::memcpy(&w, eight.data(), sizeof(w));
    return w;
  }
  [[nodiscard]] static std::uint32_t hash(std::uint64_t w) noexcept {
    return static_cast<std::uint32_t>(w ^ (w >> 32));
  }
  [[nodiscard]] std::uint32_t seeded(base::byte_view cid) const noexcept {
    return static_cast<std::uint32_t>(crypto::siphash_2_4(key_, cid));
  }

 public:
  // Of peers' tokens, for the paths in use: a connection has one path nearly always. What finds no place is not
  // recognised, and its connection falls silent instead.
  static constexpr std::uint32_t tokens_each = 2;

  cid_map(std::uint32_t connections, std::uint32_t ids_each, const crypto::siphash_key& key,
          int socket = mem::any_socket) noexcept
      : ours_(connections * ids_each, socket),
        strange_(connections, socket),
        tokens_(connections * tokens_each, socket),
        key_(key) {}

  // Of one of ours, with its slots in an index that is half full.
  static constexpr std::size_t bytes_each = cid_table<std::uint64_t>::entry_bytes + 2 * sizeof(base::hash_index::slot);

  // `eight`: exactly 8 bytes.
  [[nodiscard]] void* find_ours(base::byte_view eight) const noexcept {
    const std::uint64_t w = word(eight);
    return ours_.find(hash(w), w);
  }
  void fetch_slot_ahead(base::byte_view eight) const noexcept { ours_.fetch_slot_ahead(hash(word(eight))); }
  void fetch_entry_ahead(base::byte_view eight) const noexcept { ours_.fetch_entry_ahead(hash(word(eight))); }
  [[nodiscard]] bool add_ours(base::byte_view eight, void* connection) noexcept {
    const std::uint64_t w = word(eight);
    return ours_.add(hash(w), w, connection);
  }
  void remove_ours(base::byte_view eight) noexcept {
    const std::uint64_t w = word(eight);
    ours_.remove(hash(w), w);
  }
  [[nodiscard]] void* find_strange(base::byte_view cid) const noexcept {
    return cid.size() > wire::max_cid_size ? nullptr : strange_.find(seeded(cid), path::connection_id::of(cid));
  }
  [[nodiscard]] bool add_strange(const path::connection_id& cid, void* connection) noexcept {
    return strange_.add(seeded(cid.view()), cid, connection);
  }
  void remove_strange(const path::connection_id& cid) noexcept { strange_.remove(seeded(cid.view()), cid); }

  // Stateless reset tokens that peers have given; hashed with the key, so that the time of a look-up says nothing.
  [[nodiscard]] void* find_token(base::byte_view sixteen) const noexcept {
    reset_token t;
    std::copy_n(sixteen.begin(), t.bytes.size(), t.bytes.begin());
    return tokens_.find(seeded(t.bytes), t);
  }
  [[nodiscard]] bool add_token(const wire::stateless_reset_token_value& token, void* connection) noexcept {
    return tokens_.add(seeded(token), {token}, connection);
  }
  void remove_token(const wire::stateless_reset_token_value& token, const void* connection) noexcept {
    tokens_.remove(seeded(token), {token}, connection);
  }

  template <class Call>
  void for_each_ours(Call&& call) const noexcept {
    ours_.for_each(call);
  }

  [[nodiscard]] bool is_made() const noexcept {
    return ours_.capacity() != 0 && strange_.capacity() != 0 && tokens_.capacity() != 0;
  }
  [[nodiscard]] std::uint32_t ours() const noexcept { return ours_.size(); }
  [[nodiscard]] std::uint32_t strange() const noexcept { return strange_.size(); }
  [[nodiscard]] std::uint32_t tokens() const noexcept { return tokens_.size(); }
};

}  // namespace millrace::quic::endpoint
