// test/peers/websocket_main.cpp - WebSocket over HTTP/3 (RFC 9220) on libngtcp2 and libnghttp3, to hold millrace
// against.
//
// Opens sessions on one connection, sends messages of many sizes on each, whole and in fragments, and checks what comes
// back; or says one thing that breaks a rule. Prints one JSON object. Exit status 1 when anything did not happen: the
// reason is on stderr.
#include <nghttp3/nghttp3.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>
#include <poll.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "connection.hpp"
#include "report.hpp"
#include "websocket.hpp"

namespace millrace::peers {
namespace {

struct options {
  std::string host, path = "/ws", protocol = "websocket", version = "13", says;
  std::uint16_t port = 443;
  std::uint64_t sessions = 1;
  double timeout_s = 30, loss = 0;
};

struct tunnel {
  conversation talk;
  bytes waiting;  // to be sent
  bytes sending;  // nghttp3 has seen it; good until the next is asked for
  int status = 0;
  bool at_end = false, says_nothing_more = false;
};

class websocket_client final : public connection {
  const options& o_;
  address remote_, known_;
  lossy loss_;
  udp_socket socket_;
  bytes reset_secret_ = random_bytes(32);
  nghttp3_conn* h3_ = nullptr;
  std::map<std::int64_t, tunnel> tunnels_;
  std::uint64_t opened_ = 0;
  bool completed_ = false;

  static websocket_client& self(void* user_data) { return *static_cast<websocket_client*>(user_data); }

  static int on_header(nghttp3_conn*, std::int64_t id, std::int32_t token, nghttp3_rcbuf*, nghttp3_rcbuf* value,
                       std::uint8_t, void* user_data, void*) {
    if (token != NGHTTP3_QPACK_TOKEN__STATUS) return 0;
    const nghttp3_vec text = nghttp3_rcbuf_get_buf(value);
    self(user_data).tunnels_[id].status = std::stoi(std::string(reinterpret_cast<char*>(text.base), text.len));
    return 0;
  }
  static int on_data(nghttp3_conn*, std::int64_t id, const std::uint8_t* data, std::size_t size, void* user_data,
                     void*) {
    try {
      self(user_data).tunnels_[id].talk.hear({data, size});
      return 0;
    } catch (const std::exception& reason) {
      self(user_data).why_ = reason.what();
      return NGHTTP3_ERR_CALLBACK_FAILURE;
    }
  }
  static int on_end_stream(nghttp3_conn*, std::int64_t id, void* user_data, void*) {
    tunnel& t = self(user_data).tunnels_[id];
    t.at_end = t.says_nothing_more = true;
    nghttp3_conn_resume_stream(self(user_data).h3_, id);
    return 0;
  }
  static nghttp3_ssize read(nghttp3_conn*, std::int64_t id, nghttp3_vec* vec, std::size_t, std::uint32_t* flags,
                            void* user_data, void*) {
    tunnel& t = self(user_data).tunnels_[id];
    if (t.waiting.empty()) {
      if (!t.says_nothing_more) return NGHTTP3_ERR_WOULDBLOCK;
      *flags |= NGHTTP3_DATA_FLAG_EOF;
      return 0;
    }
    const auto size = static_cast<std::ptrdiff_t>(std::min<std::size_t>(t.waiting.size(), 16'000));
    t.sending.assign(t.waiting.begin(), t.waiting.begin() + size);
    t.waiting.erase(t.waiting.begin(), t.waiting.begin() + size);
    vec[0] = {t.sending.data(), t.sending.size()};
    return 1;
  }

  std::int64_t open(bool is_uni) {
    std::int64_t id = -1;
    const int status =
        is_uni ? ngtcp2_conn_open_uni_stream(conn_, &id, nullptr) : ngtcp2_conn_open_bidi_stream(conn_, &id, nullptr);
    if (status != 0) throw std::runtime_error("no stream may be opened");
    add_stream(id, std::make_unique<growing_body>());
    return id;
  }
  [[nodiscard]] bytes what_to_say(conversation& talk) const {
    const auto text = [](std::string_view t) {
      return byte_view(reinterpret_cast<const std::uint8_t*>(t.data()), t.size());
    };
    if (o_.says.empty()) return talk.say();
    if (o_.says == "unmasked") return frame(0x81, text("x"), false);
    if (o_.says == "not-utf8") return frame(0x81, text("\xFF"));
    if (o_.says == "rsv1") return frame(0xC1, text("x"));
    if (o_.says == "too-big") return bytes{0x82, 0xFF, 0, 0, 0, 0, 0x40, 0, 0, 0, 1, 2, 3, 4};
    throw std::runtime_error("says what?");
  }
  void begin_session() {
    const std::int64_t id = open(false);
    tunnel& t = tunnels_[id];
    t.waiting = what_to_say(t.talk);
    std::vector<nghttp3_nv> fields;
    const auto add = [&](const char* name, const std::string& value) {
      auto* const n = reinterpret_cast<std::uint8_t*>(const_cast<char*>(name));
      auto* const v = reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data()));
      fields.push_back({n, v, std::char_traits<char>::length(name), value.size(), NGHTTP3_NV_FLAG_NONE});
    };
    const std::string connect = "CONNECT", https = "https", authority = "peer.example";
    add(":method", connect);
    add(":protocol", o_.protocol);
    add(":scheme", https);
    add(":authority", authority);
    add(":path", o_.path);
    add("sec-websocket-version", o_.version);
    const nghttp3_data_reader reader{read};
    if (nghttp3_conn_submit_request(h3_, id, fields.data(), fields.size(), &reader, nullptr) != 0)
      throw std::runtime_error("nghttp3_conn_submit_request");
    opened_ += 1;
  }
  // What nghttp3 has to send is copied into the bodies of its streams.
  void pump() {
    for (;;) {
      std::int64_t id = -1;
      int fin = 0;
      std::array<nghttp3_vec, 16> parts{};
      const nghttp3_ssize n = nghttp3_conn_writev_stream(h3_, &id, &fin, parts.data(), parts.size());
      if (n < 0) throw std::runtime_error(std::string("nghttp3: ") + nghttp3_strerror(static_cast<int>(n)));
      if (id == -1) return;
      std::size_t size = 0;
      const auto found = streams_.find(id);
      for (nghttp3_ssize i = 0; i < n; ++i) {
        const nghttp3_vec& part = parts[static_cast<std::size_t>(i)];
        if (found != streams_.end())
          static_cast<growing_body&>(*found->second.out).add(bytes(part.base, part.base + part.len));
        size += part.len;
      }
      if (fin != 0 && found != streams_.end()) static_cast<growing_body&>(*found->second.out).close();
      if (nghttp3_conn_add_write_offset(h3_, id, size) != 0) throw std::runtime_error("nghttp3: write offset");
      (void)nghttp3_conn_add_ack_offset(h3_, id, size);
      wake(id);
    }
  }

