// loadgen/load_session_send.hpp - how a load_session sends: which connection, how much, at which time.
//
// Part of load_session.hpp, which includes it.
#pragma once

#include "loadgen/load_session.hpp"

namespace millrace::loadgen {

template <class Way>
template <class Batch>
bool load_session<Way>::ask_one(Batch& batch, load_connection& c, load_stamp stamp, std::uint64_t now) noexcept {
  // A raw knock is empty: what is cut into fragments may be more than waits for a neighbour.
  const std::size_t size = stamp.is_knock() && messages_.is_raw() ? 0 : messages_.size();
  const auto write = [&](base::byte_span room) {
    if (size != 0) messages_.write(room, stamp);
    return size;
  };
  constexpr auto kind = static_cast<std::uint8_t>(srmp::wire::data_kind::packet);
  if (messages_.is_one_way()) return static_cast<bool>(c.client.one_way(batch, kind, size, write));
  const srmp::request_terms terms{.cookie = stamp.bits, .deadline = now + settings_.timeout_ns, .data_kind = kind};
  return static_cast<bool>(c.client.request(batch, terms, size, write));
}

// How many messages a connection may send now.
template <class Way>
std::uint64_t load_session<Way>::allowance(const load_connection& c, std::size_t frames) const noexcept {
  const std::uint64_t most = left();
  if (messages_.is_one_way()) return most;
  const std::size_t waiting = c.client.in_flight();
  if (waiting >= settings_.window) return 0;
  const std::uint64_t open = settings_.window - waiting;
  if (!settings_.fill || is_open_loop() || most <= open || (waiting == 0 && open < frames)) return std::min(most, open);
  return open - open % frames;
}

// One connection sends; answers the packets it took.
template <class Way>
unsigned load_session<Way>::visit(Way& way, std::size_t which, unsigned most_packets, std::uint64_t now) noexcept {
  load_connection& c = (*connections_)[which];
  const std::size_t frame_size = srmp::wire::short_header_size + messages_.size();
  const std::size_t path = way.max_payload();
  const std::size_t frames = settings_.fill && frame_size < path ? path / frame_size : 1;
  const unsigned packets = way.packets(frames * frame_size);
  const unsigned most_datagrams = is_open_loop() ? 1 : std::max(1u, most_packets / packets);
  const std::uint64_t most = std::min<std::uint64_t>(allowance(c, frames), most_datagrams * frames);
  if (most == 0) return 0;
  std::uint64_t asked = 0;
  way.aim(c.port);
  srmp::frame_batch<Way> batch(way, settings_.fill ? path : 0, {});
  for (; asked < most; ++asked) {
    if (is_open_loop() && !pacer_.is_due(now)) break;
    const std::uint64_t meant = is_open_loop() ? pacer_.next_ns() : now;
    if (!ask_one(batch, c, load_stamp::of(meant - zero_ns_, number_, false), now)) {
      held_back_ = true;
      break;
    }
    ++number_;
    if (is_open_loop()) pacer_.take();
  }
  batch.flush();
  sent_ += asked;
  if (!messages_.is_one_way()) in_flight_ += asked;
  count_.datagrams_sent.add(batch.datagrams());
  if (!held_back_ && allowance(c, frames) != 0) connections_->enqueue(which);
  return static_cast<unsigned>(batch.datagrams()) * packets;
}

template <class Way>
void load_session<Way>::send(Way& way, std::uint64_t now) noexcept {
  const std::uint64_t before = sent_;
  unsigned budget = datagrams_a_pump;
  held_back_ = false;
  std::size_t fruitless = 0;
  while (connections_->any_ready() && left() != 0 && fruitless < settings_.connections) {
    if (is_open_loop() && !pacer_.is_due(now)) break;
    const unsigned room = way.room();
    if (budget == 0 || room <= spare_room) {
      held_back_ = true;
      break;
    }
    const std::size_t which = connections_->dequeue();
    const unsigned took = visit(way, which, std::min(budget, room - spare_room), now);
    budget -= std::min(budget, took);
    fruitless = took == 0 ? fruitless + 1 : 0;
    if (held_back_) {
      connections_->enqueue(which);
      break;
    }
  }
  if (is_open_loop()) note_behind(now);
  if (sent_ == before) return;
  count_.sent.set(sent_);
  count_.sent_bytes.add((sent_ - before) * messages_.size());
  count_.in_flight.set(in_flight_);
  count_.last_ns.set(now);
}

}  // namespace millrace::loadgen
