#include "connection.hpp"

#include <ngtcp2/ngtcp2_crypto_gnutls.h>

#include <cstring>
#include <ctime>
#include <exception>

namespace millrace::peers {

ngtcp2_tstamp now_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<ngtcp2_tstamp>(t.tv_sec) * NGTCP2_SECONDS + static_cast<ngtcp2_tstamp>(t.tv_nsec);
}

ngtcp2_cid cid_of(byte_view data) {
  ngtcp2_cid cid{};
  ngtcp2_cid_init(&cid, data.data(), data.size());
  return cid;
}

address address_of(const ngtcp2_addr& a) { return address::of(a.addr, a.addrlen); }

ngtcp2_path path_of(address& local, address& remote) {
  return {{local.get(), local.size}, {remote.get(), remote.size}, nullptr};
}

// ngtcp2's C functions call these; nothing may be thrown through them.
struct connection::hooks {
  static connection& self(void* user_data) {
    return *static_cast<connection*>(static_cast<ngtcp2_crypto_conn_ref*>(user_data)->user_data);
  }
  template <class Work>
  static int guarded(void* user_data, Work work) {
    try {
      work(self(user_data));
      return 0;
    } catch (const std::exception& reason) {
      self(user_data).why_ = reason.what();
      return NGTCP2_ERR_CALLBACK_FAILURE;
    }
  }
  static int completed(ngtcp2_conn*, void* user_data) {
    return guarded(user_data, [](connection& c) { c.on_handshake_completed(); });
  }
  static void random(std::uint8_t* to, std::size_t size, const ngtcp2_rand_ctx*) {
    const bytes r = random_bytes(size);
    std::memcpy(to, r.data(), size);
  }
  static int new_cid(ngtcp2_conn*, ngtcp2_cid* cid, std::uint8_t* token, std::size_t size, void* user_data) {
    return guarded(user_data, [&](connection& c) {
      *cid = cid_of(random_bytes(size));
      const byte_view secret = c.reset_secret();
      if (ngtcp2_crypto_generate_stateless_reset_token(token, secret.data(), secret.size(), cid) != 0)
        throw std::runtime_error("reset token");
      c.on_new_cid({cid->data, cid->datalen});
    });
  }
  static int old_cid(ngtcp2_conn*, const ngtcp2_cid* cid, void* user_data) {
    return guarded(user_data, [&](connection& c) { c.on_old_cid({cid->data, cid->datalen}); });
  }
  static int update_key(ngtcp2_conn* conn, std::uint8_t* rx_secret, std::uint8_t* tx_secret, ngtcp2_crypto_aead_ctx* rx,
                        std::uint8_t* rx_iv, ngtcp2_crypto_aead_ctx* tx, std::uint8_t* tx_iv,
                        const std::uint8_t* old_rx, const std::uint8_t* old_tx, std::size_t size, void* user_data) {
    self(user_data).keys_made_ += 1;  // the first are made in advance, as the handshake ends
    return ngtcp2_crypto_update_key_cb(conn, rx_secret, tx_secret, rx, rx_iv, tx, tx_iv, old_rx, old_tx, size,
                                       user_data);
  }
  static int path_validated(ngtcp2_conn*, std::uint32_t, const ngtcp2_path*, ngtcp2_path_validation_result result,
                            void* user_data) {
    if (result == NGTCP2_PATH_VALIDATION_RESULT_SUCCESS) self(user_data).paths_validated_ += 1;
    return 0;
  }
  static int stream_data(ngtcp2_conn* conn, std::uint32_t flags, std::int64_t id, std::uint64_t,
                         const std::uint8_t* data, std::size_t size, void* user_data, void*) {
    return guarded(user_data, [&](connection& c) {
      c.on_stream_data(id, {data, size}, (flags & NGTCP2_STREAM_DATA_FLAG_FIN) != 0,
                       (flags & NGTCP2_STREAM_DATA_FLAG_EARLY) != 0);
      ngtcp2_conn_extend_max_stream_offset(conn, id, size);
      ngtcp2_conn_extend_max_offset(conn, size);
    });
  }
  static int acked(ngtcp2_conn*, std::int64_t id, std::uint64_t offset, std::uint64_t size, void* user_data, void*) {
    connection& c = self(user_data);
    if (const auto found = c.streams_.find(id); found != c.streams_.end() && found->second.out)
      found->second.out->acked(offset + size);
    return 0;
  }
  static int stream_closed(ngtcp2_conn* conn, std::uint32_t flags, std::int64_t id, std::uint64_t code, void* user_data,
                           void*) {
    return guarded(user_data, [&](connection& c) {
      c.on_stream_closed(id, code, (flags & NGTCP2_STREAM_CLOSE_FLAG_APP_ERROR_CODE_SET) != 0);
      c.streams_.erase(id);
      if (ngtcp2_is_bidi_stream(id) != 0 && ngtcp2_conn_is_local_stream(conn, id) == 0)
        ngtcp2_conn_extend_max_streams_bidi(conn, 1);
    });
  }
  static int stream_reset(ngtcp2_conn*, std::int64_t id, std::uint64_t, std::uint64_t code, void* user_data, void*) {
    return guarded(user_data, [&](connection& c) { c.on_stream_reset(id, code); });
  }
  static int more_room(ngtcp2_conn*, std::int64_t id, std::uint64_t, void* user_data, void*) {
    return guarded(user_data, [&](connection& c) { c.wake(id); });
  }
  static int token(ngtcp2_conn*, const ngtcp2_vec* data, void* user_data) {
    return guarded(user_data, [&](connection& c) { c.on_token({data->base, data->len}); });
  }
  static int versions(ngtcp2_conn*, const ngtcp2_pkt_hd*, const std::uint32_t* list, std::size_t n, void* user_data) {
    return guarded(user_data, [&](connection& c) { c.on_versions({list, n}); });
  }
  static int retry(ngtcp2_conn* conn, const ngtcp2_pkt_hd* header, void* user_data) {
    self(user_data).on_retry();
    return ngtcp2_crypto_recv_retry_cb(conn, header, user_data);
  }
  static void release_aead(ngtcp2_conn* conn, ngtcp2_crypto_aead_ctx* ctx, void* user_data) {
    ngtcp2_crypto_delete_crypto_aead_ctx_cb(conn, ctx, user_data);
  }
};

