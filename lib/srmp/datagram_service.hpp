// srmp/datagram_service.hpp - what a loop calls: the datagrams of a burst in, each caller's replies gathered.
//
// Shape    for each datagram of a burst: on_datagram(between, bytes); after the last: flush(). Datagrams of one
//          conversation that follow each other share the datagrams of replies, so a loop that groups a burst by caller
//          sends the fewest packets. The handler is an rpc::service, an echo_handler, or anything like them.
// Sink     a datagram_sink with aim(between) besides: datagrams opened from then on go from between.local to
//          between.remote. It stands on the loop's packet pool and headers; room is what is left behind the headers.
// Handler  as serve_datagram() asks, and, if it has it, begin(between) before the first datagram of a conversation.
// Owner    sink, handler and counters' reader are the caller's and outlive the object; so do the bytes of a datagram
//          the call. The spill is inside: max_datagram bytes.
// Rules    replies go to whom a datagram came from, from the address it was sent to. Nothing stays behind flush().
// Limits   those of serve_datagram(); nothing is kept about a peer.
// Errors   on_datagram(): how the datagram ended. A rest to be dropped is drop_reason_of() it.
// Threads  one. Tests  test/srmp/datagram_service_test.cpp
#pragma once

#include <array>

#include "base/ip_address.hpp"
#include "srmp/datagram_server.hpp"

namespace millrace::srmp {

// Two ends, as the server sees them.
struct conversation {
  base::endpoint remote;
  base::endpoint local;      // what was called, and what the reply comes from
  std::uint64_t cookie = 0;  // the loop's: a port and queue, a next hop

  friend constexpr bool operator==(const conversation&, const conversation&) noexcept = default;
};

template <class Sink>
concept aimed_sink = datagram_sink<Sink> && requires(Sink& sink, const conversation& between) {
  { sink.aim(between) } noexcept;
};

struct service_settings {
  std::size_t batch_bytes = 1472;  // of a datagram of replies: the path's MTU less the headers of IP and UDP
  compatibility peers = {};
};

template <aimed_sink Sink, class Handler>
class datagram_service {
 public:
  static constexpr std::size_t max_datagram = 9216;  // the largest a claim of unknown size spills into

 private:
  Sink& sink_;
  Handler& handler_;
  service_settings settings_;
  std::array<std::uint8_t, max_datagram> spill_;
  frame_batch<Sink> batch_;
  conversation between_;  // of the datagrams being gathered
  bool aimed_ = false;
  server_counters count_;

 public:
  datagram_service(Sink& sink, Handler& handler, const service_settings& settings) noexcept
      : sink_(sink),
        handler_(handler),
        settings_(settings),
        batch_(sink, settings.peers.one_frame_a_datagram ? 0 : settings.batch_bytes, spill_) {}
  datagram_service(const datagram_service&) = delete;
  datagram_service& operator=(const datagram_service&) = delete;

  // Ends the conversation before, if this is another one, and aims the sink at it. on_datagram() does so by itself:
  // this is for who has something to tell the sink in between.
  void turn_to(const conversation& between) noexcept {
    if (aimed_ && between == between_) return;
    batch_.flush();
    between_ = between;
    aimed_ = true;
    sink_.aim(between);
    if constexpr (requires { handler_.begin(between); }) handler_.begin(between);
  }

  datagram_end on_datagram(const conversation& between, base::byte_view bytes) noexcept {
    turn_to(between);
    return serve_datagram(bytes, handler_, batch_, settings_.peers, count_);
  }

  // After a burst: sends what was gathered.
  void flush() noexcept {
    batch_.flush();
    aimed_ = false;
  }

  // For pushes: frames to `between` in the same batch, e.g. rpc::push(service.batch_to(between), ...).
  [[nodiscard]] frame_batch<Sink>& batch_to(const conversation& between) noexcept {
    turn_to(between);
    return batch_;
  }

  [[nodiscard]] const server_counters& counters() const noexcept { return count_; }
};

}  // namespace millrace::srmp
