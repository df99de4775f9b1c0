// test/service/scripted_carrier.hpp - an exchange without a connection: what a handler says is written down, what a
// client sends is a call.
//
// Shape    begin("GET", "/path") hands the request to a handler; send() adds to its body; pull() takes what a pulled
//          body has, as a peer's credit would; text() is all of the answer's body that was taken.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "http/exchange.hpp"
#include "http/wire/field.hpp"
#include "mem/packet_pool.hpp"

namespace millrace::test {

class scripted_carrier final : public http::exchange {
  mem::packet_pool& pool_;
  buf::mbuf_source blocks_;
  std::string path_, query_;
  std::vector<http::field> fields_;
  buf::chain body_in_;
  bool sent_all_ = false, told_all_ = false;
  http::body body_;
  std::string text_;

 public:
  std::uint16_t status = 0;  // 0: not answered
  std::vector<std::pair<std::string, std::string>> answered;
  bool was_whole = false, is_finished = false, was_aborted = false, refused_body = false;
  bool takes = true;  // false: write() says paused
  std::uint64_t clock_ns = 0;
  std::uint64_t consumed = 0;

  explicit scripted_carrier(mem::packet_pool& pool) : pool_(pool), blocks_(pool) {}
  ~scripted_carrier() { end(); }

  void begin(http::exchange_handler& root, std::string_view method, std::string path,
             std::vector<http::field> fields = {}, bool has_body = false) {
    path_ = std::move(path);
    fields_ = std::move(fields);
    request_.method = http::wire::parse_method(method);
    request_.method_name = method;
    request_.path = request_.target = path_;
    request_.fields = fields_;
    request_.has_body = has_body;
    std::uint64_t length = 0;
    if (const auto text = http::find(fields_, "content-length"); text && http::wire::parse_decimal(*text, length))
      request_.content_length = length;
    handler = &root;
    root.on_request(*this);
    if (!has_body) send_end();  // the end is told also where there is no body
  }
  // Before begin().
  void query(std::string text) {
    query_ = std::move(text);
    request_.query = query_;
  }
  // One piece of the body, as a packet of its own, which the handler is not told of.
  void queue(std::string_view piece) {
    buf::packet p = buf::packet::alloc(pool_);
    ASSERT_TRUE(p && p.append_copy(base::as_bytes(piece)));
    ASSERT_TRUE(body_in_.append(std::move(p)));
  }
  void send(std::string_view piece) {
    queue(piece);
    handler->on_body(*this);
    settle();
  }
  void send_end() {
    sent_all_ = true;
    settle();
  }
  void settle() {
    if (sent_all_ && body_in_.empty() && !refused_body && !std::exchange(told_all_, true))
      handler->on_body_end(*this, {});
  }
  void writable() {
    handler->on_writable(*this);
    settle();
  }
  void end(http::exchange_end why = http::exchange_end::complete) {
    if (auto* const last = std::exchange(handler, nullptr)) last->on_end(*this, why);
  }

  // Up to `most` bytes of a body that is not sent by write(); answers how many.
  std::uint64_t pull(std::uint64_t most) {
    std::uint64_t got = 0;
    if (auto* const range = std::get_if<http::content_range>(&body_)) {
      while (got < most && range->size != 0) {
        const base::byte_view view =
            range->from->view(range->offset, static_cast<std::size_t>(std::min(range->size, most - got)));
        text_.append(reinterpret_cast<const char*>(view.data()), view.size());
        range->offset += view.size();
        range->size -= view.size();
        got += view.size();
      }
    } else if (auto* const pulled = std::get_if<http::pulled_body>(&body_); pulled != nullptr && was_whole) {
      while (got < most) {
        buf::packet block;
        const auto want = static_cast<std::uint32_t>(std::min<std::uint64_t>(most - got, 65'536));
        if (pulled->from.pull(pulled->from.context, want, block) != buf::pull_status::block) break;
        got += block.length();
        append(buf::chain(std::move(block)));
      }
    }
    return got;
  }
  // The same, and nobody keeps it.
  std::uint64_t pull_away(std::uint64_t most) {
    auto& pulled = std::get<http::pulled_body>(body_);
    std::uint64_t got = 0;
    while (got < most) {
      buf::packet block;
      const auto want = static_cast<std::uint32_t>(std::min<std::uint64_t>(most - got, 65'536));
      if (pulled.from.pull(pulled.from.context, want, block) != buf::pull_status::block) break;
      got += block.length();
    }
    return got;
  }
  std::string text() {
    pull(UINT64_MAX);
    return text_;
  }
  void forget_text() { text_.clear(); }
  [[nodiscard]] std::size_t waiting() const noexcept { return body_in_.size(); }
  [[nodiscard]] std::string header(std::string_view name) const {
    std::string all;
    for (const auto& [n, v] : answered)
      if (n == name) all += (all.empty() ? "" : ", ") + v;
    return all;
  }

  std::uint64_t now_ns() const noexcept override { return clock_ns; }
  base::byte_view front() const noexcept override { return body_in_.front(); }
  void consume(std::size_t bytes) noexcept override {
    body_in_.consume(bytes);
    consumed += bytes;
  }
  buf::slice take() noexcept override {
    const base::byte_view run = front();
    buf::slice out = body_in_.share_slice(0, run.size());
    body_in_.consume(run.size());
    consumed += run.size();
    return out;
  }
  bool is_body_over() const noexcept override { return sent_all_ && body_in_.empty(); }
  void refuse_body() noexcept override {
    refused_body = true;
    body_in_.clear();
  }
  const buf::mbuf_source& blocks() const noexcept override { return blocks_; }
  void inform(const http::response_head&) noexcept override {}
  buf::flow write(buf::chain&& part) noexcept override {
    append(std::move(part));
    return takes ? buf::flow::open : buf::flow::paused;
  }
  void finish(std::span<const http::field>) noexcept override { is_finished = true; }
  void wake() noexcept override {}
  void abort() noexcept override { was_aborted = true; }

 private:
  bool send(const http::response_head& head, http::body&& what, bool is_whole) noexcept override {
    status = static_cast<std::uint16_t>(head.status);
    for (const http::field& f : head.fields) answered.emplace_back(f.name, f.value);
    for (const http::field& f : extra_) answered.emplace_back(f.name, f.value);
    was_whole = is_whole;
    body_ = std::move(what);
    if (auto* const whole = std::get_if<buf::chain>(&body_)) append(std::move(*whole));
    return true;
  }
  void append(buf::chain&& bytes) {
    while (!bytes.empty()) {
      const base::byte_view run = bytes.front();
      text_.append(reinterpret_cast<const char*>(run.data()), run.size());
      bytes.consume(run.size());
    }
  }
};

}  // namespace millrace::test
