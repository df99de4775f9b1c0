// test/loadgen/fake_server.hpp - an SRMP server of plain buffers and the wire to it, on simulated time.
//
// Shape    `wire` is the Way of a load_session: what it sends arrives at the server after delay_ns, replies as long
//          after. run() moves time. Hooks drop, double or spoil datagrams on their way.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <functional>
#include <vector>

#include "loadgen/load_session.hpp"
#include "rpc/builtin.hpp"
#include "rpc/service.hpp"
#include "srmp/datagram_service.hpp"

namespace millrace::loadgen::test_support {

inline base::endpoint server_endpoint() { return {base::ip_address::parse("198.18.0.1").value(), 5500}; }
inline base::ip_address client_address() { return base::ip_address::parse("198.18.0.2").value(); }

struct sent_datagram {
  std::uint64_t arrives_ns;
  std::uint16_t client_port;
  std::vector<std::uint8_t> bytes;
};

// Both directions of the wire, and the way of the client.
class wire {
  std::array<std::uint8_t, 65'536> room_{};
  std::uint16_t port_ = 0;

 public:
  static constexpr std::size_t path = 1472;

  std::uint64_t now_ns = 1'000'000;
  std::uint64_t delay_ns = 10'000;
  bool source = true;
  bool neighbour = true;  // false: datagrams wait, and are lost
  unsigned room_pkts = 512;
  std::uint64_t vain = 0;
  std::vector<std::size_t> sizes;  // of all datagrams that the client sent
  std::deque<sent_datagram> to_server;
  std::deque<sent_datagram> to_client;

  void aim(std::uint16_t port) noexcept { port_ = port; }
  base::byte_span open() noexcept { return room_; }
  void close(std::size_t size) noexcept {
    if (size == 0) return;
    sizes.push_back(size);
    if (neighbour)
      to_server.push_back(
          {now_ns + delay_ns, port_, {room_.begin(), room_.begin() + static_cast<std::ptrdiff_t>(size)}});
    else
      ++vain;
  }
  [[nodiscard]] bool has_source() const noexcept { return source; }
  [[nodiscard]] std::size_t max_payload() const noexcept { return path; }
  [[nodiscard]] unsigned packets(std::size_t bytes) const noexcept {
    return static_cast<unsigned>((bytes + path - 1) / path);
  }
  [[nodiscard]] unsigned room() const noexcept { return room_pkts; }
  [[nodiscard]] bool went() const noexcept { return neighbour; }
  [[nodiscard]] std::uint64_t refused() const noexcept { return 0; }
  [[nodiscard]] std::uint64_t unreachable() const noexcept { return vain; }
  [[nodiscard]] std::uint64_t waiting() const noexcept { return neighbour ? 0 : 1; }
  [[nodiscard]] std::uint64_t icmp_errors() const noexcept { return 0; }
};

// Where the server's replies go.
class reply_sink {
  wire& wire_;
  std::array<std::uint8_t, 2048> room_{};
  srmp::conversation to_{};

 public:
  std::function<void(sent_datagram&)> spoil;             // changes a reply on its way
  std::function<unsigned(const sent_datagram&)> copies;  // how many of it arrive; none is a loss

  explicit reply_sink(wire& w) : wire_(w) {}
  void aim(const srmp::conversation& between) noexcept { to_ = between; }
  base::byte_span open() noexcept { return room_; }
  void close(std::size_t size) noexcept {
    if (size == 0) return;
    sent_datagram one{wire_.now_ns + wire_.delay_ns,
                      to_.remote.port,
                      {room_.begin(), room_.begin() + static_cast<std::ptrdiff_t>(size)}};
    if (spoil) spoil(one);
    for (unsigned n = copies ? copies(one) : 1; n != 0; --n) wire_.to_client.push_back(one);
  }
};

template <class Handler>
class server {
  srmp::datagram_service<reply_sink, Handler> service_;

 public:
  reply_sink sink;
  bool silent = false;
  std::uint64_t datagrams = 0;

  // `batched`: replies share datagrams, as far as they fit.
  server(wire& w, Handler& handler, bool batched)
      : service_(sink, handler, {.peers = {.one_frame_a_datagram = !batched}}), sink(w) {}
  [[nodiscard]] const srmp::server_counters& counters() const { return service_.counters(); }

  void poll(wire& w) {
    while (!w.to_server.empty() && w.to_server.front().arrives_ns <= w.now_ns) {
      const sent_datagram one = std::move(w.to_server.front());
      w.to_server.pop_front();
      ++datagrams;
      if (silent) continue;
      service_.on_datagram({.remote = {client_address(), one.client_port}, .local = server_endpoint()}, one.bytes);
    }
    service_.flush();
  }
};

// Both ends, and time between them.
template <class Handler = srmp::echo_handler>
struct world {
  wire way;
  Handler own_handler{};
  server<Handler> far;
  std::unique_ptr<load_session<wire>> load;
  std::uint64_t most_in_flight = 0;

  explicit world(const load_settings& settings)
      : far(way, own_handler, settings.fill), load(load_session<wire>::make(settings)) {}

  // In steps, until so much time went by or the load is finished. Answers whether it is.
  bool run(std::uint64_t for_ns, std::uint64_t step_ns = 1000) {
    for (const std::uint64_t until = way.now_ns + for_ns; way.now_ns < until; way.now_ns += step_ns) {
      far.poll(way);
      bool came = false;
      while (!way.to_client.empty() && way.to_client.front().arrives_ns <= way.now_ns) {
        const sent_datagram one = std::move(way.to_client.front());
        way.to_client.pop_front();
        load->on_datagram(one.client_port, server_endpoint(), one.bytes, way.now_ns);
        came = true;
      }
      if (came || load->due_ns() <= way.now_ns) load->pump(way, way.now_ns);
      most_in_flight = std::max(most_in_flight, load->figures().in_flight);
      if (load->phase() == load_phase::finished) return true;
    }
    return false;
  }
};

inline load_settings basic() {
  load_settings s;
  s.target = server_endpoint();
  s.timeout_ns = 20'000'000;
  s.patience_ns = 500'000'000;
  return s;
}

// Every message has one end.
inline void expect_balance(const load_figures& f) {
  EXPECT_EQ(f.sent,
            f.replies + f[load_error::timeout] + f[load_error::error_reply] + f[load_error::mismatch] + f.in_flight);
}

}  // namespace millrace::loadgen::test_support
