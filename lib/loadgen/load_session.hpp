// loadgen/load_session.hpp - the load generator itself, without a network: connections, pace, replies, the end.
//
// Shape    on_datagram() for what came, then pump() once: it sends what may be sent now. pump() alone when due_ns() has
//          come. stop() ends sending. A Way is where datagrams go: udp_output behind srmp_load, an array in a test.
// Way      a srmp datagram_sink, and: aim(local_port), of the datagrams opened next; bool has_source(), whether our
//          address may be used; max_payload(), bytes that fit the path uncut; packets(bytes), how many packets such a
//          datagram becomes; room(), packets that may be sent now; bool went(), whether the last one closed was sent;
//          refused(), unreachable() and
//          icmp_errors(), sums.
// Turns    connections that may send stand in a queue. Closed loop: the first one sends all that its window lets, the
//          next follows. Open loop: the first one sends what is due, one datagram of it, and goes to the end.
// Fill     closed loop sends whole datagrams: what replies free is gathered until it fills one. A window that holds
// less
//          sends all it has, once nothing is in flight. Open loop sends what is due.
// Limits   datagrams_a_pump a call. Owner, Threads, Errors  srmp_load.hpp.
// Tests    test/loadgen/load_session_test.cpp       Bench  bench/loadgen/load_bench.cpp
#pragma once

#include <memory>
#include <new>

#include "loadgen/load_messages.hpp"
#include "loadgen/pacer.hpp"
#include "mem/region.hpp"
#include "srmp/datagram_client.hpp"
#include "stats/latency_histogram.hpp"

namespace millrace::loadgen {

template <class Way>
class load_session {
  struct connection {
    srmp::datagram_client client;
    std::uint16_t port;
    bool queued = false;

    connection(const load_settings& settings, std::uint16_t local_port) noexcept
        : client(settings.target, settings.peers), port(local_port) {}
  };
  // What one call of pump() or one datagram adds up, before it goes to the counters that others read.
  struct tally {
    std::uint64_t replies = 0;
    std::uint64_t items = 0;
    std::uint64_t bytes = 0;
    std::uint64_t settled = 0;  // requests that wait no longer
    bool heard = false;
  };
  struct listener;

 public:
  static constexpr unsigned datagrams_a_pump = 64;
  static constexpr unsigned spare_room = 32;  // of Way::room(): left for what the host says by itself
  static constexpr std::uint64_t knock_ns = 100'000'000;
  static constexpr std::uint64_t never_ns = UINT64_MAX;

  // nullptr when there is no memory. check(settings) has been asked.
  [[nodiscard]] static std::unique_ptr<load_session> make(const load_settings& settings) {
    mem::region memory = mem::region::make("load_connections", settings.connections * sizeof(connection));
    mem::region queue = mem::region::make_array<std::uint16_t>("load_queue", settings.connections);
    if (!memory || !queue) return nullptr;
    return std::unique_ptr<load_session>(new (std::nothrow)
                                             load_session(settings, std::move(memory), std::move(queue)));
  }
  load_session(const load_session&) = delete;
  load_session& operator=(const load_session&) = delete;
  ~load_session() { std::destroy_n(connections_, settings_.connections); }

  // A datagram for the local port `port`; others are not ours and ignored.
  void on_datagram(std::uint16_t port, const base::endpoint& from, base::byte_view bytes, std::uint64_t now) noexcept;
  // Sends what may be sent; also looks after time-outs and the end.
  void pump(Way& way, std::uint64_t now) noexcept;
  // Nothing new is sent; what is in flight is waited for.
  void stop(std::uint64_t now) noexcept;
  [[nodiscard]] std::uint64_t due_ns() const noexcept { return due_ns_; }
  // Once finished: whether an empty datagram is to be sent from that port as a goodbye.
  [[nodiscard]] bool close(std::uint16_t port) noexcept {
    return connections_[port - settings_.first_port].client.close([](const srmp::pending_request&) {});
  }

  // --- from anywhere ---
  [[nodiscard]] load_phase phase() const noexcept { return static_cast<load_phase>(count_.phase.get()); }
  [[nodiscard]] load_figures figures() const noexcept;
  [[nodiscard]] const stats::latency_histogram& latency() const noexcept { return latency_; }
  [[nodiscard]] const load_settings& settings() const noexcept { return settings_; }

