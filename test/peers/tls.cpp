#include "tls.hpp"

#include <gnutls/x509.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <system_error>

namespace millrace::peers {
namespace {

void check(int status, const char* what) {
  if (status < 0) throw std::runtime_error(std::string(what) + ": " + gnutls_strerror(status));
}

// RFC 9001 8.4: no middlebox compatibility mode.
std::string priority(const std::string& ciphers) {
  std::string text =
      "%DISABLE_TLS13_COMPAT_MODE:NORMAL:-VERS-ALL:+VERS-TLS1.3:-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:-CIPHER-ALL";
  if (ciphers.empty()) return text + ":+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305";
  std::size_t at = 0;
  while (at <= ciphers.size()) {
    const std::size_t comma = std::min(ciphers.find(',', at), ciphers.size());
    text += ":+" + ciphers.substr(at, comma - at);
    at = comma + 1;
  }
  return text;
}

// One context a process: GnuTLS hands its key log function no pointer of ours.
std::FILE* keylog_of_process = nullptr;

}  // namespace

int tls_context::on_key(gnutls_session_t session, const char* label, const gnutls_datum_t* secret) {
  gnutls_datum_t random{};
  gnutls_datum_t unused{};
  gnutls_session_get_random(session, &random, &unused);
  std::fprintf(keylog_of_process, "%s %s %s\n", label, hex({random.data, random.size}).c_str(),
               hex({secret->data, secret->size}).c_str());
  std::fflush(keylog_of_process);
  return 0;
}

// RFC 8446 8.2: a ClientHello that came before is refused its early data.
int tls_context::on_hello(void* self, time_t, const gnutls_datum_t* key, const gnutls_datum_t*) {
  auto& seen = static_cast<tls_context*>(self)->seen_hellos_;
  return seen.insert(std::string(key->data, key->data + key->size)).second ? 0 : GNUTLS_E_DB_ENTRY_EXISTS;
}

tls_context::tls_context(tls_options options, bool is_server) : options_(std::move(options)), is_server_(is_server) {
  check(gnutls_certificate_allocate_credentials(&credentials_), "credentials");
  if (!options_.keylog_file.empty()) {
    keylog_ = std::fopen(options_.keylog_file.c_str(), "ae");
    if (keylog_ == nullptr) throw std::system_error(errno, std::generic_category(), options_.keylog_file);
    keylog_of_process = keylog_;
  }
  if (!is_server_) return;
  if (options_.certificate_file.empty()) {
    make_certificate();
  } else {
    check(gnutls_certificate_set_x509_key_file(credentials_, options_.certificate_file.c_str(),
                                               options_.key_file.c_str(), GNUTLS_X509_FMT_PEM),
          "certificate and key");
  }
  check(gnutls_session_ticket_key_generate(&ticket_key_), "ticket key");
  check(gnutls_anti_replay_init(&anti_replay_), "anti-replay");
  gnutls_anti_replay_set_add_function(anti_replay_, on_hello);
  gnutls_anti_replay_set_ptr(anti_replay_, this);
}

tls_context::~tls_context() {
  if (anti_replay_ != nullptr) gnutls_anti_replay_deinit(anti_replay_);
  gnutls_free(ticket_key_.data);
  gnutls_certificate_free_credentials(credentials_);
  if (keylog_ != nullptr) std::fclose(keylog_);
  if (keylog_ == keylog_of_process) keylog_of_process = nullptr;
}

void tls_context::make_certificate() {
  gnutls_x509_privkey_t key = nullptr;
  gnutls_x509_crt_t certificate = nullptr;
  const auto clean = [&](void*) {
    if (certificate != nullptr) gnutls_x509_crt_deinit(certificate);
    if (key != nullptr) gnutls_x509_privkey_deinit(key);
  };
  const std::unique_ptr<void, decltype(clean)> cleaner(this, clean);
  check(gnutls_x509_privkey_init(&key), "key");
  check(gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0), "key");
  check(gnutls_x509_crt_init(&certificate), "certificate");
  const std::uint8_t serial = 1;
  const time_t now = std::time(nullptr);
  check(gnutls_x509_crt_set_version(certificate, 3), "version");
  check(gnutls_x509_crt_set_serial(certificate, &serial, sizeof serial), "serial");
  check(gnutls_x509_crt_set_activation_time(certificate, now - 3600), "time");
  check(gnutls_x509_crt_set_expiration_time(certificate, now + 86400), "time");
  check(gnutls_x509_crt_set_dn(certificate, "CN=peer.example", nullptr), "name");
  check(gnutls_x509_crt_set_key(certificate, key), "public key");
  check(gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0), "signature");
  check(gnutls_certificate_set_x509_key(credentials_, &certificate, 1, key), "credentials");
}

