// Where GnuTLS meets the handshake object: how a session is made, and what it calls back. A hook answers 0 or a GnuTLS
// error; it never fails the handshake itself, because GnuTLS is still on the stack and its session must not go.
#include <gnutls/gnutls.h>

#include <array>
#include <ctime>

#include "base/ip_address.hpp"
#include "tls/gnutls_session.hpp"
#include "tls/quic_handshake.hpp"
#include "tls/wall_clock.hpp"
#include "tls/wire/extension_type.hpp"

namespace millrace::tls {

gnutls_record_encryption_level_t gnutls_level(encryption_level level) noexcept {
  switch (level) {
    case encryption_level::initial:
      return GNUTLS_ENCRYPTION_LEVEL_INITIAL;
    case encryption_level::early:
      return GNUTLS_ENCRYPTION_LEVEL_EARLY;
    case encryption_level::handshake:
      return GNUTLS_ENCRYPTION_LEVEL_HANDSHAKE;
    case encryption_level::application:
      return GNUTLS_ENCRYPTION_LEVEL_APPLICATION;
  }
  return GNUTLS_ENCRYPTION_LEVEL_INITIAL;
}

encryption_level level_of(gnutls_record_encryption_level_t level) noexcept {
  switch (level) {
    case GNUTLS_ENCRYPTION_LEVEL_INITIAL:
      return encryption_level::initial;
    case GNUTLS_ENCRYPTION_LEVEL_EARLY:
      return encryption_level::early;
    case GNUTLS_ENCRYPTION_LEVEL_HANDSHAKE:
      return encryption_level::handshake;
    case GNUTLS_ENCRYPTION_LEVEL_APPLICATION:
      return encryption_level::application;
  }
  return encryption_level::initial;
}

cipher_suite suite_of(gnutls_cipher_algorithm_t cipher) noexcept {
  if (cipher == GNUTLS_CIPHER_AES_128_GCM) return cipher_suite::aes_128_gcm_sha256;
  if (cipher == GNUTLS_CIPHER_AES_256_GCM) return cipher_suite::aes_256_gcm_sha384;
  if (cipher == GNUTLS_CIPHER_CHACHA20_POLY1305) return cipher_suite::chacha20_poly1305_sha256;
  return cipher_suite::none;
}

cipher_suite current_suite(gnutls_session_t session) noexcept { return suite_of(gnutls_cipher_get(session)); }

group current_group(gnutls_session_t session) noexcept {
  const gnutls_group_t used = gnutls_group_get(session);
  if (used == GNUTLS_GROUP_X25519) return group::x25519;
  if (used == GNUTLS_GROUP_SECP256R1) return group::secp256r1;
  return group::none;
}

struct quic_handshake_hooks {
  static quic_handshake& of(gnutls_session_t session) noexcept {
    return *static_cast<quic_handshake*>(gnutls_session_get_ptr(session));
  }

  static int secret(gnutls_session_t session, gnutls_record_encryption_level_t at, const void* read, const void* write,
                    std::size_t size) {
    quic_handshake& h = of(session);
    const encryption_level level = level_of(at);
    const bool is_early = level == encryption_level::early;
    const cipher_suite suite = is_early ? suite_of(gnutls_early_cipher_get(session)) : current_suite(session);
    if (size != secret_size(suite)) return GNUTLS_E_INTERNAL_ERROR;
    const auto put = [&](direction way, const void* from) {
      if (from == nullptr) return true;
      traffic_secret out{level, way, suite, static_cast<std::uint8_t>(size), {}};
      std::memcpy(out.bytes.data(), from, size);
      const bool kept = h.secrets_.push_back(out);
      gnutls_memset(out.bytes.data(), 0, out.bytes.size());
      return kept;
    };
    if (!put(direction::read, read) || !put(direction::write, write)) return GNUTLS_E_INTERNAL_ERROR;
    if (is_early) {
      h.early_ = h.role_ == endpoint_role::server ? early_data::accepted : early_data::offered;
    } else if (read != nullptr) {
      h.read_level_ = level;
    }
    return 0;
  }

  static int message(gnutls_session_t session, gnutls_record_encryption_level_t at, gnutls_handshake_description_t type,
                     const void* data, std::size_t size) {
    // RFC 9001 8.4: TLS over TCP's compatibility record has no place in QUIC.
    if (type == GNUTLS_HANDSHAKE_CHANGE_CIPHER_SPEC) return 0;
    std::size_t box = 0;
    if (at == GNUTLS_ENCRYPTION_LEVEL_HANDSHAKE) box = 1;
    if (at == GNUTLS_ENCRYPTION_LEVEL_APPLICATION) box = 2;
    if (at == GNUTLS_ENCRYPTION_LEVEL_EARLY) return GNUTLS_E_INTERNAL_ERROR;
    const base::byte_view bytes{static_cast<const std::uint8_t*>(data), size};
    return of(session).outbox_[box].append(bytes) ? 0 : GNUTLS_E_MEMORY_ERROR;
  }

