// inspect/limits.hpp - everything a stranger's packets can make passive analysis keep, with its cap.
//
// Shape    plain numbers; app/ maps `--max-flows` and the rest onto them, and analyzer::bytes_needed() turns them into
//          the memory that is taken once, at start. Nothing grows later.
// Units    bytes, records, nanoseconds of capture time.
// Tests    test/inspect/limits_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::inspect {

// Sizes that are part of a record's type.
inline constexpr std::size_t max_versions_kept = 8;      // versions one connection was seen to speak
inline constexpr std::size_t max_offered_kept = 16;      // versions a server's Version Negotiation lists
inline constexpr std::size_t max_addresses_kept = 4;     // client addresses after the first (migration, NAT rebinding)
inline constexpr std::size_t max_sni_kept = 255;         // RFC 1035 2.3.4: a host name has at most 253 characters
inline constexpr std::size_t max_alpn_bytes_kept = 160;  // text of all names offered
inline constexpr std::size_t max_alpn_kept = 16;
inline constexpr std::size_t max_ciphers_kept = 40;  // browsers send 3 to 40
inline constexpr std::size_t max_tls_versions_kept = 8;
inline constexpr std::size_t hello_block_bytes = 2048;       // unit of the reassembly pool: most ClientHellos fit one
inline constexpr std::size_t max_hello_blocks = 32;          // of one ClientHello
inline constexpr std::size_t max_hello_ranges = 64;          // runs of CRYPTO bytes with holes between them
inline constexpr std::size_t max_packets_per_datagram = 64;  // coalesced; a long header takes at least 7 bytes
inline constexpr std::size_t max_connections_per_flow = 4;   // of one 5-tuple, looked through newest first
inline constexpr std::size_t stream_piece_bytes = 2048;      // unit of stream data that waits for what is before it
inline constexpr std::size_t max_streams_listed = 32;        // of one decrypted connection, one by one
inline constexpr std::size_t max_protocol_kept = 32;         // of the ALPN name a server chose
inline constexpr std::size_t max_reason_kept = 120;          // of the text in a CONNECTION_CLOSE

struct limits {
  // 5-tuples known at one time, and as many QUIC connections. 65536 take some 120 MB; what is not used is not touched.
  std::uint32_t max_flows = 65'536;
  // Connection IDs one connection is found by: the client's first choice, both sides' own, one for each Retry.
  std::uint32_t cids_per_connection = 8;
  // Connection IDs in all, as a multiple of max_flows: two or three are the rule.
  std::uint32_t cids_per_flow = 3;
  // ClientHellos that are being put together from several packets; the least recent gives way.
  std::uint32_t max_hellos = 1'024;
  // Blocks of hello_block_bytes that they share.
  std::uint32_t hello_blocks = 4'096;
  // CRYPTO bytes kept of one ClientHello: post-quantum key shares make 2 KB, nothing honest comes near 64 KiB.
  std::uint32_t hello_bytes = 65'536;
  // Initials of one connection that may fail to open before we stop trying, at most 255: each try costs microseconds.
  std::uint32_t failed_opens = 16;
  // Datagrams of a 5-tuple looked up by the connection IDs they may show, before it is taken for no QUIC.
  std::uint32_t short_tries = 8;
  // Silence after which a flow or a connection is over and reported.
  std::uint64_t idle_ns = 300'000'000'000;
  // A record younger than this is never evicted for a new one: the new flow is refused and counted instead. 0: the
  // least recently used always gives way, so that each flow of a capture is reported once at least.
  std::uint64_t min_evict_age_ns = 0;
  // Connections decrypted at one time, 23 KB each; the least recent gives way. 0: none, and no memory for any of what
  // follows.
  std::uint32_t max_decrypted = 1'024;
  // Handshakes whose secrets are kept, of all key logs together: 288 bytes each.
  std::uint32_t max_secrets = 16'384;
  // Blocks of hello_block_bytes for the handshakes of decrypted connections: their CRYPTO streams, of hello_bytes each.
  std::uint32_t handshake_blocks = 4'096;
  // Streams followed at one time in all decrypted connections, and in one; the least recent of its connection gives
  // way.
  std::uint32_t max_streams = 16'384;
  std::uint32_t streams_per_connection = 128;
  // Pieces of stream_piece_bytes that came before what is in front of them: of all streams (16 MiB), and of one
  // direction of one (1 MiB when it comes in order behind a packet that is late: some 800 packets of 1200 bytes).
  std::uint32_t stream_pieces = 8'192;
  std::uint32_t pieces_per_stream = 512;
  // Idle records reported on the occasion of one packet, so that a jump of the clock is no long pause.
  std::uint32_t expire_budget = 4;
};

static_assert(max_hello_blocks * hello_block_bytes >= 65'536);

}  // namespace millrace::inspect
