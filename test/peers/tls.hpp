// test/peers/tls.hpp - GnuTLS as ngtcp2 drives it: certificates, tickets, early data, suites, the key log.
//
// Owner    a tls_context outlives the sessions made from it. Errors throw std::runtime_error.
// Trust    the client takes any certificate: what is tested is the transport. Never a model for a program in use.
#pragma once

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <ngtcp2/ngtcp2_crypto.h>

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "udp.hpp"

namespace millrace::peers {

struct tls_options {
  std::vector<std::string> alpn;
  std::string ciphers;  // "", or GnuTLS names: "CHACHA20-POLY1305", "AES-256-GCM"
  std::string keylog_file;
  std::string certificate_file, key_file;  // server; both empty: self-made
  bool early_data = false;
};

class tls_context {
  tls_options options_;
  gnutls_certificate_credentials_t credentials_ = nullptr;
  gnutls_anti_replay_t anti_replay_ = nullptr;
  gnutls_datum_t ticket_key_{};
  std::set<std::string> seen_hellos_;
  std::FILE* keylog_ = nullptr;
  bool is_server_;

  void make_certificate();
  void common(gnutls_session_t session, ngtcp2_crypto_conn_ref* ref) const;
  static int on_key(gnutls_session_t session, const char* label, const gnutls_datum_t* secret);
  static int on_hello(void* self, time_t expires, const gnutls_datum_t* key, const gnutls_datum_t* data);

 public:
  tls_context(tls_options options, bool is_server);
  ~tls_context();
  tls_context(const tls_context&) = delete;
  tls_context& operator=(const tls_context&) = delete;

  // `ref` stays valid as long as the session; its user_data is the caller's.
  [[nodiscard]] gnutls_session_t server_session(ngtcp2_crypto_conn_ref* ref) const;
  [[nodiscard]] gnutls_session_t client_session(ngtcp2_crypto_conn_ref* ref, const std::string& server_name,
                                                const bytes& resume) const;
  [[nodiscard]] const tls_options& options() const { return options_; }
};

[[nodiscard]] std::string alpn_of(gnutls_session_t session);
[[nodiscard]] std::string cipher_of(gnutls_session_t session);
[[nodiscard]] std::string hex(byte_view data);
[[nodiscard]] bytes from_hex(const std::string& text);
[[nodiscard]] bytes random_bytes(std::size_t n);

class sha256 {
  gnutls_hash_hd_t state_ = nullptr;

 public:
  sha256();
  ~sha256();
  sha256(const sha256&) = delete;
  sha256& operator=(const sha256&) = delete;
  void add(byte_view data);
  [[nodiscard]] std::string digest();  // hexadecimal; begins anew
};

}  // namespace millrace::peers
