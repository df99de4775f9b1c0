// test/tls/openssl_peer.hpp - OpenSSL's TLS 1.3 as the other end of a QUIC handshake.
//
// Shape    this OpenSSL has no QUIC interface: it speaks TLS records. So its records are opened with the secrets of its
//          own key log and become CRYPTO bytes, and CRYPTO bytes become records sealed with ours. Nothing of either
//          handshake is changed; transport parameters are a custom extension.
// Limits   suites with SHA-256 alone.
#pragma once

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <string>

#include "base/endian.hpp"
#include "support/libcrypto.hpp"
#include "tls/handshake_pair.hpp"

namespace millrace::test {

// One direction of the TLS record layer under one secret (RFC 8446 5.2, 5.3).
class record_key {
  bytes key_, iv_;
  const EVP_CIPHER* cipher_ = nullptr;
  std::uint64_t sequence_ = 0;

 public:
  record_key() = default;
  record_key(base::byte_view secret, tls::cipher_suite suite) {
    const bool chacha = suite == tls::cipher_suite::chacha20_poly1305_sha256;
    cipher_ = chacha ? EVP_chacha20_poly1305() : EVP_aes_128_gcm();
    key_ = libcrypto::hkdf_expand_label(secret, "key", chacha ? 32 : 16);
    iv_ = libcrypto::hkdf_expand_label(secret, "iv", 12);
  }
  [[nodiscard]] bool is_set() const { return cipher_ != nullptr; }

  bytes seal(base::byte_view content, std::uint8_t type) {
    bytes inner(content.begin(), content.end());
    inner.push_back(type);
    const std::size_t size = inner.size() + 16;
    bytes out(5 + size);
    out[0] = 23;
    out[1] = out[2] = 3;
    base::store_be16(out.data() + 3, static_cast<std::uint16_t>(size));
    EVP_CIPHER_CTX* c = EVP_CIPHER_CTX_new();
    int n = 0;
    EXPECT_EQ(EVP_EncryptInit_ex(c, cipher_, nullptr, key_.data(), nonce().data()), 1);
    EXPECT_EQ(EVP_EncryptUpdate(c, nullptr, &n, out.data(), 5), 1);
    EXPECT_EQ(EVP_EncryptUpdate(c, out.data() + 5, &n, inner.data(), static_cast<int>(inner.size())), 1);
    EXPECT_EQ(EVP_EncryptFinal_ex(c, out.data() + 5 + n, &n), 1);
    EXPECT_EQ(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, 16, out.data() + 5 + inner.size()), 1);
    EVP_CIPHER_CTX_free(c);
    ++sequence_;
    return out;
  }

  // Content and its type, from a whole record.
  bytes open(base::byte_view record, std::uint8_t& type) {
    bytes out(record.size() - 5 - 16);
    bytes tag(record.end() - 16, record.end());
    EVP_CIPHER_CTX* c = EVP_CIPHER_CTX_new();
    int n = 0;
    EXPECT_EQ(EVP_DecryptInit_ex(c, cipher_, nullptr, key_.data(), nonce().data()), 1);
    EXPECT_EQ(EVP_DecryptUpdate(c, nullptr, &n, record.data(), 5), 1);
    EXPECT_EQ(EVP_DecryptUpdate(c, out.data(), &n, record.data() + 5, static_cast<int>(out.size())), 1);
    EXPECT_EQ(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, 16, tag.data()), 1);
    EXPECT_EQ(EVP_DecryptFinal_ex(c, out.data() + n, &n), 1) << "a record that its key does not open";
    EVP_CIPHER_CTX_free(c);
    ++sequence_;
    while (!out.empty() && out.back() == 0) out.pop_back();
    type = out.empty() ? std::uint8_t{0} : out.back();
    if (!out.empty()) out.pop_back();
    return out;
  }

 private:
  bytes nonce() const {
    bytes out = iv_;
    for (std::size_t i = 0; i < 8; ++i) out[11 - i] ^= static_cast<std::uint8_t>(sequence_ >> (8 * i));
    return out;
  }
};

