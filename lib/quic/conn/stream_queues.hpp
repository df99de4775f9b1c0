// quic/conn/stream_queues.hpp - what the streams of one connection wait for: to send data, to send control frames, to
// be told of.
//
// Order    data: what was lost goes first, whoever lost it (it costs no credit, and the peer cannot read on without
//          it); then by urgency; of one urgency, streams that are not incremental one after another in the order of
//          their numbers, incremental ones a frame each in turn (RFC 9218 10). Where nobody says otherwise, a stream is
//          incremental and of the middle urgency: all take turns.
// Cost     O(1) where all are of one urgency and take turns, or come in order; else O(those in front).
// Owner    none: links only, see stream_queue.hpp.
// Source   RFC 9000 2.3, RFC 9218 4 10. Tests  test/quic/conn/stream_queues_test.cpp
#pragma once

#include "quic/conn/stream_queue.hpp"

namespace millrace::quic::conn {

class send_order {
  static constexpr std::uint8_t lost_level = 0;  // urgency n is level n + 1
  stream_queue<&live_stream::data_next> all_;    // by level: two words, as most connections rest

 public:
  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  [[nodiscard]] live_stream* front() const noexcept { return all_.front(); }
  // The front one, just served, goes on: nobody has a turn before it.
  [[nodiscard]] bool goes_on(const live_stream& s) const noexcept {
    if (s.data_level == lost_level) return s.send.has_lost();
    return !s.is_incremental || s.data_next == nullptr || s.data_next->data_level != s.data_level;
  }

  void push(live_stream& s) noexcept {
    s.data_level = s.send.has_lost() ? lost_level : static_cast<std::uint8_t>(s.urgency + 1);
    if (s.data_level == lost_level) return all_.push_front(s);
    all_.insert(s, [&s](const live_stream& other) noexcept {
      if (other.data_level != s.data_level) return other.data_level > s.data_level;
      return !s.is_incremental && other.id.value() > s.id.value();
    });
  }
  void pop_front() noexcept { static_cast<void>(all_.pop_front()); }
  void remove(live_stream& s) noexcept { all_.remove(s); }
  void clear() noexcept { all_.clear(); }
};

struct stream_queues {
  send_order data;
  stream_queue<&live_stream::control_next> control;
  stream_queue<&live_stream::event_next> event;

  void add_data(live_stream& s) noexcept {
    if (s.in_data_queue || !s.has_send || s.withheld) return;
    s.in_data_queue = true;
    data.push(s);
  }
  // Its place among those with data may have changed: something was lost, or it is of another urgency.
  void reorder(live_stream& s) noexcept {
    if (!s.in_data_queue) return;
    data.remove(s);
    data.push(s);
  }
  void add_control(live_stream& s) noexcept {
    if (s.in_control_queue || s.withheld) return;
    s.in_control_queue = true;
    control.push_back(s);
  }
  void add_event(live_stream& s) noexcept {
    if (s.in_event_queue) return;
    s.in_event_queue = true;
    event.push_back(s);
  }
  void forget(live_stream& s) noexcept {
    if (s.in_data_queue) data.remove(s);
    if (s.in_control_queue) control.remove(s);
    if (s.in_event_queue) event.remove(s);
  }
  void clear() noexcept {
    data.clear();
    control.clear();
    event.clear();
  }
};

}  // namespace millrace::quic::conn
