// app/quic_config.hpp - what `serve` is told about QUIC, as plain values.
//
// Units    in the names. Tests  test/app/config_test.cpp
#pragma once

#include <string>

#include "quic/endpoint/settings.hpp"

namespace millrace::app {

inline constexpr std::uint16_t default_quic_port = 443;

struct quic_config {
  std::uint16_t port = default_quic_port;  // 0: no QUIC
  std::string cert;  // PEM files, both or none; none: a self-signed certificate, made at the start
  std::string key;
  std::string root;        // files for hq-interop; empty: none
  std::string keylog;      // TLS secrets are appended to it; empty: SSLKEYLOGFILE, else nowhere
  std::string qlog;        // a directory for traces of connections; empty: none
  bool early_data = true;  // of protocols whose requests may come twice: hq-interop, echo; never of srmp
  bool srmp = true;        // SRMP over QUIC beside hq-interop, answered as [srmp] says
  bool echo = true;        // streams that come back
  bool h3 = true;          // HTTP/3
  // Packets' worth of memory for replies that clients have not acknowledged, of each lcore; apart from those that are
  // received into, so that slow readers cannot use those up.
  std::uint32_t reply_blocks = 4096;
  quic::endpoint::endpoint_settings endpoint = default_endpoint();  // of each lcore

  // Sizes for an appliance that was not told otherwise: some 110 MB a lcore, half of them for HTTP/3.
  [[nodiscard]] static quic::endpoint::endpoint_settings default_endpoint() {
    quic::endpoint::endpoint_settings s;
    s.connections = 1024;
    s.handshakes = 256;
    s.streams = 4096;
    s.sent_blocks = 4096;
    s.pieces = 16384;
    s.source_slots = 4096;
    return s;
  }
};

}  // namespace millrace::app
