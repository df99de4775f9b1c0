// test/http/scripted_exchange.hpp - an exchange without a carrier: a test says what the request is, and reads what was
// answered.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "http/exchange.hpp"

namespace millrace::test {

class scripted_exchange final : public http::exchange {
 public:
  struct answer {
    http::wire::status_code status{};
    std::vector<std::pair<std::string, std::string>> fields;
    bool is_whole = false;
    std::string text(std::string_view name) const {
      for (const auto& [n, v] : fields)
        if (n == name) return v;
      return "(none)";
    }
  };
  std::vector<answer> answers;
  bool is_refused = false, is_aborted = false;

  scripted_exchange(std::string_view method, std::string_view path, bool has_body = false,
                    std::string_view protocol = {}) {
    request_.protocol = protocol;
    request_.method = http::wire::parse_method(method);
    request_.method_name = method;
    request_.target = request_.path = path;
    request_.has_body = has_body;
  }
  std::uint64_t now_ns() const noexcept override { return 0; }
  base::byte_view front() const noexcept override { return {}; }
  void consume(std::size_t) noexcept override {}
  buf::slice take() noexcept override { return {}; }
  bool is_body_over() const noexcept override { return !request_.has_body; }
  void refuse_body() noexcept override { is_refused = true; }
  const buf::mbuf_source& blocks() const noexcept override { return blocks_; }
  void inform(const http::response_head&) noexcept override {}
  buf::flow write(buf::chain&&) noexcept override { return buf::flow::open; }
  void finish(std::span<const http::field>) noexcept override {}
  void wake() noexcept override {}
  void abort() noexcept override { is_aborted = true; }

 protected:
  bool send(const http::response_head& head, http::body&&, bool is_whole) noexcept override {
    answer& a = answers.emplace_back();
    a.status = head.status;
    a.is_whole = is_whole;
    for (const http::field& f : head.fields) a.fields.emplace_back(f.name, f.value);
    for (const http::field& f : extra_) a.fields.emplace_back(f.name, f.value);
    return true;
  }

 private:
  buf::mbuf_source blocks_;
};

}  // namespace millrace::test
