// http/dispatcher.hpp - the handler in front of all others: finds by method and path the one that answers, and answers
// itself where there is none.
//
// Shape    one an lcore; the router is shared. `request_filter`s are asked in order before a handler is looked for,
//          `response_filter`s in order before every answer's head is written, its own answers and theirs included.
// Answers  404 for a path without a pattern, 405 with Allow for a method that the path does not have, 501 for a method
//          that nobody knows, 204 with Allow for OPTIONS where no pattern has it, 204 for OPTIONS of `*`. HEAD goes to
//          GET's handler (http/router.hpp); the carrier leaves the content away, and answers 400 for a bad target.
//          An extended CONNECT is routed by method and path like any other request; 501 if its :protocol is not one of
//          `protocols` (RFC 9220 3).
// Fields   Date and Server on every final answer that does not bring its own; the date's text is made once a second.
// Time     set_time() says what time it is, as often as the loop likes; no clock is read.
// Owner    router, handlers and filters are the caller's and outlive the dispatcher. Threads  one lcore.
// Source   RFC 9110 6.6.1 9.1 9.3.7 10.2.1 10.2.4 15.5.5 15.5.6 15.6.2. Tests  test/http/dispatcher_test.cpp
#pragma once

#include "http/exchange.hpp"
#include "http/wire/date.hpp"

namespace millrace::http {

class request_filter {
 public:
  request_filter() noexcept = default;
  request_filter(const request_filter&) = delete;
  request_filter& operator=(const request_filter&) = delete;
  virtual ~request_filter() = default;

  // False: it has answered, or has set the exchange's handler, and nobody else is asked.
  [[nodiscard]] virtual bool on_request(exchange&) noexcept = 0;
};

class dispatcher final : public exchange_handler, public response_filter {
 public:
  struct parts {
    const router* routes = nullptr;
    std::span<exchange_handler* const> handlers{};  // by the number that router_builder::add() was given
    std::span<request_filter* const> before{};
    std::span<response_filter* const> after{};
    std::string_view server{};                      // empty: no Server field
    std::span<const std::string_view> protocols{};  // that some handler speaks behind an extended CONNECT
  };

 private:
  parts of_;
  wire::date_cache cache_;
  std::string_view date_;  // empty until the time is known

 public:
  explicit dispatcher(const parts& of) noexcept : of_(of) {}

  void set_time(std::int64_t unix_s) noexcept { date_ = cache_.at(unix_s); }

  void on_request(exchange& x) noexcept override;
  void on_response(exchange& x, response_head& head, extra_fields& extra) noexcept override;

 private:
  void answer(exchange& x, const route_match& match) noexcept;
};

}  // namespace millrace::http
