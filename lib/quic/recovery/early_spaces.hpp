// quic/recovery/early_spaces.hpp - the sent packets of the two packet number spaces that end with the handshake.
//
// Owner    whoever keeps the handshake's state: it lends them to loss_recovery, and ends the loan before they go.
// Source   RFC 9002 A.1, RFC 9001 4.9. Tests  test/quic/recovery/recovery_test.cpp
#pragma once

#include <array>

#include "quic/recovery/sent_packets.hpp"

namespace millrace::quic::recovery {

class early_spaces {
  friend class loss_recovery;
  std::array<sent_packets, packet_spaces - 1> of_;

 public:
  explicit early_spaces(sent_pool& pool, std::uint32_t most_blocks = 1024) noexcept
      : of_{sent_packets{pool, most_blocks}, sent_packets{pool, most_blocks}} {}
};

}  // namespace millrace::quic::recovery
