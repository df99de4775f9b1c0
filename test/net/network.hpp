// test/net/network.hpp - hosts on one wire with virtual time: frames are byte vectors, loss is seeded.
//
// Shape    a station is a host with its inbox; the network carries frames from each station's sink to the others, in
//          order, with what loss and duplication it is told. run() moves time from event to event.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "net/host.hpp"
#include "support/bytes.hpp"
#include "support/seeded.hpp"

namespace millrace::net::test {

using millrace::test::byte_list;
using millrace::test::from_hex;
using millrace::test::join;
using millrace::test::seeded;

inline constexpr std::uint64_t ms = 1'000'000;
inline constexpr std::uint64_t sec = 1'000'000'000;

inline base::ip_address ip(std::string_view text) {
  const auto a = base::ip_address::parse(text);
  EXPECT_TRUE(a.has_value()) << text;
  return a.value_or(base::ip_address{});
}
inline wire::mac_address mac(std::uint8_t last) { return {{0x02, 0, 0, 0, 0, last}}; }

// What a host says, kept in order; refuses once `room` frames were taken.
class list_sink final : public frame_sink {
 public:
  std::deque<byte_list> frames;
  std::size_t room = SIZE_MAX;
  std::size_t longest = 65535;

  [[nodiscard]] base::byte_span take(std::size_t bytes) noexcept override {
    if (room == 0 || bytes > longest) return {};
    if (room != SIZE_MAX) --room;
    frames.emplace_back(bytes, std::uint8_t{0xEE});
    return frames.back();
  }
  byte_list pop() {
    if (frames.empty()) {
      ADD_FAILURE() << "no frame was sent";
      return {};
    }
    byte_list one = std::move(frames.front());
    frames.pop_front();
    return one;
  }
};

inline std::unique_ptr<host> must_make(const host_config& config) {
  auto made = host::make(config);
  if (!made) {
    ADD_FAILURE() << made.error().what;
    std::abort();
  }
  return std::move(made.value());
}

inline host_config config_of(std::uint8_t last) {
  host_config c;
  c.mac = mac(last);
  c.addresses = {{ip("198.18.0." + std::to_string(last)), 24}, {ip("2001:db8:18::" + std::to_string(last)), 64}};
  c.dad_transmits = 0;
  c.announce = false;
  c.seed = 0x1234'5678'9ABC'DEF0;
  return c;
}

struct heard {
  base::endpoint local;
  base::endpoint remote;
  byte_list payload;
  bool reassembled = false;
  bool broadcast = false;
};

struct station {
  std::unique_ptr<host> stack;
  list_sink out;
  std::vector<heard> inbox;
  std::uint64_t given = 0;  // frames
  std::uint64_t delivered = 0;
  stats::drop_counters drops;

  explicit station(const host_config& config) : stack(must_make(config)) {}
  host* operator->() { return stack.get(); }

  rx_answer receive(base::byte_view frame, std::uint64_t now, buf::checksum_verdict hardware = {}) {
    udp_delivery d;
    ++given;
    const rx_answer answer = stack->receive(frame, hardware, now, out, d);
    if (answer.what == rx_what::deliver) {
      ++delivered;
      inbox.push_back({d.local, d.remote, {d.payload.begin(), d.payload.end()}, d.reassembled, d.broadcast});
    }
    if (answer.what == rx_what::drop) drops.add(answer.why);
    EXPECT_EQ(answer.what == rx_what::drop, answer.why != stats::drop_reason::none);
    return answer;
  }
  // The reason of a frame that must be dropped; `none` otherwise.
  stats::drop_reason refuse(base::byte_view frame, std::uint64_t now = 0, buf::checksum_verdict hardware = {}) {
    return receive(frame, now, hardware).why;
  }
  tx_answer send(const udp_flow& flow, base::byte_view payload, std::uint64_t now) {
    const std::size_t size = stack->headers_size(flow.local.address.family);
    byte_list frame(size + payload.size());
    std::copy(payload.begin(), payload.end(), frame.begin() + static_cast<std::ptrdiff_t>(size));
    const tx_answer answer = stack->send_udp(flow, frame, now, out);
    if (answer.what == tx_what::ready) out.frames.push_back(frame);
    return answer;
  }
  // Everything given is answered once, and counted once.
  void check_balance() {
    const host_figures& f = stack->figures();
    EXPECT_EQ(given, f.delivered.get() + f.consumed.get() + f.dropped.get());
    EXPECT_EQ(drops.total(), f.dropped.get());
    EXPECT_EQ(delivered, f.delivered.get());
    EXPECT_EQ(stack->neighbours().frames_kept(),
              f.sent_late.get() + stack->held_drops().total() + stack->frames_held());
  }
};

class network {
  std::vector<std::unique_ptr<station>> stations_;
  seeded dice_;

 public:
  std::uint64_t now = 10 * sec;
  unsigned loss_percent = 0;
  unsigned twice_percent = 0;

  explicit network(std::uint64_t seed = 1) : dice_(seed) {}

  station& join(const host_config& config) {
    stations_.push_back(std::make_unique<station>(config));
    stations_.back()->stack->start(now);
    return *stations_.back();
  }
  // Carries what was said until nobody says anything.
  void settle() {
    for (bool moved = true; moved;) {
      moved = false;
      for (auto& from : stations_) {
        while (!from->out.frames.empty()) {
          const byte_list frame = from->out.pop();
          moved = true;
          if (dice_.below(100) < loss_percent) continue;
          const int times = dice_.below(100) < twice_percent ? 2 : 1;
          for (int i = 0; i < times; ++i)
            for (auto& to : stations_)
              if (to != from) to->receive(frame, now);
        }
      }
    }
  }
  // Lets time pass, event by event.
  void run(std::uint64_t duration) {
    const std::uint64_t end = now + duration;
    settle();
    for (;;) {
      std::uint64_t next = end;
      for (auto& s : stations_) next = std::min(next, std::max(s->stack->due_ns(), now));
      now = next;
      for (auto& s : stations_) s->stack->on_time(now, s->out);
      settle();
      if (now >= end) return;
      bool later = false;
      for (auto& s : stations_) later |= s->stack->due_ns() <= now;
      if (later) ADD_FAILURE() << "on_time() left something due";
      if (later) return;
    }
  }
  void check_balance() {
    for (auto& s : stations_) s->check_balance();
  }
};

inline udp_flow flow_of(std::string_view from, std::string_view to, std::uint16_t from_port = 1000,
                        std::uint16_t to_port = 5500) {
  return {.local = {ip(from), from_port}, .remote = {ip(to), to_port}};
}

}  // namespace millrace::net::test
