#include "http/dispatcher.hpp"

#include <gtest/gtest.h>

#include "http/scripted_exchange.hpp"

namespace {

using namespace millrace;
using http::wire::method;
using http::wire::status_code;
using test::scripted_exchange;

class page final : public http::exchange_handler {
 public:
  std::string parameter;
  std::vector<http::field> fields;
  void on_request(http::exchange& x) noexcept override {
    parameter = x.route->parameter("name");
    EXPECT_EQ(x.handler, this);
    EXPECT_TRUE(x.respond({status_code::ok, fields}, http::body{}));
  }
};

class door final : public http::request_filter {
 public:
  bool is_open = true;
  unsigned asked = 0;
  bool on_request(http::exchange& x) noexcept override {
    ++asked;
    if (is_open) return true;
    EXPECT_TRUE(x.respond({status_code::forbidden, {}}, http::body{}));
    return false;
  }
};

class stamp final : public http::response_filter {
 public:
  void on_response(http::exchange&, http::response_head&, extra_fields& extra) noexcept override {
    EXPECT_TRUE(extra.push_back({"x-stamp", "yes"}));
  }
};

struct http_dispatcher : testing::Test {
  page get, post;
  door front_door;
  stamp mark;
  http::exchange_handler* handlers[2] = {&get, &post};
  http::request_filter* before[1] = {&front_door};
  http::response_filter* after[1] = {&mark};
  base::result<http::router> routes = [] {
    http::router_builder b;
    EXPECT_TRUE(b.add(method::get, "/page/{name}", 0));
    EXPECT_TRUE(b.add(method::post, "/form", 1));
    EXPECT_TRUE(b.add(method::connect, "/page/{name}", 0));
    return b.build();
  }();
  std::string_view spoken[1] = {"websocket"};
  http::dispatcher of{{&routes.value(), handlers, before, after, "millrace", spoken}};

  scripted_exchange::answer ask(std::string_view m, std::string_view path, bool has_body = false,
                                std::string_view protocol = {}) {
    scripted_exchange x{m, path, has_body, protocol};
    x.handler = &of;
    of.on_request(x);
    EXPECT_EQ(x.answers.size(), 1u);
    EXPECT_FALSE(x.is_aborted);
    EXPECT_EQ(x.is_refused, has_body && x.handler == &of);
    return x.answers.empty() ? scripted_exchange::answer{} : x.answers.front();
  }
};

TEST_F(http_dispatcher, hands_a_request_to_the_handler_of_its_route) {
  EXPECT_EQ(ask("GET", "/page/one").status, status_code::ok);
  EXPECT_EQ(get.parameter, "one");
  EXPECT_EQ(ask("HEAD", "/page/two").status, status_code::ok);
  EXPECT_EQ(get.parameter, "two");
  EXPECT_EQ(ask("POST", "/form", true).status, status_code::ok);
}

TEST_F(http_dispatcher, says_what_a_path_allows) {
  const auto refused = ask("POST", "/page/one", true);
  EXPECT_EQ(refused.status, status_code::method_not_allowed);
  EXPECT_EQ(refused.text("allow"), "GET, HEAD, CONNECT, OPTIONS");
  const auto told = ask("OPTIONS", "/form");
  EXPECT_EQ(told.status, status_code::no_content);
  EXPECT_EQ(told.text("allow"), "POST, OPTIONS");
  EXPECT_EQ(ask("OPTIONS", "*").status, status_code::no_content);
}

TEST_F(http_dispatcher, answers_what_has_no_handler) {
  const auto missing = ask("GET", "/nowhere", true);
  EXPECT_EQ(missing.status, status_code::not_found);
  EXPECT_EQ(missing.text("allow"), "(none)");
  EXPECT_EQ(ask("OPTIONS", "/nowhere").status, status_code::not_found);
  EXPECT_EQ(ask("BREW", "/page/one").status, status_code::not_implemented);
  EXPECT_EQ(ask("get", "/page/one").status, status_code::not_implemented);
}

TEST_F(http_dispatcher, an_extended_connect_is_routed_by_its_path) {
  EXPECT_EQ(ask("CONNECT", "/page/ws", true, "websocket").status, status_code::ok);
  EXPECT_EQ(get.parameter, "ws");
  EXPECT_EQ(ask("CONNECT", "/form", true, "websocket").status, status_code::method_not_allowed);
  EXPECT_EQ(ask("CONNECT", "/nowhere", true, "websocket").status, status_code::not_found);
}

TEST_F(http_dispatcher, an_extended_connect_of_an_unknown_protocol_is_501) {
  for (const char* path : {"/page/ws", "/form", "/nowhere"}) {
    const auto refused = ask("CONNECT", path, true, "connect-udp");
    EXPECT_EQ(refused.status, status_code::not_implemented) << path;
    EXPECT_EQ(refused.text("x-stamp"), "yes");
  }
  EXPECT_EQ(get.parameter, "");
}

TEST_F(http_dispatcher, puts_date_and_server_on_every_answer) {
  EXPECT_EQ(ask("GET", "/page/one").text("date"), "(none)");  // nobody has said the time
  of.set_time(784'111'777);
  for (const char* path : {"/page/one", "/nowhere"}) {
    const auto a = ask("GET", path);
    EXPECT_EQ(a.text("date"), "Sun, 06 Nov 1994 08:49:37 GMT");
    EXPECT_EQ(a.text("server"), "millrace");
  }
  of.set_time(784'111'778);
  EXPECT_EQ(ask("GET", "/page/one").text("date"), "Sun, 06 Nov 1994 08:49:38 GMT");
  get.fields = {{"date", "mine"}};
  const auto own = ask("GET", "/page/one");
  EXPECT_EQ(own.text("date"), "mine");
  EXPECT_EQ(own.fields.size(), 3u);  // date, x-stamp, server
}

TEST_F(http_dispatcher, asks_filters_before_handlers_and_before_answers) {
  EXPECT_EQ(ask("GET", "/nowhere").text("x-stamp"), "yes");
  front_door.is_open = false;
  get.parameter.clear();
  const auto shut = ask("GET", "/page/one");
  EXPECT_EQ(shut.status, status_code::forbidden);
  EXPECT_EQ(shut.text("x-stamp"), "yes");
  EXPECT_EQ(get.parameter, "");
  EXPECT_EQ(front_door.asked, 2u);
}

}  // namespace
