// inspect/connection.hpp - all that is kept of one QUIC connection.
//
// Shape    a plain record of an aged_pool: zero bytes are its initial value. What one packet touches stands first.
// Units    bytes are frames on the wire; times are nanoseconds as the capture tells them; packets are QUIC packets,
//          coalesced ones each; datagrams are UDP datagrams.
// Source   RFC 9000 5, 7, 17; design, Inspect objects. Tests  test/inspect/quic_tracker_test.cpp
#pragma once

#include "base/fixed_vector.hpp"
#include "base/ip_address.hpp"
#include "inspect/cid_index.hpp"
#include "inspect/flow_table.hpp"
#include "inspect/hello_facts.hpp"
#include "inspect/session_facts.hpp"
#include "quic/wire/version.hpp"

namespace millrace::inspect {

struct packet_counts {
  std::uint64_t one_rtt = 0;  // short headers; nobody without keys can tell them from stateless resets
  std::uint64_t initial = 0;
  std::uint64_t zero_rtt = 0;
  std::uint64_t handshake = 0;
  std::uint64_t retry = 0;
  std::uint64_t version_negotiation = 0;
  std::uint64_t unknown_long = 0;  // long headers of a version whose packet types we do not know
  std::uint64_t gquic = 0;         // packets of Google QUIC before the IETF's long header

  // Those that keys open.
  [[nodiscard]] std::uint64_t protected_ones() const noexcept { return initial + zero_rtt + handshake + one_rtt; }
};

enum class hello_state : std::uint8_t {
  none,      // no CRYPTO byte of the client seen
  partial,   // some; an assembly may hold them
  complete,  // the ClientHello was read, or Google's CHLO
  given_up,  // it cannot be, it contradicts itself, or it is larger than we keep
};

struct connection {
  age aging;
  std::uint64_t last_ns = 0;
  std::uint64_t bytes = 0;
  std::uint64_t datagrams = 0;
  packet_counts packets;
  record_ref previous_on_flow;  // the next older one that shares its 5-tuple
  cid_list cids;
  record_ref session;               // its decryption, while a key log has its secrets
  std::uint32_t secrets_asked = 0;  // the table's generation when its secrets were last looked for

  std::uint64_t earlier_packets = 0;  // protected ones of the attempt that Version Negotiation ended
  bool decryption_evicted = false;    // its secrets are known, and its decryption gave way to others'

  bool role_known = false;   // `client` is proven to be the client, not only the first sender
  bool is_gquic = false;     // a version without the IETF's long header: counted, not taken apart
  bool has_initial = false;  // dcid and scid are those of the client's first Initial
  bool heard_client = false;
  bool heard_server = false;
  bool retry_followed = false;  // a Retry with a right tag was seen: key_dcid is its source ID
  bool retry_verified = false;
  bool negotiation_pending = false;  // Version Negotiation seen; the client has not started again yet
  hello_state hello = hello_state::none;
  std::uint8_t failed_opens = 0;
  bool crypto_conflict = false;  // CRYPTO data contradicted what came before; the facts are from what came first
  record_ref assembly;           // where its CRYPTO bytes are put together, while there is something to put together

  quic::wire::version_number version = 0;  // spoken last; 0: none seen
  cid dcid;                                // of the client's first Initial
  cid scid;
  cid original_dcid;      // of the client's first Initial of this attempt: a Retry's tag covers it
  cid key_dcid;           // Initial keys are derived from it: the above, or a Retry's source ID
  base::endpoint client;  // first seen
  base::endpoint server;

  std::uint64_t first_ns = 0;
  base::fixed_vector<quic::wire::version_number, max_versions_kept> versions;  // spoken, in order
  base::fixed_vector<quic::wire::version_number, max_offered_kept> offered;    // of a Version Negotiation packet
  base::fixed_vector<base::endpoint, max_addresses_kept> moved_to;             // clients' later addresses
  hello_facts facts;
  const session_facts* decrypted = nullptr;  // for the call of an observer: what decryption told; nullptr: nothing
};

}  // namespace millrace::inspect
