// docs/examples/lines.hpp - GET /lines/{count}: that many numbered lines, made as the peer takes them.
//
// Shape    a pulled body: the carrier asks for the next block when the peer has room for it, and not before.
// Memory   where an answer has got to (a `place`, of a pool), whatever its size; what is on its way to the peer is the
//          carrier's, and bounded by it.
// Errors   make(): no memory. More answers at a time than places: 503.
// Threads  one lcore; one object each. Tests  test/examples/handlers_test.cpp
#pragma once

#include <algorithm>
#include <charconv>
#include <memory>

#include "http/wire/field.hpp"
#include "mem/object_pool.hpp"
#include "service/builtin.hpp"

namespace millrace::examples {

class lines final : public http::exchange_handler {
  struct place {
    buf::mbuf_source blocks;
    std::uint64_t next = 0, end = 0;
    std::array<char, 21> text{};  // of the line that is being sent: 20 digits and its end
    std::uint8_t size = 0, at = 0;
  };
  mem::object_pool<place> places_;

 public:
  explicit lines(mem::object_pool<place> places) noexcept : places_(std::move(places)) {}

  // `at_a_time`: answers that are being sent.
  [[nodiscard]] static base::result<std::unique_ptr<lines>> make(std::uint32_t at_a_time) {
    auto places = mem::object_pool<place>::make("example_lines", at_a_time);
    if (!places) return places.error();
    return std::make_unique<lines>(std::move(places.value()));
  }
  [[nodiscard]] service::route route() noexcept { return {http::wire::method::get, "/lines/{count}", this}; }
  [[nodiscard]] bool is_whole() noexcept { return places_.is_whole(); }

  void on_request(http::exchange& x) noexcept override {
    std::uint64_t count = 0;
    if (!http::wire::parse_decimal(x.route->parameter("count"), count)) {
      static_cast<void>(x.respond({http::wire::status_code::not_found, {}}, {}));
      return;
    }
    place* const p = places_.get();
    if (p == nullptr) {
      static_cast<void>(x.respond({http::wire::status_code::service_unavailable, {}}, {}));
      return;
    }
    p->blocks = x.blocks();
    p->end = count;
    x.user = p;  // before respond(), which may end the exchange for want of memory
    const http::field fields[] = {{"content-type", "text/plain"}};
    static_cast<void>(x.respond({http::wire::status_code::ok, fields}, http::pulled_body{{p, pull}, std::nullopt}));
  }
  void on_end(http::exchange& x, http::exchange_end) noexcept override {
    places_.give(static_cast<place*>(std::exchange(x.user, nullptr)));  // nullptr is nothing
  }

 private:
  // One block, or as much of one as the peer has room for: at least a byte, or the answer would stand still, because
  // `not_yet` means that wake() will say when to go on. Called while a packet is built: it makes bytes, and calls
  // nothing of the exchange's.
  static buf::pull_status pull(void* context, std::uint32_t most, buf::packet& out) noexcept {
    place& p = *static_cast<place*>(context);
    if (p.at == p.size && p.next == p.end) return buf::pull_status::end;
    buf::packet block{p.blocks.alloc()};
    if (!block) return buf::pull_status::no_memory;  // asked again later
    const std::uint32_t room = std::min<std::uint32_t>(most, p.blocks.data_room());
    while (block.length() < room) {
      if (p.at == p.size) {
        if (p.next == p.end) break;
        char* const end = std::to_chars(p.text.data(), p.text.data() + p.text.size() - 1, p.next++).ptr;
        *end = '\n';
        p.size = static_cast<std::uint8_t>(end + 1 - p.text.data());
        p.at = 0;
      }
      const std::size_t part = std::min<std::size_t>(p.size - p.at, room - block.length());
      if (!block.append_copy(base::as_bytes({p.text.data() + p.at, part}))) break;
      p.at = static_cast<std::uint8_t>(p.at + part);
    }
    out = std::move(block);
    return buf::pull_status::block;
  }
};

}  // namespace millrace::examples