 private:
  load_session(const load_settings& settings, mem::region memory, mem::region queue)
      : settings_(settings),
        messages_(settings),
        memory_(std::move(memory)),
        queue_memory_(std::move(queue)),
        connections_(reinterpret_cast<connection*>(memory_.data())),
        queue_(queue_memory_.array<std::uint16_t>()) {
    for (std::uint16_t i = 0; i < settings.connections; ++i) {
      new (connections_ + i) connection(settings_, static_cast<std::uint16_t>(settings_.first_port + i));
      enqueue(i);
    }
  }

  void enqueue(std::uint16_t which) noexcept {
    connection& c = connections_[which];
    if (c.queued) return;
    c.queued = true;
    std::size_t at = queue_first_ + queue_size_++;
    if (at >= settings_.connections) at -= settings_.connections;
    queue_[at] = which;
  }
  [[nodiscard]] std::uint16_t dequeue() noexcept {
    const std::uint16_t which = queue_[queue_first_];
    if (++queue_first_ == settings_.connections) queue_first_ = 0;
    --queue_size_;
    connections_[which].queued = false;
    return which;
  }

  [[nodiscard]] bool is_open_loop() const noexcept { return settings_.rate != 0; }
  [[nodiscard]] std::uint64_t left() const noexcept {
    return settings_.requests == 0 ? UINT64_MAX : settings_.requests - sent_;
  }
  void enter(load_phase phase) noexcept { count_.phase.set(static_cast<std::uint64_t>(phase)); }
  void begin_running(std::uint64_t now) noexcept;
  void knock(Way& way, std::uint64_t now) noexcept;
  void send(Way& way, std::uint64_t now) noexcept;
  unsigned visit(Way& way, std::uint16_t which, unsigned most_datagrams, std::uint64_t now) noexcept;
  [[nodiscard]] std::uint64_t allowance(const connection& c, std::size_t frames) const noexcept;
  void sweep(Way& way, std::uint64_t now) noexcept;
  void settle(std::uint64_t requests) noexcept;
  [[nodiscard]] std::uint64_t plan(std::uint64_t now) const noexcept;
  template <class Batch>
  bool ask_one(Batch& batch, connection& c, load_stamp stamp, std::uint64_t now) noexcept;

  load_settings settings_;
  load_messages messages_;
  mem::region memory_;
  mem::region queue_memory_;
  connection* connections_;
  std::span<std::uint16_t> queue_;  // connections that may send
  std::size_t queue_first_ = 0;
  std::size_t queue_size_ = 0;
  pacer pacer_;
  std::uint64_t zero_ns_ = 0;  // of the stamps' time: the first pump(); 0 before
  std::uint64_t sent_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t in_flight_ = 0;  // without knocks
  std::uint64_t begun_ns_ = 0;   // waiting or knocking since
  std::uint64_t end_ns_ = never_ns;
  std::uint64_t next_knock_ns_ = 0;
  std::uint64_t next_sweep_ns_ = 0;
  std::uint64_t due_ns_ = 0;
  bool held_back_ = false;  // there was no room for all

  struct {
    stats::counter phase;
    stats::counter answered;
    stats::counter sent;
    stats::counter replies;
    stats::counter items;
    stats::counter sent_bytes;
    stats::counter reply_bytes;
    stats::counter datagrams_sent;
    stats::counter datagrams_received;
    stats::counter in_flight;
    stats::counter knocks;
    stats::counter behind_ns;
    stats::counter first_ns;
    stats::counter last_ns;
    std::array<stats::counter, load_error_count> errors;

    void add(load_error kind, std::uint64_t n) noexcept { errors[static_cast<std::size_t>(kind)].add(n); }
    void set(load_error kind, std::uint64_t n) noexcept { errors[static_cast<std::size_t>(kind)].set(n); }
  } count_;
  stats::latency_histogram latency_;
};

template <class Way>
struct load_session<Way>::listener {
  load_session& of;
  std::uint64_t now;  // since zero_ns_
  tally did{};
  // Replies of one datagram often have one latency: they are recorded together.
  std::uint64_t run_ns = 0;
  std::uint64_t run = 0;