 public:
  websocket_client(const options& o, const tls_context& tls, const transport_options& transport)
      : connection(transport),
        o_(o),
        remote_(parse_address(o.host, o.port)),
        loss_(o.loss, 2),
        socket_(local_towards(remote_), &loss_, true) {
    known_ = socket_.local();
    ngtcp2_callbacks callbacks = common_callbacks();
    callbacks.client_initial = ngtcp2_crypto_client_initial_cb;
    ngtcp2_settings settings;
    ngtcp2_transport_params params;
    fill(settings, params);
    session_ = tls.client_session(&ref_, "peer.example", {});
    const ngtcp2_path path = path_of(known_, remote_);
    const ngtcp2_cid destination = cid_of(random_bytes(18)), own = cid_of(random_bytes(cid_bytes));
    if (ngtcp2_conn_client_new(&conn_, &destination, &own, &path, NGTCP2_PROTO_VER_V1, &callbacks, &settings, &params,
                               nullptr, &ref_) != 0)
      throw std::runtime_error("ngtcp2_conn_client_new");
    ngtcp2_conn_set_tls_native_handle(conn_, session_);
    nghttp3_callbacks h{};
    h.recv_header = on_header;
    h.recv_data = on_data;
    h.end_stream = on_end_stream;
    nghttp3_settings s;
    nghttp3_settings_default(&s);
    s.qpack_max_dtable_capacity = 4096;
    s.qpack_blocked_streams = 16;
    if (nghttp3_conn_client_new(&h3_, &h, &s, nghttp3_mem_default(), this) != 0)
      throw std::runtime_error("nghttp3_conn_client_new");
  }
  ~websocket_client() override { nghttp3_conn_del(h3_); }

