// tls/credentials.hpp - what a server shows (certificates and their keys) and what a client trusts.
//
// Shape    PEM in, immutable objects out; a server_context or client_context shares them. To reload: make new ones, a
//          new context from them, and hand that to the listeners; handshakes under way keep what they began with.
// Owner    std::shared_ptr: the last handshake that uses an object frees it.
// Errors   base::failure names the file, what GnuTLS says, and what to type.
// Threads  made on the control thread; afterwards read by any lcore.
// Source   RFC 8446 4.4.2, RFC 7469 2.4 (pins), RFC 5280. Tests  test/tls/credentials_test.cpp
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"

struct gnutls_certificate_credentials_st;

namespace millrace::tls {

enum class key_kind : std::uint8_t { ecdsa_p256, rsa_2048 };

// A certificate chain (leaf first) and its private key, unencrypted.
struct pem_pair {
  std::string certificate;
  std::string key;
};

struct certificate_files {
  std::string certificate;
  std::string key;
};

struct self_signed_settings {
  std::vector<std::string> names = {"localhost", "127.0.0.1", "::1"};  // DNS names and addresses
  key_kind key = key_kind::ecdsa_p256;
  std::int64_t now_ns = 0;        // wall time; valid from a day before
  std::uint32_t valid_days = 13;  // within the 14 that browsers take for pinned certificates
};

[[nodiscard]] base::result<pem_pair> make_self_signed(const self_signed_settings& settings);
[[nodiscard]] base::result<pem_pair> read_pem_pair(const certificate_files& files);

class server_credentials {
  gnutls_certificate_credentials_st* handle_ = nullptr;
  std::string pin_;

 public:
  server_credentials() noexcept = default;
  server_credentials(const server_credentials&) = delete;
  server_credentials& operator=(const server_credentials&) = delete;
  ~server_credentials();

  // At least one pair. Several (an ECDSA and an RSA one) let the client's signature algorithms decide.
  [[nodiscard]] static base::result<std::shared_ptr<const server_credentials>> make(std::span<const pem_pair> pairs);
  [[nodiscard]] static base::result<std::shared_ptr<const server_credentials>> load(const certificate_files& files);
  [[nodiscard]] static base::result<std::shared_ptr<const server_credentials>> self_signed(
      const self_signed_settings& settings);

  // SHA-256 of the first certificate's SubjectPublicKeyInfo in base64, as Chromium's
  // --ignore-certificate-errors-spki-list takes it.
  [[nodiscard]] const std::string& spki_pin() const noexcept { return pin_; }
  [[nodiscard]] gnutls_certificate_credentials_st* handle() const noexcept { return handle_; }
};

class client_trust {
  gnutls_certificate_credentials_st* handle_ = nullptr;
  std::string pin_;
  bool verifies_ = false;

 public:
  client_trust() noexcept = default;
  client_trust(const client_trust&) = delete;
  client_trust& operator=(const client_trust&) = delete;
  ~client_trust();

  // RFC 9001 4.4 wants the server authenticated. No verification: for tests and load against self-signed servers;
  // whoever takes it says so to the operator.
  [[nodiscard]] static base::result<std::shared_ptr<const client_trust>> anybody();
  // PEM certificates that chains must end in.
  [[nodiscard]] static base::result<std::shared_ptr<const client_trust>> authorities(const std::string& pem);
  [[nodiscard]] static base::result<std::shared_ptr<const client_trust>> authorities_in(const std::string& file);
  // The system's store.
  [[nodiscard]] static base::result<std::shared_ptr<const client_trust>> system();

  // The server whose key has this spki_pin(), whatever its certificate says of names and dates.
  [[nodiscard]] static base::result<std::shared_ptr<const client_trust>> pinned(std::string spki_pin);

  // By authorities.
  [[nodiscard]] bool verifies() const noexcept { return verifies_; }
  [[nodiscard]] bool has_pin() const noexcept { return !pin_.empty(); }
  // Whether a certificate, in DER, has the pinned key.
  [[nodiscard]] bool is_pinned(base::byte_view certificate) const noexcept;
  [[nodiscard]] gnutls_certificate_credentials_st* handle() const noexcept { return handle_; }

 private:
  [[nodiscard]] static base::result<std::shared_ptr<client_trust>> make_empty(bool verifies);
};

}  // namespace millrace::tls
