// quic/stream/reassembly.hpp - the bytes of one stream, put in order: received out of order, overlapping, or twice.
//
//   runs   [0 ...... 4000)          [5200 .. 6400)     [9000 .. 9100)
//   pieces  a -> b -> c              d                  e
//
// Shape    runs of bytes without a hole, ascending; each is a list of pieces. The first run is what can be read, when
//          it begins where reading stopped. Adding is O(runs), for data in order O(1): the last run is looked at first.
// Copies   a piece of copy_below bytes and more is a slice of the received packet. What is smaller is copied out (one
//          copy, into a packet that many of them share, and joined to its neighbour), so that a peer that sends single
//          bytes cannot pin a buffer with each.
// Owner    pieces and slices are the stream's until consumed; clear() gives all back before it dies. The connection's
//          account outlives its streams, the lcore's store its accounts.
// Limits   most_runs holes a stream; the connection's account of pieces; the lcore's pool of them. What lies where
//          reading stopped is taken beyond the first two, or a stream whose limits are used up would never go on.
// Errors   add_status; after too_fragmented or no_memory a front part of the data may have been added, and the packet
//          must not be acknowledged, so that it comes again. The bytes that came first stay, whatever comes later.
// Threads  one lcore. Source  RFC 9000 2.2, 7.5, RFC 9000 21.7. Tests  test/quic/stream/reassembly_test.cpp
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
  [[nodiscard]] std::uint32_t in_use() const noexcept { return pieces_->in_use(); }
  // A copy of `bytes`, at most half a packet of them; empty when there is no packet.
  [[nodiscard]] buf::slice copy(base::byte_view bytes) noexcept;
  // True when `before` was the copy made last, and there was room to make it longer by `bytes`.
  [[nodiscard]] bool grow(buf::slice& before, base::byte_view bytes) noexcept;
};

// What one connection holds of it, over all its streams. A piece may pin a whole packet, so pieces are counted and not
// bytes. `most`: a piece for each 512 bytes of the connection's window, and some for what comes in small parts.
class piece_account {
  piece_store* store_;
  std::uint32_t used_ = 0;
  std::uint32_t most_;

 public:
  static constexpr std::uint32_t small_parts = 256;
  [[nodiscard]] static constexpr std::uint32_t most_for(std::uint64_t window) noexcept {
    const std::uint64_t large = window / 512;
    return small_parts + static_cast<std::uint32_t>(large < UINT32_MAX / 2 ? large : UINT32_MAX / 2);
  }
  piece_account(piece_store& store, std::uint32_t most) noexcept : store_(&store), most_(most) {}
  piece_account(const piece_account&) = delete;
  piece_account& operator=(const piece_account&) = delete;
  ~piece_account() { MILLRACE_ASSERT(used_ == 0); }

  // `next_to_read`: the reader waits for this one, which is what makes room for others; it is granted always.
  [[nodiscard]] piece* get(bool next_to_read) noexcept {
    if (used_ >= most_ && !next_to_read) return nullptr;
    piece* p = store_->get();
    used_ += p != nullptr;
    return p;
  }
  void give(piece* p) noexcept {
    --used_;
    store_->give(p);
  }
  [[nodiscard]] piece_store& store() const noexcept { return *store_; }
  [[nodiscard]] std::uint32_t used() const noexcept { return used_; }
  [[nodiscard]] std::uint32_t most() const noexcept { return most_; }
  void set_most(std::uint32_t most) noexcept { most_ = most; }  // as the window grows
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
  ~reassembly() { MILLRACE_ASSERT(first_ == nullptr); }  // clear() before: it needs the account

  // `data`, part of `whole`, at `offset`; offset + data.size() is at most 2^62 - 1.
  [[nodiscard]] add_status add(piece_account& account, const buf::packet& whole, base::byte_view data,
                               std::uint64_t offset) noexcept;
  // The next bytes to read, of one piece; empty when there is a hole or nothing. Dies with consume().
  [[nodiscard]] base::byte_view front() const noexcept {
    if (first_ == nullptr || first_->offset > read_) return {};
    return first_->bytes.bytes().subspan(static_cast<std::size_t>(read_ - first_->offset));
  }
  // The same, or the first `most` (not 0) bytes of it, with a reference of its own, and consumed.
  [[nodiscard]] buf::slice take(piece_account& account, std::size_t most = SIZE_MAX) noexcept;
  // The next bytes, from as many pieces as they lie in, copied and not consumed; at most readable() of them.
  void copy_out(base::byte_span out) const noexcept;
  // `count` is at most readable().
  void consume(piece_account& account, std::uint64_t count) noexcept;
  // Everything goes back; reading goes on at `offset`, at or above read().
  void clear(piece_account& account, std::uint64_t offset) noexcept;

  [[nodiscard]] std::uint64_t read() const noexcept { return read_; }  // offset of the next byte
  [[nodiscard]] std::uint64_t readable() const noexcept {
    return first_ == nullptr || first_->offset > read_ ? 0 : first_->run_end - read_;
  }
  [[nodiscard]] std::uint32_t runs() const noexcept { return runs_; }
  [[nodiscard]] std::uint32_t pieces() const noexcept { return pieces_; }
  [[nodiscard]] std::uint64_t held_bytes() const noexcept { return held_; }

 private:
  [[nodiscard]] bool is_next_to_read(std::uint64_t offset) const noexcept { return offset == read_ && readable() == 0; }
  [[nodiscard]] piece* run_before(std::uint64_t offset) const noexcept;
  [[nodiscard]] add_status insert(piece_account& account, piece* run, const buf::packet& whole, base::byte_view data,
                                  std::uint64_t offset) noexcept;
  void join(piece* run) noexcept;
  void drop_first(piece_account& account) noexcept;
};

}  // namespace millrace::quic::stream