  [[nodiscard]] bool is_complete() const {
    if (opened_ < o_.sessions) return false;
    return std::all_of(tunnels_.begin(), tunnels_.end(), [](const auto& t) { return t.second.at_end; });
  }
  void run() {
    const ngtcp2_tstamp until = now_ns() + static_cast<ngtcp2_tstamp>(o_.timeout_s * 1e9);
    write();
    while (!is_over() && !(completed_ && is_complete())) {
      const ngtcp2_tstamp now = now_ns();
      if (now >= until) return fail("not done in time");
      const ngtcp2_tstamp next = std::min({expiry(), until, now + NGTCP2_SECONDS / 4});
      const ngtcp2_tstamp wait = next > now ? next - now : 0;
      const timespec timeout{static_cast<time_t>(wait / NGTCP2_SECONDS), static_cast<long>(wait % NGTCP2_SECONDS)};
      pollfd fd{socket_.fd(), POLLIN, 0};
      (void)::ppoll(&fd, 1, &timeout, nullptr);
      socket_.receive(
          [&](const address& from, byte_view data, std::uint8_t ecn) { connection::read(known_, from, data, ecn); });
      if (is_over()) break;
      if (expiry() <= now_ns()) on_time();
      if (is_over()) break;
      if (completed_ && opened_ < o_.sessions) begin_session();
      if (completed_) pump();
      write();
    }
    write();  // our FINs
    close(NGHTTP3_H3_NO_ERROR);
  }
  // 0: as it should be.
  int report() {
    std::uint64_t messages = 0, pongs = 0;
    int status = 0, code = 0;
    bool all = is_complete();
    for (const auto& [id, t] : tunnels_) {
      messages += t.talk.messages;
      pongs += t.talk.pongs;
      status = t.status;
      code = t.talk.close_code;
      if (o_.says.empty() && t.status == 200) all = all && t.talk.is_complete();
    }
    json_object j;
    j.add("ok", all && why_.empty())
        .add("why", why_)
        .add("sessions", opened_)
        .add("status", static_cast<std::uint64_t>(status));
    j.add("messages", messages)
        .add("pongs", pongs)
        .add("close", static_cast<std::uint64_t>(code))
        .add("lost", loss_.lost);
    std::printf("%s\n", j.text().c_str());
    if (all && why_.empty()) return 0;
    std::fprintf(stderr, "%s\n", why_.empty() ? "not all came back" : why_.c_str());
    return 1;
  }

 protected:
  udp_socket* socket_of(const address& local) override { return local == known_ ? &socket_ : nullptr; }
  void on_handshake_completed() override {
    completed_ = true;
    const std::int64_t control = open(true), encoder = open(true), decoder = open(true);
    if (nghttp3_conn_bind_control_stream(h3_, control) != 0 ||
        nghttp3_conn_bind_qpack_streams(h3_, encoder, decoder) != 0)
      throw std::runtime_error("nghttp3: streams");
  }
  void on_stream_data(std::int64_t id, byte_view data, bool fin, bool) override {
    const nghttp3_ssize n = nghttp3_conn_read_stream(h3_, id, data.data(), data.size(), fin ? 1 : 0);
    if (n < 0) throw std::runtime_error(why_.empty() ? nghttp3_strerror(static_cast<int>(n)) : why_);
  }
  void on_stream_closed(std::int64_t id, std::uint64_t code, bool has_code) override {
    (void)nghttp3_conn_close_stream(h3_, id, has_code ? code : NGHTTP3_H3_NO_ERROR);
  }
  void on_stream_reset(std::int64_t id, std::uint64_t code) override {
    throw std::runtime_error("stream " + std::to_string(id) + " was reset with code " + std::to_string(code));
  }
  byte_view reset_secret() override { return reset_secret_; }
};

int run(int argc, char** argv) {
  options o;
  CLI::App app("WebSocket client over HTTP/3, on libngtcp2 and libnghttp3");
  app.add_option("host", o.host, "numeric address of the server")->required();
  app.add_option("port", o.port, "UDP port")->required();
  app.add_option("path", o.path, "of the extended CONNECT");
  app.add_option("--protocol", o.protocol, "what :protocol says");
  app.add_option("--version", o.version, "what Sec-WebSocket-Version says");
  app.add_option("--sessions", o.sessions, "on one connection");
  app.add_option("--says", o.says, "one thing that breaks a rule: unmasked, not-utf8, rsv1, too-big");
  app.add_option("--timeout", o.timeout_s, "seconds for everything");
  app.add_option("--loss", o.loss, "percent of datagrams to lose, each way");
  CLI11_PARSE(app, argc, argv);
  tls_options t;
  t.alpn = {"h3"};
  const tls_context tls(t, false);
  websocket_client client(o, tls, {});
  client.run();
  return client.report();
}

}  // namespace
}  // namespace millrace::peers

int main(int argc, char** argv) {
  try {
    return millrace::peers::run(argc, argv);
  } catch (const std::exception& reason) {
    std::fprintf(stderr, "%s\n", reason.what());
    return 1;
  }
}
