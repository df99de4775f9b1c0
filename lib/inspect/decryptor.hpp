// inspect/decryptor.hpp - decryption of the connections whose secrets a key log gives, and what their frames tell.
//
// Shape    on_long() and on_short() take each packet of a connection once the tracker has given it to one. A session
//          begins with a client's first Initial and ends at once when the ClientHello, read elsewhere, has no secrets;
//          a connection whose secrets come later begins one then, and what was before stays closed. Both directions,
//          all levels: Initial keys from the connection IDs, 0-RTT, Handshake and 1-RTT keys from the secrets, 1-RTT
//          keys on from phase to phase. Where the ServerHello was not seen, a cipher suite is tried.
// Owner    captured bytes are never written: plaintext lies in a scratch of ours until the next packet. Secrets, keys
//          and plaintext are cleared when they are done with, at the latest by wipe().
// Limits   limits.hpp: max_decrypted and those below it. A session that gives way takes what it told along.
// Errors   counted in the session's facts: a packet that stays closed, with its reason, and a frame that cannot be.
// Threads  one. Heap  none. Source  RFC 9001 4 5 6, RFC 9000 12, RFC 9368. Tests  test/inspect/decryptor_test.cpp
#pragma once

#include "inspect/connection.hpp"
#include "inspect/handshake_reader.hpp"
#include "inspect/key_log_feed.hpp"
#include "inspect/stream_reader.hpp"
#include "quic/wire/header.hpp"

namespace millrace::inspect {

// What the decryptor borrows. Without an engine and counters it only measures its memory.
struct decryptor_surroundings {
  crypto::engine* engine = nullptr;
  counters* count = nullptr;
  std::uint64_t seed = 0;
};

// The connection that a packet was given to.
struct connection_at_hand {
  connection& c;
  record_ref ref;         // to it
  cid_index& cids;        // learns the IDs that NEW_CONNECTION_ID frames announce
  bool from_client;       // who sent the packet
  std::uint64_t now = 0;  // clock of the tables
};

class decryptor {
  static constexpr std::size_t scratch_bytes = 65'536;  // a UDP datagram at most
  crypto::engine* engine_ = nullptr;
  counters* counters_ = nullptr;
  std::uint32_t failed_opens_ = 0;
  secret_table secrets_;
  aged_pool<session> sessions_;
  handshake_reader handshakes_;
  stream_reader streams_;
  std::span<std::uint8_t> plaintext_;    // scratch_bytes
  const std::uint8_t* ahead_ = nullptr;  // the packet that try_open() opened, until it comes again

  struct packet_at_hand {
    connection& c;
    std::uint32_t number;  // of the connection in its pool
    cid_index& cids;
    session& s;
    peer from;
    packet_level level;
    quic::wire::version_number version;
    base::byte_view bytes;
    base::byte_view dcid;  // of a long header
    std::uint32_t pn_offset;
    bool is_trial;  // it may be another connection's: when it stays closed it leaves no trace
  };
  friend struct frame_notes;

  [[nodiscard]] session* session_of(const connection_at_hand& at, bool may_begin) noexcept;
  [[nodiscard]] session* begin(const connection_at_hand& at) noexcept;
  void end(session& s) noexcept;
  [[nodiscard]] static packet_at_hand long_at_hand(const connection_at_hand& at, session& s, base::byte_view packet,
                                                   const quic::wire::packet_header& h) noexcept;
  [[nodiscard]] static packet_at_hand short_at_hand(const connection_at_hand& at, session& s,
                                                    base::byte_view packet) noexcept;
  // `h`: of a long header. Whether it was opened.
  bool take(const packet_at_hand& p, const quic::wire::packet_header* h) noexcept;
  [[nodiscard]] bool was_ahead(base::byte_view packet) noexcept;
  static void refuse(const packet_at_hand& p, unopened_kind why) noexcept;
  void note_sender(session& s, peer from, const quic::wire::packet_header& h) noexcept;
  [[nodiscard]] static std::size_t cid_size_in(const connection_at_hand& at, const session& s, peer receiver,
                                               base::byte_view packet) noexcept;

  // decryptor_keys.cpp
  using open_errc = quic::protect::open_errc;
  using opened_packet = quic::protect::opened_packet;
  [[nodiscard]] open_errc open(const packet_at_hand& p, bool& has_keys, opened_packet& out) noexcept;
  [[nodiscard]] open_errc open_initial(const packet_at_hand& p, bool& has_keys, opened_packet& out) noexcept;
  [[nodiscard]] open_errc open_initial_by(const packet_at_hand& p, const cid& key_dcid, opened_packet& out) noexcept;
  template <class Keys>
  [[nodiscard]] open_errc open_with(const packet_at_hand& p, Keys& keys, base::byte_view secret, bool& has_keys,
                                    opened_packet& out) noexcept;

  // decryptor_frames.cpp
  void read_frames(const packet_at_hand& p, base::byte_view payload) noexcept;

 public:
  decryptor() noexcept = default;
  decryptor(carver& memory, const limits& l, const decryptor_surroundings& borrowed) noexcept;

  // Whether any secret is known: else nothing below does anything.
  [[nodiscard]] bool active() const noexcept { return secrets_.generation() != 0; }
  [[nodiscard]] secret_table& secrets() noexcept { return secrets_; }

  // `packet` is empty when its end was not captured.
  void on_long(const connection_at_hand& at, base::byte_view packet, const quic::wire::packet_header& h) noexcept;
  void on_short(const connection_at_hand& at, base::byte_view packet, bool truncated) noexcept;
  // Whether the packet is one of this connection, as far as its keys tell. One that opens is taken, and the call of
  // on_long() or on_short() that follows for it does nothing; one that does not leaves no trace. `h`: of a long header.
  [[nodiscard]] bool try_open(const connection_at_hand& at, base::byte_view packet,
                              const quic::wire::packet_header* h) noexcept;
  // Whether its secrets are known and it is being decrypted.
  [[nodiscard]] bool follows(const connection& c) noexcept {
    const session* const s = sessions_.resolve(c.session);
    return s != nullptr && s->secrets != nullptr;
  }
  // Whether its secrets are known and its decryption gave way to others'.
  [[nodiscard]] bool gave_way(const connection& c) noexcept {
    return !c.session.empty() && sessions_.resolve(c.session) == nullptr && c.hello == hello_state::complete &&
           secrets_.find(c.facts.random) != nullptr;
  }
  // The client begins again, after Version Negotiation: what was told so far is forgotten.
  void restart(connection& c) noexcept;
  // What was told of a connection that ends; nullptr when it has no secrets. The account is closed: every packet of it
  // is opened or unopened, and counted so. finish() lets it go.
  [[nodiscard]] const session_facts* close_account(const connection& c) noexcept;
  void finish(connection& c) noexcept;
  // Clears all secrets, keys and plaintext: the last call.
  void wipe() noexcept;

  [[nodiscard]] const secret_table& secrets() const noexcept { return secrets_; }
  [[nodiscard]] const aged_pool<session>& sessions() const noexcept { return sessions_; }
  [[nodiscard]] const stream_reader& streams() const noexcept { return streams_; }
  [[nodiscard]] const handshake_reader& handshakes() const noexcept { return handshakes_; }
};

}  // namespace millrace::inspect