ngtcp2_callbacks connection::common_callbacks() const {
  ngtcp2_callbacks c{};
  c.recv_crypto_data = ngtcp2_crypto_recv_crypto_data_cb;
  c.encrypt = ngtcp2_crypto_encrypt_cb;
  c.decrypt = ngtcp2_crypto_decrypt_cb;
  c.hp_mask = ngtcp2_crypto_hp_mask_cb;
  c.delete_crypto_aead_ctx = hooks::release_aead;
  c.delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb;
  c.get_path_challenge_data = ngtcp2_crypto_get_path_challenge_data_cb;
  c.version_negotiation = ngtcp2_crypto_version_negotiation_cb;
  c.handshake_completed = hooks::completed;
  c.rand = hooks::random;
  c.get_new_connection_id = hooks::new_cid;
  c.remove_connection_id = hooks::old_cid;
  c.update_key = hooks::update_key;
  c.path_validation = hooks::path_validated;
  c.recv_stream_data = hooks::stream_data;
  c.acked_stream_data_offset = hooks::acked;
  c.stream_close = hooks::stream_closed;
  c.stream_reset = hooks::stream_reset;
  c.extend_max_stream_data = hooks::more_room;
  c.recv_new_token = hooks::token;
  c.recv_version_negotiation = hooks::versions;
  c.recv_retry = hooks::retry;
  return c;
}

void connection::fill(ngtcp2_settings& settings, ngtcp2_transport_params& params) const {
  ngtcp2_settings_default(&settings);
  settings.initial_ts = now_ns();
  settings.cc_algo = options_.congestion == "reno"  ? NGTCP2_CC_ALGO_RENO
                     : options_.congestion == "bbr" ? NGTCP2_CC_ALGO_BBR
                                                    : NGTCP2_CC_ALGO_CUBIC;
  settings.max_window = 64 << 20;
  settings.max_stream_window = 32 << 20;
  settings.max_tx_udp_payload_size = ethernet_payload;
  settings.handshake_timeout = options_.idle_timeout;
  if (options_.max_udp_payload != 0) {
    settings.max_tx_udp_payload_size = options_.max_udp_payload;
    settings.no_tx_udp_payload_size_shaping = 1;
    settings.no_pmtud = 1;
  }
  ngtcp2_transport_params_default(&params);
  params.initial_max_stream_data_bidi_local = options_.stream_window;
  params.initial_max_stream_data_bidi_remote = options_.stream_window;
  params.initial_max_stream_data_uni = options_.stream_window;
  params.initial_max_data = options_.connection_window;
  params.initial_max_streams_bidi = options_.streams;
  params.initial_max_streams_uni = 3;
  params.max_idle_timeout = options_.idle_timeout;
  params.active_connection_id_limit = 7;
  params.disable_active_migration = options_.no_migration ? 1 : 0;
}

