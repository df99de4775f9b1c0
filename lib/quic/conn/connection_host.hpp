// quic/conn/connection_host.hpp - what passes between a connection and who holds it: datagrams, how it begins, and what
// it asks for.
//
// Owner    views in a start die when the constructor returns. Threads  one lcore.
// Source   RFC 9000 5.1, 7.2, 8.1.3, 18.2. Tests  test/quic/sim/, test/quic/sim/
#pragma once

#include <optional>
#include <string_view>

#include "buf/packet.hpp"
#include "quic/conn/application.hpp"
#include "quic/path/connection_id.hpp"
#include "quic/wire/ack_ranges.hpp"
#include "quic/wire/stateless_reset.hpp"

namespace millrace::quic::conn {

struct datagram_in {
  buf::packet* whole = nullptr;  // that `bytes` lie in; borrowed, and sole owner of its bytes
  base::byte_span bytes;         // UDP payload; opened in place
  path::path_address address;
  std::uint16_t interface = 0;  // the caller's number for where it came in; told again in datagram_out
  wire::ecn_mark ecn = wire::ecn_mark::not_ect;
};

struct datagram_out {
  path::path_address address;
  std::uint16_t interface = 0;
  bool ect0 = false;          // RFC 9000 13.4
  bool may_fragment = false;  // never (RFC 9000 14)
};

// What a connection asks of the endpoint that holds it.
class connection_host {
 public:
  connection_host() noexcept = default;
  connection_host(const connection_host&) = delete;
  connection_host& operator=(const connection_host&) = delete;
  virtual ~connection_host() = default;

  struct new_cid {
    path::connection_id cid;
    wire::stateless_reset_token_value token{};
  };
  // Another ID that leads to the connection from now on; nullopt: no room.
  [[nodiscard]] virtual std::optional<new_cid> issue_cid(connection&) noexcept = 0;
  virtual void retire_cid(connection&, const path::connection_id&) noexcept = 0;
  // What serves this protocol; nullptr: nobody does (no_application_protocol comes from TLS before).
  [[nodiscard]] virtual application* find_application(std::string_view protocol) noexcept = 0;
  // A token for a NEW_TOKEN frame into `out`; its size, 0 for none.
  [[nodiscard]] virtual std::size_t make_token(connection&, base::byte_span) noexcept { return 0; }
  // Client: what to keep for another connection to this server. Views die with the call.
  virtual void on_token(connection&, base::byte_view) noexcept {}
  virtual void on_session(connection&, base::byte_view) noexcept {}
  // It no longer counts as half open.
  virtual void on_handshake_done(connection&) noexcept {}
  [[nodiscard]] virtual std::int64_t wall_ns() const noexcept = 0;  // since 1970, for TLS
};

struct server_start {
  wire::version_number version = wire::version_1;
  path::connection_id original_dcid;  // of the client's very first Initial
  path::connection_id initial_dcid;   // of the Initial at hand: what its keys are made of
  path::connection_id client_scid;
  path::connection_id our_scid;
  wire::stateless_reset_token_value reset_token{};
  path::path_address address;
  std::uint16_t interface = 0;
  bool retried = false;    // initial_dcid is our Retry's
  bool validated = false;  // by a token
  std::uint64_t now_ns = 0;
};

struct client_start {
  wire::version_number version = wire::version_1;
  path::connection_id random_dcid;  // 8 to 20 bytes
  path::connection_id our_scid;
  path::path_address address;
  std::uint16_t interface = 0;
  std::string_view server_name;
  base::byte_view session{};  // of on_session(); empty: none
  base::byte_view token{};    // of on_token()
  bool early_data = true;
  bool negotiated = false;  // `version` was chosen from a Version Negotiation packet
  application* protocol = nullptr;
  std::uint64_t now_ns = 0;
};

// The peer's transport parameters, as far as they matter after the handshake.
struct peer_limits {
  std::uint64_t stream_data_bidi_local = 0;
  std::uint64_t stream_data_bidi_remote = 0;
  std::uint64_t stream_data_uni = 0;
  std::uint64_t max_datagram_frame_size = 0;
  std::uint32_t max_udp_payload = 65527;
  std::uint8_t ack_delay_exponent = 3;
  bool grease_fixed_bit = false;  // RFC 9287: it takes packets without
  bool no_migration = false;
};

}  // namespace millrace::quic::conn
