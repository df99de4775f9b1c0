// app/load_hq.hpp - the QUIC clients of `load`: what all lcores share, and a generator for each.
//
// Shape    expected_hq() before EAL runs; make(); then add() a generator for each lcore's loop, in their order.
// Owner    loads are inside; loops that they are opened on go first. The packet pool outlives the object.
// Errors   make(), add(): a failure that an operator understands.
// Threads  control thread; write_key_log() now and then, while the loads run on their lcores.
// Tests    test/app/load_test.py, test/e2e/load_quic_test.py
#pragma once

#include <memory>
#include <vector>

#include "app/hq_report.hpp"
#include "app/load_hq_options.hpp"
#include "tls/key_log.hpp"

namespace millrace::app {

// Settings of generator `i` of `n`, with pools of the size of its share.
[[nodiscard]] loadgen::hq_settings hq_share(const loadgen::hq_settings& all, std::size_t i, std::size_t n);

struct hq_need {
  std::size_t memory_bytes = 0;  // of EAL, without packets
  std::uint32_t packets = 0;     // received ones that may wait for a lost one
};
// Of all generators together.
[[nodiscard]] hq_need expected_hq(const loadgen::hq_settings& all, std::size_t lcores);

class hq_clients {
  struct log {  // of one lcore
    tls::key_log_queue queue{65536};
  };
  load_hq_options options_;
  std::shared_ptr<const tls::client_trust> trust_;
  std::vector<std::unique_ptr<log>> logs_;  // behind the contexts that point to them
  tls::key_log_file key_log_;
  bool logs_keys_ = false;
  std::vector<std::unique_ptr<loadgen::hq_load>> loads_;

 public:
  [[nodiscard]] static base::result<std::unique_ptr<hq_clients>> make(const load_hq_options& options);

  // The next generator, `i` of `n`, as a service of its lcore's loop.
  base::outcome add(std::size_t i, std::size_t n, mem::packet_pool& pool, pipeline::service_loop& loop);
  // Lines that handshakes have left go into the file; false when it took less.
  bool write_key_log() noexcept;

  [[nodiscard]] bool is_done() const noexcept;
  [[nodiscard]] hq_end gather() const { return app::gather(options_.asked, loads_); }
  // How the server's identity is checked, for people.
  [[nodiscard]] std::string_view trust_text() const noexcept;
};

void add_hq_workload(const load_hq_options& options, workload_parameters& out);

}  // namespace millrace::app
