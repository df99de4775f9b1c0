// quic/wire/transport_parameters.hpp - what both sides declare during the handshake, inside a TLS extension.
//
// Shape    parse() reads a whole extension body; values are those of RFC 9000 18.2, RFC 9221 3, RFC 9287 3 and
//          RFC 9368 3, with the defaults of a parameter that is absent. has(id) tells whether it was there.
//          Parameters we do not know are skipped and counted; the numbers of all, known or not, are kept in order.
//          emit() writes what is present, ascending, in the shortest form: emit(parse(x)) is x's canonical form; or
//          shuffled, for the wire.
// Units    as on the wire: milliseconds, bytes, streams.
// Owner    connection IDs, tokens and lists view the extension body (parsed) or the caller's bytes (emitted).
// Limits   max_transport_parameters in one body, so that duplicates of unknown ones are found too.
// Errors   truncated; bad_length (a value of another size than its parameter has); bad_value (out of RFC 9000 18.2's
//          bounds, or one that this side may not send); duplicate; too_many. All of them are the peer's
//          TRANSPORT_PARAMETER_ERROR, except too_many, which is our limit. `out` is written on success only.
// Source   RFC 9000 7.3 7.4 18, RFC 9221 3, RFC 9287 3, RFC 9368 3 4. Tests
// test/quic/wire/transport_parameters_test.cpp
#pragma once

#include <array>

#include "base/byte_writer.hpp"
#include "base/fixed_vector.hpp"
#include "base/parse_status.hpp"
#include "quic/wire/header.hpp"
#include "quic/wire/sender.hpp"

namespace millrace::quic::wire {

inline constexpr std::size_t max_transport_parameters = 64;  // stacks send 10 to 20

enum class transport_parameter : std::uint64_t {
  original_destination_connection_id = 0x00,
  max_idle_timeout = 0x01,
  stateless_reset_token = 0x02,
  max_udp_payload_size = 0x03,
  initial_max_data = 0x04,
  initial_max_stream_data_bidi_local = 0x05,
  initial_max_stream_data_bidi_remote = 0x06,
  initial_max_stream_data_uni = 0x07,
  initial_max_streams_bidi = 0x08,
  initial_max_streams_uni = 0x09,
  ack_delay_exponent = 0x0a,
  max_ack_delay = 0x0b,
  disable_active_migration = 0x0c,
  preferred_address = 0x0d,
  active_connection_id_limit = 0x0e,
  initial_source_connection_id = 0x0f,
  retry_source_connection_id = 0x10,
  version_information = 0x11,      // RFC 9368 3
  max_datagram_frame_size = 0x20,  // RFC 9221 3
  grease_quic_bit = 0x2ab2,        // RFC 9287 3
};

// How a body is written. Drafts before 27 put a 16-bit length in front of the list and used 16-bit numbers and lengths.
enum class parameter_encoding : std::uint8_t { varints, sixteen_bits };
[[nodiscard]] parameter_encoding encoding_of(version_number v) noexcept;

// RFC 9000 18.1: 31 * N + 27, sent to keep peers tolerant; never carries a meaning.
[[nodiscard]] constexpr bool is_reserved_parameter(std::uint64_t id) noexcept { return id % 31 == 27; }

struct preferred_address_value {  // RFC 9000 18.2; an address of zeros and port 0 is none
  std::array<std::uint8_t, 4> ipv4{};
  std::uint16_t ipv4_port = 0;
  std::array<std::uint8_t, 16> ipv6{};
  std::uint16_t ipv6_port = 0;
  base::byte_view cid;                    // 1 to 20 bytes
  base::byte_view stateless_reset_token;  // 16 bytes
};

struct version_information_value {  // RFC 9368 3
  version_number chosen = 0;
  base::byte_view available;  // 4 bytes each; may be empty when a server sends it
};

struct transport_parameters {
  std::uint32_t present = 0;  // one bit a known parameter, in the order of the enum; see has() and set()

  base::byte_view original_destination_connection_id;  // server only
  base::byte_view initial_source_connection_id;
  base::byte_view retry_source_connection_id;  // server only
  base::byte_view stateless_reset_token;       // server only, 16 bytes
  std::uint64_t max_idle_timeout_ms = 0;       // 0: none
  std::uint64_t max_udp_payload_size = 65527;
  std::uint64_t initial_max_data = 0;
  std::uint64_t initial_max_stream_data_bidi_local = 0;
  std::uint64_t initial_max_stream_data_bidi_remote = 0;
  std::uint64_t initial_max_stream_data_uni = 0;
  std::uint64_t initial_max_streams_bidi = 0;
  std::uint64_t initial_max_streams_uni = 0;
  std::uint64_t ack_delay_exponent = 3;
  std::uint64_t max_ack_delay_ms = 25;
  std::uint64_t active_connection_id_limit = 2;
  std::uint64_t max_datagram_frame_size = 0;  // 0: no DATAGRAM frames
  bool disable_active_migration = false;
  bool grease_quic_bit = false;
  preferred_address_value preferred_address;  // server only
  version_information_value version_information;

  base::fixed_vector<std::uint64_t, max_transport_parameters> ids;  // all that were parsed, in order; emit ignores it
  std::uint32_t unknown_count = 0;                                  // of those: neither known nor reserved
  std::uint32_t reserved_count = 0;                                 // of those: RFC 9000 18.1

  base::byte_view more;  // emit appends it as it is: whole parameters, encoded (reserved ones, extensions). Not parsed.

  [[nodiscard]] bool has(transport_parameter id) const noexcept;
  void set(transport_parameter id) noexcept;  // so that emit writes it
};

// `from` is who sent the body: a client may not send what only servers know. sixteen_bits reads the drafts' form.
base::parse_status parse(base::byte_view body, sender from, parameter_encoding encoding,
                         transport_parameters& out) noexcept;

// Always as varints, the form of the RFC. False when there is no room, or when a value that is present would be refused
// by parse() (the caller's bug, asserted); nothing is written then.
[[nodiscard]] std::size_t encoded_size(const transport_parameters& p) noexcept;
[[nodiscard]] bool emit(base::byte_writer& out, const transport_parameters& p, sender from) noexcept;

// How a body is disguised, so that nobody comes to rely on its order or on what stands in it.
struct parameter_shuffle {
  std::uint64_t seed = 0;  // random, and another one for each connection: the same seed makes the same bytes
  bool grease = true;      // with a reserved parameter more (RFC 9000 18.1), of up to 16 random bytes
};

// As above, in an order and with a reserved parameter that the seed decides; `more` stays in one piece. A reserved one
// in there, too, should be absent: in one case of 2^57 it would be the same.
[[nodiscard]] std::size_t encoded_size(const transport_parameters& p, const parameter_shuffle& shuffle) noexcept;
[[nodiscard]] bool emit(base::byte_writer& out, const transport_parameters& p, sender from,
                        const parameter_shuffle& shuffle) noexcept;

// The connection IDs of a handshake as one side saw them in long headers.
struct handshake_ids {
  base::byte_view original_destination{};  // of the client's first Initial
  base::byte_view initial_source{};        // of the first Initial of the peer whose parameters these are
  bool retried = false;
  base::byte_view retry_source{};  // of the Retry
};

// RFC 9000 7.3: does the peer confirm what was seen? False, which is TRANSPORT_PARAMETER_ERROR, when an ID that must be
// there is absent, one that must not be there is present, or any differs: somebody on the path has changed packets.
[[nodiscard]] bool confirms(const transport_parameters& p, sender from, const handshake_ids& seen) noexcept;

}  // namespace millrace::quic::wire
