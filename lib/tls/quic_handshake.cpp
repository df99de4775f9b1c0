// How it works: GnuTLS keeps its state machine and is driven by three calls. gnutls_handshake_write() hands it one
// whole message of the level it reads; gnutls_handshake() goes on until it needs the next; the hooks (in
// quic_handshake_hooks.cpp) carry secrets and messages out. Everything QUIC adds to TLS is judged here: which message
// may come at which level, transport parameters and ALPN that must be there, what 0-RTT may rely on.
//
// What could go wrong is a message that TLS reads at a level it did not come at, or one that straddles a key change. So
// messages are handed on one by one, and after each the gate must stand between two messages if TLS changed its keys.
#include "tls/quic_handshake.hpp"

#include <gnutls/gnutls.h>

#include <algorithm>

#include "base/endian.hpp"
#include "tls/gnutls_session.hpp"
#include "tls/remembered_session.hpp"
#include "tls/wall_clock.hpp"
#include "tls/wire/extension_type.hpp"
#include "tls/wire/hello_fields.hpp"

namespace millrace::tls {
namespace {

using base::byte_view;

// RFC 8446 4.2: what is wrong with a hello's form. Only a repeated extension is more than broken framing.
alert alert_of(base::parse_errc code) noexcept {
  return code == base::parse_errc::duplicate ? alert::illegal_parameter : alert::decode_error;
}

bool store_name(byte_store& into, std::string_view name) noexcept {
  if (name.empty()) return true;
  return into.assign(base::as_bytes(name)) && into.append(std::uint8_t{0});
}

}  // namespace

quic_handshake::quic_handshake(std::shared_ptr<const server_context> context) noexcept
    : server_(std::move(context)), gate_(endpoint_role::server), role_(endpoint_role::server) {}

quic_handshake::quic_handshake(std::shared_ptr<const client_context> context) noexcept
    : client_(std::move(context)), gate_(endpoint_role::client), role_(endpoint_role::client) {}

quic_handshake::~quic_handshake() {
  release();
  for (traffic_secret& secret : secrets_) gnutls_memset(secret.bytes.data(), 0, secret.bytes.size());
}

handshake_progress quic_handshake::fail(quic_error error, const char* reason) noexcept {
  error_ = error;
  reason_ = reason;
  release();
  inbox_.clear();
  for (byte_store& box : outbox_) box.clear();
  return handshake_progress::failed;
}

handshake_progress quic_handshake::fail_by_gnutls(int code) noexcept {
  int number = captured_alert_;
  if (number == 0) {
    int level = 0;
    number = gnutls_error_to_alert(code, &level);
  }
  if (number <= 0 || number > 0xff) number = static_cast<int>(alert::internal_error);
  return fail(crypto_error(static_cast<std::uint8_t>(number)), gnutls_strerror(code));
}

handshake_progress quic_handshake::start(const client_start& with) noexcept {
  if (role_ != endpoint_role::client || started_ || with.transport_parameters.empty())
    return fail(quic_internal_error, "a client starts once, with transport parameters");
  started_ = true;
  if (!local_parameters_.assign(with.transport_parameters) || !store_name(name_, with.server_name))
    return fail(quic_internal_error, "no memory");
  remembered_session known;
  if (with.session.empty() || !parse(with.session, known)) return handshake_progress::ready;
  const auto& ours = client_->settings().protocols;
  const auto found = std::find(ours.begin(), ours.end(), known.protocol);
  if (found == ours.end()) return handshake_progress::ready;
  if (!session_data_.assign(known.ticket)) return fail(quic_internal_error, "no memory");
  // RFC 9001 4.6.1, RFC 9000 7.4.1: 0-RTT goes by the protocol and the parameters of the connection before.
  wants_early_ = with.offer_early_data && known.early_data;
  if (wants_early_ && !remembered_.assign(known.transport_parameters)) return fail(quic_internal_error, "no memory");
  protocol_index_ = static_cast<std::uint8_t>(found - ours.begin());
  return handshake_progress::ready;
}

bool quic_handshake::set_transport_parameters(byte_view encoded) noexcept { return local_parameters_.assign(encoded); }

handshake_progress quic_handshake::provide(encryption_level level, byte_view bytes) noexcept {
  if (has_failed()) return handshake_progress::failed;
  // RFC 9001 4.1.3: data of a level TLS has left may only repeat what came, and what repeats does not get here. Data of
  // a level TLS has not reached, or of 0-RTT, cannot be: there were no keys to open its packet, or no such frame.
  if (!bytes.empty() && (level != read_level_ || (role_ == endpoint_role::client && !started_)))
    return fail(quic_protocol_violation, "CRYPTO data at a level that TLS does not read");
  const handshake_limits& limits = server_ ? server_->settings().limits : client_->settings().limits;
  const std::uint32_t max_message =
      level == encryption_level::initial ? limits.max_hello_bytes : limits.max_message_bytes;
  if (const quic_error error = gate_.walk(bytes, max_message); error != quic_no_error) {
    return fail(error, error == quic_crypto_buffer_exceeded ? "a handshake message beyond the limit"
                                                            : "a handshake message where none may be");
  }
  if (released_) {  // a ticket nobody wants any more
    gate_.take();
    return handshake_progress::complete;
  }
  if (inbox_.size() + bytes.size() > limits.max_waiting_bytes)
    return fail(quic_crypto_buffer_exceeded, "more handshake messages than may wait");
  if (!inbox_.append(bytes)) return fail(quic_internal_error, "no memory");
  if (gate_.whole() == 0) return complete_ ? handshake_progress::complete : handshake_progress::stalled;
  if (role_ == endpoint_role::server && read_level_ == encryption_level::initial && !judge_client_hello())
    return handshake_progress::failed;
  return handshake_progress::ready;
}

// The whole ClientHello is in the inbox. Judged before any key is made for it.
bool quic_handshake::judge_client_hello() noexcept {
  wire::hello_fields hello;
  if (const base::parse_status scanned = wire::scan_client_hello(inbox_.view().first(gate_.whole()), hello); !scanned) {
    fail(crypto_error(alert_of(scanned.code)), "a malformed ClientHello");
    return false;
  }
  if (!hello.session_id.empty()) {  // RFC 9001 8.4
    fail(quic_protocol_violation, "a ClientHello with a session ID, as TLS over TCP has for middleboxes");
    return false;
  }
  if (!hello.offers_tls_1_3) {  // RFC 9001 4.2
    fail(crypto_error(alert::protocol_version), "a ClientHello that does not offer TLS 1.3");
    return false;
  }
  if (!hello.has_transport_parameters) {  // RFC 9001 8.2
    fail(crypto_error(alert::missing_extension), "a ClientHello without QUIC transport parameters");
    return false;
  }
  if (hello.has_alpn && !wire::is_protocol_list(hello.alpn)) {
    fail(crypto_error(alert::decode_error), "a malformed list of application protocols");
    return false;
  }
  const auto chosen = wire::choose_protocol(hello.alpn, server_->protocols());
  if (!chosen) {  // RFC 9001 8.1
    fail(crypto_error(alert::no_application_protocol), "no application protocol in common");
    return false;
  }
  if (has_hello_) return judge_repeated_hello(hello, *chosen);
  has_hello_ = true;
  protocol_index_ = static_cast<std::uint8_t>(*chosen);
  protocol_ = server_->protocols()[*chosen];
  early_ = hello.has_early_data ? early_data::offered : early_data::none;
  // GnuTLS 3.7 turns to 0-RTT keys before it finds that it must ask for another key share, and cannot go back.
  wants_early_ = hello.has_early_data && wire::has_preferred_share(hello, server_->groups());
  has_peer_parameters_ = true;
  if (peer_parameters_.assign(hello.transport_parameters) && store_name(name_, hello.sni)) return true;
  fail(quic_internal_error, "no memory");
  return false;
}

// RFC 8446 4.1.2: the hello that answers a HelloRetryRequest differs in its key share and cookie, and offers no 0-RTT.
bool quic_handshake::judge_repeated_hello(const wire::hello_fields& hello, std::size_t protocol) noexcept {
  const byte_view first = peer_parameters_.view();
  const byte_view now = hello.transport_parameters;
  if (!hello.has_early_data && protocol == protocol_index_ &&
      std::equal(first.begin(), first.end(), now.begin(), now.end())) {
    return true;
  }
  fail(crypto_error(alert::illegal_parameter), "a second ClientHello that contradicts the first");
  return false;
}

handshake_progress quic_handshake::advance(std::int64_t now_ns) noexcept {
  if (has_failed()) return handshake_progress::failed;
  const bool is_server = role_ == endpoint_role::server;
  if (released_ || (is_server && gate_.whole() == 0))
    return complete_ ? handshake_progress::complete : handshake_progress::stalled;
  const wall_time_scope time(now_ns);
  if (session_ == nullptr) {
    if (local_parameters_.empty()) return fail(quic_internal_error, "no transport parameters were set");
    if (const int code = open_session(); code < 0) return fail_by_gnutls(code);
    if (!is_server && !step({})) return handshake_progress::failed;  // the ClientHello
  }
  const byte_view whole = inbox_.view().first(gate_.whole());
  for (std::size_t at = 0; at < whole.size();) {
    const std::size_t size = wire::handshake_header_size + base::load_be24(whole.data() + at + 1);
    if (!step(whole.subspan(at, size))) return handshake_progress::failed;
    at += size;
    if (released_) break;
  }
  inbox_.drop(gate_.whole());
  gate_.take();
  if (!follow_level()) return handshake_progress::failed;
  return complete_ ? handshake_progress::complete : handshake_progress::stalled;
}

// One message, or none to begin with. False: failed.
bool quic_handshake::step(byte_view message) noexcept {
  if (complete_) return take_ticket(message);
  if (early_ == early_data::offered && wire::is_hello_retry_request(message)) {  // to a client, then
    must_start_over_ = true;
    fail(quic_internal_error, "0-RTT offered to a server that wants another hello: start over without it");
    return false;
  }
  if (!message.empty()) {
    const int code = gnutls_handshake_write(session_, gnutls_level(read_level_), message.data(), message.size());
    if (code < 0) {
      fail_by_gnutls(code);
      return false;
    }
  }
  const int code = gnutls_handshake(session_);
  if (code < 0 && gnutls_error_is_fatal(code) != 0) {
    fail_by_gnutls(code);
    return false;
  }
  // A server decides about 0-RTT with the first hello: a retry rejects it, too (RFC 8446 4.2.10).
  if (role_ == endpoint_role::server && early_ == early_data::offered) early_ = early_data::rejected;
  if (role_ == endpoint_role::client && !message.empty() && message[0] == wire::handshake_encrypted_extensions &&
      !judge_encrypted_extensions()) {
    return false;
  }
  return code < 0 || finish();
}

// Client: what the server's parameters and choices mean for QUIC.
bool quic_handshake::judge_encrypted_extensions() noexcept {
  if (!has_peer_parameters_) {  // RFC 9001 8.2
    fail(crypto_error(alert::missing_extension), "a server without QUIC transport parameters");
    return false;
  }
  gnutls_datum_t name{nullptr, 0};
  const auto& ours = client_->settings().protocols;
  auto found = ours.end();
  if (gnutls_alpn_get_selected_protocol(session_, &name) >= 0)
    found = std::find(ours.begin(), ours.end(), base::as_text({name.data, name.size}));
  if (found == ours.end()) {  // RFC 9001 8.1
    fail(crypto_error(alert::no_application_protocol), "no application protocol in common");
    return false;
  }
  protocol_ = *found;
  if (early_ != early_data::offered) return true;
  const bool accepted = (gnutls_session_get_flags(session_) & GNUTLS_SFLAGS_EARLY_DATA) != 0;
  early_ = accepted ? early_data::accepted : early_data::rejected;
  if (accepted && found != ours.begin() + protocol_index_) {  // RFC 8446 4.2.10
    fail(crypto_error(alert::illegal_parameter), "0-RTT accepted under another application protocol");
    return false;
  }
  return true;
}

bool quic_handshake::finish() noexcept {
  suite_ = current_suite(session_);
  group_ = current_group(session_);
  resumed_ = gnutls_session_is_resumed(session_) != 0;
  complete_ = true;
  local_parameters_.clear();  // they are sent
  session_data_.clear();      // what a client resumed with: a ticket is used once (RFC 8446 C.4)
  if (role_ == endpoint_role::client) return true;
  if (server_->settings().tickets != 0) {
    const int code = gnutls_session_ticket_send(session_, server_->settings().tickets, 0);
    if (code < 0 && gnutls_error_is_fatal(code) != 0) {
      fail_by_gnutls(code);
      return false;
    }
  }
  release();
  return true;
}

// Client: a NewSessionTicket. GnuTLS keeps the ticket; what it ignores and QUIC does not is judged first.
bool quic_handshake::take_ticket(byte_view message) noexcept {
  wire::new_session_ticket ticket;
  if (!wire::parse_new_session_ticket(message, ticket)) {
    fail(crypto_error(alert::decode_error), "a malformed NewSessionTicket");
    return false;
  }
  if (ticket.has_early_data && ticket.max_early_data_size != 0xffffffff) {  // RFC 9001 4.6.1
    fail(quic_protocol_violation, "a ticket whose max_early_data_size is not 0xffffffff");
    return false;
  }
  if (tickets_seen_ == client_->settings().limits.max_tickets) return true;
  ++tickets_seen_;
  const int code =
      gnutls_handshake_write(session_, GNUTLS_ENCRYPTION_LEVEL_APPLICATION, message.data(), message.size());
  if (code < 0 && gnutls_error_is_fatal(code) != 0) {
    fail_by_gnutls(code);
    return false;
  }
  if (ticket.lifetime_s == 0 || (gnutls_session_get_flags(session_) & GNUTLS_SFLAGS_SESSION_TICKET) == 0) return true;
  gnutls_datum_t data{nullptr, 0};
  if (gnutls_session_get_data2(session_, &data) < 0) return true;  // nothing to keep is no fault of the connection's
  const remembered_session known{ticket.has_early_data, protocol_, peer_parameters_.view(), {data.data, data.size}};
  has_new_session_ = emit(session_data_, known);
  gnutls_memset(data.data, 0, data.size);
  gnutls_free(data.data);
  return true;
}

// RFC 8446 5.1. The hooks may have moved read_level_; then nothing of the level before may be left, not even a part of
// a message.
bool quic_handshake::follow_level() noexcept {
  if (!gate_.at_boundary()) {
    if (!gate_.is_at(read_level_)) {
      fail(crypto_error(alert::unexpected_message), "a handshake message across a change of keys");
      return false;
    }
    return true;
  }
  gate_.enter(read_level_);
  return true;
}

bool quic_handshake::take_secret(traffic_secret& out) noexcept {
  if (secrets_taken_ == secrets_.size()) return false;
  traffic_secret& next = secrets_[secrets_taken_++];
  out = next;
  gnutls_memset(next.bytes.data(), 0, next.bytes.size());
  return true;
}

namespace {

// 0 to 2; 3 for early, which has no CRYPTO stream.
std::size_t outbox_of(encryption_level level) noexcept {
  switch (level) {
    case encryption_level::initial:
      return 0;
    case encryption_level::early:
      return 3;
    case encryption_level::handshake:
      return 1;
    case encryption_level::application:
      return 2;
  }
  return 3;
}

}  // namespace

byte_view quic_handshake::output(encryption_level level) const noexcept {
  const std::size_t box = outbox_of(level);
  return box < outbox_.size() ? outbox_[box].view() : byte_view{};
}

std::size_t quic_handshake::heap_bytes() const noexcept {
  std::size_t sum = inbox_.capacity() + local_parameters_.capacity() + peer_parameters_.capacity() +
                    remembered_.capacity() + session_data_.capacity() + name_.capacity();
  for (const byte_store& box : outbox_) sum += box.capacity();
  return sum;
}

void quic_handshake::discard_output(encryption_level level) noexcept {
  if (const std::size_t box = outbox_of(level); box < outbox_.size()) outbox_[box].clear();
}

}  // namespace millrace::tls
