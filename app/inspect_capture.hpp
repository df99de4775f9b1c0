// app/inspect_capture.hpp - one capture file, fed to the analyzer through a net_pcap port.
//
// Shape    open_capture() maps the file and judges its beginning, before EAL starts. feed_capture() attaches a port to
//          it and walks the file beside the port in lock step, because the port tells neither link type nor original
//          length nor time. Where libpcap gives the file up (a second link type, a record it refuses), the rest is read
//          from the mapped file itself, and said so.
// Owner    capture_file keeps the mapping and the descriptor; the port opens the same file through /proc/self/fd, so
//          that neither a comma in its name nor a rename in between matters.
// Errors   open_capture: `unusable`, naming the file: absent, no regular file, no capture. A file that ends inside a
//          record is no error: what is before it is analysed, and the fault is counted.
// Threads  one lcore. Tests  test/e2e/inspect_test.py, test/app/inspect_capture_test.cpp
#pragma once

#include <map>
#include <string>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "inspect/analyzer.hpp"
#include "mem/heap_counter.hpp"
#include "mem/packet_pool.hpp"

namespace millrace::app {

class capture_file {
  std::string path_;
  int descriptor_ = -1;
  const std::uint8_t* bytes_ = nullptr;
  std::size_t size_ = 0;

  capture_file() = default;

 public:
  capture_file(capture_file&& other) noexcept;
  capture_file& operator=(capture_file&&) = delete;
  ~capture_file();

  [[nodiscard]] static base::result<capture_file> open(const std::string& path);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string name() const;  // without folders: what objects carry as `capture`
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] base::byte_view bytes() const noexcept { return {bytes_, size_}; }
};

struct feed_result {
  std::uint64_t by_port = 0;                    // records that came through the port
  std::uint64_t direct = 0;                     // records read from the file itself
  std::map<std::string, std::uint64_t> faults;  // of the file: "capture_bad_block_length" and the like
  std::string remark;                           // why not all came through the port; empty when all did
};

// `number` makes the port's name unique. Ends early when `stop()` says so.
[[nodiscard]] feed_result feed_capture(const capture_file& file, unsigned number, mem::packet_pool& pool,
                                       inspect::analyzer& a, mem::heap_tally& heap);

}  // namespace millrace::app