connection::~connection() {
  if (conn_ != nullptr) ngtcp2_conn_del(conn_);
  if (session_ != nullptr) gnutls_deinit(session_);
}

connection::stream& connection::add_stream(std::int64_t id, std::unique_ptr<body> out) {
  stream& s = streams_[id];
  s.out = std::move(out);
  wake(id);
  return s;
}

void connection::wake(std::int64_t id) {
  const auto found = streams_.find(id);
  if (found == streams_.end() || !found->second.out || found->second.queued || found->second.fin_sent) return;
  found->second.queued = true;
  ready_.push_back(id);
}

void connection::forget_streams() {
  streams_.clear();
  ready_.clear();
}

ngtcp2_tstamp connection::expiry() const { return over_ ? UINT64_MAX : ngtcp2_conn_get_expiry(conn_); }

void connection::fail(std::string why) {
  if (why_.empty()) why_ = std::move(why);
  over_ = true;
}

void connection::on_library_error(int status, const char* where) {
  library_error_ = status;
  std::string why = std::string(where) + ": " + ngtcp2_strerror(status);
  if (status == NGTCP2_ERR_DRAINING || status == NGTCP2_ERR_CLOSING) {
    ngtcp2_connection_close_error error;
    ngtcp2_conn_get_connection_close_error(conn_, &error);
    peer_closed_ = true;
    over_ = true;
    if (error.error_code != 0 && why_.empty()) {
      why_ = "the peer closed with code " + std::to_string(error.error_code);
      if (error.reasonlen != 0)
        why_ += " (" + std::string(reinterpret_cast<char*>(error.reason), error.reasonlen) + ")";
    }
    return;
  }
  ngtcp2_connection_close_error error;
  if (status == NGTCP2_ERR_CRYPTO) {
    const std::uint8_t alert = ngtcp2_conn_get_tls_alert(conn_);
    why += ", TLS alert " + std::to_string(alert);
    ngtcp2_connection_close_error_set_transport_error_tls_alert(&error, alert, nullptr, 0);
  } else {
    ngtcp2_connection_close_error_set_transport_error_liberr(&error, status, nullptr, 0);
  }
  fail(why);
  // Nobody is to be told when the peer gave up, or has answered with other versions.
  if (status != NGTCP2_ERR_IDLE_CLOSE && status != NGTCP2_ERR_DROP_CONN && status != NGTCP2_ERR_RETRY &&
      status != NGTCP2_ERR_RECV_VERSION_NEGOTIATION && status != NGTCP2_ERR_HANDSHAKE_TIMEOUT)
    close_with(error);
}

void connection::close_with(const ngtcp2_connection_close_error& error) {
  ngtcp2_path_storage path;
  ngtcp2_path_storage_zero(&path);
  ngtcp2_pkt_info info{};
  const ngtcp2_ssize n =
      ngtcp2_conn_write_connection_close(conn_, &path.path, &info, out_.data(), out_.size(), &error, now_ns());
  if (n <= 0) return;
  if (udp_socket* socket = socket_of(address_of(path.path.local)); socket != nullptr)
    socket->send(address_of(path.path.remote), byte_view(out_).first(static_cast<std::size_t>(n)),
                 static_cast<std::size_t>(n), static_cast<std::uint8_t>(info.ecn));
}

void connection::close(std::uint64_t application_code) {
  if (over_) return;
  over_ = true;
  ngtcp2_connection_close_error error;
  ngtcp2_connection_close_error_default(&error);
  if (ngtcp2_conn_get_handshake_completed(conn_) != 0)
    ngtcp2_connection_close_error_set_application_error(&error, application_code, nullptr, 0);
  close_with(error);
}

void connection::read(address local, address remote, byte_view datagram, std::uint8_t ecn) {
  if (over_) return;
  const ngtcp2_path path = path_of(local, remote);
  ngtcp2_pkt_info info{};
  info.ecn = ecn;
  if (const int status = ngtcp2_conn_read_pkt(conn_, &path, &info, datagram.data(), datagram.size(), now_ns());
      status != 0)
    on_library_error(status, "read");
}

void connection::on_time() {
  if (over_) return;
  if (const int status = ngtcp2_conn_handle_expiry(conn_, now_ns()); status != 0) on_library_error(status, "timer");
}

// Datagrams that one call of the kernel can take: one path, one marking, one size but for the last.
struct connection::batch {
  address local, remote;
  std::uint8_t ecn = 0;
  std::size_t segment = 0;
  std::size_t size = 0;
  bool is_full = false;

