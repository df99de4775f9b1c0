// telemetry/qlog.hpp - traces of QUIC connections as qlog files, one a connection, written off the data path.
//
// Shape    lcores push records into a quic::conn::trace_queue each; write_from() takes them out and writes events.
//          A file is NAME.sqlog (JSON text sequences), NAME being the original destination ID and the role.
// Units    ns in records, ms in files, as qlog has them. Times are relative to the connection's first record.
// Owner    the writer owns its files. Queues outlive it.
// Limits   qlog_settings: files of a run, bytes of a file. What is beyond is counted, and a file that was cut says so.
// Errors   make(): the directory cannot be written. A file that cannot: counted, its connection is not written.
// Threads  one, which is no data lcore's; counts() is read from anywhere.
// Source   draft-ietf-quic-qlog-main-schema-07 5 and 11 (qlog 0.3, JSON-SEQ), draft-ietf-quic-qlog-quic-events,
//          RFC 7464. Tests  test/telemetry/qlog_test.cpp
#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "quic/conn/trace.hpp"

namespace millrace::telemetry {

struct qlog_settings {
  std::string directory;
  std::uint32_t most_files = 1000;            // of a run; connections after that are not written
  std::uint64_t most_file_bytes = 64u << 20;  // then the file ends with a warning
  std::int64_t wall_less_now_ns = 0;          // what makes a record's time one since 1970
};

struct qlog_counts {
  stats::counter files;      // begun
  stats::counter events;     // written
  stats::counter cut;        // files that grew too large
  stats::counter unwritten;  // connections that got no file: too many, or it could not be written
};

class qlog_writer {
  struct closer {
    void operator()(std::FILE* f) const noexcept { std::fclose(f); }
  };
  struct log {
    std::unique_ptr<std::FILE, closer> file;
    std::uint64_t began_ns = 0;
    std::uint64_t bytes = 0;
    bool is_server = false;
    bool is_cut = false;
  };
  using key = std::pair<const quic::conn::trace_queue*, std::uint64_t>;

  qlog_settings settings_;
  std::map<key, log> open_;
  qlog_counts counts_;

 public:
  explicit qlog_writer(qlog_settings settings) noexcept : settings_(std::move(settings)) {}
  [[nodiscard]] static base::result<std::unique_ptr<qlog_writer>> make(qlog_settings settings);

  // What the queue holds now, up to a bound, so that several queues have their turn; answers how many records.
  std::size_t write_from(quic::conn::trace_queue& queue);
  // To the disk, for who wants to read along.
  void flush() noexcept;
  [[nodiscard]] const qlog_counts& counts() const noexcept { return counts_; }

 private:
  void write(const quic::conn::trace_queue& queue, const quic::conn::trace_record& r);
  [[nodiscard]] bool begin(log& to, const quic::conn::trace_record& r);
  void put(log& to, std::string_view text) noexcept;
};

}  // namespace millrace::telemetry
