// test/quic/sim/network.hpp - two QUIC endpoints, a network between them, and a clock that jumps.
//
// Shape    a node is an endpoint with everything it needs; a network carries datagrams between two of them, each
//          direction with its own delay, loss, reordering, duplication, corruption, rate and size limit, all from one
//          seed. run() goes on until a condition holds or the given time is over. Nothing sleeps.
// Owner    the network owns both nodes. Every pool is checked to be whole at the end.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <queue>
#include <random>

#include "quic/endpoint/endpoint.hpp"
#include "support/plain_pool.hpp"
#include "tls/context.hpp"

namespace millrace::test {

using quic::recovery::ms;
using quic::recovery::second;

inline constexpr std::uint64_t sim_start_ns = 1'000 * second;
inline constexpr std::int64_t sim_epoch_ns = 1'790'000'000'000'000'000;

inline base::endpoint sim_address(std::uint8_t host, std::uint16_t port) {
  const std::uint8_t four[] = {198, 18, 0, host};
  return {base::ip_address::v4(four), port};
}

struct link_model {
  std::uint64_t delay_ns = 10 * ms;
  std::uint64_t jitter_ns = 0;      // reorders
  double loss = 0;                  // of datagrams
  unsigned most_lost_in_a_row = 0;  // 0: no matter
  double duplicate = 0;
  double corrupt = 0;                  // one byte
  std::uint64_t bytes_per_second = 0;  // 0: no limit
  std::size_t queue_bytes = 256 * 1024;
  std::size_t most_bytes = 65'535;  // larger datagrams vanish
  bool is_down = false;
  double mark_ce = 0;
};

struct seen_datagram {
  std::uint64_t at_ns = 0;
  bool from_client = false;
  std::vector<std::uint8_t> bytes;
  quic::path::path_address address;  // as its receiver sees it
  quic::wire::ecn_mark ecn = quic::wire::ecn_mark::not_ect;
};

class node {
 public:
  crypto::engine engine;
  plain_pool pool;
  std::unique_ptr<quic::endpoint::quic_endpoint> endpoint;
  stats::drop_counters drops;
  std::uint64_t useless = 0;

  node(const quic::endpoint::endpoint_settings& settings, const quic::endpoint::endpoint_keys& keys,
       std::size_t buffers = 20'000, std::uint64_t now_ns = sim_start_ns)
      : engine(std::move(*crypto::engine::make())), pool(buffers, 2048 + 7000) {
    auto made = quic::endpoint::quic_endpoint::make(settings, keys, engine, pool, now_ns,
                                                    sim_epoch_ns + static_cast<std::int64_t>(now_ns - sim_start_ns));
    EXPECT_TRUE(made) << made.error().what;
    endpoint = std::move(made.value());
  }

  void receive(const seen_datagram& d, std::uint64_t now_ns) {
    buf::packet whole{pool.alloc()};
    if (!whole) return;  // an empty pool is a lossy network
    const base::byte_span room = whole.append(static_cast<std::uint16_t>(d.bytes.size()));
    std::copy(d.bytes.begin(), d.bytes.end(), room.begin());
    quic::conn::datagram_in in;
    in.whole = &whole;
    in.bytes = room;
    in.address = d.address;
    in.ecn = d.ecn;
    useless += endpoint->on_datagrams(std::span(&in, 1), now_ns, drops);
  }
};

class network {
  struct event {
    std::uint64_t at_ns;
    std::uint64_t order;
    seen_datagram what;
    bool operator<(const event& o) const { return std::tie(at_ns, order) > std::tie(o.at_ns, o.order); }
  };
  std::priority_queue<event> events_;
  std::uint64_t order_ = 0;
  std::mt19937_64 random_;
  std::array<std::uint64_t, 2> busy_until_ns_{};
  std::array<unsigned, 2> lost_in_a_row_{};
  quic::endpoint::endpoint_settings server_settings_;
  quic::endpoint::endpoint_keys server_keys_;

  double chance() { return std::uniform_real_distribution<double>(0, 1)(random_); }

