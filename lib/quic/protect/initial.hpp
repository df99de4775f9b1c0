// quic/protect/initial.hpp - opening and sealing Initial packets, and Retry integrity: keys anyone can derive.
//
// Shape    packet_keys holds one direction: AEAD key schedule, IV and header-protection key, derived from the
//          client's first Destination Connection ID and the version. open_initial() removes header protection and
//          decrypts into the caller's buffer, so captured bytes stay as they were.
// Owner    keys own their schedules (by value, no heap).
// Errors   enum; after a failure `result` is as it was and `out` holds no plaintext (what was decrypted is cleared,
//          reserved_bits apart, which comes from an authentic packet).
// Source   RFC 9001 5.2 5.4 5.8, RFC 9369 3.3, drafts 22-34. Tests  test/quic/protect/initial_test.cpp, RFC vectors
#pragma once

#include "base/bytes.hpp"
#include "quic/protect/open.hpp"
#include "quic/wire/header.hpp"

namespace millrace::quic::protect {

enum class side : std::uint8_t { client, server };

// False when the version's initial salt is not public or not known to us; `out` is then untouched. Inside T050, T051
// and Q050 packets the frames are gQUIC's (quic/wire/gquic_frame.hpp).
[[nodiscard]] bool derive_initial_keys(crypto::engine& engine, wire::version_number version,
                                       base::byte_view client_dcid, side sender, packet_keys& out) noexcept;

// True when derive_initial_keys can serve the version.
[[nodiscard]] bool has_initial_salt(wire::version_number version) noexcept;

struct opened {
  std::uint64_t packet_number = 0;
  base::byte_view payload;  // the frames, inside `out`
};

// `packet`: header.packet_size bytes of one Initial; `largest_pn`: largest packet number opened before in this space
// and direction, ~0 when none. `out`: at least packet size bytes.
[[nodiscard]] open_errc open_initial(crypto::engine& engine, const packet_keys& keys, base::byte_view packet,
                                     const wire::packet_header& header, std::uint64_t largest_pn, base::byte_span out,
                                     opened& result) noexcept;

// Seals one Initial in place: `packet` holds header (pn_size bytes of packet number at pn_offset, length field already
// right) and plaintext, and ends with 16 free bytes for the tag. Header protection is applied. False, and nothing
// changed, when the sizes contradict each other: pn_size is not what the first byte says, or fewer than 4 bytes of
// number and plaintext leave nothing to sample (RFC 9001 5.4.2 has the sender pad).
[[nodiscard]] bool seal_initial(crypto::engine& engine, const packet_keys& keys, base::byte_span packet,
                                std::uint32_t pn_offset, unsigned pn_size, std::uint64_t packet_number) noexcept;

// RFC 9001 5.8: `retry`: a whole Retry packet with its tag. False also when the version has no Retry key we know;
// has_retry_key tells the two apart.
[[nodiscard]] bool verify_retry(crypto::engine& engine, wire::version_number version, base::byte_view original_dcid,
                                base::byte_view retry) noexcept;
[[nodiscard]] bool has_retry_key(wire::version_number version) noexcept;
// Writes the tag into the last 16 bytes of `retry`. False when the version has no Retry key we know.
[[nodiscard]] bool seal_retry(crypto::engine& engine, wire::version_number version, base::byte_view original_dcid,
                              base::byte_span retry) noexcept;

}  // namespace millrace::quic::protect
