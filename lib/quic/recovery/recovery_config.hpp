// quic/recovery/recovery_config.hpp - what is chosen of loss recovery and congestion control before a connection
// begins.
//
// Units    as named. Source  RFC 9002. Tests  test/quic/recovery/recovery_test.cpp
#pragma once

#include "quic/recovery/congestion.hpp"

namespace millrace::quic::recovery {

struct recovery_config {
  bool is_server = true;
  congestion_kind kind = congestion_kind::cubic;
  congestion_config congestion{};
  bool use_ecn = true;
  std::uint32_t most_blocks = 1024;  // of 28 packets, a packet number space: 34 MB in flight
  std::uint64_t skip_seed = 1;       // unknown to the peer; 0: no packet number is left out
};

}  // namespace millrace::quic::recovery