  void note(std::uint64_t latency_ns) noexcept {
    if (latency_ns != run_ns) {
      if (run != 0) of.latency_.record(run_ns, run);
      run_ns = latency_ns;
      run = 0;
    }
    ++run;
  }
  bool on_reply(const srmp::pending_request& asked, const srmp::wire::frame& f) noexcept {
    const load_stamp stamp{asked.cookie};
    did.heard = true;
    const load_verdict verdict = of.messages_.judge(f, stamp);
    if (stamp.is_knock()) [[unlikely]]
      return verdict != load_verdict::item;
    switch (verdict) {
      case load_verdict::right:
        note(stamp.age_ns(now));
        ++did.replies;
        did.bytes += f.payload.size();
        break;
      case load_verdict::item:
        ++did.items;
        did.bytes += f.payload.size();
        return false;
      case load_verdict::stale:
        of.count_.add(load_error::unmatched, 1);
        return false;
      case load_verdict::error:
        of.count_.add(load_error::error_reply, 1);
        break;
      case load_verdict::wrong:
        of.count_.add(load_error::mismatch, 1);
        break;
    }
    ++did.settled;
    return true;
  }
  void on_push(const srmp::wire::frame&) noexcept { of.count_.add(load_error::unmatched, 1); }
  void on_goodbye() noexcept {}
};

template <class Way>
void load_session<Way>::settle(std::uint64_t requests) noexcept {
  in_flight_ -= requests;
  count_.in_flight.set(in_flight_);
}

template <class Way>
void load_session<Way>::on_datagram(std::uint16_t port, const base::endpoint& from, base::byte_view bytes,
                                    std::uint64_t now) noexcept {
  const auto which = static_cast<std::uint16_t>(port - settings_.first_port);
  if (which >= settings_.connections) return;
  listener heard{*this, now - zero_ns_};
  connections_[which].client.on_datagram(from, bytes, heard);
  if (heard.run != 0) latency_.record(heard.run_ns, heard.run);
  count_.datagrams_received.add(1);
  const tally& did = heard.did;
  if (did.replies + did.items != 0) {
    count_.replies.add(did.replies);
    count_.items.add(did.items);
    count_.reply_bytes.add(did.bytes);
    count_.last_ns.set(now);
  }
  if (did.settled != 0) settle(did.settled);
  if (did.heard && phase() == load_phase::knocking) begin_running(now);
  enqueue(which);
}

template <class Way>
void load_session<Way>::begin_running(std::uint64_t now) noexcept {
  enter(load_phase::running);
  count_.answered.set(1);
  count_.first_ns.set(now);
  count_.last_ns.set(now);
  if (settings_.duration_ns != 0) end_ns_ = now + settings_.duration_ns;
  if (is_open_loop()) pacer_ = pacer({settings_.rate, settings_.share, settings_.shares}, now);
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
  if (phase() == load_phase::knocking && now >= next_knock_ns_) knock(way, now);
  if (phase() <= load_phase::knocking && now - begun_ns_ >= settings_.patience_ns) {
    sweep(way, now);  // the last look at what became of the knocks
    enter(load_phase::finished);
  }
  if (phase() == load_phase::running) {
    if (now < end_ns_ && left() != 0) send(way, now);
    if (now >= end_ns_ || left() == 0) enter(load_phase::draining);
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
      const std::uint64_t later = std::min(next_sweep_ns_, end_ns_);
      if (held_back_) return now;
      if (is_open_loop()) return queue_size_ == 0 ? later : std::min(later, pacer_.next_ns());
      return queue_size_ == 0 ? later : now;
    }
    case load_phase::draining:
      return next_sweep_ns_;
    case load_phase::finished:
      break;
  }
  return never_ns;
}

