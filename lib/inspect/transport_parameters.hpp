// inspect/transport_parameters.hpp - the QUIC transport parameters a client announces, as far as an analyst reads them.
//
// Shape    values of the integer parameters by name, and one bit each for those that are there. Both encodings: varints
//          since draft-27, 16-bit numbers and lengths before.
// Units    as each parameter has it: milliseconds, bytes, counts.
// Errors   parse_status; `out` is written on success only. Unknown parameters are skipped, as RFC 9000 7.4.2 asks.
// Source   RFC 9000 7.4, 18; RFC 9221 3; RFC 9287 3; RFC 9368 3; draft-ietf-quic-transport-26 18.
// Tests    test/inspect/transport_parameters_test.cpp
#pragma once

#include <array>

#include "base/bytes.hpp"
#include "base/parse_status.hpp"

namespace millrace::inspect {

enum class parameter : std::uint8_t {
  max_idle_timeout,
  max_udp_payload_size,
  initial_max_data,
  initial_max_stream_data_bidi_local,
  initial_max_stream_data_bidi_remote,
  initial_max_stream_data_uni,
  initial_max_streams_bidi,
  initial_max_streams_uni,
  ack_delay_exponent,
  max_ack_delay,
  active_connection_id_limit,
  max_datagram_frame_size,
  disable_active_migration,  // without a value
  grease_quic_bit,           // without a value
  count_
};

inline constexpr std::size_t parameter_count = static_cast<std::size_t>(parameter::count_);

[[nodiscard]] std::string_view to_string(parameter p) noexcept;  // the RFC's own name

struct transport_parameters {
  std::array<std::uint64_t, parameter_count> values{};
  std::uint32_t present = 0;  // bit n: values[n] was announced

  [[nodiscard]] bool has(parameter p) const noexcept { return (present >> static_cast<unsigned>(p) & 1) != 0; }
  [[nodiscard]] std::uint64_t value(parameter p) const noexcept { return values[static_cast<std::size_t>(p)]; }
};

enum class parameter_encoding : std::uint8_t {
  varint,   // RFC 9000 18: since draft-27
  sixteen,  // draft-ietf-quic-transport-26 18: 16-bit numbers and lengths under a 16-bit length of all
};

base::parse_status parse_transport_parameters(base::byte_view in, parameter_encoding encoding,
                                              transport_parameters& out) noexcept;

}  // namespace millrace::inspect
