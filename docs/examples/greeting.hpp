// docs/examples/greeting.hpp - GET /greet/{name}: a small JSON document. The least that a handler is.
//
// Shape    route() goes into a router, the object into a dispatcher's handlers (docs/handlers.md).
// Memory   none of its own: the text is written into the block that is sent.
// Threads  one lcore; one object each. Tests  test/examples/handlers_test.cpp
#pragma once

#include "http/chain_sink.hpp"
#include "json/writer.hpp"
#include "service/builtin.hpp"

namespace millrace::examples {

class greeting final : public http::exchange_handler {
 public:
  [[nodiscard]] service::route route() noexcept { return {http::wire::method::get, "/greet/{name}", this}; }

  void on_request(http::exchange& x) noexcept override {
    http::chain_sink text(x.blocks());
    json::writer w(text);
    w.begin_object();
    w.member("hello", x.route->parameter("name"));  // `route` is there until on_request() returns
    w.end_object();
    const bool is_written = w.end_document() == json::write_errc::ok;
    buf::chain body = text.take();
    if (!is_written || body.empty()) {  // no block was free
      static_cast<void>(x.respond({http::wire::status_code::service_unavailable, {}}, {}));
      return;
    }
    const http::field fields[] = {{"content-type", "application/json"}};  // read before respond() returns
    static_cast<void>(x.respond({http::wire::status_code::ok, fields}, std::move(body)));
  }
};

}  // namespace millrace::examples
