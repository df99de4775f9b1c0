// pipeline/udp_echo_service.hpp - RFC 862 over UDP: what comes goes back.
//
// Shape    a udp_service; payloads of any size, empty ones too.
// Rules    RFC 862 itself forbids nothing, and two echo servers that are made to believe in each other would talk for
//          ever: a datagram from a well-known port (below 1024), or from the very port it is for, is not answered
//          (no_service), nor one that cannot be. Two on different ports above that are the operator's to keep apart.
// Threads  one lcore; counters may be read from anywhere. Tests  test/pipeline/service_loop_test.cpp
#pragma once

#include "pipeline/udp_service.hpp"

namespace millrace::pipeline {

class udp_echo_service final : public udp_service {
  static constexpr std::uint16_t first_free_port = 1024;
  stats::counter echoed_;
  stats::counter bytes_;

 public:
  void on_datagrams(std::span<const udp_arrival> arrivals, service_turn& turn) noexcept override {
    for (const udp_arrival& one : arrivals) {
      const std::uint16_t from = one.udp.remote.port;
      if (from < first_free_port || from == one.udp.local.port || one.udp.broadcast) {
        turn.refuse(stats::drop_reason::no_service);
        continue;
      }
      const net::udp_flow back{.local = one.udp.local, .remote = one.udp.remote};
      if (turn.outputs[one.interface]->send(back, one.udp.payload) == net::tx_what::dropped) continue;
      echoed_.add(1);
      bytes_.add(one.udp.payload.size());
    }
  }

  [[nodiscard]] std::uint64_t echoed() const noexcept { return echoed_.get(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_.get(); }
};

}  // namespace millrace::pipeline
