// tls/quic_handshake.hpp - the TLS 1.3 handshake of one QUIC connection, without packets, sockets or a clock.
//
// Shape    bytes of CRYPTO frames in by level, in order (provide); bytes for CRYPTO frames out by level (output);
//          secrets as they appear (take_secret). provide() only collects and judges; advance() does the costly
//          arithmetic. Between the two nothing is held that belongs to a thread or a loop, so advance() may run on
//          another lcore: hand the object over a ring, touch it nowhere meanwhile, and take it back the same way.
// Server   provide() until it answers `ready`: by then sni(), protocol() and peer_transport_parameters() are known and
//          nothing has been spent yet. set_transport_parameters(), then advance().
// Client   start(), advance() (the ClientHello), then provide() and advance() in turn.
// After    Once complete, a server has put its tickets into output(application) and frees the TLS session (16.5 KB);
//          a client keeps it for tickets until release(). Objects of this class may go once the outputs are
//          acknowledged; a server then answers any later CRYPTO byte with unexpected_message, a client ignores tickets.
// Units    offsets and sizes are those of the level's CRYPTO stream, in bytes. Wall time is nanoseconds since 1970.
// Owner    outputs and names belong to the object; a view lives until the next advance() or discard_output(). Pinned:
//          GnuTLS points back at it.
// Limits   handshake_limits of the context: a message beyond them is CRYPTO_BUFFER_EXCEEDED at its fourth byte, and so
//          is what waits for advance() beyond its limit. The session is made only when a whole ClientHello is there, so
//          unfinished ones cost their bytes alone. heap_bytes() says what is held beside it.
// Retry    GnuTLS 3.7 cannot follow a HelloRetryRequest once it has offered 0-RTT (it would offer it again, which RFC
//          8446 4.1.2 forbids, and runs out of epochs). A client that offers 0-RTT sends a share of every group, so a
//          server has no reason to ask; from one that does all the same the client turns away: must_start_over() tells
//          its owner to connect again without 0-RTT. A request that brings a cookie and no group is illegal to GnuTLS.
// Errors   `failed`, once and for all: error() is what CONNECTION_CLOSE carries, reason() a text for logs.
// Heap     GnuTLS allocates. Callers on a data path stand in a mem::heap_watch of the handshake tally.
// Threads  one at a time.
// Source   RFC 8446, RFC 9001 4 8. Tests  test/tls/quic_handshake_test.cpp and its neighbours
#pragma once

#include <memory>

#include "base/bytes.hpp"
#include "base/fixed_vector.hpp"
#include "tls/byte_store.hpp"
#include "tls/context.hpp"
#include "tls/message_gate.hpp"

struct gnutls_session_int;
struct gnutls_anti_replay_st;

namespace millrace::tls {

namespace wire {
struct hello_fields;
}

struct traffic_secret {
  encryption_level level = encryption_level::initial;
  direction way = direction::read;
  cipher_suite suite = cipher_suite::none;
  std::uint8_t size = 0;
  std::array<std::uint8_t, max_secret_size> bytes{};
  [[nodiscard]] base::byte_view view() const noexcept { return {bytes.data(), size}; }
};

enum class early_data : std::uint8_t {
  none,     // not offered
  offered,  // the hello offers it; the server has not decided
  accepted,
  rejected,  // RFC 9001 4.6.2: a server opens no 0-RTT packet, a client sends everything again
};

enum class handshake_progress : std::uint8_t {
  stalled,   // needs bytes of the peer
  ready,     // advance() has work
  complete,  // RFC 9001 4.1.1; confirmed is QUIC's word
  failed,
};

struct client_start {
  std::string_view server_name;          // SNI and what the certificate must say; an address is no SNI
  base::byte_view transport_parameters;  // ours, encoded; not empty
  base::byte_view session{};             // of session(), to resume; empty: a full handshake
  bool offer_early_data = true;          // when the session allows it
};

class quic_handshake {
  std::shared_ptr<const server_context> server_;  // one of the two
  std::shared_ptr<const client_context> client_;
  gnutls_session_int* session_ = nullptr;
  gnutls_anti_replay_st* replay_ = nullptr;
  byte_store inbox_;                  // of the level being read, from the first byte TLS has not seen
  std::array<byte_store, 3> outbox_;  // initial, handshake, application
  byte_store local_parameters_, peer_parameters_, remembered_;
  byte_store session_data_;  // client: what session() answers; before the handshake, the GnuTLS data to resume with
  byte_store name_;          // SNI, with a terminator
  base::fixed_vector<traffic_secret, 6> secrets_;  // 0-RTT one way, Handshake and 1-RTT both ways
  message_gate gate_;
  quic_error error_ = quic_no_error;
  const char* reason_ = "";
  std::string_view protocol_;  // points into the context
  cipher_suite suite_ = cipher_suite::none;
  group group_ = group::none;
  encryption_level read_level_ = encryption_level::initial;
  endpoint_role role_;
  early_data early_ = early_data::none;
  bool complete_ = false, resumed_ = false, released_ = false, has_hello_ = false;
  bool has_peer_parameters_ = false, has_new_session_ = false, started_ = false;
  bool must_start_over_ = false;
  bool wants_early_ = false;  // client: to offer 0-RTT; server: to accept it, if the ticket is good
  std::uint8_t captured_alert_ = 0;
  std::uint8_t protocol_index_ = 0;
  std::uint8_t secrets_taken_ = 0;
  std::uint16_t tickets_seen_ = 0;

