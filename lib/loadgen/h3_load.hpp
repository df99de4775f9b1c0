// loadgen/h3_load.hpp - clients of an HTTP/3 server: GETs, or requests with a body, one after another on each
// connection.
//
// Shape    see loadgen/fetch_load.hpp. A response other than 200 counts as failed, whatever its body.
// Latency  ns from the request being handed to HTTP/3 to the end of the response.
// Owner    as there; the copy of a request's body that is being sent is HTTP/3's. A long body is loaded once, by
// make(),
//          and every request sends it from there. Errors, threads: the same.
// Source   RFC 9114. Tests  test/loadgen/h3_load_test.cpp
#pragma once

#include "h3/client.hpp"
#include "loadgen/fetch_load.hpp"

namespace millrace::loadgen {

class h3_load final : public fetch_load, private h3::client_events, private h3::response_observer {
  struct passkey {};
  std::unique_ptr<h3::client> h3_;
  mem::packet_pool& pool_;
  std::string authority_;
  std::string length_;  // of the body, in digits
  std::unique_ptr<buf::large_block_pool> body_blocks_;
  buf::content body_;  // where it is longer than most_copied_body
  base::fixed_vector<http::field, 8> fields_;

 public:
  [[nodiscard]] static base::result<std::unique_ptr<h3_load>> make(const fetch_settings& settings,
                                                                   mem::packet_pool& pool);
  h3_load(passkey, const fetch_settings& settings, mem::packet_pool& pool);
  ~h3_load() override { end(); }

  [[nodiscard]] const h3::counters& h3_counters() const noexcept { return h3_->count(); }

 private:
  [[nodiscard]] bool begin(caller& who, request& r) noexcept override;
  [[nodiscard]] bool is_protocol_whole() noexcept override { return h3_->open_requests() == 0; }

  void on_connected(quic::conn::connection& c) noexcept override;
  void on_streams_available(quic::conn::connection& c) noexcept override;
  void on_closed(quic::conn::connection& c, const quic::conn::connection_end& end) noexcept override;
  void on_response(h3::asked& a) noexcept override;
  void on_body(h3::asked& a) noexcept override;
  void on_body_end(h3::asked& a, std::span<const http::field> trailers) noexcept override;
  void on_end(h3::asked& a, h3::request_end why) noexcept override;
};

}  // namespace millrace::loadgen
