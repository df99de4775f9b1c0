// pipeline/srmp_service.hpp - SRMP over UDP as a service of the loop.
//
// Shape    a datagram_service that answers through the loop's outputs; the handler is an rpc::service or an
//          srmp::echo_handler. One object an lcore.
// Rules    datagrams of one caller that follow each other in a burst share datagrams of replies. A datagram that cannot
//          be read to its end is a drop (srmp_truncated, srmp_malformed), though the requests in front were answered.
//          Who cannot be answered (source port 0, a broadcast address called) is refused (no_service).
// Limits   amplification_limits, and those of the handler.
// Owner    the handler is the caller's and outlives the service.
// Threads  one lcore; counters may be read from anywhere. Tests  test/pipeline/srmp_service_test.cpp
//          Bench  bench/pipeline/service_loop_bench.cpp
#pragma once

#include "pipeline/srmp_sink.hpp"

namespace millrace::pipeline {

template <class Handler>
class srmp_service final : public udp_service {
  srmp_sink sink_;
  srmp::datagram_service<srmp_sink, Handler> server_;

  [[nodiscard]] static bool can_be_answered(const net::udp_delivery& udp) noexcept {
    return udp.remote.port != 0 && !udp.broadcast;
  }

 public:
  srmp_service(Handler& handler, const srmp::service_settings& settings, const amplification_limits& limits) noexcept
      : sink_(limits), server_(sink_, handler, settings) {}

  void on_datagrams(std::span<const udp_arrival> arrivals, service_turn& turn) noexcept override {
    sink_.begin(turn);
    for (const udp_arrival& one : arrivals) {
      if (!can_be_answered(one.udp)) [[unlikely]] {
        turn.refuse(stats::drop_reason::no_service);
        continue;
      }
      const srmp::conversation between{one.udp.remote, one.udp.local, one.interface};
      server_.turn_to(between);
      sink_.heard(one.udp.payload.size());
      const srmp::datagram_end end = server_.on_datagram(between, one.udp.payload);
      if (const auto why = srmp::drop_reason_of(end); why != stats::drop_reason::none) [[unlikely]]
        turn.refuse(why);
    }
    server_.flush();
  }

  [[nodiscard]] const srmp::server_counters& counters() const noexcept { return server_.counters(); }
  [[nodiscard]] const sink_counters& sent() const noexcept { return sink_.counters(); }
};

}  // namespace millrace::pipeline
