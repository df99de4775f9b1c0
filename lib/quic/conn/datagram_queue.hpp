// quic/conn/datagram_queue.hpp - DATAGRAM frames that wait to be sent: copied once, sent once, never repeated.
//
// Owner    the pieces are the connection's account's. clear() before destruction.
// Limits   the caller's: push() refuses nothing by number.
// Source   RFC 9221 5. Tests  test/quic/conn/datagram_queue_test.cpp
#pragma once

#include "quic/stream/reassembly.hpp"

namespace millrace::quic::conn {

class datagram_queue {
  stream::piece* first_ = nullptr;
  stream::piece* last_ = nullptr;
  std::uint32_t count_ = 0;

 public:
  datagram_queue() noexcept = default;
  datagram_queue(const datagram_queue&) = delete;
  datagram_queue& operator=(const datagram_queue&) = delete;
  ~datagram_queue() { MILLRACE_ASSERT(first_ == nullptr); }

  // False: no memory.
  [[nodiscard]] bool push(stream::piece_account& pieces, base::byte_view bytes) noexcept {
    buf::slice copy = pieces.store().copy(bytes);
    if (copy.empty()) return false;
    stream::piece* p = pieces.get(false);
    if (p == nullptr) return false;
    p->bytes = std::move(copy);
    p->next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = p;
    last_ = p;
    ++count_;
    return true;
  }
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] std::uint32_t size() const noexcept { return count_; }
  [[nodiscard]] base::byte_view front() const noexcept { return first_->bytes.bytes(); }
  void pop(stream::piece_account& pieces) noexcept {
    stream::piece* gone = first_;
    first_ = gone->next;
    if (first_ == nullptr) last_ = nullptr;
    --count_;
    pieces.give(gone);
  }
  void clear(stream::piece_account& pieces) noexcept {
    while (first_ != nullptr) pop(pieces);
  }
};

}  // namespace millrace::quic::conn
