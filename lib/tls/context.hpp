// tls/context.hpp - what all handshakes of a listener, or of a client, have in common: made once, read by many.
//
// Shape    plain settings in, an immutable context out. A handshake shares its context; a reload makes another.
// Tickets  A server's tickets are sealed with a key derived from the secret, the application protocol and its
//          `ticket_context`: bytes that say what a 0-RTT client may rely on (the transport parameters it must remember,
//          HTTP/3 settings). A ticket made under another context does not open, so neither its early data nor its
//          resumption is accepted: what RFC 9000 7.4.1 and RFC 9114 7.2.4.2 ask of a server that changed its limits.
//          GnuTLS changes the key every three ticket lifetimes and takes the one before, too.
// Owner    std::shared_ptr. The sinks and the anti-replay table that are pointed to outlive every handshake.
// Errors   base::failure with what to change.
// Threads  made on the control thread; afterwards read by any lcore.
// Source   RFC 8446 4.2.10 4.6.1, RFC 9001 4.6 8.1. Tests  test/tls/parts_test.cpp
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "tls/anti_replay.hpp"
#include "tls/cipher_suite.hpp"
#include "tls/credentials.hpp"
#include "tls/key_log.hpp"

struct gnutls_priority_st;

namespace millrace::tls {

// Numbers a peer chooses, and what we keep of them.
struct handshake_limits {
  // One message of the peer's Initial level; post-quantum hellos take 2 to 4 KB.
  std::uint32_t max_hello_bytes = 16384;
  std::uint32_t max_message_bytes = 65536;  // one message of a later level: a certificate chain
  std::uint32_t max_waiting_bytes = 98304;  // all that came and advance() has not taken, whatever it is
  std::uint16_t max_tickets = 8;            // a client reads so many of a connection and ignores those that follow
};

struct algorithms {
  std::vector<cipher_suite> suites = {cipher_suite::aes_128_gcm_sha256, cipher_suite::aes_256_gcm_sha384,
                                      cipher_suite::chacha20_poly1305_sha256};  // ours first
  std::vector<group> groups = {group::x25519, group::secp256r1};
};

struct server_protocol {
  std::string name;            // ALPN, 1 to 31 bytes
  std::string ticket_context;  // see Tickets above
  // Whether 0-RTT may be had with it, where the server takes any: a protocol whose requests must not be answered twice
  // says no, and its tickets do not announce it (RFC 8446 8, RFC 9001 9.2).
  bool early_data = true;
};

inline constexpr std::size_t min_ticket_secret_size = 32;

struct server_settings {
  std::shared_ptr<const server_credentials> credentials;
  std::vector<server_protocol> protocols;  // in order of preference; at least one
  algorithms offered;
  std::uint8_t tickets = 1;                 // sent at the end of each handshake, 0 to 4; 0 also means no resumption
  std::uint32_t ticket_lifetime_s = 21600;  // 1 to 604800 (RFC 8446 4.6.1)
  std::string ticket_secret;  // at least 32 bytes, shared by servers that resume each other; empty: random
  std::shared_ptr<anti_replay> early_data;  // nullptr: 0-RTT is neither announced nor accepted
  handshake_limits limits;
  key_log_sink key_log;
};

class server_context {
  server_settings settings_;
  std::vector<std::string_view> names_;                    // of settings_.protocols
  std::vector<std::array<std::uint8_t, 64>> ticket_keys_;  // one a protocol
  std::vector<std::uint16_t> groups_;                      // of settings_.offered, as on the wire
  gnutls_priority_st* priority_ = nullptr;

 public:
  explicit server_context(server_settings settings);
  server_context(const server_context&) = delete;
  server_context& operator=(const server_context&) = delete;
  ~server_context();
  [[nodiscard]] static base::result<std::shared_ptr<const server_context>> make(server_settings settings);

  [[nodiscard]] const server_settings& settings() const noexcept { return settings_; }
  [[nodiscard]] std::span<const std::uint16_t> groups() const noexcept { return groups_; }
  [[nodiscard]] std::span<const std::string_view> protocols() const noexcept { return names_; }
  [[nodiscard]] base::byte_view ticket_key(std::size_t protocol) const noexcept { return ticket_keys_[protocol]; }
  [[nodiscard]] gnutls_priority_st* priority() const noexcept { return priority_; }
  // 0-RTT is announced and may be accepted, where a handshake settles on that protocol.
  [[nodiscard]] bool takes_early_data(std::size_t protocol) const noexcept;
};

struct client_settings {
  std::shared_ptr<const client_trust> trust;
  std::vector<std::string> protocols;  // ALPN, in order of preference; at least one
  algorithms offered;
  // Sent with the first hello, of the first groups, 1 or 2: another costs CPU, a retry a round trip. Where 0-RTT is
  // offered there are always two, so that no group of ours can need a retry, which would reject it.
  std::uint8_t key_shares = 1;
  handshake_limits limits;
  key_log_sink key_log;
};

class client_context {
  client_settings settings_;
  gnutls_priority_st* priority_ = nullptr;

 public:
  explicit client_context(client_settings settings);
  client_context(const client_context&) = delete;
  client_context& operator=(const client_context&) = delete;
  ~client_context();
  [[nodiscard]] static base::result<std::shared_ptr<const client_context>> make(client_settings settings);

  [[nodiscard]] const client_settings& settings() const noexcept { return settings_; }
  [[nodiscard]] gnutls_priority_st* priority() const noexcept { return priority_; }
};

}  // namespace millrace::tls
