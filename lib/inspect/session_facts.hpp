// inspect/session_facts.hpp - what decryption told of one QUIC connection: packets, frames, streams, its end.
//
// Shape    counters by side, `client` and `server` being who sent; zero bytes are an empty value.
// Units    packets and frames are counted as they came, repetitions included (a run of PADDING is one frame); bytes of
//          CRYPTO and streams once, in order, from the first on.
// Source   RFC 9000 12.4 19, RFC 9114 6.2 7.2. Tests  test/inspect/decryptor_test.cpp
#pragma once

#include "inspect/limits.hpp"
#include "inspect/parameter_facts.hpp"

namespace millrace::inspect {

// X(name): the key in JSON. RFC 9000 19, RFC 9221 4; `extension` is every type we only know the size of.
#define MILLRACE_FRAME_KINDS(X) \
  X(padding)                    \
  X(ping)                       \
  X(ack)                        \
  X(reset_stream)               \
  X(stop_sending)               \
  X(crypto)                     \
  X(new_token)                  \
  X(stream)                     \
  X(max_data)                   \
  X(max_stream_data)            \
  X(max_streams)                \
  X(data_blocked)               \
  X(stream_data_blocked)        \
  X(streams_blocked)            \
  X(new_connection_id)          \
  X(retire_connection_id)       \
  X(path_challenge)             \
  X(path_response)              \
  X(connection_close)           \
  X(handshake_done)             \
  X(datagram)                   \
  X(extension)
// RFC 8446 4, RFC 8879 4; `other` is every other type.
#define MILLRACE_HANDSHAKE_KINDS(X) \
  X(client_hello)                   \
  X(server_hello)                   \
  X(new_session_ticket)             \
  X(encrypted_extensions)           \
  X(certificate)                    \
  X(certificate_request)            \
  X(certificate_verify)             \
  X(finished)                       \
  X(compressed_certificate)         \
  X(other)
// RFC 9114 7.2, RFC 9218 7.2.
#define MILLRACE_H3_FRAME_KINDS(X) \
  X(data)                          \
  X(headers)                       \
  X(cancel_push)                   \
  X(settings)                      \
  X(push_promise)                  \
  X(goaway)                        \
  X(max_push_id)                   \
  X(priority_update)               \
  X(reserved)                      \
  X(other)
// RFC 9114 6.2, RFC 9204 4.2.
#define MILLRACE_H3_STREAM_KINDS(X) \
  X(control)                        \
  X(push)                           \
  X(qpack_encoder)                  \
  X(qpack_decoder)                  \
  X(reserved)                       \
  X(other)
// Why a packet of a connection with secrets stayed closed.
#define MILLRACE_UNOPENED_KINDS(X)                                             \
  X(no_keys)         /* no secret for its kind of packet, or none yet */       \
  X(auth_failed)     /* not what was sealed with these keys, or a forgery */   \
  X(secret_size)     /* the secret is not as long as the chosen suite's are */ \
  X(malformed)       /* too short, or reserved bits set */                     \
  X(cut)             /* the capture does not hold all of it */                 \
  X(earlier_attempt) /* of the attempt that a Version Negotiation packet answered */
// What was known and not kept, because a limit was reached; limits.hpp has them.
#define MILLRACE_SESSION_LIMITS(X)                                                   \
  X(streams)         /* streams that gave way to others, or found no room */         \
  X(stream_pieces)   /* stream directions given up: too much came before its turn */ \
  X(handshake_bytes) /* CRYPTO frames beyond hello_bytes, or that found no block */  \
  X(connection_ids)  /* connection IDs that found no room */

#define MILLRACE_ENUM_ITEM(name) name,
enum class frame_kind : std::uint8_t { MILLRACE_FRAME_KINDS(MILLRACE_ENUM_ITEM) count_ };
enum class handshake_kind : std::uint8_t { MILLRACE_HANDSHAKE_KINDS(MILLRACE_ENUM_ITEM) count_ };
enum class h3_frame_kind : std::uint8_t { MILLRACE_H3_FRAME_KINDS(MILLRACE_ENUM_ITEM) count_ };
enum class h3_stream_kind : std::uint8_t { MILLRACE_H3_STREAM_KINDS(MILLRACE_ENUM_ITEM) count_ };
enum class unopened_kind : std::uint8_t { MILLRACE_UNOPENED_KINDS(MILLRACE_ENUM_ITEM) count_ };
enum class session_limit : std::uint8_t { MILLRACE_SESSION_LIMITS(MILLRACE_ENUM_ITEM) count_ };
enum class packet_level : std::uint8_t { initial, zero_rtt, handshake, one_rtt, count_ };
#undef MILLRACE_ENUM_ITEM

[[nodiscard]] std::string_view to_string(frame_kind k) noexcept;
[[nodiscard]] std::string_view to_string(handshake_kind k) noexcept;
[[nodiscard]] std::string_view to_string(h3_frame_kind k) noexcept;
[[nodiscard]] std::string_view to_string(h3_stream_kind k) noexcept;
[[nodiscard]] std::string_view to_string(unopened_kind k) noexcept;
[[nodiscard]] std::string_view to_string(session_limit k) noexcept;
[[nodiscard]] std::string_view to_string(packet_level k) noexcept;

// One counter for each value of an enum that ends in count_.
template <class Kind>
struct counts_by {
  static constexpr std::size_t size = static_cast<std::size_t>(Kind::count_);
  std::array<std::uint64_t, size> of;