void tls_context::common(gnutls_session_t session, ngtcp2_crypto_conn_ref* ref) const {
  check(gnutls_priority_set_direct(session, priority(options_.ciphers).c_str(), nullptr), "priority");
  gnutls_session_set_ptr(session, ref);
  check(gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials_), "credentials");
  std::vector<gnutls_datum_t> names;
  for (const std::string& name : options_.alpn)
    names.push_back(
        {reinterpret_cast<unsigned char*>(const_cast<char*>(name.data())), static_cast<unsigned>(name.size())});
  check(gnutls_alpn_set_protocols(session, names.data(), static_cast<unsigned>(names.size()), GNUTLS_ALPN_MANDATORY),
        "ALPN");
  if (keylog_ != nullptr) gnutls_session_set_keylog_function(session, on_key);
}

gnutls_session_t tls_context::server_session(ngtcp2_crypto_conn_ref* ref) const {
  gnutls_session_t session = nullptr;
  const unsigned early = options_.early_data ? GNUTLS_ENABLE_EARLY_DATA : 0;
  check(gnutls_init(&session, GNUTLS_SERVER | GNUTLS_NO_AUTO_SEND_TICKET | GNUTLS_NO_END_OF_EARLY_DATA | early),
        "session");
  common(session, ref);
  check(gnutls_session_ticket_enable_server(session, &ticket_key_), "tickets");
  if (ngtcp2_crypto_gnutls_configure_server_session(session) != 0) throw std::runtime_error("configure session");
  if (options_.early_data) {
    gnutls_anti_replay_enable(session, anti_replay_);
    check(gnutls_record_set_max_early_data_size(session, 0xFFFFFFFF), "early data");  // RFC 9001 4.6.1
  }
  gnutls_certificate_server_set_request(session, GNUTLS_CERT_IGNORE);
  return session;
}

gnutls_session_t tls_context::client_session(ngtcp2_crypto_conn_ref* ref, const std::string& server_name,
                                             const bytes& resume) const {
  gnutls_session_t session = nullptr;
  const unsigned early = options_.early_data ? GNUTLS_ENABLE_EARLY_DATA : 0;
  check(gnutls_init(&session, GNUTLS_CLIENT | GNUTLS_NO_END_OF_EARLY_DATA | early), "session");
  common(session, ref);
  if (ngtcp2_crypto_gnutls_configure_client_session(session) != 0) throw std::runtime_error("configure session");
  if (!server_name.empty())
    check(gnutls_server_name_set(session, GNUTLS_NAME_DNS, server_name.data(), server_name.size()), "server name");
  if (!resume.empty()) check(gnutls_session_set_data(session, resume.data(), resume.size()), "session data");
  return session;
}

std::string alpn_of(gnutls_session_t session) {
  gnutls_datum_t chosen{};
  if (gnutls_alpn_get_selected_protocol(session, &chosen) != 0) return {};
  return {reinterpret_cast<const char*>(chosen.data), chosen.size};
}

std::string cipher_of(gnutls_session_t session) {
  const char* name = gnutls_cipher_get_name(gnutls_cipher_get(session));
  return name == nullptr ? "" : name;
}

std::string hex(byte_view data) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(data.size() * 2);
  for (const std::uint8_t byte : data) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

bytes from_hex(const std::string& text) {
  bytes out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    out.push_back(static_cast<std::uint8_t>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return out;
}

bytes random_bytes(std::size_t n) {
  bytes out(n);
  check(gnutls_rnd(GNUTLS_RND_RANDOM, out.data(), out.size()), "random");
  return out;
}

sha256::sha256() { check(gnutls_hash_init(&state_, GNUTLS_DIG_SHA256), "sha256"); }
sha256::~sha256() { gnutls_hash_deinit(state_, nullptr); }
void sha256::add(byte_view data) { check(gnutls_hash(state_, data.data(), data.size()), "sha256"); }
std::string sha256::digest() {
  std::array<std::uint8_t, 32> out{};
  gnutls_hash_output(state_, out.data());
  return hex(out);
}

}  // namespace millrace::peers
