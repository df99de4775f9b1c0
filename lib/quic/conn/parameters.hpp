// quic/conn/parameters.hpp - the transport parameters we send, from our settings and the IDs of the handshake.
//
// Source   RFC 9000 7.3 18.2, RFC 9221 3, RFC 9287 3, RFC 9368 3. Tests  test/quic/sim/handshake_test.cpp
#pragma once

#include "quic/conn/settings.hpp"
#include "quic/path/local_cids.hpp"
#include "quic/wire/transport_parameters.hpp"

namespace millrace::quic::conn {

struct parameter_facts {
  const transport_settings& settings;
  bool is_server = false;
  wire::version_number chosen = wire::version_1;
  base::byte_view original_dcid{};  // servers
  base::byte_view our_scid{};
  base::byte_view retry_scid{};                     // servers, after a Retry; empty: there was none
  wire::stateless_reset_token_value reset_token{};  // servers
  base::byte_view preferred_cid{};    // servers: the ID of settings.preferred_ipv4 and _ipv6; empty: none is offered
  base::byte_view preferred_token{};  // and its stateless reset token
  std::uint64_t seed = 0;             // of order and grease
};

// The largest number of versions that are listed.
inline constexpr std::size_t max_listed_versions = 7;

// `versions` is room for the list that version_information carries. Answers bytes written, 0 when `room` is too small
// (512 never is).
[[nodiscard]] std::size_t emit_parameters(const parameter_facts& facts,
                                          std::span<std::uint8_t, 4 * (max_listed_versions + 1)> versions,
                                          base::byte_span room) noexcept;

}  // namespace millrace::quic::conn
