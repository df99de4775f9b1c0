// tls/remembered_session.hpp - what a client keeps of a connection to resume it: one run of bytes.
//
// Shape    the ALPN name, the server's transport parameters (what 0-RTT may rely on, RFC 9000 7.4.1), whether 0-RTT is
//          allowed, and GnuTLS's own session data. Written and read by this room alone; opaque to everybody else.
// Owner    views point into the bytes given. Errors  parse: false for anything that is not exactly such a run.
// Secrecy  holds a resumption secret: keep it as one.
// Source   RFC 8446 4.2.11 4.6.1, RFC 9001 4.6.3. Tests  test/tls/parts_test.cpp
#pragma once

#include "base/bytes.hpp"
#include "tls/byte_store.hpp"

namespace millrace::tls {

struct remembered_session {
  bool early_data = false;
  std::string_view protocol;
  base::byte_view transport_parameters;
  base::byte_view ticket;
};

[[nodiscard]] bool emit(byte_store& out, const remembered_session& session) noexcept;
[[nodiscard]] bool parse(base::byte_view bytes, remembered_session& out) noexcept;

}  // namespace millrace::tls
