// pipeline/hq_server.hpp - hq-interop: HTTP/0.9 over QUIC streams, which measures transports and nothing else.
//
// Shape    a request is one line, "GET /path", on a bidirectional stream of the client's; the answer is the bytes of
//          the body, ended by FIN. /bytes/N is N bytes of base::pattern_block(); every other path is one of the files
//          that were given at the start. Bodies are sent from where they lie and never copied.
// Errors   HTTP/0.9 has no status: what is not there, or is no request, resets the stream (no_such_path, bad_request).
// Limits   max_request_bytes of a request; `requests` unfinished ones at a time.
// Owner    files are the caller's and outlive the object. Threads  one lcore; counters from anywhere.
// Source   the QUIC interop runner's hq-interop. Tests  test/loadgen/hq_load_test.cpp
#pragma once

#include <string>
#include <unordered_map>

#include "base/result.hpp"
#include "buf/content.hpp"
#include "mem/object_pool.hpp"
#include "quic/conn/connection.hpp"

namespace millrace::pipeline {

inline constexpr std::string_view hq_protocol = "hq-interop";
inline constexpr std::size_t max_request_bytes = 1024;
inline constexpr std::uint64_t max_pattern_body = std::uint64_t{1} << 50;
enum class hq_code : std::uint64_t { no_error = 0, no_such_path = 1, bad_request = 2, no_memory = 3, stopped = 4 };

// Files by their paths, "/index.html": made on the control thread, read by all lcores.
class hq_files {
  struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const noexcept { return std::hash<std::string_view>{}(s); }
  };

 public:
  class source final : public quic::conn::send_source {
    const buf::content* from_;

   public:
    explicit source(const buf::content& from) noexcept : from_(&from) {}
    [[nodiscard]] unsigned borrow(std::uint64_t offset, std::size_t size,
                                  std::span<base::byte_view, quic::conn::most_source_parts> parts) noexcept override;
    void released(std::uint64_t) noexcept override {}
  };
  struct file {
    buf::content content;
    std::unique_ptr<source> from;
  };

  // On the control thread, before anything is served.
  void add(const std::string& path, buf::content content);
  [[nodiscard]] file* find(std::string_view path) noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return files_.size(); }

 private:
  std::unordered_map<std::string, file, text_hash, std::equal_to<>> files_;
};

// A body of base::pattern_block().
class pattern_source final : public quic::conn::send_source {
 public:
  [[nodiscard]] unsigned borrow(std::uint64_t offset, std::size_t size,
                                std::span<base::byte_view, quic::conn::most_source_parts> parts) noexcept override;
  void released(std::uint64_t) noexcept override {}
};

struct hq_counters {
  stats::counter requests, not_found, bad, no_memory;
};

class hq_server final : public quic::conn::application {
  struct request {
    std::array<char, max_request_bytes> text;
    std::uint16_t size = 0;
  };
  mem::object_pool<request> requests_;
  hq_files* files_;
  pattern_source pattern_;
  hq_counters count_;

  explicit hq_server(mem::object_pool<request> requests, hq_files* files) noexcept
      : requests_(std::move(requests)), files_(files) {}
  void answer(quic::conn::connection& c, quic::conn::live_stream& s, std::string_view line) noexcept;
  void refuse(quic::conn::connection& c, quic::conn::live_stream& s, hq_code why) noexcept;

 public:
  // `files` nullptr: /bytes/N alone.
  [[nodiscard]] static base::result<std::unique_ptr<hq_server>> make(std::uint32_t requests, hq_files* files);

  void on_readable(quic::conn::connection& c, quic::conn::live_stream& s) noexcept override;
  void on_stream_closed(quic::conn::connection& c, quic::conn::live_stream& s) noexcept override;
  [[nodiscard]] const hq_counters& counters() const noexcept { return count_; }
};

}  // namespace millrace::pipeline
