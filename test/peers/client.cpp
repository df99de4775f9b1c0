#include "client.hpp"

#include <ngtcp2/ngtcp2_crypto_gnutls.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

namespace millrace::peers {
namespace {

constexpr ngtcp2_duration ticket_patience = 2 * NGTCP2_SECONDS;
constexpr std::size_t most_params_bytes = 512;

bytes contents(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_file(const std::string& name, byte_view data) {
  std::ofstream file(name, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
  if (!file) throw std::system_error(errno, std::generic_category(), name);
}

}  // namespace

client::client(const client_options& o, const tls_context& tls, lossy& loss, client_result& result,
               std::uint32_t version)
    : connection(o.transport),
      o_(o),
      tls_(tls),
      loss_(loss),
      result_(result),
      remote_(parse_address(o.host, o.port)),
      next_key_update_(o.key_update),
      began_(now_ns()) {
  const address local = o.local.empty() ? local_towards(remote_) : parse_address(o.local, 0);
  ends_.push_back({{}, std::make_unique<udp_socket>(local, &loss_, !o.no_segments)});
  ends_.front().known = ends_.front().socket->local();
  plan();

  ngtcp2_callbacks callbacks = common_callbacks();
  callbacks.client_initial = ngtcp2_crypto_client_initial_cb;
  ngtcp2_settings settings;
  ngtcp2_transport_params params;
  fill(settings, params);
  bytes token = o.token_file.empty() ? bytes{} : contents(o.token_file);
  settings.token = {token.data(), token.size()};
  bytes session;
  bytes remembered;
  load_session(session, remembered);
  session_ = tls.client_session(&ref_, o.server_name, session);
  gnutls_handshake_set_hook_function(session_, GNUTLS_HANDSHAKE_NEW_SESSION_TICKET, GNUTLS_HOOK_POST, on_ticket);
  const ngtcp2_path path = path_of(ends_.front().known, remote_);
  const ngtcp2_cid destination = cid_of(random_bytes(18));
  const ngtcp2_cid own = cid_of(random_bytes(cid_bytes));
  if (ngtcp2_conn_client_new(&conn_, &destination, &own, &path, version, &callbacks, &settings, &params, nullptr,
                             &ref_) != 0)
    throw std::runtime_error("ngtcp2_conn_client_new");
  ngtcp2_conn_set_tls_native_handle(conn_, session_);
  ngtcp2_transport_params early;
  if (o.tls.early_data && !remembered.empty() &&
      ngtcp2_decode_transport_params(&early, NGTCP2_TRANSPORT_PARAMS_TYPE_ENCRYPTED_EXTENSIONS, remembered.data(),
                                     remembered.size()) == 0) {
    early_ = true;
    ngtcp2_conn_set_early_remote_transport_params(conn_, &early);
    open_streams();
  }
}

client::~client() {
  for (const auto& [id, r] : requests_)
    if (r->file != nullptr) std::fclose(r->file);
}

void client::plan() {
  waiting_.clear();
  wanted_ = is_srmp() ? o_.streams : o_.repeat * o_.paths.size();
  finished_ = 0;
  for (std::uint64_t i = 0; i < o_.repeat; ++i) waiting_.insert(waiting_.end(), o_.paths.begin(), o_.paths.end());
}

// --- what is kept between connections: the session ticket, and the limits that 0-RTT may count on (RFC 9000 7.4.1) ---

void client::load_session(bytes& session, bytes& params) const {
  if (o_.session_file.empty()) return;
  std::ifstream file(o_.session_file);
  std::string ticket_text;
  std::string params_text;
  if (!(file >> ticket_text >> params_text)) return;
  session = from_hex(ticket_text);
  params = from_hex(params_text);
}

int client::on_ticket(gnutls_session_t session, unsigned, unsigned, unsigned, const gnutls_datum_t*) {
  auto* ref = static_cast<ngtcp2_crypto_conn_ref*>(gnutls_session_get_ptr(session));
  static_cast<client*>(static_cast<connection*>(ref->user_data))->save_session();
  return 0;
}

void client::save_session() {
  if (o_.session_file.empty()) return;
  gnutls_datum_t data{};
  if (gnutls_session_get_data2(session_, &data) != 0) return;
  std::array<std::uint8_t, most_params_bytes> params{};
  const ngtcp2_ssize n =
      ngtcp2_encode_transport_params(params.data(), params.size(), NGTCP2_TRANSPORT_PARAMS_TYPE_ENCRYPTED_EXTENSIONS,
                                     ngtcp2_conn_get_remote_transport_params(conn_));
  if (n > 0) {
    const std::string text =
        hex({data.data, data.size}) + "\n" + hex({params.data(), static_cast<std::size_t>(n)}) + "\n";
    write_file(o_.session_file, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    result_.ticket = true;
  }
  gnutls_free(data.data);
}

void client::on_token(byte_view token) {
  result_.token = true;
  if (!o_.token_file.empty()) write_file(o_.token_file, token);
}

void client::on_versions(std::span<const std::uint32_t> versions) {
  result_.versions.assign(versions.begin(), versions.end());
}

void client::on_handshake_completed() {
  result_.completed = true;
  result_.handshake_s = static_cast<double>(now_ns() - began_) * 1e-9;
  result_.cipher = cipher_of(session_);
  result_.alpn = alpn_of(session_);
  result_.resumed = gnutls_session_is_resumed(session_) != 0;
  result_.early_data = early_ && (gnutls_session_get_flags(session_) & GNUTLS_SFLAGS_EARLY_DATA) != 0;
  if (early_ && !result_.early_data) {  // RFC 9001 4.6.2: all of it is to be sent again
    if (ngtcp2_conn_early_data_rejected(conn_) != 0) throw std::runtime_error("rejected early data");
    forget_streams();
    requests_.clear();
    srmp_.clear();
    plan();
  }
}

// --- streams ---

void client::open_streams() {
  while (is_srmp() ? srmp_.size() < wanted_ : !waiting_.empty() && requests_.size() < o_.streams) {
    std::int64_t id = -1;
    if (ngtcp2_conn_open_bidi_stream(conn_, &id, nullptr) != 0) return;  // later, when the peer allows more
    if (is_srmp()) {
      add_stream(id, std::make_unique<growing_body>());
      pump_calls(id, srmp_[id]);
      continue;
    }
    auto r = std::make_shared<request>();
    r->path = waiting_.front();
    waiting_.pop_front();
    std::unique_ptr<body> out = what_to_say(*r);
    if (!o_.download.empty()) {
      std::filesystem::path name = std::filesystem::path(o_.download) / std::filesystem::path(r->path).filename();
      r->file = std::fopen(name.c_str(), "we");
      if (r->file == nullptr) throw std::system_error(errno, std::generic_category(), name.string());
    }
    requests_[id] = std::move(r);
    add_stream(id, std::move(out));
  }
}

// Of hq-interop the request; of echo what is to come back, as many bytes of the pattern as the path says.
std::unique_ptr<body> client::what_to_say(const request& r) const {
  if (o_.tls.alpn.front() == "echo") {
    constexpr std::string_view before = "/bytes/";
    if (!r.path.starts_with(before)) throw std::runtime_error(r.path + ": not /bytes/N");
    return std::make_unique<pattern_body>(std::stoull(r.path.substr(before.size())));
  }
  auto out = std::make_unique<growing_body>();
  const std::string line = "GET " + r.path + "\r\n";
  out->add(bytes(line.begin(), line.end()));
  out->close();
  return out;
}

void client::pump_calls(std::int64_t id, calls& c) {
  auto& out = static_cast<growing_body&>(*streams_.at(id).out);
  const std::uint64_t all = o_.calls + 2;  // Api/All and one that there is not
  while (c.begun < all && c.open.size() < std::min<std::uint64_t>(o_.window, 255)) {
    rpc call;
    call.name = c.begun == 0 ? "Api/All" : c.begun == 1 ? "No/Such" : "Echo";
    if (c.begun >= 2 && o_.call_bytes > 0) {
      bytes data(static_cast<std::size_t>(o_.call_bytes));
      for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint8_t>('a' + (c.begun * 7 + i) % 26);
      call.data = std::move(data);
    }
    c.seq = static_cast<std::uint8_t>(c.seq % 255 + 1);
    out.add(emit_srmp(srmp_request | srmp_binary, c.seq, emit_rpc(call, false)));
    c.open[c.seq] = {call.name, call.data.value_or(bytes{})};
    c.begun += 1;
  }
  if (c.begun == all && c.open.empty()) out.close();
  wake(id);
}

void client::on_reply(calls& c, const srmp_frame& frame) {
  const auto asked = c.open.find(frame.seq);
  const bool is_error = frame.what() == srmp_error;
  const std::optional<rpc> reply = parse_rpc(frame.payload, is_error);
  if (asked == c.open.end() || !reply || (!is_error && frame.what() != srmp_reply) ||
      reply->name != asked->second.first)
    throw std::runtime_error("an SRMP frame that answers no call");
  const auto& [method, arguments] = asked->second;
  const bytes data = reply->data.value_or(bytes{});
  const bool good = method == "Echo"      ? !is_error && data == arguments
                    : method == "Api/All" ? !is_error && !data.empty() && data.front() == '['
                                          : is_error && reply->code == 404;
  if (!good) result_.mismatches += 1;
  c.open.erase(asked);
  c.ended += 1;
  result_.calls += 1;
}

void client::on_body(std::int64_t id, byte_view data, bool fin) {
  const auto found = requests_.find(id);
  if (found == requests_.end()) return;
  request& r = *found->second;
  r.hash.add(data);
  r.size += data.size();
  if (r.file != nullptr && std::fwrite(data.data(), 1, data.size(), r.file) != data.size())
    throw std::system_error(errno, std::generic_category(), o_.download);
  if (!fin) return;
  r.done = true;
  if (r.file != nullptr) std::fclose(r.file);
  r.file = nullptr;
  const std::string digest = r.hash.digest();
  auto& known = result_.digests[r.path];
  if (!known.empty() && known != digest) result_.mismatches += 1;
  known = digest;
  result_.sizes[r.path] = r.size;
  result_.requests += 1;
  finished_ += 1;
}

void client::on_stream_data(std::int64_t id, byte_view data, bool fin, bool) {
  result_.bytes += data.size();
  if (!is_srmp()) return on_body(id, data, fin);
  calls& c = srmp_.at(id);
  c.frames.add(data);
  while (const std::optional<srmp_frame> frame = c.frames.next()) on_reply(c, *frame);
  pump_calls(id, c);
  if (!fin || c.done) return;
  if (!c.open.empty() || c.begun < o_.calls + 2 || !c.frames.is_between_frames())
    throw std::runtime_error("the peer ended an SRMP connection before all was answered");
  c.done = true;
  finished_ += 1;
}

void client::on_stream_reset(std::int64_t id, std::uint64_t code) {
  if (const auto found = requests_.find(id); found != requests_.end())
    throw std::runtime_error(found->second->path + ": reset with code " + std::to_string(code));
  throw std::runtime_error("SRMP stream reset with code " + std::to_string(code));
}

void client::on_stream_closed(std::int64_t id, std::uint64_t code, bool has_code) {
  const auto found = requests_.find(id);
  if (found != requests_.end() && !found->second->done)
    throw std::runtime_error(found->second->path + ": closed early" +
                             (has_code ? ", code " + std::to_string(code) : ""));
  requests_.erase(id);
}

// --- the path ---

udp_socket* client::socket_of(const address& local) {
  for (const end& e : ends_)
    if (e.known == local) return e.socket.get();
  return nullptr;
}

// What happens to a path in the middle of a transfer. What ngtcp2 does not allow yet is tried again.
void client::meddle() {
  if (next_key_update_ != 0 && result_.bytes >= next_key_update_ &&
      ngtcp2_conn_initiate_key_update(conn_, now_ns()) == 0) {
    result_.keys_asked += 1;
    next_key_update_ = result_.bytes + o_.key_update;
  }
  if (o_.rebind != 0 && !result_.rebound && result_.bytes >= o_.rebind) {
    // As a NAT does it: other port, and nobody inside knows.
    address any = ends_.front().known;
    (any.is_ip6() ? reinterpret_cast<sockaddr_in6&>(any.storage).sin6_port
                  : reinterpret_cast<sockaddr_in&>(any.storage).sin_port) = 0;
    auto next = std::make_unique<udp_socket>(any, &loss_, !o_.no_segments);
    result_.datagrams.sent += ends_.front().socket->count().sent;
    result_.datagrams.received += ends_.front().socket->count().received;
    ends_.front().socket = std::move(next);
    result_.rebound = true;
  }
  if (!o_.migrate.empty() && !result_.migrated && result_.bytes >= o_.migrate_after) {
    if (ends_.size() == 1) {
      ends_.push_back({{}, std::make_unique<udp_socket>(parse_address(o_.migrate, 0), &loss_, !o_.no_segments)});
      ends_.back().known = ends_.back().socket->local();
    }
    const ngtcp2_path path = path_of(ends_.back().known, remote_);
    result_.migrated = ngtcp2_conn_initiate_immediate_migration(conn_, &path, now_ns()) == 0;
  }
}

void client::receive() {
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    const address known = ends_[i].known;
    ends_[i].socket->receive(
        [&](const address& from, byte_view data, std::uint8_t ecn) { read(known, from, data, ecn); });
  }
}

bool client::is_complete() const {
  return finished_ == wanted_ || (o_.duration_s > 0 && static_cast<double>(now_ns() - began_) * 1e-9 >= o_.duration_s);
}

void client::run(ngtcp2_tstamp until) {
  ngtcp2_tstamp completed = 0;
  write();
  while (!is_over()) {
    const ngtcp2_tstamp now = now_ns();
    if (is_complete() && result_.completed) {
      if (completed == 0) completed = now;
      const bool is_waiting =
          (!o_.session_file.empty() && !result_.ticket) || (!o_.token_file.empty() && !result_.token);
      if (!is_waiting || now - completed > ticket_patience) break;
    }
    if (now >= until) {
      why_ = "not done in time: " + std::to_string(finished_) + " of " + std::to_string(wanted_) + ", " +
             std::to_string(result_.bytes) + " bytes";
      break;
    }
    const ngtcp2_tstamp next = std::min({expiry(), until, now + NGTCP2_SECONDS / 4});
    const ngtcp2_tstamp wait = next > now ? next - now : 0;
    const timespec timeout{static_cast<time_t>(wait / NGTCP2_SECONDS), static_cast<long>(wait % NGTCP2_SECONDS)};
    std::array<pollfd, 2> fds{};
    for (std::size_t i = 0; i < ends_.size(); ++i) fds[i] = {ends_[i].socket->fd(), POLLIN, 0};
    (void)::ppoll(fds.data(), ends_.size(), &timeout, nullptr);
    receive();
    if (is_over()) break;
    if (expiry() <= now_ns()) on_time();
    if (is_over()) break;
    if (result_.completed) open_streams();
    meddle();
    write();
  }
  result_.seconds = static_cast<double>((completed != 0 ? completed : now_ns()) - began_) * 1e-9;
  close();
  result_.key_updates = key_updates();
  result_.paths_validated = paths_validated();
  for (const end& e : ends_) {
    result_.datagrams.sent += e.socket->count().sent;
    result_.datagrams.received += e.socket->count().received;
  }
  if (!is_complete() && why_.empty()) why_ = "the peer closed before all was done";
  result_.why = is_complete() ? "" : why_;
}

}  // namespace millrace::peers
