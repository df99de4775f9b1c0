// pipeline/udp_service.hpp - what answers on a UDP port, as the loop sees it.
//
// Shape    the loop hands over the datagrams of one burst that are for this service, all at once, and calls back when
//          the service's own clock is due. What the service says goes into the udp_output of the interface it names.
// Units    ns of the loop's clock, which is read once a turn.
// Owner    arrivals and their payloads live until on_datagrams() returns. The service outlives the loop it is opened
// in. Rules    no heap, no system call, no waiting. Work is bounded by what came in and, in on_time(), by a limit of
// the
//          service's own. One call a burst is virtual, none a packet.
// Threads  one lcore a service object; counters may be read from anywhere.
// Tests    test/pipeline/service_loop_test.cpp
#pragma once

#include <span>

#include "net/host.hpp"
#include "pipeline/udp_output.hpp"

namespace millrace::pipeline {

inline constexpr std::uint64_t never_ns = UINT64_MAX;

// One datagram for a port that a service has opened.
struct udp_arrival {
  net::udp_delivery udp;
  std::uint16_t interface = 0;  // which of the loop's interfaces it came in by: index of service_turn::outputs
  // The payload's packet in service_turn::received, for who keeps slices of it or changes it in place; no_packet when
  // the payload lies elsewhere: put together from fragments, or made one run.
  std::uint16_t packet = no_packet;
  static constexpr std::uint16_t no_packet = UINT16_MAX;
};

// What a service has at hand during a call.
struct service_turn {
  std::uint64_t now_ns;
  std::span<udp_output* const> outputs;  // one an interface of the loop
  stats::drop_counters& drops;
  buf::burst* received = nullptr;  // on_datagrams() only
  unsigned refused = 0;

  // One of the arrivals was not taken for what it was meant: a drop, not a delivery.
  void refuse(stats::drop_reason why) noexcept {
    drops.add(why);
    ++refused;
  }
};

class udp_service {
 public:
  udp_service() noexcept = default;
  udp_service(const udp_service&) = delete;
  udp_service& operator=(const udp_service&) = delete;
  virtual ~udp_service() = default;

  // Everything for this service in one received burst, in order of arrival; never empty.
  virtual void on_datagrams(std::span<const udp_arrival> arrivals, service_turn& turn) noexcept = 0;

  // The next time on_time() is wanted; a time that is past means every turn. Asked once a turn.
  [[nodiscard]] virtual std::uint64_t due_ns() const noexcept { return never_ns; }
  virtual void on_time(service_turn&) noexcept {}

  // The program stops: nothing new is begun, peers are told. Afterwards the loop goes on, handing over what still
  // arrives, until every service is_finished() or its patience ends.
  virtual void on_stop(service_turn&) noexcept {}
  [[nodiscard]] virtual bool is_finished() const noexcept { return true; }
};

}  // namespace millrace::pipeline
