// quic/conn/traffic_keys.hpp - the 1-RTT keys of connections: 5 KiB for one that is busy, 250 bytes for one that rests.
//
// Shape    a connection has a one_rtt_keys, which is awake (its schedules lie in a block of the lcore's key_store) or
//          rests (secrets and counts, in the connection itself). awake() makes them of the secrets again, in some 5 us,
//          when the first packet comes or goes. The store lets those rest that were not used for a while
//          (rest_unused), and, when a block is wanted and all are lent, the one of those it looks at that was used
//          longest ago.
// Units    ns of the connections' clock.
// Owner    a one_rtt_keys has its block until it rests or is release()d, before the store ends. What lies in a block or
//          in a connection is cleared when it is left.
// Limits   the store's blocks. Resting drops the keys of the phase before: packets still under way under them are lost.
// Errors   nullptr: all blocks are lent to connections whose handshake is under way.
// Threads  one lcore. Source  RFC 9001 5.1, 6.1, 6.5. Tests  test/quic/sim/resting_test.cpp
#pragma once

#include "base/fetch_ahead.hpp"
#include "crypto/wiped.hpp"
#include "mem/object_pool.hpp"
#include "quic/protect/receive_keys.hpp"
#include "quic/protect/send_keys.hpp"

namespace millrace::quic::conn {

class one_rtt_keys;

struct traffic_keys {
  std::uint64_t used_ns = 0;
  one_rtt_keys* owner = nullptr;
  traffic_keys *next = nullptr, *before = nullptr;  // a ring of all that are lent
  crypto::wiped<protect::receive_keys> read;
  crypto::wiped<protect::send_keys> write;

  // For a packet that comes, of so many bytes, and one of like size that goes.
  void fetch_ahead(std::size_t packet_bytes) const noexcept {
    base::fetch_ahead(this, sizeof(used_ns));
    read->fetch_ahead(packet_bytes);
    write->fetch_ahead(packet_bytes);
  }
};

class key_store {
  mem::object_pool<traffic_keys> blocks_;
  traffic_keys* hand_ = nullptr;  // looks around the ring
  std::uint64_t rested_ = 0;      // ever

 public:
  explicit key_store(mem::object_pool<traffic_keys> blocks) noexcept : blocks_(std::move(blocks)) {}

  [[nodiscard]] traffic_keys* get(one_rtt_keys& owner) noexcept;
  void give(traffic_keys* block) noexcept;
  // Looks at up to `most` of them, where the last call ended; those unused since `below_ns` rest.
  void rest_unused(std::uint64_t below_ns, unsigned most) noexcept;

  [[nodiscard]] std::uint32_t in_use() const noexcept { return blocks_.in_use(); }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return blocks_.capacity(); }
  [[nodiscard]] std::uint32_t slot_bytes() const noexcept { return blocks_.slot_bytes(); }
  [[nodiscard]] bool is_whole() noexcept { return blocks_.is_whole(); }
  [[nodiscard]] std::uint64_t rested() const noexcept { return rested_; }

 private:
  void rest(traffic_keys& block) noexcept;
};

class one_rtt_keys {
  struct resting {
    protect::resting_receive_keys read;
    protect::resting_send_keys write;
  };
  traffic_keys* block_ = nullptr;
  bool can_read_ = false;
  bool can_write_ = false;
  bool rests_ = false;
  crypto::wiped<resting> resting_;

 public:
  one_rtt_keys() noexcept = default;
  one_rtt_keys(const one_rtt_keys&) = delete;
  one_rtt_keys& operator=(const one_rtt_keys&) = delete;

  [[nodiscard]] bool can_read() const noexcept { return can_read_; }
  [[nodiscard]] bool can_write() const noexcept { return can_write_; }
  [[nodiscard]] bool is_resting() const noexcept { return rests_; }
  [[nodiscard]] std::uint32_t updates() const noexcept {  // of what we send
    return block_ != nullptr ? block_->write->updates() : rests_ ? resting_->write.updates : 0;
  }

  // TLS hands out one direction. False: no block, or a secret that fits nothing.
  [[nodiscard]] bool install(key_store& store, crypto::engine& engine, const protect::key_context& context,
                             const protect::traffic_secret& secret, bool reads) noexcept;
  // Ready to be used until the next call for another connection; nullptr: they were never installed, or no block.
  [[nodiscard]] traffic_keys* awake(key_store& store, crypto::engine& engine, std::uint64_t now_ns) noexcept {
    if (block_ == nullptr && !wake(store, engine)) [[unlikely]]
      return nullptr;
    block_->used_ns = now_ns;
    return block_;
  }
  [[nodiscard]] traffic_keys* if_awake() noexcept { return block_; }
  void release(key_store& store) noexcept;
  [[nodiscard]] const void* resting_part() const noexcept { return &resting_; }  // not looked at while awake
  // Into the cache, if awake: the keys of the phase that is read, and those that are sent with.
  void fetch_ahead(std::size_t packet_bytes) const noexcept {
    if (block_ != nullptr) block_->fetch_ahead(packet_bytes);
  }

 private:
  friend class key_store;
  [[nodiscard]] bool wake(key_store& store, crypto::engine& engine) noexcept;
  [[nodiscard]] bool may_rest() const noexcept { return can_read_ && can_write_; }
};

}  // namespace millrace::quic::conn
