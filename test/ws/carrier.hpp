// test/ws/carrier.hpp - a tunnel without a network: what a client sends is a call, what a session writes is kept.
//
// Shape    open() hands an opening to a handler; send() brings a packet; text of `out` is what came back. abort(), and
// a
//          write() while `breaks`, end the exchange from inside the call, as HTTP/3 does when it has no memory.
// Owner    the test: end() or its destructor is the exchange's end.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "http/exchange.hpp"
#include "support/bytes.hpp"
#include "support/plain_pool.hpp"
#include "ws/wire/control.hpp"
#include "ws/wire/mask.hpp"

namespace millrace::test {

// A client's frame, masked as a client's must be.
inline byte_list ws_frame(unsigned first_byte, base::byte_view payload, bool is_masked = true,
                          std::uint32_t key = 0x44332211) {
  const ws::wire::frame_header h{.payload_size = payload.size(),
                                 .mask_key = key,
                                 .op = static_cast<ws::wire::opcode>(first_byte & 15),
                                 .fin = (first_byte & 0x80) != 0,
                                 .is_masked = is_masked};
  byte_list out(ws::wire::max_header_size);
  out.resize(ws::wire::emit_header(out.data(), h));
  out[0] = static_cast<std::uint8_t>(first_byte);  // reserved bits and opcodes too
  const std::size_t front = out.size();
  out.insert(out.end(), payload.begin(), payload.end());
  if (is_masked) ws::wire::mask(base::byte_span(out).subspan(front), key);
  return out;
}
inline byte_list ws_frame(unsigned first_byte, std::string_view payload) {
  return ws_frame(first_byte, base::as_bytes(payload));
}

class ws_carrier final : public http::exchange {
  buf::mbuf_source blocks_;
  std::vector<http::field> fields_;
  buf::chain in_;
  bool sent_all_ = false, told_all_ = false;

 public:
  unsigned status = 0;
  std::vector<std::pair<std::string, std::string>> answered;
  byte_list out;
  unsigned writes = 0;
  bool finished = false, aborted = false, refused = false, ended = false;
  bool takes = true;    // false: write() says paused
  bool breaks = false;  // a write() ends the exchange
  bool begins = true;   // false: begin() finds no memory

  explicit ws_carrier(const buf::mbuf_source& blocks) : blocks_(blocks) {}
  ~ws_carrier() { end(); }

  void open(http::exchange_handler& root, std::vector<http::field> opening = {{"sec-websocket-version", "13"}},
            std::string_view protocol = "websocket", bool is_early = false) {
    fields_ = std::move(opening);
    request_.method = http::wire::method::connect;
    request_.method_name = "CONNECT";
    request_.path = request_.target = "/ws";
    request_.protocol = protocol;
    request_.fields = fields_;
    request_.has_body = true;
    request_.is_early = is_early;
    handler = &root;
    root.on_request(*this);
  }
  void queue(base::byte_view packet) {
    buf::packet p{blocks_.alloc()};
    ASSERT_TRUE(p && p.append_copy(packet));
    ASSERT_TRUE(in_.append(std::move(p)));
  }
  void send(base::byte_view packet) {
    queue(packet);
    if (handler != nullptr) handler->on_body(*this);
    settle();
  }
  void send_end() {
    sent_all_ = true;
    settle();
  }
  void writable() {
    takes = true;
    handler->on_writable(*this);
    if (handler != nullptr) handler->on_body(*this);
    settle();
  }
  void settle() {
    if (sent_all_ && in_.empty() && !refused && handler != nullptr && !std::exchange(told_all_, true))
      handler->on_body_end(*this, {});
  }
  void end(http::exchange_end why = http::exchange_end::complete) {
    ended = true;
    in_.clear();
    if (auto* const last = std::exchange(handler, nullptr)) last->on_end(*this, why);
  }
  [[nodiscard]] std::size_t waiting() const noexcept { return in_.size(); }
  [[nodiscard]] std::string header(std::string_view name) const {
    for (const auto& [n, v] : answered)
      if (n == name) return v;
    return "(none)";
  }

  std::uint64_t now_ns() const noexcept override { return 7; }
  base::byte_view front() const noexcept override { return in_.front(); }
  void consume(std::size_t count) noexcept override { in_.consume(count); }
  buf::slice take() noexcept override {
    const std::size_t size = front().size();
    buf::slice taken = in_.share_slice(0, size);
    in_.consume(size);
    return taken;
  }
  bool is_body_over() const noexcept override { return sent_all_ && in_.empty(); }
  void refuse_body() noexcept override {
    refused = true;
    in_.clear();
  }
  const buf::mbuf_source& blocks() const noexcept override { return blocks_; }
  void inform(const http::response_head&) noexcept override {}
  buf::flow write(buf::chain&& part) noexcept override {
    EXPECT_FALSE(finished) << "written behind the end";
    EXPECT_FALSE(ended);
    if (breaks) {
      part.clear();
      end(http::exchange_end::aborted);
      return buf::flow::closed;
    }
    ++writes;
    for (; !part.empty(); part.consume(part.front().size()))
      out.insert(out.end(), part.front().begin(), part.front().end());
    part.clear();
    return takes ? buf::flow::open : buf::flow::paused;
  }
  void finish(std::span<const http::field>) noexcept override { finished = true; }
  void wake() noexcept override {}
  void abort() noexcept override {
    aborted = true;
    end(http::exchange_end::aborted);
  }

 private:
  bool send(const http::response_head& head, http::body&&, bool) noexcept override {
    if (!begins) {
      end(http::exchange_end::aborted);
      return false;
    }
    status = static_cast<unsigned>(head.status);
    for (const http::field& f : head.fields) answered.emplace_back(f.name, f.value);
    return true;
  }
};

}  // namespace millrace::test
