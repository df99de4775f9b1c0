#include "tls/context.hpp"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

#include <algorithm>

#include "crypto/random.hpp"
#include "tls/wall_clock.hpp"

namespace millrace::tls {
namespace {

constexpr std::size_t max_protocol_name = 31;            // GnuTLS 3.7 has room for 32 with its end
constexpr std::size_t max_protocols = 8;                 // GnuTLS 3.7's own limit
constexpr std::uint32_t max_ticket_lifetime_s = 604800;  // RFC 8446 4.6.1: seven days
constexpr std::uint8_t max_tickets = 4;

base::failure unusable(std::string what, std::string hint) { return {std::move(what), std::move(hint), true}; }

const char* suite_name(cipher_suite suite) noexcept {
  switch (suite) {
    case cipher_suite::none:
      return nullptr;
    case cipher_suite::aes_128_gcm_sha256:
      return ":+AES-128-GCM";
    case cipher_suite::aes_256_gcm_sha384:
      return ":+AES-256-GCM";
    case cipher_suite::chacha20_poly1305_sha256:
      return ":+CHACHA20-POLY1305";
  }
  return nullptr;
}

const char* group_name(group g) noexcept {
  switch (g) {
    case group::none:
      return nullptr;
    case group::secp256r1:
      return ":+GROUP-SECP256R1";
    case group::x25519:
      return ":+GROUP-X25519";
  }
  return nullptr;
}

// RFC 9001 4.2: TLS 1.3 and nothing before it. %DISABLE_TLS13_COMPAT_MODE: no session ID, no ChangeCipherSpec (RFC
// 9001 8.4).
base::result<gnutls_priority_st*> make_priority(const algorithms& offered, bool is_server) {
  std::string text = "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:-GROUP-ALL";
  for (const cipher_suite suite : offered.suites) {
    if (suite_name(suite) == nullptr) return unusable("no such cipher suite", "use the suites of RFC 8446 without CCM");
    text += suite_name(suite);
  }
  for (const group g : offered.groups) {
    if (group_name(g) == nullptr) return unusable("no such group", "use x25519 or secp256r1");
    text += group_name(g);
  }
  if (offered.suites.empty() || offered.groups.empty())
    return unusable("TLS needs a cipher suite and a group", "leave the lists at their defaults");
  text += ":%DISABLE_TLS13_COMPAT_MODE";
  if (is_server) text += ":%SERVER_PRECEDENCE";
  gnutls_priority_t out = nullptr;
  const char* at = nullptr;
  if (const int code = gnutls_priority_init(&out, text.c_str(), &at); code < 0)
    return unusable("TLS priorities " + text + ": " + gnutls_strerror(code), "leave the lists at their defaults");
  return out;
}

template <class Names>
bool are_protocols(const Names& names) {
  if (names.empty() || names.size() > max_protocols) return false;
  return std::all_of(names.begin(), names.end(), [](const auto& name) {
    return !std::string_view(name).empty() && std::string_view(name).size() <= max_protocol_name;
  });
}

// RFC 8446 4.2.10: the protocol is part of the key, so that early data of one never opens under another.
bool derive(const std::string& secret, const server_protocol& protocol, std::array<std::uint8_t, 64>& out) {
  std::string info = "millrace ticket key";
  info += static_cast<char>(protocol.name.size());
  info += protocol.name + protocol.ticket_context;
  // HKDF-Expand wants a key of at least the hash's size that is already uniform: extract first, whatever was given.
  std::array<std::uint8_t, 32> uniform{};
  const auto datum = [](auto& from) {
    return gnutls_datum_t{
        reinterpret_cast<unsigned char*>(const_cast<char*>(reinterpret_cast<const char*>(from.data()))),
        static_cast<unsigned>(from.size())};
  };
  const gnutls_datum_t key = datum(secret);
  const gnutls_datum_t salt{nullptr, 0};
  if (gnutls_hkdf_extract(GNUTLS_MAC_SHA256, &key, &salt, uniform.data()) < 0) return false;
  const gnutls_datum_t prk = datum(uniform);
  const gnutls_datum_t about = datum(info);
  return gnutls_hkdf_expand(GNUTLS_MAC_SHA256, &prk, &about, out.data(), out.size()) >= 0;
}

}  // namespace

server_context::server_context(server_settings settings) : settings_(std::move(settings)) {
  for (const server_protocol& protocol : settings_.protocols) names_.emplace_back(protocol.name);
  for (const group g : settings_.offered.groups) groups_.push_back(static_cast<std::uint16_t>(g));
}

server_context::~server_context() {
  if (priority_ != nullptr) gnutls_priority_deinit(priority_);
  for (auto& key : ticket_keys_) gnutls_memset(key.data(), 0, key.size());
  gnutls_memset(settings_.ticket_secret.data(), 0, settings_.ticket_secret.size());
}

bool server_context::takes_early_data(std::size_t protocol) const noexcept {
  return settings_.protocols[protocol].early_data && settings_.tickets != 0 && settings_.early_data != nullptr &&
         settings_.early_data->is_ready() && wall_time_is_complete();
}

base::result<std::shared_ptr<const server_context>> server_context::make(server_settings settings) {
  if (settings.credentials == nullptr)
    return unusable("a TLS server needs a certificate", "give one, or self-signed()");
  auto out = std::make_shared<server_context>(std::move(settings));
  server_settings& s = out->settings_;
  if (!are_protocols(out->names_)) return unusable("ALPN takes 1 to 8 names of 1 to 31 bytes", "shorten the list");
  if (s.tickets > max_tickets) return unusable("more than 4 tickets a handshake", "use 0 to 4");
  if (s.ticket_lifetime_s == 0 || s.ticket_lifetime_s > max_ticket_lifetime_s)
    return unusable("a ticket lives 1 to 604800 seconds", "use 21600");
  if (s.ticket_secret.empty()) {
    s.ticket_secret.assign(min_ticket_secret_size, '\0');
    if (!crypto::random_bytes({reinterpret_cast<std::uint8_t*>(s.ticket_secret.data()), s.ticket_secret.size()}))
      return base::failure{"the kernel gives no random bytes", "", false};
  }
  if (s.ticket_secret.size() < min_ticket_secret_size)
    return unusable("a ticket secret of fewer than 32 bytes", "make one of 32 random bytes");
  for (const server_protocol& protocol : s.protocols) {
    if (!derive(s.ticket_secret, protocol, out->ticket_keys_.emplace_back()))
      return base::failure{"GnuTLS derives no ticket key", "", false};
  }
  base::result<gnutls_priority_st*> priority = make_priority(s.offered, true);
  if (!priority) return priority.error();
  out->priority_ = priority.value();
  return std::shared_ptr<const server_context>(std::move(out));
}

client_context::client_context(client_settings settings) : settings_(std::move(settings)) {}

client_context::~client_context() {
  if (priority_ != nullptr) gnutls_priority_deinit(priority_);
}

base::result<std::shared_ptr<const client_context>> client_context::make(client_settings settings) {
  if (settings.trust == nullptr)
    return unusable("a TLS client must say whom it trusts", "give authorities, the system's, or anybody");
  auto out = std::make_shared<client_context>(std::move(settings));
  client_settings& s = out->settings_;
  if (!are_protocols(s.protocols)) return unusable("ALPN takes 1 to 8 names of 1 to 31 bytes", "shorten the list");
  if (s.key_shares == 0 || s.key_shares > 2) return unusable("a hello carries 1 or 2 key shares", "use 1");
  base::result<gnutls_priority_st*> priority = make_priority(s.offered, false);
  if (!priority) return priority.error();
  out->priority_ = priority.value();
  return std::shared_ptr<const client_context>(std::move(out));
}

}  // namespace millrace::tls
