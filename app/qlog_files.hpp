// app/qlog_files.hpp - `serve --qlog DIR`: the lcores' traces become files, on a thread of their own.
//
// Owner    outlives the endpoints that are given its queues. Limits  app/quic_config.hpp has none to set: 65536 records
// a
//          lcore, and telemetry::qlog_settings. Errors  make(): a directory that cannot be written, no memory, no
//          thread.
// Threads  made and destroyed on the control thread; dropped() and the like are read from anywhere.
// Tests    test/e2e/quic_test.py
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "env/control_thread.hpp"
#include "telemetry/qlog.hpp"

namespace millrace::app {

inline constexpr std::size_t qlog_records = 65536;      // of an lcore, that wait to be written
inline constexpr std::uint32_t qlog_connections = 256;  // of an lcore, traced at a time

class qlog_files {
  std::unique_ptr<telemetry::qlog_writer> writer_;
  std::vector<std::unique_ptr<quic::conn::trace_queue>> queues_;
  env::control_thread thread_;  // last: it uses the others

 public:
  qlog_files() noexcept = default;
  qlog_files(const qlog_files&) = delete;
  qlog_files& operator=(const qlog_files&) = delete;
  [[nodiscard]] static base::result<std::unique_ptr<qlog_files>> make(const std::string& directory, std::size_t lcores);

  [[nodiscard]] quic::conn::trace_queue& queue(std::size_t lcore) noexcept { return *queues_[lcore]; }
  [[nodiscard]] std::uint64_t unwritten() const noexcept { return writer_->counts().unwritten.get(); }

 private:
  void turn();
};

}  // namespace millrace::app