class openssl_peer {
  SSL_CTX* context_ = nullptr;
  SSL* ssl_ = nullptr;
  bool is_server_;
  std::map<std::string, bytes> secrets_;
  record_key opens_;  // what OpenSSL sends now
  record_key seals_;  // what it reads now
  bool opens_application_ = false;
  tls::encryption_level seal_level_ = tls::encryption_level::initial;
  bytes pending_;
  bytes told_;          // the Handshake level's messages that have not ended yet
  bool early_ = false;  // it sends early data after its hello

 public:
  bytes parameters;  // ours as OpenSSL received them
  SSL_SESSION* session = nullptr;

  openssl_peer(bool is_server, const char* groups, const char* suites, SSL_SESSION* resumed = nullptr,
               tls::key_kind kind = tls::key_kind::ecdsa_p256)
      : is_server_(is_server) {
    context_ = SSL_CTX_new(is_server ? TLS_server_method() : TLS_client_method());
    SSL_CTX_set_min_proto_version(context_, TLS1_3_VERSION);
    SSL_CTX_clear_options(context_, SSL_OP_ENABLE_MIDDLEBOX_COMPAT);
    EXPECT_EQ(SSL_CTX_set1_groups_list(context_, groups), 1);
    EXPECT_EQ(SSL_CTX_set_ciphersuites(context_, suites), 1);
    SSL_CTX_set_keylog_callback(context_, [](const SSL* ssl, const char* line) { self_of(ssl).log(line); });
    SSL_CTX_set_session_cache_mode(context_, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context_, [](SSL* ssl, SSL_SESSION* made) {
      openssl_peer& self = self_of(ssl);
      if (self.session != nullptr) SSL_SESSION_free(self.session);
      self.session = made;
      return 1;
    });
    EXPECT_EQ(SSL_CTX_add_custom_ext(context_, 0x39, SSL_EXT_CLIENT_HELLO | SSL_EXT_TLS1_3_ENCRYPTED_EXTENSIONS,
                                     add_parameters, nullptr, nullptr, parse_parameters, nullptr),
              1);
    if (is_server) use_certificate(kind);
    ssl_ = SSL_new(context_);
    SSL_set_app_data(ssl_, this);
    SSL_set_bio(ssl_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    if (is_server) {
      SSL_CTX_set_alpn_select_cb(
          context_,
          [](SSL*, const unsigned char** out, unsigned char* size, const unsigned char* in, unsigned, void*) {
            *out = in + 1;
            *size = in[0];
            return SSL_TLSEXT_ERR_OK;
          },
          nullptr);
      SSL_set_accept_state(ssl_);
    } else {
      const unsigned char alpn[] = {2, 'h', '3'};
      EXPECT_EQ(SSL_set_alpn_protos(ssl_, alpn, sizeof alpn), 0);
      EXPECT_EQ(SSL_set_tlsext_host_name(ssl_, "example.test"), 1);
      if (resumed != nullptr) {
        EXPECT_EQ(SSL_set_session(ssl_, resumed), 1);
      }
      SSL_set_connect_state(ssl_);
    }
  }
  openssl_peer(const openssl_peer&) = delete;
  openssl_peer& operator=(const openssl_peer&) = delete;
  ~openssl_peer() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
    if (session != nullptr) SSL_SESSION_free(session);
  }

