// inspect/flow_table.hpp - what is known of each 5-tuple: counters, the kind of protocol, the QUIC connection it
// carries.
//
// Shape    find() by key; take() makes one when there is room; the analyzer reports and gives back what has expired or
//          must give way (aged_pool.hpp has the order).
// Units    bytes are frames on the wire; times are nanoseconds as the capture tells them.
// Owner    memory is the carver's; a flow& lives until give().
// Errors   find and take: nullptr. Limits  limits::max_flows. Threads  one.
// Tests    test/inspect/flow_table_test.cpp
#pragma once

#include "inspect/flow_key.hpp"
#include "inspect/hash_index.hpp"
#include "inspect/limits.hpp"

namespace millrace::inspect {

enum class flow_kind : std::uint8_t { udp, tcp, srmp };

struct flow {
  age aging;
  flow_key key;
  std::uint32_t hash = 0;
  flow_kind kind = flow_kind::udp;
  bool opened_by_low = false;  // the key's low end sent the first packet (TCP: the SYN, once seen)
  bool opener_known = false;   // TCP: a SYN without ACK was seen
  bool heard_low = false;
  bool heard_high = false;
  record_ref connection;  // the newest QUIC connection on this 5-tuple
  record_ref decrypted;   // the last one with secrets that another came after
  std::uint64_t first_ns = 0;
  std::uint64_t last_ns = 0;
  std::uint64_t packets = 0;  // those no QUIC connection counts
  std::uint64_t bytes = 0;
  std::uint64_t messages = 0;  // SRMP frames
};
static_assert(sizeof(flow) <= 192, "three cache lines: a packet of a known flow touches two");

class flow_table {
  aged_pool<flow> pool_;
  hash_index index_;
  std::uint64_t seed_ = 0;

 public:
  flow_table() noexcept = default;
  flow_table(carver& memory, const limits& l, std::uint64_t seed) noexcept
      : pool_(memory, l.max_flows, l.idle_ns), index_(memory, l.max_flows), seed_(seed) {}

  [[nodiscard]] std::uint32_t hash(const flow_key& key) const noexcept { return hash_of(key, seed_); }
  [[nodiscard]] flow* find(const flow_key& key, std::uint32_t hash) noexcept {
    const std::uint32_t i = index_.find(hash, [&](std::uint32_t n) { return pool_.at(n).key == key; });
    return i == nil ? nullptr : &pool_.at(i);
  }
  // A new flow, entered under its key; nullptr when the pool is full.
  [[nodiscard]] flow* take(const flow_key& key, std::uint32_t hash, std::uint64_t now) noexcept {
    flow* f = pool_.take(now);
    if (f == nullptr) return nullptr;
    f->key = key;
    f->hash = hash;
    index_.insert(hash, pool_.index_of(*f));
    return f;
  }
  void give(flow& f) noexcept {
    index_.erase(f.hash, pool_.index_of(f));
    pool_.give(f);
  }
  [[nodiscard]] aged_pool<flow>& pool() noexcept { return pool_; }
  [[nodiscard]] const aged_pool<flow>& pool() const noexcept { return pool_; }
};

}  // namespace millrace::inspect
