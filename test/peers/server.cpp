// test/peers/server.cpp - a QUIC server on libngtcp2 that answers hq-interop (HTTP/0.9) and SRMP, to hold millrace
// against.
//
// A stream of hq-interop is one request, "GET /path\r\n", answered by the bytes and FIN: /bytes/N from a pattern,
// others from
// --root. A stream of srmp is one SRMP connection. What went on is one JSON object on stdout at the end (SIGTERM).
#include <fcntl.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unordered_map>

#include "connection.hpp"
#include "report.hpp"
#include "srmp.hpp"

namespace millrace::peers {
namespace {

constexpr std::uint64_t no_such_path = 0x101, bad_request = 0x102;
constexpr std::size_t most_request_bytes = 4096;
constexpr std::size_t most_connections = 10'000;
volatile sig_atomic_t stop_asked = 0;

struct options {
  std::vector<std::string> listen = {"0.0.0.0"};
  std::uint16_t port = 443;
  std::string root;
  double loss = 0;
  std::uint64_t seed = 1;
  bool retry = false;
  bool bytes_allowed = true;
  bool no_segments = false;
  transport_options transport;
  tls_options tls;
};

struct totals {
  std::uint64_t connections = 0, handshakes = 0, resumed = 0, early_accepted = 0, early_stream_bytes = 0;
  std::uint64_t retries = 0, version_negotiations = 0, token_accepted = 0, requests = 0, not_found = 0;
  std::uint64_t bytes_sent = 0, srmp_frames = 0, key_updates = 0, address_changes = 0, failed = 0;
  std::map<std::string, std::uint64_t> ciphers, failures;
};

class server;

class server_connection final : public connection {
  struct request {
    std::string line;
    srmp_reader frames;
    bool answered = false;
  };
  server& owner_;
  std::map<std::int64_t, request> requests_;
  std::vector<bytes> cids_;
  address remote_;

  void on_request(std::int64_t id, const std::string& line);
  void on_frames(std::int64_t id, request& r, byte_view data, bool fin);
  void refuse(std::int64_t id, std::uint64_t code);

 public:
  bool is_expired = false;

  server_connection(server& owner, const ngtcp2_pkt_hd& initial, const ngtcp2_cid* original, address local,
                    address remote);
  [[nodiscard]] const std::vector<bytes>& cids() const { return cids_; }
  // Of streams that had not ended when the peer closed: it need not acknowledge what came last.
  [[nodiscard]] std::uint64_t bytes_of_open_streams() const {
    std::uint64_t sum = 0;
    for (const auto& [id, s] : streams_) sum += s.sent;
    return sum;
  }
  void note_path();

 protected:
  udp_socket* socket_of(const address& local) override;
  void on_handshake_completed() override;
  void on_new_cid(byte_view cid) override;
  void on_old_cid(byte_view cid) override;
  void on_stream_data(std::int64_t id, byte_view data, bool fin, bool early) override;
  void on_stream_closed(std::int64_t id, std::uint64_t, bool) override;
  byte_view reset_secret() override;
};

class server {
  lossy loss_;
  std::vector<std::unique_ptr<udp_socket>> sockets_;
  std::unordered_map<std::string, std::shared_ptr<server_connection>> by_cid_;
  std::vector<std::shared_ptr<server_connection>> all_;
  bytes out_ = bytes(2048);

  void on_datagram(udp_socket& socket, const address& from, byte_view datagram, std::uint8_t ecn);
  std::shared_ptr<server_connection> accept(udp_socket& socket, const address& from, byte_view datagram);
  bool prove_address(udp_socket& socket, address from, const ngtcp2_pkt_hd& initial, ngtcp2_cid& original);
  void send_retry(udp_socket& socket, address from, const ngtcp2_pkt_hd& initial);
  void send_versions(udp_socket& socket, const address& from, const ngtcp2_version_cid& asked);
  void sweep();
  void time_to_wait(timespec& out) const;

 public:
  const options o;
  tls_context tls;
  const bytes secret = random_bytes(32);
  totals total;