  [[nodiscard]] bool is_complete() const { return SSL_is_init_finished(ssl_) != 0; }
  [[nodiscard]] bool is_resumed() const { return SSL_session_reused(ssl_) != 0; }
  // Client, before the first work(): offers 0-RTT and sends some.
  void write_early() {
    early_ = true;
    std::size_t written = 0;
    EXPECT_EQ(SSL_write_early_data(ssl_, "early", 5, &written), 1) << ERR_error_string(ERR_get_error(), nullptr);
    EXPECT_EQ(written, 5u);
  }
  // Before the first work(): which signatures it takes (client), that it wants a certificate (server).
  void takes_signatures(const char* list) { EXPECT_EQ(SSL_set1_sigalgs_list(ssl_, list), 1); }
  void asks_for_a_certificate() { SSL_set_verify(ssl_, SSL_VERIFY_PEER, nullptr); }
  // What the server's key is: EVP_PKEY_EC, EVP_PKEY_RSA.
  [[nodiscard]] int servers_key() const {
    X509* leaf = SSL_get0_peer_certificate(ssl_);
    return leaf == nullptr ? 0 : EVP_PKEY_get_base_id(X509_get0_pubkey(leaf));
  }
  [[nodiscard]] bool has_secret(const char* label) const { return secrets_.count(label) != 0; }
  [[nodiscard]] bool early_was_accepted() const { return SSL_get_early_data_status(ssl_) == SSL_EARLY_DATA_ACCEPTED; }
  [[nodiscard]] bytes secret(const char* label) const {
    const auto found = secrets_.find(label);
    return found != secrets_.end() ? found->second : bytes{};
  }

  // Works on what it has; gives what it says as (level, bytes).
  std::vector<std::pair<tls::encryption_level, bytes>> work() {
    std::uint8_t byte = 0;
    const int done = is_complete() ? SSL_read(ssl_, &byte, 1) : SSL_do_handshake(ssl_);
    if (done <= 0) {
      const int why = SSL_get_error(ssl_, done);
      EXPECT_TRUE(why == SSL_ERROR_WANT_READ) << ERR_error_string(ERR_get_error(), nullptr);
    }
    char chunk[4096];
    for (int n = BIO_read(SSL_get_wbio(ssl_), chunk, sizeof chunk); n > 0;
         n = BIO_read(SSL_get_wbio(ssl_), chunk, sizeof chunk))
      pending_.insert(pending_.end(), chunk, chunk + n);
    return take_records();
  }

  void hear(tls::encryption_level level, base::byte_view crypto) {
    bytes record;
    if (level == tls::encryption_level::initial) {
      for (const std::uint8_t byte : {std::uint8_t{22}, std::uint8_t{3}, std::uint8_t{3}}) record.push_back(byte);
      record.push_back(static_cast<std::uint8_t>(crypto.size() >> 8));
      record.push_back(static_cast<std::uint8_t>(crypto.size() & 0xff));
      for (const std::uint8_t byte : crypto) record.push_back(byte);
    } else {
      if (level != seal_level_) {
        const bool app = level == tls::encryption_level::application;
        const char* theirs = is_server_ ? (app ? "CLIENT_TRAFFIC_SECRET_0" : "CLIENT_HANDSHAKE_TRAFFIC_SECRET")
                                        : (app ? "SERVER_TRAFFIC_SECRET_0" : "SERVER_HANDSHAKE_TRAFFIC_SECRET");
        // The very first HANDSHAKE bytes come before OpenSSL has read ServerHello: let it, so that it has its keys.
        SSL_do_handshake(ssl_);
        seals_ = record_key(secret(theirs), suite());
        seal_level_ = level;
      }
      record = seals_.seal(crypto, 22);
    }
    EXPECT_EQ(BIO_write(SSL_get_rbio(ssl_), record.data(), static_cast<int>(record.size())),
              static_cast<int>(record.size()));
  }

 private:
  static openssl_peer& self_of(const SSL* ssl) { return *static_cast<openssl_peer*>(SSL_get_app_data(ssl)); }

