// inspect/parameter_facts.hpp - the QUIC transport parameters a client announced, kept by value.
//
// Shape    the integers and flags of quic/wire/transport_parameters.hpp by name, and one bit each for those that were
//          there; connection IDs, tokens and unknown parameters are not kept.
// Units    as each parameter has it: milliseconds, bytes, counts; 1 for one without a value.
// Owner    a value of zero bytes is an empty one. Errors  none: parsing is the wire's.
// Source   RFC 9000 18.2, RFC 9221 3, RFC 9287 3. Tests  test/inspect/parameter_facts_test.cpp
#pragma once

#include <array>

#include "quic/wire/transport_parameters.hpp"

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
[[nodiscard]] constexpr bool is_flag(parameter p) noexcept {
  return p == parameter::disable_active_migration || p == parameter::grease_quic_bit;
}

struct parameter_facts {
  std::array<std::uint64_t, parameter_count> values{};
  std::uint32_t present = 0;  // bit n: values[n] was announced

  [[nodiscard]] bool has(parameter p) const noexcept { return (present >> static_cast<unsigned>(p) & 1) != 0; }
  [[nodiscard]] std::uint64_t value(parameter p) const noexcept { return values[static_cast<std::size_t>(p)]; }
  void assign(const quic::wire::transport_parameters& announced) noexcept;
};

}  // namespace millrace::inspect
