// Send buffers of streams, on a network that loses: chain_source gives every byte again until it is
// acknowledged, and holds no more than it may.
#include "quic/conn/chain_source.hpp"

#include "quic/sim/pair.hpp"

namespace millrace::test {
namespace {

using quic::conn::chain_source;
using quic::conn::connection;
using quic::conn::live_stream;

base::byte_view pattern_bytes(std::vector<std::uint8_t>& room, std::uint64_t from, std::size_t size) {
  room.resize(size);
  for (std::size_t i = 0; i < size; ++i) room[i] = pattern_at(from + i);
  return room;
}

bool is_pattern(chain_source& s, std::uint64_t offset, std::size_t size) {
  std::array<base::byte_view, quic::conn::most_source_parts> parts;
  while (size != 0) {
    const unsigned count = s.borrow(offset, size, parts);
    if (count == 0) return false;
    for (unsigned i = 0; i < count; ++i) {
      for (const std::uint8_t b : parts[i])
        if (b != pattern_at(offset++)) return false;
      size -= parts[i].size();
    }
  }
  return true;
}

TEST(chain_source, gives_any_bytes_that_are_held_whatever_the_order_of_asking) {
  plain_pool pool(4096, 512);
  chain_source s(pool, {.pause_bytes = 0, .resume_bytes = 0, .pause_segments = 0});
  std::mt19937_64 random(7);
  std::vector<std::uint8_t> room;
  std::uint64_t released = 0;
  for (unsigned i = 0; i < 20'000; ++i) {
    switch (random() % 4) {
      case 0:
        s.pipe().write(pattern_bytes(room, s.end(), random() % 700));
        break;
      case 1: {  // a packet of its own
        buf::packet whole{pool.alloc()};
        const std::size_t size = 1 + random() % 400;
        ASSERT_TRUE(whole.append_copy(pattern_bytes(room, s.end(), size)));
        s.pipe().append(std::move(whole));
        break;
      }
      case 2:
        if (s.end() != released) {
          const std::uint64_t from = released + random() % (s.end() - released);
          ASSERT_TRUE(is_pattern(s, from, std::min<std::uint64_t>(1200, s.end() - from))) << from;
        }
        break;
      case 3:
        if (s.end() - released > 3000 || random() % 8 == 0) {
          released += random() % (s.end() - released + 1);
          s.released(released);
          ASSERT_EQ(s.waiting_bytes(), s.end() - released);
        }
        break;
    }
  }
  s.released(s.end());
  EXPECT_EQ(pool.in_use(), 0u) << "at rest it holds no buffer";
  s.pipe().write(pattern_bytes(room, s.end(), 100));
  s.released(UINT64_MAX);
  EXPECT_EQ(pool.in_use(), 0u);
  EXPECT_EQ(s.pipe().write(room), buf::flow::closed);
}

TEST(chain_source, answers_fewer_bytes_when_they_lie_in_too_many_places) {
  plain_pool pool(64, 512);
  chain_source s(pool);
  std::vector<std::uint8_t> room;
  for (unsigned i = 0; i < 40; ++i) {
    buf::packet one{pool.alloc()};
    ASSERT_TRUE(one.append_copy(pattern_bytes(room, s.end(), 10)));
    s.pipe().append(std::move(one));
  }
  std::array<base::byte_view, quic::conn::most_source_parts> parts;
  EXPECT_EQ(s.borrow(5, 395, parts), 16u);
  EXPECT_TRUE(is_pattern(s, 0, 400));
  EXPECT_EQ(s.borrow(400, 1, parts), 0u);
}

// A server that answers from buffers of its own, and clients that may not read.
struct buffered : public quic::conn::application {
  struct one {
    chain_source out;
    std::uint64_t left = 0;
    one(const buf::mbuf_source& pool, const buf::pipe_limits& limits) : out(pool, limits) {}
  };
  buf::mbuf_source pool;
  buf::pipe_limits limits{.pause_bytes = 16 << 10, .resume_bytes = 8 << 10, .pause_segments = 64};
  std::uint64_t size = 1'000'000;
  bool in_crumbs = false;
  std::map<std::uint64_t, std::unique_ptr<one>> all;

