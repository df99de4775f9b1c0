// quic/conn/stream_store.hpp - all streams of the connections of one lcore, found by connection and number.
//
// Shape    a table made at start and an index; a stream's number in it fits a sent_token. Streams that were found last
//          are remembered by their connections, so that the index is asked once a burst rather than once a frame.
// Limits   `capacity` streams; open() answers nullptr beyond that.
// Owner    the store. Streams give back what they hold to the piece store before close().
// Threads  one lcore. Tests  test/quic/conn/stream_store_test.cpp
#pragma once

#include <new>

#include "base/hash_index.hpp"
#include "mem/region.hpp"
#include "quic/conn/live_stream.hpp"
#include "stats/drop_counters.hpp"

namespace millrace::quic::conn {

class stream_store {
  struct alignas(64) place {
    std::byte bytes[sizeof(live_stream)];
  };
  static_assert(alignof(live_stream) <= 64);

  mem::region memory_, slots_;
  mem::region free_memory_;
  std::span<std::uint32_t> free_;  // numbers of closed ones, a stack
  base::hash_index index_;
  std::uint64_t seed_;
  std::uint32_t capacity_ = 0;
  std::uint32_t fresh_ = 0;
  std::uint32_t freed_ = 0;
  stats::counter open_;

  [[nodiscard]] live_stream* at(std::uint32_t number) noexcept {
    return std::launder(reinterpret_cast<live_stream*>(memory_.data() + std::size_t{number} * sizeof(place)));
  }
  [[nodiscard]] std::uint32_t hash(const connection* owner, std::uint64_t id) const noexcept {
    std::uint64_t h = (reinterpret_cast<std::uintptr_t>(owner) ^ seed_) * 0x9e3779b97f4a7c15;
    h = (h ^ (h >> 32) ^ id) * 0xbf58476d1ce4e5b9;
    return static_cast<std::uint32_t>(h >> 32);
  }

 public:
  // Set-up code. capacity() 0 when there is no memory. `seed`: random.
  stream_store(std::uint32_t capacity, std::uint64_t seed, int socket = mem::any_socket) noexcept
      : memory_(mem::region::make("quic_streams", std::size_t{capacity} * sizeof(place), 64, socket)),
        slots_(mem::region::make_array<base::hash_index::slot>("quic_stream_index",
                                                               base::hash_index::slots_for(capacity), socket)),
        free_memory_(mem::region::make_array<std::uint32_t>("quic_stream_free", capacity, socket)),
        free_(free_memory_.array<std::uint32_t>()),
        index_(slots_.array<base::hash_index::slot>()),
        seed_(seed),
        capacity_(memory_ && slots_ && free_memory_ ? capacity : 0) {}
  stream_store(const stream_store&) = delete;
  stream_store& operator=(const stream_store&) = delete;

  // nullptr: all are in use.
  [[nodiscard]] live_stream* open(connection& owner, stream::stream_id id, const stream_limits& limits) noexcept {
    std::uint32_t number;
    if (freed_ != 0)
      number = free_[--freed_];
    else if (fresh_ < capacity_)
      number = fresh_++;
    else
      return nullptr;
    open_.add(1);
    auto* s = ::new (memory_.data() + std::size_t{number} * sizeof(place)) live_stream(id, owner, limits);
    s->number = number;
    index_.insert(hash(&owner, id.value()), number);
    return s;
  }
  [[nodiscard]] live_stream* find(const connection& owner, std::uint64_t id) noexcept {
    if (capacity_ == 0) return nullptr;
    const std::uint32_t number = index_.find(
        hash(&owner, id), [&](std::uint32_t n) { return at(n)->owner == &owner && at(n)->id.value() == id; });
    return number == base::no_record ? nullptr : at(number);
  }
  void close(live_stream* s) noexcept {
    const std::uint32_t number = s->number;
    index_.erase(hash(s->owner, s->id.value()), number);
    s->~live_stream();
    free_[freed_++] = number;
    open_.set(open_.get() - 1);
  }

  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::uint32_t open_streams() const noexcept { return static_cast<std::uint32_t>(open_.get()); }
  [[nodiscard]] bool has_room() const noexcept { return open_.get() < capacity_; }
};

}  // namespace millrace::quic::conn
