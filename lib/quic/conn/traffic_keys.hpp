// quic/conn/traffic_keys.hpp - the 1-RTT keys of one connection: 5 KiB that only busy connections need.
//
// Tests    test/quic/sim/
#pragma once

#include "crypto/wiped.hpp"
#include "quic/protect/receive_keys.hpp"
#include "quic/protect/send_keys.hpp"

namespace millrace::quic::conn {

struct traffic_keys {
  crypto::wiped<protect::receive_keys> read;
  crypto::wiped<protect::send_keys> write;
  bool can_read = false;
  bool can_write = false;
};

}  // namespace millrace::quic::conn