  static int add_parameters(SSL* ssl, unsigned, unsigned, const unsigned char** out, std::size_t* size, X509*,
                            std::size_t, int*, void*) {
    const bytes& mine = self_of(ssl).is_server_ ? server_parameters : client_parameters;
    *out = mine.data();
    *size = mine.size();
    return 1;
  }
  static int parse_parameters(SSL* ssl, unsigned, unsigned, const unsigned char* in, std::size_t size, X509*,
                              std::size_t, int*, void*) {
    self_of(ssl).parameters.assign(in, in + size);
    return 1;
  }

  void use_certificate(tls::key_kind kind) {
    const tls::pem_pair& pem = test_pem(kind);
    BIO* text = BIO_new_mem_buf(pem.certificate.data(), static_cast<int>(pem.certificate.size()));
    X509* leaf = PEM_read_bio_X509(text, nullptr, nullptr, nullptr);
    BIO* key_text = BIO_new_mem_buf(pem.key.data(), static_cast<int>(pem.key.size()));
    EVP_PKEY* key = PEM_read_bio_PrivateKey(key_text, nullptr, nullptr, nullptr);
    EXPECT_EQ(SSL_CTX_use_certificate(context_, leaf), 1);
    EXPECT_EQ(SSL_CTX_use_PrivateKey(context_, key), 1);
    X509_free(leaf);
    EVP_PKEY_free(key);
    BIO_free(text);
    BIO_free(key_text);
  }

  void log(const char* line) {
    const std::string text(line);
    const std::size_t label = text.find(' ');
    const std::size_t random = text.find(' ', label + 1);
    secrets_[text.substr(0, label)] = from_hex(text.substr(random + 1));
  }

  tls::cipher_suite suite() const {
    const SSL_CIPHER* used = SSL_get_current_cipher(ssl_);
    return used != nullptr && SSL_CIPHER_get_protocol_id(used) == 0x1303 ? tls::cipher_suite::chacha20_poly1305_sha256
                                                                         : tls::cipher_suite::aes_128_gcm_sha256;
  }

  // Whether the messages so far, with these bytes, end with Finished.
  bool ends_with_finished(const bytes& more) {
    told_.insert(told_.end(), more.begin(), more.end());
    while (told_.size() >= 4) {
      const std::size_t size = std::size_t{4} + base::load_be24(told_.data() + 1);
      if (told_.size() < size) return false;
      if (told_[0] == 20) return true;
      told_.erase(told_.begin(), told_.begin() + static_cast<std::ptrdiff_t>(size));
    }
    return false;
  }

  std::vector<std::pair<tls::encryption_level, bytes>> take_records() {
    std::vector<std::pair<tls::encryption_level, bytes>> out;
    while (pending_.size() >= 5) {
      const std::size_t size = std::size_t{5} + base::load_be16(pending_.data() + 3);
      if (pending_.size() < size) break;
      const bytes record(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(size));
      pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(size));
      if (record[0] == 22) {
        out.emplace_back(tls::encryption_level::initial, bytes(record.begin() + 5, record.end()));
        continue;
      }
      EXPECT_EQ(record[0], 23) << "no compatibility records";
      if (early_ && !has_secret("SERVER_HANDSHAKE_TRAFFIC_SECRET")) continue;  // 0-RTT, which nobody opens
      if (!opens_.is_set())
        opens_ = record_key(secret(is_server_ ? "SERVER_HANDSHAKE_TRAFFIC_SECRET" : "CLIENT_HANDSHAKE_TRAFFIC_SECRET"),
                            suite());
      std::uint8_t type = 0;
      const bytes content = opens_.open(record, type);
      if (type != 22) continue;
      const auto level = opens_application_ ? tls::encryption_level::application : tls::encryption_level::handshake;
      out.emplace_back(level, content);
      if (!opens_application_ && ends_with_finished(content)) {
        opens_application_ = true;
        opens_ = record_key(secret(is_server_ ? "SERVER_TRAFFIC_SECRET_0" : "CLIENT_TRAFFIC_SECRET_0"), suite());
      }
    }
    return out;
  }
};

}  // namespace millrace::test
