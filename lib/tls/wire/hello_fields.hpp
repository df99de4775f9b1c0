// tls/wire/hello_fields.hpp - what a QUIC server must know of a ClientHello before it spends a TLS session on it, and
// what a client must know of a ServerHello and of a NewSessionTicket.
//
// Shape    scan_client_hello() finds the few extensions QUIC has rules for and leaves all lists as bytes: unlike
//          client_hello.hpp, which shows every list to inspection, it has no capacities a legal hello could exceed.
//          What it does not look at is GnuTLS's to judge.
// Units    status.at counts from the first byte of the message, its 4-byte header included.
// Owner    every view dies with the message.
// Errors   bad_value (another message), bad_length, trailing_bytes, duplicate (one of these extensions twice),
//          truncated. `out` is written on success only.
// Source   RFC 8446 4.1.2 4.1.3 4.2 4.6.1, RFC 6066 3, RFC 7301 3.1, RFC 9001 8. Tests
// test/tls/wire/hello_fields_test.cpp
#pragma once

#include <optional>
#include <span>

#include "base/bytes.hpp"
#include "base/parse_status.hpp"

namespace millrace::tls::wire {

struct hello_fields {
  base::byte_view session_id;
  std::string_view sni;                  // empty when absent or when it is no printable ASCII
  base::byte_view alpn;                  // the ProtocolNameList's names, each behind its length; not checked yet
  base::byte_view transport_parameters;  // RFC 9001 8.2
  base::byte_view groups;                // supported_groups: 2 bytes each; not checked
  base::byte_view key_shares;            // KeyShareEntries; not checked
  bool offers_tls_1_3 = false;           // in supported_versions
  bool has_alpn = false;
  bool has_transport_parameters = false;
  bool has_early_data = false;
  bool has_pre_shared_key = false;
};

base::parse_status scan_client_hello(base::byte_view message, hello_fields& out) noexcept;

// The first of `ours` (our preference) that is in the client's list; nullopt when there is none. RFC 7301 3.2.
[[nodiscard]] std::optional<std::size_t> choose_protocol(base::byte_view names,
                                                         std::span<const std::string_view> ours) noexcept;
// RFC 7301 3.1: at least one name, none of them empty.
[[nodiscard]] bool is_protocol_list(base::byte_view names) noexcept;

// Whether the hello has a key share for the first of `ours` it supports: then a server of that preference needs no
// HelloRetryRequest. RFC 8446 4.2.8.
[[nodiscard]] bool has_preferred_share(const hello_fields& hello, std::span<const std::uint16_t> ours) noexcept;

// A ServerHello that asks for another ClientHello (RFC 8446 4.1.3): it has a random of its own. False for less than its
// first 38 bytes.
[[nodiscard]] bool is_hello_retry_request(base::byte_view message) noexcept;

struct new_session_ticket {
  std::uint32_t lifetime_s = 0;
  std::uint32_t max_early_data_size = 0;
  bool has_early_data = false;
};

base::parse_status parse_new_session_ticket(base::byte_view message, new_session_ticket& out) noexcept;

}  // namespace millrace::tls::wire
