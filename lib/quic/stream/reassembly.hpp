// quic/stream/reassembly.hpp - the bytes of one stream, put in order: received out of order, overlapping, or twice.
//
//   runs   [0 ...... 4000)          [5200 .. 6400)     [9000 .. 9100)
//   pieces  a -> b -> c              d                  e
//
// Shape    runs of bytes without a hole, ascending; each is a list of pieces. The first run is what can be read, when
// it
//          begins where reading stopped. Adding is O(runs), for data in order O(1): the last run is looked at first.
// Copies   a piece of copy_below bytes and more is a slice of the received packet. What is smaller is copied out (one
//          copy, into a packet that many of them share, and joined to its neighbour), so that a peer that sends single
//          bytes cannot pin a buffer with each.
// Owner    pieces and slices are the stream's until consumed; all go back when it dies. The pool outlives it.
// Limits   most_runs holes a stream; the lcore's pool of pieces.
// Errors   add_status; after too_fragmented or no_memory a front part of the data may have been added: the packet must
//          not be acknowledged, or the connection ends. The bytes that came first stay, whatever comes later.
// Threads  one lcore. Source  RFC 9000 2.2, 7.5. Tests  test/quic/stream/reassembly_test.cpp
#pragma once

#include "buf/mbuf_source.hpp"
#include "buf/packet.hpp"
#include "buf/slice.hpp"
#include "mem/object_pool.hpp"

namespace millrace::quic::stream {

struct piece {
  std::uint64_t offset = 0;
  buf::slice bytes;
  piece* next = nullptr;  // of its run
  // Of the run, in its first piece only:
  std::uint64_t run_end = 0;
  piece* run_last = nullptr;
  piece* next_run = nullptr;

  [[nodiscard]] std::uint64_t end() const noexcept { return offset + bytes.size(); }
};
static_assert(sizeof(piece) == 64, "one cache line");

// Where the streams of one lcore get memory from.
class piece_store {
  mem::object_pool<piece>* pieces_;
  buf::mbuf_source packets_;
  buf::packet small_;  // being filled with small pieces; its bytes are written once and then only read

 public:
  piece_store(mem::object_pool<piece>& pieces, const buf::mbuf_source& packets) noexcept
      : pieces_(&pieces), packets_(packets) {}

  [[nodiscard]] piece* get() noexcept { return pieces_->get(); }
  void give(piece* p) noexcept { pieces_->give(p); }
  // A copy of `bytes`, at most half a packet of them; empty when there is no packet. When `before` ends where the copy
  // begins, it grows by it instead, and is what is answered.
  [[nodiscard]] buf::slice copy(base::byte_view bytes, buf::slice* before) noexcept;
};

enum class add_status : std::uint8_t { added, too_fragmented, no_memory };

class reassembly {
  piece* first_ = nullptr;
  piece* last_run_ = nullptr;  // its first piece
  std::uint64_t read_ = 0;     // consumed up to here
  std::uint64_t held_ = 0;     // bytes in pieces, those of the first that were consumed included
  std::uint32_t runs_ = 0;
  std::uint32_t pieces_ = 0;

 public:
  static constexpr std::uint32_t most_runs = 128;
  static constexpr std::size_t copy_below = 512;

  reassembly() noexcept = default;
  reassembly(const reassembly&) = delete;
  reassembly& operator=(const reassembly&) = delete;
  ~reassembly() { MILLRACE_ASSERT(first_ == nullptr); }  // clear() before: it needs the store

  // `data`, part of `whole`, at `offset`; offset + data.size() is at most 2^62 - 1.
  [[nodiscard]] add_status add(piece_store& store, const buf::packet& whole, base::byte_view data,
                               std::uint64_t offset) noexcept;
  // The next bytes to read, of one piece; empty when there is a hole or nothing. Dies with consume().
  [[nodiscard]] base::byte_view front() const noexcept {
    if (first_ == nullptr || first_->offset > read_) return {};
    return first_->bytes.bytes().subspan(static_cast<std::size_t>(read_ - first_->offset));
  }
  // The same with a reference of its own, and consumed.
  [[nodiscard]] buf::slice take(piece_store& store) noexcept;
  // `count` is at most readable().
  void consume(piece_store& store, std::uint64_t count) noexcept;
  // Everything goes back; reading goes on at `offset`, at or above read().
  void clear(piece_store& store, std::uint64_t offset) noexcept;

  [[nodiscard]] std::uint64_t read() const noexcept { return read_; }  // offset of the next byte
  [[nodiscard]] std::uint64_t readable() const noexcept {
    return first_ == nullptr || first_->offset > read_ ? 0 : first_->run_end - read_;
  }
  [[nodiscard]] std::uint32_t runs() const noexcept { return runs_; }
  [[nodiscard]] std::uint32_t pieces() const noexcept { return pieces_; }
  [[nodiscard]] std::uint64_t held_bytes() const noexcept { return held_; }

 private:
  [[nodiscard]] piece* run_before(std::uint64_t offset) const noexcept;
  [[nodiscard]] add_status insert(piece_store& store, piece* run, const buf::packet& whole, base::byte_view data,
                                  std::uint64_t offset) noexcept;
  void join(piece* run) noexcept;
  void drop_first(piece_store& store) noexcept;
};

}  // namespace millrace::quic::stream