 public:
  std::unique_ptr<node> client, server;
  std::uint64_t now_ns = sim_start_ns;
  link_model up, down;  // from the client, from the server
  std::uint64_t sent[2] = {}, lost[2] = {};
  std::uint64_t turns = 0;  // times that something happened
  // Sees each datagram as it leaves, and may change it; false: it is lost.
  std::function<bool(seen_datagram&)> passing;
  // What the server sees as the client's address: NAT.
  base::endpoint client_outside = sim_address(2, 40'000);
  base::endpoint client_inside = sim_address(2, 40'000);
  base::endpoint other_client;                          // a second address of the client's
  base::endpoint server_address = sim_address(1, 443);  // what it connects to
  base::endpoint other_server;                          // a second address of the server's

  network(const quic::endpoint::endpoint_settings& c, const quic::endpoint::endpoint_settings& s,
          std::uint64_t seed = 1)
      : random_(seed), server_settings_(s) {
    quic::endpoint::endpoint_keys keys;
    keys.cid[0] = 1;
    keys.reset[0] = 2;
    keys.token[0] = 3;
    client = std::make_unique<node>(c, keys);
    keys.cid[0] = 4;
    keys.reset[0] = 5;
    keys.token[0] = 6;
    server_keys_ = keys;
    server = std::make_unique<node>(s, keys);
  }
  // The server is started again, with the same keys and without any memory.
  void forget_server() {
    server.reset();
    server = std::make_unique<node>(server_settings_, server_keys_, 20'000, now_ns);
  }
  // The same, with other settings: those in `smaller`.
  quic::endpoint::endpoint_settings smaller;
  void shrink_server() {
    server_settings_ = smaller;
    forget_server();
  }
  ~network() {
    for (node* n : {client.get(), server.get()}) {
      n->endpoint->close_all(0, now_ns);
    }
    const std::uint64_t until = now_ns + 60 * second;
    passing = nullptr;
    up = down = {};
    run([&] { return client->endpoint->connections() == 0 && server->endpoint->connections() == 0; }, until - now_ns);
    EXPECT_TRUE(client->endpoint->is_whole());
    EXPECT_TRUE(server->endpoint->is_whole());
    events_ = {};
  }

  [[nodiscard]] quic::path::path_address client_path() const { return {client_inside, server_address}; }

  void send(const base::byte_view bytes, const quic::conn::datagram_out& out, bool from_client) {
    seen_datagram d;
    d.at_ns = now_ns;
    d.from_client = from_client;
    d.bytes.assign(bytes.begin(), bytes.end());
    d.ecn = out.ect0 ? quic::wire::ecn_mark::ect0 : quic::wire::ecn_mark::not_ect;
    if (from_client) {
      if (out.address.remote != server_address && out.address.remote != other_server) return;
      d.address = {out.address.remote, out.address.local == client_inside ? client_outside : out.address.local};
    } else {
      if (out.address.remote != client_outside && out.address.remote != other_client) {
        ++lost[1];  // nobody lives there any more
        return;
      }
      d.address = {out.address.remote == client_outside ? client_inside : out.address.remote, out.address.local};
    }
    deliver(std::move(d));
  }

  void deliver(seen_datagram d) {
    const bool from_client = d.from_client;
    link_model& l = from_client ? up : down;
    ++sent[from_client ? 0 : 1];
    unsigned& row = lost_in_a_row_[from_client ? 0 : 1];
    const bool unlucky = chance() < l.loss && (l.most_lost_in_a_row == 0 || row < l.most_lost_in_a_row);
    row = unlucky ? row + 1 : 0;
    if ((passing && !passing(d)) || l.is_down || d.bytes.size() > l.most_bytes || unlucky) {
      ++lost[from_client ? 0 : 1];
      return;
    }
    std::uint64_t at = now_ns + l.delay_ns;
    if (l.bytes_per_second != 0) {
      std::uint64_t& busy = busy_until_ns_[from_client ? 0 : 1];
      busy = std::max(busy, now_ns);
      if ((busy - now_ns) * l.bytes_per_second / second > l.queue_bytes) {
        ++lost[from_client ? 0 : 1];
        return;
      }
      busy += (d.bytes.size() + 28) * second / l.bytes_per_second;
      at = busy + l.delay_ns;
    }
    if (l.jitter_ns != 0) at += random_() % l.jitter_ns;
    if (l.corrupt != 0 && chance() < l.corrupt)
      d.bytes[random_() % d.bytes.size()] ^= static_cast<std::uint8_t>(1 + random_() % 255);
    if (l.mark_ce != 0 && d.ecn == quic::wire::ecn_mark::ect0 && chance() < l.mark_ce) d.ecn = quic::wire::ecn_mark::ce;
    if (l.duplicate != 0 && chance() < l.duplicate) events_.push({at + 1, order_++, d});
    events_.push({at, order_++, std::move(d)});
  }

  // All that both endpoints have to say now.
  void flush() {
    std::array<std::uint8_t, 9'000> room;
    for (const bool from_client : {true, false}) {
      node& n = from_client ? *client : *server;
      quic::conn::datagram_out out;
      for (unsigned i = 0; i < 100'000; ++i) {
        const std::size_t size = n.endpoint->poll(room, now_ns, out);
        if (size == 0) break;
        send(base::byte_view(room).first(size), out, from_client);
      }
    }
  }

  // True when `done` came to hold within `limit_ns`.
  bool run(const std::function<bool()>& done, std::uint64_t limit_ns = 60 * second) {
    const std::uint64_t end_ns = now_ns + limit_ns;
    for (std::uint64_t steps = 0; steps < 20'000'000; ++steps) {
      flush();
      if (done()) return true;
      std::uint64_t next = std::min(client->endpoint->due_ns(), server->endpoint->due_ns());
      if (!events_.empty()) next = std::min(next, events_.top().at_ns);
      if (next > end_ns) {
        now_ns = end_ns;
        return done();
      }
      now_ns = std::max(now_ns, next);
      ++turns;
      while (!events_.empty() && events_.top().at_ns <= now_ns) {
        const seen_datagram d = events_.top().what;
        events_.pop();
        (d.from_client ? *server : *client).receive(d, now_ns);
      }
      if (client->endpoint->due_ns() <= now_ns) client->endpoint->on_time(now_ns);
      if (server->endpoint->due_ns() <= now_ns) server->endpoint->on_time(now_ns);
    }
    ADD_FAILURE() << "the simulation does not come to rest";
    return false;
  }
  void wait(std::uint64_t ns) {
    static_cast<void>(run([] { return false; }, ns));
  }
};

}  // namespace millrace::test
