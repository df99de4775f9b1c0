// test/pipeline/srmp_sim.hpp - SRMP over QUIC between two endpoints in virtual time: the server is srmp_streams, the
// client a script of bytes on streams.
#pragma once

#include "pipeline/srmp_streams.hpp"
#include "quic/sim/pair.hpp"
#include "rpc/builtin.hpp"
#include "rpc/service.hpp"

namespace millrace::test {

using bytes = std::vector<std::uint8_t>;

inline bytes srmp_frame(std::uint8_t flags, std::uint8_t seq, base::byte_view payload) {
  bytes out(srmp::wire::frame_size_for(static_cast<std::uint32_t>(payload.size())));
  EXPECT_EQ(srmp::wire::emit_frame(out, flags, seq, payload), out.size());
  return out;
}
inline bytes operator+(bytes a, const bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
// Payload bytes that tell their place.
inline bytes srmp_payload(std::size_t size, unsigned of = 0) {
  bytes out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::uint8_t>(i * 7 + (i >> 8) * 13 + of);
  return out;
}

// One stream of the client's.
struct scripted {
  bytes_source source;  // all that was said
  bytes got;
  bool reads = true;
  bool at_end = false;
  bool reset = false;
  bool stopped = false;
  bool over = false;
  std::uint64_t code = 0;
  quic::conn::live_stream* stream = nullptr;
};

class srmp_client : public quic::conn::application {
 public:
  std::vector<std::unique_ptr<scripted>> streams;
  bool established = false, closed = false;

  void on_established(quic::conn::connection&) noexcept override { established = true; }
  void on_readable(quic::conn::connection& c, quic::conn::live_stream& s) noexcept override {
    auto& x = *static_cast<scripted*>(s.user);
    if (s.recv.is_reset()) {
      x.reset = true;
      x.code = s.recv.reset_code();
      c.reset_read(s);
      return;
    }
    if (x.reads) read(c, x);
  }
  static void read(quic::conn::connection& c, scripted& x) {
    quic::conn::live_stream& s = *x.stream;
    for (base::byte_view v = s.recv.front(); !v.empty(); v = s.recv.front()) {
      x.got.insert(x.got.end(), v.begin(), v.end());
      c.consume(s, v.size());
    }
    x.at_end = s.recv.is_at_end();
  }
  void on_stopped(quic::conn::connection&, quic::conn::live_stream& s) noexcept override {
    static_cast<scripted*>(s.user)->stopped = true;
  }
  void on_stream_closed(quic::conn::connection&, quic::conn::live_stream& s) noexcept override {
    static_cast<scripted*>(s.user)->over = true;
    static_cast<scripted*>(s.user)->stream = nullptr;
  }
  void on_closed(quic::conn::connection&, const quic::conn::connection_end&) noexcept override { closed = true; }
};

struct srmp_options {
  sim_options sim;
  pipeline::srmp_stream_settings settings;
  std::size_t blocks = 4096;  // of 2 KB, for replies
};

template <class Handler>
class srmp_pair {
 public:
  plain_pool blocks;
  std::unique_ptr<pipeline::srmp_streams<Handler>> server_app;
  srmp_client client_app;
  std::shared_ptr<const tls::server_context> server_tls;
  std::shared_ptr<const tls::client_context> client_tls;
  network net;
  quic::conn::connection* connection = nullptr;

  srmp_pair(Handler& handler, const srmp_options& o = {}) : blocks(o.blocks, 2048), net(o.sim.client, o.sim.server) {
    auto made = pipeline::srmp_streams<Handler>::make(handler, o.settings, blocks);
    EXPECT_TRUE(made) << made.error().what;
    server_app = std::move(made.value());
    tls::server_settings s;
    s.credentials = tls::server_credentials::make({&sim_pem(), 1}).value();
    s.protocols = {{"srmp", "1"}};
    s.ticket_secret = std::string(32, 's');
    server_tls = tls::server_context::make(std::move(s)).value();
    tls::client_settings c;
    c.trust = tls::client_trust::anybody().value();
    c.protocols = {"srmp"};
    client_tls = tls::client_context::make(std::move(c)).value();
    net.server->endpoint->serve(server_tls);
    auto served = server_app->serve_on(*net.server->endpoint);
    EXPECT_TRUE(served) << served.error().what;
    connect();
  }
  void connect() {
    quic::endpoint::client_request r;
    r.address = net.client_path();
    r.server_name = "example.test";
    r.protocol = &client_app;
    r.context = client_tls;
    connection = net.client->endpoint->connect(r, net.now_ns);
    EXPECT_TRUE(net.run([&] { return client_app.established; }));
  }
  scripted& open(quic::stream::direction kind = quic::stream::direction::bidirectional) {
    auto x = std::make_unique<scripted>();
    x->stream = connection->open(kind, net.now_ns);
    EXPECT_NE(x->stream, nullptr);
    x->stream->source = &x->source;
    x->stream->user = x.get();
    client_app.streams.push_back(std::move(x));
    return *client_app.streams.back();
  }
  void say(scripted& x, const bytes& what, bool fin = false) {
    x.source.bytes.append(what.begin(), what.end());
    if (!what.empty()) connection->write(*x.stream, what.size());
    if (fin) connection->finish(*x.stream);
    net.client->endpoint->touch(*connection);
  }
  // Says it, and waits for as many bytes of answer.
  bool ask(scripted& x, const bytes& what, std::size_t answer, bool fin = false, std::uint64_t limit_ns = 60 * second) {
    say(x, what, fin);
    return net.run([&] { return x.got.size() >= answer; }, limit_ns) && x.got.size() == answer;
  }
  // Everything was said, acknowledged, and given back.
  bool rests() {
    return net.run([&] { return server_app->open_sessions() == 0 && blocks.in_use() == 0; }, 5 * second);
  }
  const pipeline::srmp_stream_counters& count() const { return server_app->streams(); }
  const srmp::server_counters& served() const { return server_app->counters(); }
};

}  // namespace millrace::test
