// test/pipeline/scripted_pair.hpp - an application of the server's on a QUIC connection in virtual time; the client is
// a script of bytes on streams.
//
// Shape    a test derives from scripted_pair, makes its application, puts it on net.server->endpoint, and connects.
// Owner    the network goes before what derives has gone: end() in its destructor.
#pragma once

#include <optional>

#include "quic/sim/pair.hpp"

namespace millrace::test {

using bytes = std::vector<std::uint8_t>;
inline bytes operator+(bytes a, const bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
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

class scripted_client : public quic::conn::application {
 public:
  std::vector<std::unique_ptr<scripted>> streams, from_peer;
  bool established = false, closed = false;
  quic::conn::connection_end end;

  void on_established(quic::conn::connection&) noexcept override { established = true; }
  void on_stream_opened(quic::conn::connection&, quic::conn::live_stream& s) noexcept override {
    auto x = std::make_unique<scripted>();
    x->stream = &s;
    s.user = x.get();
    from_peer.push_back(std::move(x));
  }
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
  void on_closed(quic::conn::connection&, const quic::conn::connection_end& e) noexcept override {
    closed = true;
    end = e;
  }
};

class scripted_pair {
  std::optional<network> network_;

 public:
  plain_pool blocks;  // for what is said back
  scripted_client client_app;
  std::shared_ptr<const tls::server_context> server_tls;
  std::shared_ptr<const tls::client_context> client_tls;
  network& net;
  quic::conn::connection* connection = nullptr;

  scripted_pair(const std::string& protocol, const sim_options& o, std::size_t most_blocks)
      : network_(std::in_place, o.client, o.server), blocks(most_blocks, 2048), net(*network_) {
    tls::server_settings s;
    s.credentials = tls::server_credentials::make({&sim_pem(), 1}).value();
    s.protocols = {{protocol, "1"}};
    s.ticket_secret = std::string(32, 's');
    server_tls = tls::server_context::make(std::move(s)).value();
    tls::client_settings c;
    c.trust = tls::client_trust::anybody().value();
    c.protocols = {protocol};
    client_tls = tls::client_context::make(std::move(c)).value();
    net.server->endpoint->serve(server_tls);
  }
  ~scripted_pair() { end(); }
  scripted_pair(const scripted_pair&) = delete;
  scripted_pair& operator=(const scripted_pair&) = delete;
  void end() { network_.reset(); }

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
  // Reads on, after `reads` was false.
  void read(scripted& x) {
    x.reads = true;
    scripted_client::read(*connection, x);
    net.client->endpoint->touch(*connection);
  }
  // Says it, and waits for as many bytes of answer.
  bool ask(scripted& x, const bytes& what, std::size_t answer, bool fin = false, std::uint64_t limit_ns = 60 * second) {
    say(x, what, fin);
    return net.run([&] { return x.got.size() >= answer; }, limit_ns) && x.got.size() == answer;
  }
};

}  // namespace millrace::test
