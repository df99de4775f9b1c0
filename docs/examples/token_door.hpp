// docs/examples/token_door.hpp - filters: one in front of all handlers, one behind all answers.
//
// Shape    token_door among a dispatcher's `before`: 401 to a request without the token.
//          no_sniffing among its `after`: a field on every answer.
// Owner    the token's text is the caller's and outlives the door. Threads  one lcore; one object each.
// Source   RFC 6750 2.1, 3. Tests  test/examples/handlers_test.cpp
#pragma once

#include "http/dispatcher.hpp"

namespace millrace::examples {

class token_door final : public http::request_filter {
  std::string_view token_;

 public:
  explicit token_door(std::string_view token) noexcept : token_(token) {}

  bool on_request(http::exchange& x) noexcept override {
    constexpr std::string_view scheme = "Bearer ";
    const std::string_view said = http::find(x.request().fields, "authorization").value_or("");
    if (said.starts_with(scheme) && is_token(said.substr(scheme.size()))) return true;  // the next one is asked
    const http::field fields[] = {{"www-authenticate", "Bearer"}};
    if (x.request().has_body) x.refuse_body();
    static_cast<void>(x.respond({http::wire::status_code::unauthorized, fields}, {}));
    return false;  // answered: nobody else is
  }

 private:
  // In a time that does not tell how much of it is right.
  [[nodiscard]] bool is_token(std::string_view said) const noexcept {
    if (said.size() != token_.size()) return false;
    unsigned differs = 0;
    for (std::size_t i = 0; i < said.size(); ++i) differs |= static_cast<unsigned char>(said[i] ^ token_[i]);
    return differs == 0;
  }
};

class no_sniffing final : public http::response_filter {
 public:
  void on_response(http::exchange&, http::response_head&, extra_fields& extra) noexcept override {
    static_cast<void>(extra.push_back({"x-content-type-options", "nosniff"}));  // no room: others have decided
  }
};

}  // namespace millrace::examples