  void add(Kind k, std::uint64_t n = 1) noexcept { of[static_cast<std::size_t>(k)] += n; }
  [[nodiscard]] std::uint64_t get(Kind k) const noexcept { return of[static_cast<std::size_t>(k)]; }
  [[nodiscard]] std::uint64_t total() const noexcept {
    std::uint64_t sum = 0;
    for (const std::uint64_t n : of) sum += n;
    return sum;
  }
};

enum class peer : std::uint8_t { client, server };

struct close_facts {
  bool seen;
  bool from_application;
  bool reason_cut;
  std::uint8_t reason_size;
  packet_level level;  // of the packet it stood in
  std::uint64_t code;
  std::uint64_t frame_type;  // the frame at fault; of closes that the transport speaks for
  std::array<char, max_reason_kept> reason;

  [[nodiscard]] std::string_view text() const noexcept { return {reason.data(), reason_size}; }
};

// What one side sent.
struct side_facts {
  counts_by<packet_level> packets;  // opened
  counts_by<frame_kind> frames;
  counts_by<handshake_kind> messages;
  counts_by<h3_frame_kind> h3_frames;
  counts_by<h3_frame_kind> h3_frame_bytes;  // as their headers announce them
  counts_by<h3_stream_kind> h3_streams;     // unidirectional ones
  std::uint64_t crypto_bytes;
  std::uint64_t stream_bytes;
  std::uint64_t datagram_bytes;
  std::uint64_t key_updates;
  close_facts close;  // the first; of an Initial, which anyone can forge, only while nothing better was opened
};

// One direction of a listed stream.
struct stream_side {
  std::uint64_t bytes;  // in order, from its first on
  std::uint64_t data_bytes;
  std::uint32_t data_frames;
  std::uint32_t headers_frames;
  std::uint32_t other_frames;
  bool used;   // this direction exists
  bool ended;  // all of it was seen
  bool reset;
};
struct stream_facts {
  std::uint64_t id;
  std::uint64_t type;  // of an HTTP/3 unidirectional stream
  bool has_type;
  std::array<stream_side, 2> side;  // by peer
};

struct session_facts {
  std::array<side_facts, 2> side;  // by peer
  counts_by<unopened_kind> unopened;
  counts_by<session_limit> limits;
  std::uint64_t bad_frames;        // packets with a frame that cannot be, or that we do not know: read up to there
  std::uint64_t crypto_conflicts;  // CRYPTO frames that contradict what came before, or messages that cannot be
  std::uint16_t cipher_suite;      // that the server chose; 0: its ServerHello was not seen
  bool has_protocol;
  bool protocol_cut;
  bool has_parameters;
  bool early_data_accepted;
  std::uint8_t protocol_size;
  std::array<char, max_protocol_kept> protocol;  // that the server chose
  parameter_facts parameters;                    // of the server
  std::array<std::uint64_t, 4> streams;          // by RFC 9000 2.1: one more than the highest number seen
  std::uint32_t streams_listed;
  bool more_streams;  // than are listed
  std::array<stream_facts, max_streams_listed> stream;

  [[nodiscard]] side_facts& of(peer who) noexcept { return side[static_cast<std::size_t>(who)]; }
  [[nodiscard]] const side_facts& of(peer who) const noexcept { return side[static_cast<std::size_t>(who)]; }
  [[nodiscard]] std::string_view alpn() const noexcept { return {protocol.data(), protocol_size}; }
  [[nodiscard]] std::uint64_t opened() const noexcept { return side[0].packets.total() + side[1].packets.total(); }
  // Of them, those that need no secrets.
  [[nodiscard]] std::uint64_t opened_initials() const noexcept {
    return side[0].packets.get(packet_level::initial) + side[1].packets.get(packet_level::initial);
  }
};

}  // namespace millrace::inspect
