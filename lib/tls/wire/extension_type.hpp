// tls/wire/extension_type.hpp - the numbers of the TLS extensions, messages and names that this room reads or writes.
//
// Source   RFC 8446 4.2, RFC 6066 3, RFC 7301 3.1, RFC 9001 8.2, RFC 8701 (GREASE).
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::tls::wire {

inline constexpr std::uint8_t handshake_client_hello = 1;  // RFC 8446 4
inline constexpr std::uint8_t handshake_server_hello = 2;
inline constexpr std::uint8_t handshake_new_session_ticket = 4;
inline constexpr std::uint8_t handshake_encrypted_extensions = 8;
inline constexpr std::uint8_t handshake_finished = 20;
inline constexpr std::size_t handshake_header_size = 4;  // type, 24-bit length
inline constexpr std::size_t hello_random_size = 32;     // RFC 8446 4.1.2
inline constexpr std::size_t max_session_id_size = 32;   // RFC 8446 4.1.2
inline constexpr std::uint16_t legacy_hello_version = 0x0303;
inline constexpr std::uint16_t tls_1_3 = 0x0304;

inline constexpr std::uint16_t ext_server_name = 0;
inline constexpr std::uint16_t ext_supported_groups = 10;
inline constexpr std::uint16_t ext_signature_algorithms = 13;
inline constexpr std::uint16_t ext_alpn = 16;
inline constexpr std::uint16_t ext_pre_shared_key = 41;
inline constexpr std::uint16_t ext_early_data = 42;
inline constexpr std::uint16_t ext_supported_versions = 43;
inline constexpr std::uint16_t ext_psk_key_exchange_modes = 45;
inline constexpr std::uint16_t ext_key_share = 51;
inline constexpr std::uint16_t ext_quic_transport_parameters = 0x39;          // RFC 9001 8.2
inline constexpr std::uint16_t ext_quic_transport_parameters_draft = 0xFFA5;  // drafts before 33

inline constexpr std::uint8_t name_type_host = 0;  // RFC 6066 3
inline constexpr std::uint16_t group_x25519 = 0x001D;
inline constexpr std::uint8_t psk_dhe_ke = 1;  // RFC 8446 4.2.9

// RFC 8701: 0x?A?A with both bytes equal, sent to keep peers tolerant.
[[nodiscard]] constexpr bool is_grease(std::uint16_t v) noexcept {
  return (v & 0x0F0F) == 0x0A0A && v >> 8 == (v & 0xFF);
}

}  // namespace millrace::tls::wire