  [[nodiscard]] bool takes(const ngtcp2_path& path, std::uint8_t marking, std::size_t n) const {
    return size == 0 || (!is_full && n <= segment && marking == ecn && size + n <= batch_bytes &&
                         address_of(path.local) == local && address_of(path.remote) == remote);
  }
  void add(const ngtcp2_path& path, std::uint8_t marking, std::size_t n) {
    if (size == 0) {
      local = address_of(path.local);
      remote = address_of(path.remote);
      ecn = marking;
      segment = n;
    }
    size += n;
    is_full = n < segment || size / segment >= 64;  // UDP_MAX_SEGMENTS
  }
};

void connection::flush(batch& b) {
  if (b.size == 0) return;
  if (udp_socket* socket = socket_of(b.local); socket != nullptr)
    socket->send(b.remote, byte_view(out_).first(b.size), b.segment, b.ecn);
  b = {};
}

// One packet, with data of the streams that have some, in turns.
ngtcp2_ssize connection::write_packet(ngtcp2_path_storage& path, ngtcp2_pkt_info& info, std::span<std::uint8_t> room,
                                      ngtcp2_tstamp now) {
  for (;;) {
    std::int64_t id = -1;
    std::uint32_t flags = NGTCP2_WRITE_STREAM_FLAG_NONE;
    ngtcp2_vec data{};
    stream* s = nullptr;
    while (!ready_.empty() && ngtcp2_conn_get_max_data_left(conn_) != 0) {
      const auto found = streams_.find(ready_.front());
      if (found != streams_.end()) {
        const byte_view next = found->second.out->at(found->second.sent);
        if (!next.empty() || (found->second.out->ends_at(found->second.sent) && !found->second.fin_sent)) {
          s = &found->second;
          id = found->first;
          data = {const_cast<std::uint8_t*>(next.data()), next.size()};
          if (s->out->ends_at(s->sent + next.size())) flags |= NGTCP2_WRITE_STREAM_FLAG_FIN;
          break;
        }
        found->second.queued = false;
      }
      ready_.pop_front();
    }
    ngtcp2_ssize taken = -1;
    const ngtcp2_ssize n = ngtcp2_conn_writev_stream(conn_, &path.path, &info, room.data(), room.size(), &taken, flags,
                                                     id, &data, data.len == 0 ? 0 : 1, now);
    if (s != nullptr &&
        (n == NGTCP2_ERR_STREAM_DATA_BLOCKED || n == NGTCP2_ERR_STREAM_SHUT_WR || n == NGTCP2_ERR_STREAM_NOT_FOUND)) {
      s->queued = false;  // more_room() wakes it
      if (n != NGTCP2_ERR_STREAM_DATA_BLOCKED) s->fin_sent = true;
      ready_.pop_front();
      continue;
    }
    if (s != nullptr && taken >= 0) {
      s->sent += static_cast<std::uint64_t>(taken);
      s->fin_sent = (flags & NGTCP2_WRITE_STREAM_FLAG_FIN) != 0 && static_cast<std::size_t>(taken) == data.len;
      ready_.pop_front();
      if (s->fin_sent) {
        s->queued = false;
      } else {
        ready_.push_back(id);
      }
    }
    return n;
  }
}

void connection::write() {
  if (over_) return;
  const ngtcp2_tstamp now = now_ns();
  const std::size_t quantum = ngtcp2_conn_get_send_quantum(conn_);
  std::size_t total = 0;
  batch b;
  while (total < quantum || total == 0) {
    ngtcp2_path_storage path;
    ngtcp2_path_storage_zero(&path);
    ngtcp2_pkt_info info{};
    const std::span<std::uint8_t> room(out_.data() + b.size, ngtcp2_conn_get_max_tx_udp_payload_size(conn_));
    const ngtcp2_ssize n = write_packet(path, info, room, now);
    if (n < 0) {
      flush(b);
      return on_library_error(static_cast<int>(n), "write");
    }
    if (n == 0) break;
    const auto size = static_cast<std::size_t>(n);
    const auto ecn = static_cast<std::uint8_t>(info.ecn);
    if (!b.takes(path.path, ecn, size)) {
      const std::size_t at = b.size;
      flush(b);
      std::memmove(out_.data(), out_.data() + at, size);
    }
    b.add(path.path, ecn, size);
    total += size;
  }
  flush(b);
  ngtcp2_conn_update_pkt_tx_time(conn_, now);
}

}  // namespace millrace::peers
