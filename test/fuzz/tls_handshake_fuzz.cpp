// Any CRYPTO bytes, cut anyhow, at any level, into either role: an answer, never a crash, and no session left behind by
// a failure. The first byte of the input picks the role and what goes before; then come pieces of (level, size, bytes).
#include <array>
#include <cstdlib>

#include "tls/quic_handshake.hpp"

namespace {

using namespace millrace;
using tls::encryption_level;
using tls::handshake_progress;

constexpr std::int64_t now_ns = 1'790'000'000'000'000'000;
constexpr std::array<std::uint8_t, 3> parameters = {4, 1, 9};

const std::shared_ptr<const tls::server_context>& server_context() {
  static const std::shared_ptr<const tls::server_context> made = [] {
    tls::self_signed_settings certificate;
    certificate.now_ns = now_ns;
    tls::server_settings s;
    s.credentials = tls::server_credentials::self_signed(certificate).value();
    s.protocols = {{"h3", ""}};
    s.ticket_secret = std::string(32, 'f');
    s.early_data = std::make_shared<tls::anti_replay>(tls::anti_replay_limits{}, now_ns);
    return tls::server_context::make(s).value();
  }();
  return made;
}

const std::shared_ptr<const tls::client_context>& client_context() {
  static const std::shared_ptr<const tls::client_context> made = [] {
    tls::client_settings s;
    s.trust = tls::client_trust::anybody().value();
    s.protocols = {"h3"};
    return tls::client_context::make(s).value();
  }();
  return made;
}

void feed(tls::quic_handshake& to, encryption_level level, base::byte_view bytes) {
  if (to.provide(level, bytes) == handshake_progress::ready) static_cast<void>(to.advance(now_ns));
  if (to.has_failed() && (to.holds_session() || to.error() == tls::quic_no_error)) std::abort();
}

void start(tls::quic_handshake& client, tls::quic_handshake& server) {
  if (client.start({"example.test", parameters, {}, true}) != handshake_progress::ready) std::abort();
  static_cast<void>(client.advance(now_ns));
  if (!server.set_transport_parameters(parameters)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  tls::quic_handshake client(client_context());
  tls::quic_handshake server(server_context());
  const unsigned mode = data[0];
  const bool to_server = (mode & 1) != 0;
  start(client, server);
  if ((mode & 2) != 0) {  // a true exchange goes before: to 1-RTT for a client, to Handshake for a server
    feed(server, encryption_level::initial, client.output(encryption_level::initial));
    if (!to_server) {
      feed(client, encryption_level::initial, server.output(encryption_level::initial));
      if ((mode & 4) != 0) feed(client, encryption_level::handshake, server.output(encryption_level::handshake));
    }
  }
  tls::quic_handshake& target = to_server ? server : client;
  base::byte_view rest(data + 1, size - 1);
  while (rest.size() >= 2) {
    // Mostly the level that is read: the others are answered at once.
    const auto level = (rest[0] & 0x0c) == 0x0c ? static_cast<encryption_level>(rest[0] & 3) : target.read_level();
    const std::size_t piece = std::min<std::size_t>((std::size_t{rest[0] & 0xf0u} << 2) | rest[1], rest.size() - 2);
    feed(target, level, rest.subspan(2, piece));
    rest = rest.subspan(2 + piece);
  }
  tls::traffic_secret secret;
  while (target.take_secret(secret))
    if (secret.size == 0 || secret.size > tls::max_secret_size) std::abort();
  return 0;
}