  static int alert(gnutls_session_t session, gnutls_record_encryption_level_t, gnutls_alert_level_t,
                   gnutls_alert_description_t number) {
    of(session).captured_alert_ = static_cast<std::uint8_t>(number);
    return 0;
  }

  static int log_secret(gnutls_session_t session, const char* label, const gnutls_datum_t* secret) {
    const quic_handshake& h = of(session);
    const key_log_sink& sink = h.server_ ? h.server_->settings().key_log : h.client_->settings().key_log;
    if (sink.line == nullptr) return 0;  // a hook all the same: without one GnuTLS would heed SSLKEYLOGFILE itself
    gnutls_datum_t client{nullptr, 0};
    gnutls_datum_t server{nullptr, 0};
    gnutls_session_get_random(session, &client, &server);
    std::array<char, max_key_log_line> line;
    const std::size_t size =
        format_key_log_line(label, {client.data, client.size}, {secret->data, secret->size}, line.data());
    if (size != 0) sink.line(sink.context, {line.data(), size});
    gnutls_memset(line.data(), 0, line.size());
    return 0;
  }

  // RFC 7469 2.6, of the leaf alone: whoever pins knows this server.
  static int check_pin(gnutls_session_t session) {
    unsigned count = 0;
    const gnutls_datum_t* chain = gnutls_certificate_get_peers(session, &count);
    if (chain == nullptr || count == 0) return GNUTLS_E_CERTIFICATE_ERROR;
    return of(session).client_->settings().trust->is_pinned({chain[0].data, chain[0].size})
               ? 0
               : GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR;
  }

  static int send_parameters(gnutls_session_t session, gnutls_buffer_t out) {
    const base::byte_view ours = of(session).local_parameters_.view();
    const int code = gnutls_buffer_append_data(out, ours.data(), ours.size());
    return code < 0 ? code : static_cast<int>(ours.size());
  }

  static int receive_parameters(gnutls_session_t session, const unsigned char* data, std::size_t size) {
    quic_handshake& h = of(session);
    if (h.role_ == endpoint_role::server) return 0;  // judge_client_hello() has them
    if (!h.peer_parameters_.assign({data, size})) return GNUTLS_E_MEMORY_ERROR;
    h.has_peer_parameters_ = true;
    return 0;
  }

