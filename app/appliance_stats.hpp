// app/appliance_stats.hpp - the figures of a running appliance as JSON, written by whichever of its lcores is asked.
//
// Shape    add() each loop while the appliance is made; write() reads counters, which any lcore may, and allocates
//          nothing. docs/stats.md has the members; those that the result of a run has too have the same names.
// Owner    loops, servers and the pool are the appliance's. Threads  add(): the control thread, before the start.
// Tests    test/e2e/h3_test.py
#pragma once

#include <vector>

#include "app/quic_server.hpp"
#include "mem/packet_pool.hpp"
#include "pipeline/service_loop.hpp"
#include "service/builtin.hpp"

namespace millrace::app {

class appliance_stats final : public service::stats_source {
  struct part {
    unsigned lcore;
    const pipeline::service_loop* loop;
    const quic_server* quic;
  };
  std::vector<part> parts_;
  const service::site* site_ = nullptr;
  const mem::packet_pool& pool_;
  std::string version_;
  std::uint64_t began_ns_;

  void write_lcores(json::writer& to) const noexcept;
  void write_protocols(json::writer& to) const noexcept;
  void write_latency(json::writer& to) const noexcept;
  void write_pools(json::writer& to) const noexcept;
  void write_site(json::writer& to) const noexcept;

 public:
  appliance_stats(const mem::packet_pool& pool, std::string version);
  void add(unsigned lcore, const pipeline::service_loop& loop, const quic_server* quic) {
    parts_.push_back({lcore, &loop, quic});
  }
  void add(const service::site& site) { site_ = &site; }
  void write(json::writer& to) noexcept override;
};

}  // namespace millrace::app
