// buf/mbuf_source.hpp - where a chain or pipe gets an mbuf from, whatever pool that is.
//
// Shape    a pool and two calls of it; made implicitly from any pool that has alloc(), alloc_bulk() and says its data
//          room (mem::packet_pool, buf::block_pool, a test's own). The indirect call is paid once a block, not once a
//          byte.
// Owner    nothing: the pool outlives it. Whoever allocates owns the mbuf.
// Errors   alloc(): nullptr; alloc_bulk(): false and no mbuf; both always, when made from nothing.
// Threads  those of the pool.
// Tests    test/buf/chain_test.cpp
#pragma once

#include <rte_mbuf.h>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace millrace::buf {

template <class Pool>
concept mbuf_pool = requires(Pool& pool, rte_mbuf** out) {
  { pool.alloc() } -> std::same_as<rte_mbuf*>;
  { pool.alloc_bulk(out, 1U) } -> std::same_as<bool>;
};

class mbuf_source {
  void* pool_ = nullptr;
  rte_mbuf* (*alloc_)(void* pool) noexcept = [](void*) noexcept -> rte_mbuf* { return nullptr; };
  bool (*alloc_bulk_)(void* pool, rte_mbuf** out, unsigned count) noexcept = [](void*, rte_mbuf**, unsigned) noexcept {
    return false;
  };
  std::uint16_t data_room_ = 0;

 public:
  mbuf_source() noexcept = default;
  template <mbuf_pool Pool>
  mbuf_source(Pool& pool) noexcept
      : pool_(&pool),
        alloc_([](void* from) noexcept { return static_cast<Pool*>(from)->alloc(); }),
        alloc_bulk_([](void* from, rte_mbuf** out, unsigned count) noexcept {
          return static_cast<Pool*>(from)->alloc_bulk(out, count);
        }),
        data_room_([&pool] {
          if constexpr (requires { pool.data_room(); })
            return pool.data_room();
          else
            return pool.block_bytes();
        }()) {}
  template <mbuf_pool Pool>
  mbuf_source(Pool* pool) noexcept : mbuf_source(pool == nullptr ? mbuf_source{} : mbuf_source{*pool}) {}
  mbuf_source(std::nullptr_t) noexcept {}

  [[nodiscard]] rte_mbuf* alloc() const noexcept { return alloc_(pool_); }
  // `count` reset mbufs, or none.
  [[nodiscard]] bool alloc_bulk(rte_mbuf** out, unsigned count) const noexcept {
    return alloc_bulk_(pool_, out, count);
  }
  // Payload bytes of one mbuf; 0 when there is no pool.
  [[nodiscard]] std::uint16_t data_room() const noexcept { return data_room_; }
};

}  // namespace millrace::buf
