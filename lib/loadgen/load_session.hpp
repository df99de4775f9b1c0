// loadgen/load_session.hpp - the load generator itself, without a network: when what is sent, until the end.
//
// Shape    on_datagram() for what came, then pump() once: it sends what may be sent now. pump() alone when due_ns() has
//          come. stop() ends sending. A Way is where datagrams go: udp_output behind srmp_load, an array in a test.
// Way      a srmp datagram_sink, and: aim(local_port), of the datagrams opened next; bool has_source(), whether our
//          address may be used; max_payload(), bytes that fit the path uncut; packets(bytes), how many packets such a
//          datagram becomes; room(), packets that may be sent now; bool went(), whether the last one closed was sent;
//          refused(), unreachable() and icmp_errors(), sums; waiting(), packets that wait for a neighbour now.
// Begin    one connection knocks until it is answered. Where replies may come to another lcore, every other one knocks,
//          too, from port to port, before it takes part (load_connections.hpp).
// Turns    connections that may send stand in a queue. Closed loop: the first one sends all that its window lets, the
//          next follows. Open loop: the first one sends what is due, one datagram of it, and goes to the end.
// Fill     closed loop sends whole datagrams: what replies free is gathered until it fills one. A window of less is
//          sent whole, once nothing is in flight. Open loop sends what is due.
// Limits   datagrams_a_pump a call. Owner, Threads, Errors  srmp_load.hpp.
// Tests    test/loadgen/load_session_test.cpp       Bench  bench/loadgen/load_bench.cpp
#pragma once

#include "loadgen/load_connections.hpp"
#include "loadgen/pacer.hpp"
#include "loadgen/reply_judge.hpp"

namespace millrace::loadgen {

template <class Way>
class load_session {
 public:
  static constexpr unsigned datagrams_a_pump = 64;
  static constexpr unsigned spare_room = 32;  // of Way::room(): left for what the host says by itself
  static constexpr unsigned knocks_a_pump = 16;
  static constexpr std::uint64_t knock_ns = 100'000'000;
  static constexpr std::uint64_t never_ns = UINT64_MAX;

  // nullptr when there is no memory. check(settings) has been asked.
  [[nodiscard]] static std::unique_ptr<load_session> make(const load_settings& settings) {
    auto connections = load_connections::make(settings);
    if (!connections) return nullptr;
    return std::unique_ptr<load_session>(new (std::nothrow) load_session(settings, std::move(connections)));
  }
  load_session(const load_session&) = delete;
  load_session& operator=(const load_session&) = delete;

  // A datagram for the local port `port`; others are not ours and ignored.
  void on_datagram(std::uint16_t port, const base::endpoint& from, base::byte_view bytes, std::uint64_t now) noexcept;
  // Sends what may be sent; also looks after time-outs and the end.
  void pump(Way& way, std::uint64_t now) noexcept;
  // Nothing new is sent; what is in flight is waited for.
  void stop(std::uint64_t now) noexcept;
  [[nodiscard]] std::uint64_t due_ns() const noexcept { return due_ns_; }
  // Once finished: say_goodbye(port) for each connection whose peer is to be told, with an empty datagram.
  template <class Goodbye>
  void close(Goodbye&& say_goodbye) noexcept {
    for (std::size_t i = 0; i < connections_->size(); ++i) {
      load_connection& c = (*connections_)[i];
      if (c.client.close([](const srmp::pending_request&) {}) && c.heard) say_goodbye(c.port);
    }
  }

  // --- from anywhere ---
  [[nodiscard]] load_phase phase() const noexcept { return static_cast<load_phase>(count_.phase.get()); }
  [[nodiscard]] load_figures figures() const noexcept {
    load_figures out = count_.read();
    connections_->add_counts(out);
    return out;
  }
  [[nodiscard]] const stats::latency_histogram& latency() const noexcept { return latency_; }
  [[nodiscard]] const load_settings& settings() const noexcept { return settings_; }

 private:
  load_session(const load_settings& settings, std::unique_ptr<load_connections> connections)
      : settings_(settings), messages_(settings), connections_(std::move(connections)) {
    count_.unheard.set(settings.connections);
  }

  [[nodiscard]] bool is_open_loop() const noexcept { return settings_.rate != 0; }
  [[nodiscard]] std::uint64_t left() const noexcept {
    return settings_.requests == 0 ? UINT64_MAX : settings_.requests - sent_;
  }
  void enter(load_phase phase) noexcept { count_.phase.set(static_cast<std::uint64_t>(phase)); }
  void hear(std::size_t which) noexcept {
    connections_->hear(which);
    count_.unheard.set(connections_->unheard());
  }
  void begin_running(std::size_t first, std::uint64_t now) noexcept;
  void knock(Way& way, load_connection& c, std::uint64_t now) noexcept;
  void knock_first(Way& way, std::uint64_t now) noexcept;
  void knock_others(Way& way, std::uint64_t now) noexcept;
  void send(Way& way, std::uint64_t now) noexcept;
  unsigned visit(Way& way, std::size_t which, unsigned most_packets, std::uint64_t now) noexcept;
  [[nodiscard]] std::uint64_t allowance(const load_connection& c, std::size_t frames) const noexcept;
  void sweep(Way& way, std::uint64_t now) noexcept;
  void note_behind(std::uint64_t at) noexcept {
    count_.behind_ns.set(std::max(count_.behind_ns.get(), pacer_.behind_ns(at)));
  }
  void settle(std::uint64_t requests) noexcept {
    in_flight_ -= requests;
    count_.in_flight.set(in_flight_);
  }
  [[nodiscard]] std::uint64_t plan(std::uint64_t now) const noexcept;
  template <class Batch>
  bool ask_one(Batch& batch, load_connection& c, load_stamp stamp, std::uint64_t now) noexcept;

  load_settings settings_;
  load_messages messages_;
  std::unique_ptr<load_connections> connections_;
  pacer pacer_;
  std::uint64_t zero_ns_ = 0;  // of the stamps' time: the first pump(); 0 before
  std::uint64_t sent_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t in_flight_ = 0;  // without knocks
  std::uint64_t begun_ns_ = 0;   // waiting or knocking since
  std::uint64_t end_ns_ = never_ns;
  std::uint64_t next_knock_ns_ = 0;
  std::uint64_t knock_wait_ns_ = knock_ns;  // several round trips, once one is known
  std::uint64_t next_sweep_ns_ = 0;
  std::uint64_t due_ns_ = 0;
  bool held_back_ = false;  // there was no room for all
  load_counters count_;
  stats::latency_histogram latency_;
};

}  // namespace millrace::loadgen

#include "loadgen/load_session_send.hpp"
#include "loadgen/load_session_turn.hpp"