  // `key` is 12 bytes of GnuTLS's own about its window, then the binder that names the hello.
  static int remember_hello(void* table, std::time_t, const gnutls_datum_t* key, const gnutls_datum_t*) {
    constexpr std::size_t window_prefix = 12;
    if (key->size <= window_prefix) return GNUTLS_E_DB_ENTRY_EXISTS;
    const base::byte_view binder{key->data + window_prefix, key->size - window_prefix};
    const bool fresh =
        static_cast<anti_replay*>(table)->add(binder, scoped_wall_time_ns()) == anti_replay::verdict::fresh;
    return fresh ? 0 : GNUTLS_E_DB_ENTRY_EXISTS;
  }
};

int quic_handshake::set_common(gnutls_session_t session) noexcept {
  gnutls_session_set_ptr(session, this);
  gnutls_handshake_set_timeout(session, 0);  // time-outs are QUIC's
  gnutls_handshake_set_secret_function(session, quic_handshake_hooks::secret);
  gnutls_handshake_set_read_function(session, quic_handshake_hooks::message);
  gnutls_alert_set_read_function(session, quic_handshake_hooks::alert);
  gnutls_session_set_keylog_function(session, quic_handshake_hooks::log_secret);
  return gnutls_session_ext_register(session, "QUIC transport parameters", wire::ext_quic_transport_parameters,
                                     GNUTLS_EXT_TLS, quic_handshake_hooks::receive_parameters,
                                     quic_handshake_hooks::send_parameters, nullptr, nullptr, nullptr,
                                     GNUTLS_EXT_FLAG_TLS | GNUTLS_EXT_FLAG_CLIENT_HELLO | GNUTLS_EXT_FLAG_EE);
}

int quic_handshake::open_session() noexcept {
  return role_ == endpoint_role::server ? open_server_session() : open_client_session();
}

namespace {

gnutls_datum_t datum_of(base::byte_view bytes) noexcept {
  // GnuTLS takes a mutable pointer and only reads.
  return {const_cast<unsigned char*>(bytes.data()), static_cast<unsigned>(bytes.size())};
}

}  // namespace

// RFC 9001 8.3: no EndOfEarlyData in either role.
int quic_handshake::open_server_session() noexcept {
  const server_settings& s = server_->settings();
  const bool takes_early = server_->takes_early_data(protocol_index_);
  unsigned flags = GNUTLS_SERVER | GNUTLS_NO_SIGNAL | GNUTLS_NO_AUTO_SEND_TICKET | GNUTLS_NO_END_OF_EARLY_DATA;
  if (takes_early) flags |= GNUTLS_ENABLE_EARLY_DATA;
  if (s.tickets == 0) flags |= GNUTLS_NO_TICKETS;
  int code = gnutls_init(&session_, flags);
  if (code < 0) {
    session_ = nullptr;
    return code;
  }
  code = set_common(session_);
  const auto then = [&code](auto&& call) {
    if (code >= 0) code = call();
  };
  then([&] { return gnutls_priority_set(session_, server_->priority()); });
  then([&] { return gnutls_credentials_set(session_, GNUTLS_CRD_CERTIFICATE, s.credentials->handle()); });
  const gnutls_datum_t name = datum_of(base::as_bytes(protocol_));
  then([&] { return gnutls_alpn_set_protocols(session_, &name, 1, GNUTLS_ALPN_MANDATORY); });
  if (s.tickets == 0) return code;
  gnutls_db_set_cache_expiration(session_,
                                 static_cast<int>(s.ticket_lifetime_s));  // before the key: its period follows
  const gnutls_datum_t key = datum_of(server_->ticket_key(protocol_index_));
  then([&] { return gnutls_session_ticket_enable_server(session_, &key); });
  if (takes_early) then([&] { return gnutls_record_set_max_early_data_size(session_, 0xffffffff); });
  if (takes_early && early_ == early_data::offered) then([&] { return set_early_data_policy(); });
  return code;
}

// GnuTLS's record of hellos starts its window anew each time it has run out and refuses older tickets from then on,
// which leaves a busy server's clients no 0-RTT to speak of, and it is not made for several threads. So each session
// gets one of its own that began when our table did: it judges the ticket's age, and the table remembers.
int quic_handshake::set_early_data_policy() noexcept {
  anti_replay& table = *server_->settings().early_data;
  {
    const wall_time_scope began(table.since_ns());
    if (const int code = gnutls_anti_replay_init(&replay_); code < 0) {
      replay_ = nullptr;
      return code;
    }
  }
  gnutls_anti_replay_set_window(replay_, table.window_ms());
  // Without the function GnuTLS knows no hello as new and rejects.
  if (wants_early_) gnutls_anti_replay_set_add_function(replay_, quic_handshake_hooks::remember_hello);
  gnutls_anti_replay_set_ptr(replay_, &table);
  gnutls_anti_replay_enable(session_, replay_);
  return 0;
}

int quic_handshake::open_client_session() noexcept {
  const client_settings& s = client_->settings();
  unsigned flags = GNUTLS_CLIENT | GNUTLS_NO_SIGNAL | GNUTLS_NO_END_OF_EARLY_DATA;
  flags |= s.key_shares == 1 && !wants_early_ ? GNUTLS_KEY_SHARE_TOP : GNUTLS_KEY_SHARE_TOP2;
  if (wants_early_) flags |= GNUTLS_ENABLE_EARLY_DATA;
  int code = gnutls_init(&session_, flags);
  if (code < 0) {
    session_ = nullptr;
    return code;
  }
  code = set_common(session_);
  const auto then = [&code](auto&& call) {
    if (code >= 0) code = call();
  };
  then([&] { return gnutls_priority_set(session_, client_->priority()); });
  then([&] { return gnutls_credentials_set(session_, GNUTLS_CRD_CERTIFICATE, s.trust->handle()); });
  std::array<gnutls_datum_t, 8> names{};  // as many as make() lets through
  for (std::size_t i = 0; i < s.protocols.size(); ++i) names[i] = datum_of(base::as_bytes(s.protocols[i]));
  then([&] { return gnutls_alpn_set_protocols(session_, names.data(), static_cast<unsigned>(s.protocols.size()), 0); });
  const char* host = name_.empty() ? nullptr : base::as_text(name_.view()).data();  // it has a terminator
  if (host != nullptr && !base::ip_address::parse(sni()))
    then([&] { return gnutls_server_name_set(session_, GNUTLS_NAME_DNS, host, name_.size() - 1); });
  if (s.trust->has_pin()) gnutls_session_set_verify_function(session_, quic_handshake_hooks::check_pin);
  if (s.trust->verifies()) gnutls_session_set_verify_cert(session_, host, 0);
  if (code < 0 || session_data_.empty()) return code;
  // A session GnuTLS does not take is one we do not have.
  if (gnutls_session_set_data(session_, session_data_.view().data(), session_data_.size()) < 0) remembered_.clear();
  session_data_.clear();
  return code;
}

void quic_handshake::release() noexcept {
  if (session_ != nullptr) gnutls_deinit(session_);
  if (replay_ != nullptr) gnutls_anti_replay_deinit(replay_);
  session_ = nullptr;
  replay_ = nullptr;
  released_ = complete_;
}

}  // namespace millrace::tls
