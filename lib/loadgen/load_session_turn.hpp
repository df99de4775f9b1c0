// loadgen/load_session_turn.hpp - what a load_session does besides sending: replies, knocks, time-outs, its phases.
//
//   waiting --(our address is ours)--> knocking --(an answer)--> running --(all sent, time, stop)--> draining
//      |                                  |                                                             |
//      +------(patience, stop)------------+-----------------------> finished <---(nothing in flight)----+
//
// Part of load_session.hpp, which includes it.
#pragma once

#include "loadgen/load_session.hpp"

namespace millrace::loadgen {

template <class Way>
void load_session<Way>::on_datagram(std::uint16_t port, const base::endpoint& from, base::byte_view bytes,
                                    std::uint64_t now) noexcept {
  const std::size_t which = connections_->find(port);
  if (which == load_connections::none) return;
  reply_judge judge(messages_, count_, latency_, now - zero_ns_);
  load_connection& c = (*connections_)[which];
  c.client.on_datagram(from, bytes, judge);
  judge.flush();
  if (judge.has_progress()) count_.last_ns.set(now);
  if (judge.settled() != 0) settle(judge.settled());
  if (!c.heard && judge.heard()) [[unlikely]] {
    hear(which);
    if (phase() == load_phase::knocking) begin_running(which, now);
  }
  connections_->enqueue(which);
}

template <class Way>
void load_session<Way>::begin_running(std::size_t first, std::uint64_t now) noexcept {
  enter(load_phase::running);
  count_.answered.set(1);
  count_.first_ns.set(now);
  count_.last_ns.set(now);
  if (settings_.duration_ns != 0) end_ns_ = now + settings_.duration_ns;
  if (is_open_loop()) pacer_ = pacer({settings_.rate, settings_.share, settings_.shares}, now);
  // A generous round trip. The first one may have waited for a neighbour.
  const std::uint64_t since_knock = now - ((*connections_)[first].next_knock_ns - knock_ns);
  knock_wait_ns_ = std::clamp<std::uint64_t>(4 * since_knock, 5'000'000, 2 * knock_ns);
  next_knock_ns_ = now;
  const bool all = !connections_->can_move() || messages_.is_one_way();
  for (std::size_t i = 0; i < connections_->size(); ++i) {
    if (all) hear(i);
    connections_->enqueue(i);
  }
}

template <class Way>
void load_session<Way>::stop(std::uint64_t now) noexcept {
  const load_phase at = phase();
  if (at == load_phase::running) enter(in_flight_ == 0 ? load_phase::finished : load_phase::draining);
  if (at == load_phase::waiting || at == load_phase::knocking) enter(load_phase::finished);
  due_ns_ = now;
}

template <class Way>
void load_session<Way>::pump(Way& way, std::uint64_t now) noexcept {
  if (zero_ns_ == 0) zero_ns_ = begun_ns_ = std::max<std::uint64_t>(now, 1);
  if (phase() == load_phase::waiting && way.has_source()) {
    enter(load_phase::knocking);
    begun_ns_ = next_knock_ns_ = now;
  }
  if (phase() == load_phase::knocking && now >= next_knock_ns_) knock_first(way, now);
  if (phase() <= load_phase::knocking && now - begun_ns_ >= settings_.patience_ns) {
    sweep(way, now);  // the last look at what became of the knocks
    count_.add(load_error::unreachable, way.waiting());
    enter(load_phase::finished);
  }
  if (phase() == load_phase::running) {
    if (connections_->unheard() != 0 && now >= next_knock_ns_) [[unlikely]]
      knock_others(way, now);
    if (now < end_ns_ && left() != 0) send(way, now);
    if (now >= end_ns_ || left() == 0) {
      // What was meant for the time before the end and is not sent is not sent any more.
      if (is_open_loop() && left() != 0) note_behind(end_ns_);
      enter(load_phase::draining);
    }
  }
  if (now >= next_sweep_ns_) sweep(way, now);
  if (phase() == load_phase::draining && in_flight_ == 0) enter(load_phase::finished);
  due_ns_ = plan(now);
}

template <class Way>
std::uint64_t load_session<Way>::plan(std::uint64_t now) const noexcept {
  switch (phase()) {
    case load_phase::waiting:
      return now + 1'000'000;
    case load_phase::knocking:
      return std::min(next_knock_ns_, begun_ns_ + settings_.patience_ns);
    case load_phase::running: {
      std::uint64_t later = std::min(next_sweep_ns_, end_ns_);
      if (connections_->unheard() != 0) later = std::min(later, next_knock_ns_);
      if (held_back_) return now;
      if (!connections_->any_ready()) return later;
      return is_open_loop() ? std::min(later, pacer_.next_ns()) : now;
    }
    case load_phase::draining:
      return next_sweep_ns_;
    case load_phase::finished:
      break;
  }
  return never_ns;
}

// Time-outs are found at most a sixteenth late.
template <class Way>
void load_session<Way>::sweep(Way& way, std::uint64_t now) noexcept {
  next_sweep_ns_ = now + std::clamp<std::uint64_t>(settings_.timeout_ns / 16, 100'000, 100'000'000);
  if (const std::uint64_t gone = connections_->expire(now); gone != 0) {
    count_.add(load_error::timeout, gone);
    settle(gone);
  }
  count_.set(load_error::refused, way.refused());
  count_.set(load_error::unreachable, way.unreachable());
  count_.set(load_error::icmp_error, way.icmp_errors());
}

template <class Way>
void load_session<Way>::knock(Way& way, load_connection& c, std::uint64_t now) noexcept {
  if (c.knocked && connections_->can_move() && !messages_.is_one_way()) connections_->move(c);
  way.aim(c.port);
  srmp::frame_batch<Way> batch(way, 0, {});
  if (!ask_one(batch, c, load_stamp::of(now - zero_ns_, number_++, true), now)) return;
  c.knocked = true;
  count_.knocks.add(1);
}

template <class Way>
void load_session<Way>::knock_first(Way& way, std::uint64_t now) noexcept {
  load_connection& c = (*connections_)[0];
  next_knock_ns_ = c.next_knock_ns = now + knock_ns;
  knock(way, c, now);
  // Nobody answers a one-way message: that it left, instead of waiting for the neighbour, must do.
  if (c.knocked && messages_.is_one_way() && way.went()) begin_running(0, now);
}

// Those that nobody has answered yet, a few at a time.
template <class Way>
void load_session<Way>::knock_others(Way& way, std::uint64_t now) noexcept {
  next_knock_ns_ = now + 1'000'000;
  unsigned knocks = 0;
  for (std::size_t i = 0; i < connections_->size() && knocks < knocks_a_pump && way.room() > spare_room; ++i) {
    load_connection& c = (*connections_)[i];
    if (c.heard || c.next_knock_ns > now) continue;
    c.next_knock_ns = now + knock_wait_ns_;
    knock(way, c, now);
    ++knocks;
  }
}

}  // namespace millrace::loadgen
