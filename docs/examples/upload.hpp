// docs/examples/upload.hpp - PUT /upload/{name...}: a body into a store that takes bytes when it can.
//
// Shape    what the store has no room for is left where it is: bytes that are not consumed give the peer no credit, so
//          it stops sending when its window is full. go_on() when the store has room again; it is asked in turns.
// Memory   a `transfer` of a pool for each upload; bytes wait in the connection, its window at most.
// Answers  201 and how many bytes came; 413 beyond `most_bytes`, said or sent; 503 when all transfers are in use.
// Owner    the store is the caller's and outlives the handler. Errors  make(): no memory.
// Threads  one lcore; one object each. Tests  test/examples/handlers_test.cpp
#pragma once

#include <algorithm>
#include <memory>

#include "http/chain_sink.hpp"
#include "json/writer.hpp"
#include "mem/object_pool.hpp"
#include "service/builtin.hpp"

namespace millrace::examples {

// Where bytes go: a ring to another lcore, say. Called on the handler's lcore, and never waits.
class store {
 public:
  store() noexcept = default;
  store(const store&) = delete;
  store& operator=(const store&) = delete;
  virtual ~store() = default;
  [[nodiscard]] virtual std::size_t room() noexcept = 0;
  virtual void put(std::string_view name, base::byte_view bytes) noexcept = 0;  // at most room() of them, copied
};

class upload final : public http::exchange_handler {
  struct transfer {
    http::exchange* x = nullptr;
    std::uint64_t bytes = 0;
    bool waits = false;  // in the list of those that the store had no room for
    transfer *next = nullptr, *previous = nullptr;
  };
  store& to_;
  std::uint64_t most_bytes_;
  mem::object_pool<transfer> transfers_;
  transfer* first_ = nullptr;  // of those that wait
  transfer* last_ = nullptr;

 public:
  upload(store& to, std::uint64_t most_bytes, mem::object_pool<transfer> transfers) noexcept
      : to_(to), most_bytes_(most_bytes), transfers_(std::move(transfers)) {}

  [[nodiscard]] static base::result<std::unique_ptr<upload>> make(store& to, std::uint64_t most_bytes,
                                                                  std::uint32_t at_a_time) {
    auto transfers = mem::object_pool<transfer>::make("example_upload", at_a_time);
    if (!transfers) return transfers.error();
    return std::make_unique<upload>(to, most_bytes, std::move(transfers.value()));
  }
  [[nodiscard]] service::route route() noexcept { return {http::wire::method::put, "/upload/{name...}", this}; }
  [[nodiscard]] bool is_whole() noexcept { return transfers_.is_whole(); }

  // The store has room: from whatever empties it, on this lcore, outside of this handler's own calls.
  void go_on() noexcept {
    // Those that find none again go to the end of the list, so this ends with the last that waits now.
    transfer* const last = last_;
    while (first_ != nullptr && to_.room() != 0) {
      transfer& t = *first_;
      const bool is_last = &t == last;
      forget(t);
      on_body(*t.x);  // `t` may be gone
      if (is_last) return;
    }
  }

  void on_request(http::exchange& x) noexcept override {
    if (x.request().content_length.value_or(0) > most_bytes_)
      return refuse(x, http::wire::status_code::content_too_large);
    transfer* const t = transfers_.get();
    if (t == nullptr) return refuse(x, http::wire::status_code::service_unavailable);
    t->x = &x;
    x.user = t;
  }
  void on_body(http::exchange& x) noexcept override {
    auto* const t = static_cast<transfer*>(x.user);
    if (t == nullptr) return;  // refused
    while (!x.front().empty()) {
      const std::size_t part = std::min(x.front().size(), to_.room());
      if (part == 0) return wait(*t);
      if (part > most_bytes_ - t->bytes) {
        x.user = nullptr;
        forget(*t);
        transfers_.give(t);
        return refuse(x, http::wire::status_code::content_too_large);
      }
      // The path's end, which is the name; `route` is gone by now, and the request's texts are not.
      to_.put(x.request().path.substr(sizeof("/upload/") - 1), x.front().first(part));
      t->bytes += part;
      x.consume(part);
    }
  }
  void on_body_end(http::exchange& x, std::span<const http::field>) noexcept override {
    const auto* const t = static_cast<const transfer*>(x.user);
    if (t == nullptr) return;
    http::chain_sink text(x.blocks());
    json::writer w(text);
    w.begin_object();
    w.member("bytes", t->bytes);
    w.end_object();
    static_cast<void>(w.end_document());
    const http::field fields[] = {{"content-type", "application/json"}};
    static_cast<void>(x.respond({http::wire::status_code::created, fields}, text.take()));
  }
  // Always comes, whatever happened, and is the last: the place to give back what the exchange had.
  void on_end(http::exchange& x, http::exchange_end) noexcept override {
    auto* const t = static_cast<transfer*>(std::exchange(x.user, nullptr));
    if (t == nullptr) return;
    forget(*t);
    transfers_.give(t);
  }

 private:
  void refuse(http::exchange& x, http::wire::status_code status) noexcept {
    x.refuse_body();  // or the peer would go on sending
    static_cast<void>(x.respond({status, {}}, {}));
  }
  void wait(transfer& t) noexcept {
    if (std::exchange(t.waits, true)) return;
    t.previous = std::exchange(last_, &t);
    (t.previous == nullptr ? first_ : t.previous->next) = &t;
    t.next = nullptr;
  }
  void forget(transfer& t) noexcept {
    if (!std::exchange(t.waits, false)) return;
    (t.previous == nullptr ? first_ : t.previous->next) = t.next;
    (t.next == nullptr ? last_ : t.next->previous) = t.previous;
  }
};

}  // namespace millrace::examples