// Time-outs are found at most a sixteenth late. Whoever got room by one may send again.
template <class Way>
void load_session<Way>::sweep(Way& way, std::uint64_t now) noexcept {
  next_sweep_ns_ = now + std::clamp<std::uint64_t>(settings_.timeout_ns / 16, 100'000, 100'000'000);
  std::uint64_t gone = 0;
  for (std::uint16_t i = 0; i < settings_.connections; ++i) {
    const std::uint64_t before = gone;
    connections_[i].client.expire(now, [&](const srmp::pending_request& asked) {
      if (!load_stamp{asked.cookie}.is_knock()) ++gone;
    });
    if (gone != before) enqueue(i);
  }
  if (gone != 0) {
    count_.add(load_error::timeout, gone);
    settle(gone);
  }
  count_.set(load_error::refused, way.refused());
  count_.set(load_error::unreachable, way.unreachable());
  count_.set(load_error::icmp_error, way.icmp_errors());
}

template <class Way>
template <class Batch>
bool load_session<Way>::ask_one(Batch& batch, connection& c, load_stamp stamp, std::uint64_t now) noexcept {
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

template <class Way>
void load_session<Way>::knock(Way& way, std::uint64_t now) noexcept {
  next_knock_ns_ = now + knock_ns;
  connection& c = connections_[0];
  way.aim(c.port);
  {
    srmp::frame_batch<Way> batch(way, 0, {});
    if (!ask_one(batch, c, load_stamp::of(now - zero_ns_, number_++, true), now)) return;
  }
  count_.knocks.add(1);
  // Nobody answers a one-way message: that it left, instead of waiting for the neighbour, must do.
  if (messages_.is_one_way() && way.went()) begin_running(now);
}

// How many messages a connection may send now.
template <class Way>
std::uint64_t load_session<Way>::allowance(const connection& c, std::size_t frames) const noexcept {
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
unsigned load_session<Way>::visit(Way& way, std::uint16_t which, unsigned most_packets, std::uint64_t now) noexcept {
  connection& c = connections_[which];
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
  if (!held_back_ && allowance(c, frames) != 0) enqueue(which);
  return static_cast<unsigned>(batch.datagrams()) * packets;
}

template <class Way>
void load_session<Way>::send(Way& way, std::uint64_t now) noexcept {
  const std::uint64_t before = sent_;
  unsigned budget = datagrams_a_pump;
  held_back_ = false;
  std::size_t fruitless = 0;
  while (queue_size_ != 0 && left() != 0 && fruitless < settings_.connections) {
    if (is_open_loop() && !pacer_.is_due(now)) break;
    const unsigned room = way.room();
    if (budget == 0 || room <= spare_room) {
      held_back_ = true;
      break;
    }
    const std::uint16_t which = dequeue();
    const unsigned took = visit(way, which, std::min(budget, room - spare_room), now);
    budget -= std::min(budget, took);
    fruitless = took == 0 ? fruitless + 1 : 0;
    if (held_back_) {
      enqueue(which);
      break;
    }
  }
  if (is_open_loop()) count_.behind_ns.set(std::max(count_.behind_ns.get(), pacer_.behind_ns(now)));
  if (sent_ == before) return;
  count_.sent.set(sent_);
  count_.sent_bytes.add((sent_ - before) * messages_.size());
  count_.in_flight.set(in_flight_);
  count_.last_ns.set(now);
}

template <class Way>
load_figures load_session<Way>::figures() const noexcept {
  load_figures out;
  out.phase = phase();
  out.answered = count_.answered.get() != 0;
  out.sent = count_.sent.get();
  out.replies = count_.replies.get();
  out.items = count_.items.get();
  out.sent_bytes = count_.sent_bytes.get();
  out.reply_bytes = count_.reply_bytes.get();
  out.datagrams_sent = count_.datagrams_sent.get();
  out.datagrams_received = count_.datagrams_received.get();
  out.in_flight = count_.in_flight.get();
  out.knocks = count_.knocks.get();
  out.behind_ns = count_.behind_ns.get();
  out.first_ns = count_.first_ns.get();
  out.last_ns = count_.last_ns.get();
  for (std::size_t i = 0; i < out.errors.size(); ++i) out.errors[i] = count_.errors[i].get();
  const auto add = [&](load_error kind, const stats::counter& n) {
    out.errors[static_cast<std::size_t>(kind)] += n.get();
  };
  for (std::uint16_t i = 0; i < settings_.connections; ++i) {
    const srmp::client_counters& c = connections_[i].client.counters();
    add(load_error::unmatched, c.unmatched);
    add(load_error::unmatched, c.unexpected);
    add(load_error::stranger, c.strangers);
    add(load_error::malformed, c.malformed);
    add(load_error::malformed, c.truncated);
  }
  return out;
}

}  // namespace millrace::loadgen