 public:
  explicit quic_handshake(std::shared_ptr<const server_context> context) noexcept;
  explicit quic_handshake(std::shared_ptr<const client_context> context) noexcept;
  quic_handshake(const quic_handshake&) = delete;
  quic_handshake& operator=(const quic_handshake&) = delete;
  ~quic_handshake();

  // Client, once, before the first advance(). A session that does not fit (another protocol, not ours) is left out.
  // `failed` when there is no memory or no transport parameters.
  handshake_progress start(const client_start& with) noexcept;
  // Server, before the advance() that answers the ClientHello. Encoded, not empty. False: no memory.
  [[nodiscard]] bool set_transport_parameters(base::byte_view encoded) noexcept;

  // The next bytes of a level's CRYPTO stream, without gaps and none twice. `ready`: call advance().
  handshake_progress provide(encryption_level level, base::byte_view bytes) noexcept;
  handshake_progress advance(std::int64_t now_ns) noexcept;

  // The next secret, in the order they appeared; false when there is none left. Ours is wiped.
  [[nodiscard]] bool take_secret(traffic_secret& out) noexcept;

  // All that was ever to be sent at `level`, from CRYPTO offset 0: also the source of retransmissions. Empty for early.
  [[nodiscard]] base::byte_view output(encryption_level level) const noexcept;
  // Everything of `level` is acknowledged, or its keys are gone. Offsets would start anew: only when nothing follows.
  void discard_output(encryption_level level) noexcept;

  [[nodiscard]] bool is_complete() const noexcept { return complete_; }
  [[nodiscard]] bool has_failed() const noexcept { return error_ != quic_no_error; }
  [[nodiscard]] quic_error error() const noexcept { return error_; }
  [[nodiscard]] const char* reason() const noexcept { return reason_; }  // lives for ever

  // Client: failed for no other reason than that 0-RTT was offered. Connect again with offer_early_data = false; the
  // session is still good.
  [[nodiscard]] bool must_start_over() const noexcept { return must_start_over_; }

  [[nodiscard]] bool has_peer_transport_parameters() const noexcept { return has_peer_parameters_; }
  [[nodiscard]] base::byte_view peer_transport_parameters() const noexcept { return peer_parameters_.view(); }
  [[nodiscard]] std::string_view protocol() const noexcept { return protocol_; }  // empty until negotiated
  // Server: what the client asked for, empty when nothing. Client: what it asked for.
  [[nodiscard]] std::string_view sni() const noexcept {
    return name_.empty() ? std::string_view{} : base::as_text(name_.view().first(name_.size() - 1));
  }
  [[nodiscard]] cipher_suite suite() const noexcept { return suite_; }
  [[nodiscard]] group key_exchange() const noexcept { return group_; }
  [[nodiscard]] early_data early() const noexcept { return early_; }
  [[nodiscard]] bool is_resumed() const noexcept { return resumed_; }
  // The level whose bytes provide() takes now.
  [[nodiscard]] encryption_level read_level() const noexcept { return read_level_; }

  // Client: the server's parameters of the connection being resumed, for 0-RTT; empty without.
  [[nodiscard]] base::byte_view remembered_transport_parameters() const noexcept { return remembered_.view(); }
  // Client: a ticket came since the last session().
  [[nodiscard]] bool has_new_session() const noexcept { return has_new_session_; }
  // Client: what to keep for resuming, by the newest ticket; empty when there is none. See remembered_session.hpp.
  [[nodiscard]] base::byte_view session() noexcept {
    has_new_session_ = false;
    return session_data_.view();
  }

  // Frees the TLS session; a client takes no more tickets afterwards. A server does this by itself.
  void release() noexcept;
  [[nodiscard]] bool holds_session() const noexcept { return session_ != nullptr; }
  // Heap behind this object, without the TLS session.
  [[nodiscard]] std::size_t heap_bytes() const noexcept;

 private:
  friend struct quic_handshake_hooks;  // what GnuTLS calls back

  handshake_progress fail(quic_error error, const char* reason) noexcept;
  handshake_progress fail_by_gnutls(int code) noexcept;
  [[nodiscard]] bool judge_client_hello() noexcept;
  [[nodiscard]] bool judge_repeated_hello(const wire::hello_fields& hello, std::size_t protocol) noexcept;
  [[nodiscard]] int open_session() noexcept;
  [[nodiscard]] int open_server_session() noexcept;
  [[nodiscard]] int open_client_session() noexcept;
  [[nodiscard]] int set_common(gnutls_session_int* session) noexcept;
  [[nodiscard]] int set_early_data_policy() noexcept;
  [[nodiscard]] bool step(base::byte_view message) noexcept;
  [[nodiscard]] bool judge_encrypted_extensions() noexcept;
  [[nodiscard]] bool take_ticket(base::byte_view message) noexcept;
  [[nodiscard]] bool finish() noexcept;
  [[nodiscard]] bool follow_level() noexcept;
};

static_assert(sizeof(quic_handshake) <= 1024, "one lives in every connection until its handshake is acknowledged");

}  // namespace millrace::tls
