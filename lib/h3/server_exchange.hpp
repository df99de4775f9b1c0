// h3/server_exchange.hpp - one request to an HTTP/3 server and its answer. See h3/server.hpp and http/exchange.hpp.
//
// Threads  one lcore. Tests  test/h3/server_test.cpp
#pragma once

#include "h3/message.hpp"
#include "http/exchange.hpp"
#include "stats/latency_histogram.hpp"

namespace millrace::h3 {

inline constexpr std::size_t most_answer_fields = 64;  // of one head, those that are added with them

class server_exchange final : public message, public http::exchange {
  http::exchange_handler* root_;
  stats::latency_histogram& latency_;  // the server's

 public:
  server_exchange(http::exchange_handler& root, stats::latency_histogram& latency, link& l, live_stream& s) noexcept
      : message(l, s), root_(&root), latency_(latency) {}

  // --- http::exchange ---
  [[nodiscard]] std::uint64_t now_ns() const noexcept override { return link_.of().now_ns(); }
  [[nodiscard]] base::byte_view front() const noexcept override { return message::front(); }
  void consume(std::size_t bytes) noexcept override { message::consume(bytes); }
  [[nodiscard]] buf::slice take() noexcept override { return message::take(); }
  [[nodiscard]] bool is_body_over() const noexcept override { return is_body_over_; }
  void refuse_body() noexcept override { message::refuse_body(); }
  [[nodiscard]] const buf::mbuf_source& blocks() const noexcept override { return link_.of().blocks(); }
  void inform(const http::response_head& head) noexcept override;
  buf::flow write(buf::chain&& part) noexcept override { return message::write(std::move(part)); }
  void finish(std::span<const http::field> trailers) noexcept override { message::finish(trailers); }
  void wake() noexcept override { message::go_on(); }
  void abort() noexcept override;

 private:
  [[nodiscard]] bool send(const http::response_head& head, http::body&& what, bool is_whole) noexcept override;
  [[nodiscard]] bool on_head(section_reader& r) noexcept override;
  void on_body() noexcept override;
  void on_body_end(std::span<const http::field> trailers) noexcept override;
  void on_room() noexcept override;
  void on_end(ending why) noexcept override;
  void on_refused(section_errc why) noexcept override;
  [[nodiscard]] section_kind head_kind() const noexcept override { return section_kind::request; }
  void answer(http::wire::status_code status, event counted) noexcept;
};

}  // namespace millrace::h3