  explicit server(const options& from);
  void run();
  void report() const;
  void learn(byte_view cid, const server_connection* c);
  void forget(byte_view cid) { by_cid_.erase(std::string(cid.begin(), cid.end())); }
  [[nodiscard]] udp_socket* socket_of(const address& local) const;
  [[nodiscard]] std::unique_ptr<body> find(const std::string& path) const;
};

// --- one connection ---

server_connection::server_connection(server& owner, const ngtcp2_pkt_hd& initial, const ngtcp2_cid* original,
                                     address local, address remote)
    : connection(owner.o.transport), owner_(owner), remote_(remote) {
  ngtcp2_callbacks callbacks = common_callbacks();
  callbacks.recv_client_initial = ngtcp2_crypto_recv_client_initial_cb;
  ngtcp2_settings settings;
  ngtcp2_transport_params params;
  fill(settings, params);
  settings.token = initial.token;
  params.original_dcid = original != nullptr ? *original : initial.dcid;
  if (original != nullptr) {
    params.retry_scid = initial.dcid;
    params.retry_scid_present = 1;
  }
  ngtcp2_cid own = cid_of(random_bytes(cid_bytes));
  params.stateless_reset_token_present = 1;
  if (ngtcp2_crypto_generate_stateless_reset_token(params.stateless_reset_token, owner.secret.data(),
                                                   owner.secret.size(), &own) != 0)
    throw std::runtime_error("reset token");
  session_ = owner.tls.server_session(&ref_);
  const ngtcp2_path path = path_of(local, remote);
  if (ngtcp2_conn_server_new(&conn_, &initial.scid, &own, &path, initial.version, &callbacks, &settings, &params,
                             nullptr, &ref_) != 0)
    throw std::runtime_error("ngtcp2_conn_server_new");
  ngtcp2_conn_set_tls_native_handle(conn_, session_);
  cids_.emplace_back(own.data, own.data + own.datalen);
  cids_.emplace_back(initial.dcid.data, initial.dcid.data + initial.dcid.datalen);
}

udp_socket* server_connection::socket_of(const address& local) { return owner_.socket_of(local); }
byte_view server_connection::reset_secret() { return owner_.secret; }

void server_connection::on_handshake_completed() {
  totals& t = owner_.total;
  t.handshakes += 1;
  t.ciphers[cipher_of(session_)] += 1;
  if (gnutls_session_is_resumed(session_) != 0) t.resumed += 1;
  if ((gnutls_session_get_flags(session_) & GNUTLS_SFLAGS_EARLY_DATA) != 0) t.early_accepted += 1;
  if (const int status = gnutls_session_ticket_send(session_, 1, 0); status != 0)
    throw std::runtime_error(std::string("ticket: ") + gnutls_strerror(status));
  std::array<std::uint8_t, NGTCP2_CRYPTO_MAX_REGULAR_TOKENLEN> token{};
  address remote = remote_;
  const ngtcp2_ssize n = ngtcp2_crypto_generate_regular_token(token.data(), owner_.secret.data(), owner_.secret.size(),
                                                              remote.get(), remote.size, now_ns());
  if (n > 0) (void)ngtcp2_conn_submit_new_token(conn_, token.data(), static_cast<std::size_t>(n));
}

void server_connection::on_new_cid(byte_view cid) {
  cids_.emplace_back(cid.begin(), cid.end());
  owner_.learn(cid, this);
}

void server_connection::on_old_cid(byte_view cid) { owner_.forget(cid); }

void server_connection::note_path() {
  if (is_over()) return;
  const address now = address_of(ngtcp2_conn_get_path(conn_)->remote);
  if (now == remote_) return;
  remote_ = now;
  owner_.total.address_changes += 1;
}

void server_connection::refuse(std::int64_t id, std::uint64_t code) { ngtcp2_conn_shutdown_stream(conn_, id, code); }

void server_connection::on_request(std::int64_t id, const std::string& line) {
  owner_.total.requests += 1;
  if (!line.starts_with("GET /")) return refuse(id, bad_request);
  std::unique_ptr<body> found = owner_.find(line.substr(4, line.find_first_of(" \r\n", 4) - 4));
  if (found == nullptr) {
    owner_.total.not_found += 1;
    return refuse(id, no_such_path);
  }
  add_stream(id, std::move(found));
}

void server_connection::on_frames(std::int64_t id, request& r, byte_view data, bool fin) {
  if (streams_.find(id) == streams_.end()) add_stream(id, std::make_unique<growing_body>());
  auto& out = static_cast<growing_body&>(*streams_.at(id).out);
  r.frames.add(data);
  while (const std::optional<srmp_frame> frame = r.frames.next()) {
    owner_.total.srmp_frames += 1;
    out.add(answer_srmp(*frame));
  }
  if (fin) out.close();
  wake(id);
}

void server_connection::on_stream_data(std::int64_t id, byte_view data, bool fin, bool early) {
  if (ngtcp2_is_bidi_stream(id) == 0) return;
  if (early) owner_.total.early_stream_bytes += data.size();
  request& r = requests_[id];
  if (alpn_of(session_) == "srmp") return on_frames(id, r, data, fin);
  if (r.answered) return;
  r.line.append(data.begin(), data.end());
  if (r.line.size() > most_request_bytes) {
    r.answered = true;
    return refuse(id, bad_request);
  }
  if (fin || r.line.find('\n') != std::string::npos) {
    r.answered = true;
    on_request(id, r.line);
  }
}

void server_connection::on_stream_closed(std::int64_t id, std::uint64_t, bool) {
  if (const auto found = streams_.find(id); found != streams_.end()) owner_.total.bytes_sent += found->second.sent;
  requests_.erase(id);
}

// --- the server ---

server::server(const options& from) : loss_(from.loss, from.seed), o(from), tls(from.tls, true) {
  for (const std::string& host : o.listen)
    sockets_.push_back(std::make_unique<udp_socket>(parse_address(host, o.port), &loss_, !o.no_segments));
}

udp_socket* server::socket_of(const address& local) const {
  for (const auto& socket : sockets_)
    if (socket->local() == local) return socket.get();
  return nullptr;
}

void server::learn(byte_view cid, const server_connection* c) {
  for (const auto& known : all_)
    if (known.get() == c) by_cid_[std::string(cid.begin(), cid.end())] = known;
}

std::unique_ptr<body> server::find(const std::string& path) const {
  constexpr std::string_view prefix = "/bytes/";
  if (o.bytes_allowed && path.starts_with(prefix)) {
    std::uint64_t n = 0;
    const char* end = path.data() + path.size();
    const auto [at, bad] = std::from_chars(path.data() + prefix.size(), end, n);
    if (bad == std::errc{} && at == end) return std::make_unique<pattern_body>(n);
  }
  if (o.root.empty() || path.find("..") != std::string::npos) return nullptr;
  const std::string name = o.root + path;
  std::ifstream file(name, std::ios::binary);
  if (!file || !std::filesystem::is_regular_file(name)) return nullptr;
  return std::make_unique<file_body>(
      std::make_shared<const bytes>(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
}

void server::send_versions(udp_socket& socket, const address& from, const ngtcp2_version_cid& asked) {
  // RFC 9000 6.3: a reserved version keeps clients used to lists of unknown ones.
  const std::array<std::uint32_t, 2> versions = {0x5A6A7A8A, NGTCP2_PROTO_VER_V1};
  const ngtcp2_ssize n =
      ngtcp2_pkt_write_version_negotiation(out_.data(), out_.size(), random_bytes(1)[0], asked.scid, asked.scidlen,
                                           asked.dcid, asked.dcidlen, versions.data(), versions.size());
  if (n <= 0) return;
  total.version_negotiations += 1;
  socket.send(from, byte_view(out_).first(static_cast<std::size_t>(n)), static_cast<std::size_t>(n), 0);
}

void server::send_retry(udp_socket& socket, address from, const ngtcp2_pkt_hd& initial) {
  const ngtcp2_cid own = cid_of(random_bytes(cid_bytes));
  std::array<std::uint8_t, NGTCP2_CRYPTO_MAX_RETRY_TOKENLEN> token{};
  const ngtcp2_ssize size =
      ngtcp2_crypto_generate_retry_token(token.data(), secret.data(), secret.size(), initial.version, from.get(),
                                         from.size, &own, &initial.dcid, now_ns());
  if (size < 0) return;
  const ngtcp2_ssize n = ngtcp2_crypto_write_retry(out_.data(), out_.size(), initial.version, &initial.scid, &own,
                                                   &initial.dcid, token.data(), static_cast<std::size_t>(size));
  if (n <= 0) return;
  total.retries += 1;
  socket.send(from, byte_view(out_).first(static_cast<std::size_t>(n)), static_cast<std::size_t>(n), 0);
}

// True when the connection may be made; `original` is set when a Retry went before. Otherwise a Retry was sent, or
// nothing.
bool server::prove_address(udp_socket& socket, address from, const ngtcp2_pkt_hd& initial, ngtcp2_cid& original) {
  const ngtcp2_vec& token = initial.token;
  if (token.len != 0 && token.base[0] == NGTCP2_CRYPTO_TOKEN_MAGIC_RETRY) {
    const int bad = ngtcp2_crypto_verify_retry_token(&original, token.base, token.len, secret.data(), secret.size(),
                                                     initial.version, from.get(), from.size, &initial.dcid,
                                                     10 * NGTCP2_SECONDS, now_ns());
    if (bad == 0) return true;
    return false;  // RFC 9000 8.1.3: a Retry token that is not ours gets no second Retry
  }
  if (token.len != 0 && token.base[0] == NGTCP2_CRYPTO_TOKEN_MAGIC_REGULAR &&
      ngtcp2_crypto_verify_regular_token(token.base, token.len, secret.data(), secret.size(), from.get(), from.size,
                                         3600 * NGTCP2_SECONDS, now_ns()) == 0) {
    total.token_accepted += 1;
    return true;
  }
  if (o.retry) send_retry(socket, from, initial);
  return !o.retry;
}

std::shared_ptr<server_connection> server::accept(udp_socket& socket, const address& from, byte_view datagram) {
  ngtcp2_pkt_hd initial;
  if (all_.size() >= most_connections || ngtcp2_accept(&initial, datagram.data(), datagram.size()) != 0) return nullptr;
  ngtcp2_cid original{};
  if (!prove_address(socket, from, initial, original)) return nullptr;
  auto made = std::make_shared<server_connection>(*this, initial, original.datalen == 0 ? nullptr : &original,
                                                  socket.local(), from);
  total.connections += 1;
  all_.push_back(made);
  for (const bytes& cid : made->cids()) learn(cid, made.get());
  return made;
}

void server::on_datagram(udp_socket& socket, const address& from, byte_view datagram, std::uint8_t ecn) {
  ngtcp2_version_cid header;
  const int status = ngtcp2_pkt_decode_version_cid(&header, datagram.data(), datagram.size(), cid_bytes);
  if (status == NGTCP2_ERR_VERSION_NEGOTIATION) {
    if (datagram.size() >= NGTCP2_MAX_UDP_PAYLOAD_SIZE) send_versions(socket, from, header);  // RFC 9000 6.1
    return;
  }
  if (status != 0) return;
  const auto found = by_cid_.find(std::string(header.dcid, header.dcid + header.dcidlen));
  const std::shared_ptr<server_connection> c = found != by_cid_.end() ? found->second : accept(socket, from, datagram);
  if (c == nullptr) return;
  c->read(socket.local(), from, datagram, ecn);
  c->note_path();
}

void server::sweep() {
  const ngtcp2_tstamp now = now_ns();
  for (const auto& c : all_) {
    if (c->expiry() <= now) c->on_time();
    c->write();
  }
  std::erase_if(all_, [this](const std::shared_ptr<server_connection>& c) {
    if (!c->is_over()) return false;
    for (const bytes& cid : c->cids()) forget(cid);
    total.key_updates += c->key_updates();
    total.bytes_sent += c->bytes_of_open_streams();
    if (!c->why().empty()) {
      total.failed += 1;
      total.failures[c->why()] += 1;
    }
    return true;
  });
}

void server::time_to_wait(timespec& out) const {
  ngtcp2_tstamp first = now_ns() + NGTCP2_SECONDS;
  for (const auto& c : all_) first = std::min(first, c->expiry());
  const ngtcp2_tstamp now = now_ns();
  const ngtcp2_tstamp wait = first > now ? first - now : 0;
  out = {static_cast<time_t>(wait / NGTCP2_SECONDS), static_cast<long>(wait % NGTCP2_SECONDS)};
}

void server::run() {
  sigset_t blocked;
  sigset_t waiting;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigaddset(&blocked, SIGINT);
  sigprocmask(SIG_BLOCK, &blocked, &waiting);
  sigdelset(&waiting, SIGTERM);
  sigdelset(&waiting, SIGINT);
  struct sigaction on_signal{};
  on_signal.sa_handler = [](int) { stop_asked = 1; };
  sigaction(SIGTERM, &on_signal, nullptr);
  sigaction(SIGINT, &on_signal, nullptr);
  std::string where;
  for (const auto& socket : sockets_) where += " " + socket->local().text();
  std::printf("ready%s\n", where.c_str());
  std::fflush(stdout);
  std::vector<pollfd> fds;
  for (const auto& socket : sockets_) fds.push_back({socket->fd(), POLLIN, 0});
  while (stop_asked == 0) {
    timespec wait{};
    time_to_wait(wait);
    (void)::ppoll(fds.data(), fds.size(), &wait, &waiting);
    for (const auto& socket : sockets_)
      socket->receive(
          [&](const address& from, byte_view data, std::uint8_t ecn) { on_datagram(*socket, from, data, ecn); });
    sweep();
  }
  for (const auto& c : all_) c->close();
  sweep();
}

void server::report() const {
  json_object j;
  j.add("connections", total.connections).add("handshakes", total.handshakes).add("resumed", total.resumed);
  j.add("early_data_accepted", total.early_accepted).add("early_stream_bytes", total.early_stream_bytes);
  j.add("retries", total.retries).add("tokens_accepted", total.token_accepted);
  j.add("version_negotiations", total.version_negotiations).add("requests", total.requests);
  j.add("not_found", total.not_found).add("bytes_sent", total.bytes_sent).add("srmp_frames", total.srmp_frames);
  j.add("key_updates", total.key_updates).add("address_changes", total.address_changes).add("failed", total.failed);
  j.add("ciphers", total.ciphers).add("failures", total.failures);
  datagram_counters count;
  for (const auto& socket : sockets_) {
    count.sent += socket->count().sent;
    count.received += socket->count().received;
  }
  j.add("datagrams_sent", count.sent)
      .add("datagrams_received", count.received)
      .add("datagrams_lost_on_purpose", loss_.lost);
  j.add("cpu_s", cpu_seconds());
  std::printf("%s\n", j.text().c_str());
}

int serve(int argc, char** argv) {
  options o;
  CLI::App app("QUIC server on libngtcp2: hq-interop and srmp");
  app.add_option("--listen", o.listen, "addresses to listen on");
  app.add_option("--port", o.port, "UDP port; 0: any, told by the line 'ready'");
  app.add_option("--alpn", o.tls.alpn, "hq-interop, srmp (default: both)");
  app.add_option("--root", o.root, "folder of files");
  app.add_flag("--bytes,!--no-bytes", o.bytes_allowed, "answer /bytes/N with N bytes of the pattern (default)");
  app.add_option("--cert", o.tls.certificate_file, "PEM; without: self-made");
  app.add_option("--key", o.tls.key_file, "PEM");
  app.add_option("--ciphers", o.tls.ciphers, "GnuTLS names, by commas");
  app.add_option("--keylog", o.tls.keylog_file, "appends secrets (NSS key log)");
  app.add_flag("--retry", o.retry, "every client proves its address first");
  app.add_flag("--early-data", o.tls.early_data, "accept 0-RTT");
  app.add_flag("--no-migration", o.transport.no_migration, "forbid active migration");
  app.add_option("--max-udp-payload", o.transport.max_udp_payload, "of datagrams that are sent; without: probed");
  app.add_option("--streams", o.transport.streams, "most streams of a client at a time");
  app.add_option("--congestion", o.transport.congestion, "cubic, reno, bbr");
  app.add_option("--loss", o.loss, "percent of datagrams to lose, each way");
  app.add_option("--seed", o.seed, "of the losses");
  app.add_flag("--no-segments", o.no_segments, "one datagram a system call (no UDP_SEGMENT, no UDP_GRO)");
  CLI11_PARSE(app, argc, argv);
  if (o.tls.alpn.empty()) o.tls.alpn = {"hq-interop", "srmp"};
  server s(o);
  s.run();
  s.report();
  return 0;
}

}  // namespace
}  // namespace millrace::peers

int main(int argc, char** argv) {
  try {
    return millrace::peers::serve(argc, argv);
  } catch (const std::exception& reason) {
    std::fprintf(stderr, "%s\n", reason.what());
    return 1;
  }
}
