// quic/conn/stream_queue.hpp - streams that wait for something, first come first served, linked through themselves.
//
// Owner    none: links only. Whoever queues a stream keeps a flag that says so; remove() walks the queue.
// Tests    test/quic/conn/stream_queue_test.cpp
#pragma once

#include "quic/conn/live_stream.hpp"

namespace millrace::quic::conn {

template <live_stream* live_stream::* Next>
class stream_queue {
  live_stream* first_ = nullptr;
  live_stream* last_ = nullptr;

 public:
  [[nodiscard]] live_stream* front() const noexcept { return first_; }
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] bool has_one() const noexcept { return first_ != nullptr && first_ == last_; }

  void push_back(live_stream& s) noexcept {
    s.*Next = nullptr;
    (first_ == nullptr ? first_ : last_->*Next) = &s;
    last_ = &s;
  }
  void push_front(live_stream& s) noexcept {
    s.*Next = first_;
    first_ = &s;
    if (last_ == nullptr) last_ = &s;
  }
  // In front of the first that is `behind` it, looked for from the end when there is none, else from the front.
  template <class Behind>
  void insert(live_stream& s, Behind behind) noexcept {
    if (last_ == nullptr || !behind(*last_)) return push_back(s);
    live_stream** at = &first_;
    while (!behind(**at)) at = &((*at)->*Next);
    s.*Next = *at;
    *at = &s;
  }
  live_stream* pop_front() noexcept {
    live_stream* s = first_;
    if (s == nullptr) return nullptr;
    first_ = s->*Next;
    if (first_ == nullptr) last_ = nullptr;
    s->*Next = nullptr;
    return s;
  }
  // O(streams that wait): a stream leaves early only when it dies.
  void remove(live_stream& s) noexcept {
    live_stream* before = nullptr;
    for (live_stream* at = first_; at != nullptr; before = at, at = at->*Next) {
      if (at != &s) continue;
      (before == nullptr ? first_ : before->*Next) = s.*Next;
      if (last_ == &s) last_ = before;
      s.*Next = nullptr;
      return;
    }
  }
  void clear() noexcept { first_ = last_ = nullptr; }
};

}  // namespace millrace::quic::conn
