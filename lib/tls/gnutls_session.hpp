// tls/gnutls_session.hpp - GnuTLS's names for what this room calls otherwise; for this room's sources only.
//
// Shape    includes gnutls.h, so no header of the room that others include may include this one.
// Owner    nothing. Errors  none: what GnuTLS has and we do not offer is `none`.
#pragma once

#include <gnutls/gnutls.h>

#include "tls/cipher_suite.hpp"

namespace millrace::tls {

[[nodiscard]] gnutls_record_encryption_level_t gnutls_level(encryption_level level) noexcept;
[[nodiscard]] encryption_level level_of(gnutls_record_encryption_level_t level) noexcept;
[[nodiscard]] cipher_suite suite_of(gnutls_cipher_algorithm_t cipher) noexcept;
[[nodiscard]] cipher_suite current_suite(gnutls_session_t session) noexcept;
[[nodiscard]] group current_group(gnutls_session_t session) noexcept;

}  // namespace millrace::tls