  void produce(connection& c, live_stream& s, one& x) {
    std::vector<std::uint8_t> room;
    while (x.left != 0 && x.out.is_open()) {
      const std::size_t n = std::min<std::uint64_t>(x.left, in_crumbs ? 20 : 1000);
      const base::byte_view some = pattern_bytes(room, size - x.left, n);
      if (in_crumbs) {
        buf::packet crumb{pool.alloc()};
        if (!crumb.append_copy(some)) break;
        x.out.pipe().append(std::move(crumb));
      } else if (x.out.pipe().write(some) == buf::flow::exhausted) {
        break;
      }
      x.left -= n;
    }
    x.out.submit(c, s);
    if (x.left == 0) c.finish(s);
  }
  void on_readable(connection& c, live_stream& s) noexcept override {
    while (!s.recv.front().empty()) c.consume(s, s.recv.front().size());
    if (!s.recv.is_at_end() || s.user != nullptr) return;
    auto x = std::make_unique<one>(pool, limits);
    x->left = size;
    s.user = x.get();
    s.source = &x->out;
    produce(c, s, *x);
    all[s.id.value()] = std::move(x);
  }
  void on_writable(connection& c, live_stream& s) noexcept override {
    if (s.user != nullptr) produce(c, s, *static_cast<one*>(s.user));
  }
  void on_stream_closed(connection&, live_stream& s) noexcept override { all.erase(s.id.value()); }
};

struct buffered_pair : sim_pair {
  plain_pool pool{20'000, 2048};
  buffered app;
  explicit buffered_pair(const sim_options& o = {}) : sim_pair(o) {
    app.pool = pool;
    auto server = net.server->endpoint.get();
    EXPECT_TRUE(server->add_application("buffered", app));
    tls::server_settings s;
    s.credentials = tls::server_credentials::make({&sim_pem(), 1}).value();
    s.protocols = {{"buffered", "1"}};
    s.ticket_secret = std::string(32, 's');
    server->serve(tls::server_context::make(std::move(s)).value());
    tls::client_settings c;
    c.trust = tls::client_trust::anybody().value();
    c.protocols = {"buffered"};
    client_tls = tls::client_context::make(std::move(c)).value();
  }
  ~buffered_pair() {
    net.server->endpoint->close_all(0, net.now_ns);
    net.wait(2 * second);
    EXPECT_TRUE(app.all.empty());
    EXPECT_EQ(pool.in_use(), 0u);
  }
};

TEST(chain_source, sends_every_byte_with_loss_and_reordering) {
  buffered_pair p;
  p.net.down.loss = p.net.up.loss = 0.03;
  p.net.down.jitter_ns = 3 * ms;
  EXPECT_TRUE(p.fetch({1'000'000, 1'000'000, 1'000'000}, 300 * second));
}

TEST(chain_source, sends_bytes_that_lie_in_crumbs) {
  buffered_pair p;
  p.app.in_crumbs = true;
  p.app.limits.pause_segments = 0;
  p.app.size = 100'000;
  p.net.down.loss = 0.02;
  EXPECT_TRUE(p.fetch({100'000}, 300 * second));
}

TEST(chain_source, a_thousand_stalled_readers_keep_memory_flat) {
  sim_options o;
  o.server.transport.streams_bidi = 1024;
  o.client.transport.streams_bidi = 1024;
  buffered_pair p(o);
  p.client_app.reads = false;
  p.app.size = 50'000'000;
  p.client_app.to_ask.assign(1000, 50'000'000);
  ASSERT_NE(p.connect(), nullptr);
  p.net.wait(5 * second);
  EXPECT_EQ(p.app.all.size(), 1000u);
  const std::size_t held = p.pool.in_use();
  // Of each no more than the mark and what one call of the producer adds.
  EXPECT_LE(held, 1000u * ((16u << 10) / 2048 + 2));
  p.net.wait(20 * second);
  EXPECT_LE(p.pool.in_use(), held + 1000) << "nothing grows while nobody reads";
}

}  // namespace
}  // namespace millrace::test
