// loadgen/hq_load.hpp - clients of an hq-interop server: a request is a line on a stream of its own.
//
// Shape    see loadgen/fetch_load.hpp. Owner, errors, threads: the same.
// Latency  ns from the request's line being written to the body's last byte. Tests  test/loadgen/hq_load_test.cpp
#pragma once

#include "loadgen/fetch_load.hpp"

namespace millrace::loadgen {

class hq_load final : public fetch_load, private quic::conn::application {
  struct passkey {};
  class line_source final : public quic::conn::send_source {
   public:
    std::string line;
    [[nodiscard]] unsigned borrow(std::uint64_t offset, std::size_t size,
                                  std::span<base::byte_view, quic::conn::most_source_parts> parts) noexcept override {
      parts[0] = base::as_bytes(std::string_view(line)).subspan(static_cast<std::size_t>(offset), size);
      return 1;
    }
    void released(std::uint64_t) noexcept override {}
  };
  line_source line_;

 public:
  [[nodiscard]] static base::result<std::unique_ptr<hq_load>> make(const fetch_settings& settings,
                                                                   mem::packet_pool& pool);
  hq_load(passkey, const fetch_settings& settings) : fetch_load(settings) {
    line_.line = "GET " + settings.path + "\r\n";
  }
  ~hq_load() override { end(); }

 private:
  [[nodiscard]] bool begin(caller& who, request& r) noexcept override;

  void on_established(quic::conn::connection& c) noexcept override;
  void on_streams_available(quic::conn::connection& c) noexcept override;
  void on_readable(quic::conn::connection& c, quic::conn::live_stream& s) noexcept override;
  void on_stream_closed(quic::conn::connection& c, quic::conn::live_stream& s) noexcept override;
  void on_closed(quic::conn::connection& c, const quic::conn::connection_end& end) noexcept override;
};

}  // namespace millrace::loadgen
