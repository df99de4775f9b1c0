// loadgen/load_connections.hpp - the connections of a load generator: their ports, their clients, and the queue of
// those that may send.
//
// Shape    an array made once. Each connection stands in the queue at most once; who is taken out and may still send is
//          put in again. Only heard connections stand in it.
// Ports    connection i has first_port + port_offset + i. Where replies may come to another lcore's queue (a NIC
//          spreads them by their ports), a connection that is not answered moves on: to the port port_step further, and
//          so on, until a reply to one of them comes here.
// Units    ns of the session's clock. Owner  memory is the object's, taken in make(): some 7 KB a connection.
// Errors   make(): nullptr when there is no memory.
// Threads  one lcore; add_counts() from anywhere.
// Tests    test/loadgen/load_session_test.cpp
#pragma once

#include <memory>
#include <new>

#include "loadgen/load_messages.hpp"
#include "mem/region.hpp"
#include "srmp/datagram_client.hpp"

namespace millrace::loadgen {

struct load_connection {
  srmp::datagram_client client;
  std::uint64_t next_knock_ns = 0;  // while it is not heard
  std::uint16_t port;
  std::uint16_t moves = 0;  // from port to port; wraps round
  bool knocked = false;     // from this port
  bool heard = false;       // replies to this port come here
  bool queued = false;

  load_connection(const load_settings& settings, std::uint16_t local_port) noexcept
      : client(settings.target, settings.peers), port(local_port) {}
};

class load_connections {
  mem::region memory_;
  mem::region queue_memory_;
  load_connection* all_;
  std::uint16_t* queue_;
  std::size_t queue_first_ = 0;
  std::size_t queue_size_ = 0;
  std::size_t unheard_;
  std::uint16_t size_;
  std::uint16_t first_port_;
  std::uint16_t step_;
  std::uint16_t tries_;

  load_connections(const load_settings& s, mem::region memory, mem::region queue) noexcept
      : memory_(std::move(memory)),
        queue_memory_(std::move(queue)),
        all_(reinterpret_cast<load_connection*>(memory_.data())),
        queue_(queue_memory_.array<std::uint16_t>().data()),
        unheard_(s.connections),
        size_(s.connections),
        first_port_(static_cast<std::uint16_t>(s.first_port + s.port_offset)),
        step_(s.port_step),
        tries_(s.port_tries) {
    for (std::uint16_t i = 0; i < size_; ++i)
      new (all_ + i) load_connection(s, static_cast<std::uint16_t>(first_port_ + i));
  }

 public:
  static constexpr std::size_t none = SIZE_MAX;

  [[nodiscard]] static std::unique_ptr<load_connections> make(const load_settings& settings) {
    mem::region memory = mem::region::make("load_connections", settings.connections * sizeof(load_connection));
    mem::region queue = mem::region::make_array<std::uint16_t>("load_queue", settings.connections);
    if (!memory || !queue) return nullptr;
    return std::unique_ptr<load_connections>(new (std::nothrow)
                                                 load_connections(settings, std::move(memory), std::move(queue)));
  }
  load_connections(const load_connections&) = delete;
  load_connections& operator=(const load_connections&) = delete;
  ~load_connections() { std::destroy_n(all_, size_); }

  [[nodiscard]] std::uint16_t size() const noexcept { return size_; }
  [[nodiscard]] load_connection& operator[](std::size_t i) noexcept { return all_[i]; }

  // Whose local port this is now; none when nobody's of ours.
  [[nodiscard]] std::size_t find(std::uint16_t port) const noexcept {
    const auto offset = static_cast<std::uint16_t>(port - first_port_);
    const std::size_t i = step_ == 0 ? offset : offset % step_;
    return i < size_ && all_[i].port == port ? i : none;
  }
  [[nodiscard]] bool can_move() const noexcept { return tries_ > 1; }
  void move(load_connection& c) noexcept {
    c.moves = static_cast<std::uint16_t>(c.moves + 1 == tries_ ? 0 : c.moves + 1);
    c.port = static_cast<std::uint16_t>(first_port_ + (&c - all_) + c.moves * step_);
    c.knocked = false;
  }
  [[nodiscard]] std::size_t unheard() const noexcept { return unheard_; }
  void hear(std::size_t i) noexcept {
    if (all_[i].heard) return;
    all_[i].heard = true;
    --unheard_;
    // Knocks from other ports would fill its window: their replies do not come here.
    if (can_move()) (void)all_[i].client.close([](const srmp::pending_request&) {});
  }

  // --- the queue of those that may send ---
  [[nodiscard]] bool any_ready() const noexcept { return queue_size_ != 0; }
  void enqueue(std::size_t i) noexcept {
    load_connection& c = all_[i];
    if (c.queued || !c.heard) return;
    c.queued = true;
    std::size_t at = queue_first_ + queue_size_++;
    if (at >= size_) at -= size_;
    queue_[at] = static_cast<std::uint16_t>(i);
  }
  [[nodiscard]] std::size_t dequeue() noexcept {
    const std::size_t i = queue_[queue_first_];
    if (++queue_first_ == size_) queue_first_ = 0;
    --queue_size_;
    all_[i].queued = false;
    return i;
  }

  // Gives up what waited too long; answers how many requests, knocks not counted. Who got room is put into the queue.
  [[nodiscard]] std::uint64_t expire(std::uint64_t now) noexcept {
    std::uint64_t gone = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      const std::uint64_t before = gone;
      all_[i].client.expire(now, [&](const srmp::pending_request& asked) {
        if (!load_stamp{asked.cookie}.is_knock()) ++gone;
      });
      if (gone != before) enqueue(i);
    }
    return gone;
  }

  // What the clients count.
  void add_counts(load_figures& to) const noexcept {
    const auto add = [&](load_error kind, const stats::counter& n) {
      to.errors[static_cast<std::size_t>(kind)] += n.get();
    };
    for (std::size_t i = 0; i < size_; ++i) {
      const srmp::client_counters& c = all_[i].client.counters();
      add(load_error::unmatched, c.unmatched);
      add(load_error::unmatched, c.unexpected);
      add(load_error::stranger, c.strangers);
      add(load_error::malformed, c.malformed);
      add(load_error::malformed, c.truncated);
    }
  }
};

}  // namespace millrace::loadgen
