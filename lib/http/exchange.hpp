// http/exchange.hpp - one request and its answer, whatever version of HTTP carries them; and who answers it.
//
//   handler: on_request -> on_body ... -> on_body_end          (as the request comes in)
//            respond()                                          whole, from content, or pulled: one call
//         or begin(), write() ... finish()                      made as it goes, told by on_writable()
//            on_end                                             always, once, the last call
//
// Shape    the head comes first, the body when it comes: the handler may answer at any time from on_request() on, also
//          before it has read the body, and also later, from whatever else happens on its lcore.
// Flow     request bytes that the handler does not take give the peer no credit; an answer is pulled, or written while
//          write() says `open`, as the peer acknowledges it. Neither side ever queues more than its limit.
// Owner    the exchange belongs to its carrier and dies after on_end(). `user` is the handler's. What a body names
//          (message.hpp) stays with the handler until on_end().
// Errors   a peer that goes away, or resets: on_end() with why; calls after that do not happen. respond() and begin()
//          count once: a second one is a bug of the handler's (asserted), in release builds it is refused.
// Threads  one lcore. Source  RFC 9110 3.4 7. Tests  test/http/exchange_test.cpp
#pragma once

#include "base/assert.hpp"
#include "base/fixed_vector.hpp"
#include "buf/mbuf_source.hpp"
#include "buf/pipe.hpp"
#include "http/message.hpp"
#include "http/router.hpp"

namespace millrace::http {

class exchange;

enum class exchange_end : std::uint8_t {
  complete,    // request read or refused, answer sent and acknowledged
  peer_reset,  // it gave up sending, or stopped reading
  aborted,     // exchange::abort(), or a source that failed
  malformed,   // the request broke a rule; the carrier has answered for us where one can
  timed_out,   // a request that came too slowly, an answer that was not taken
  connection_lost,
};

class exchange_handler {
 public:
  exchange_handler() noexcept = default;
  exchange_handler(const exchange_handler&) = delete;
  exchange_handler& operator=(const exchange_handler&) = delete;
  virtual ~exchange_handler() = default;

  virtual void on_request(exchange&) noexcept = 0;
  // There is something in front() that was not there before.
  virtual void on_body(exchange&) noexcept {}
  // All of the body was taken by the handler, and no more comes; also where there was none. `trailers` live until it
  // returns.
  virtual void on_body_end(exchange&, std::span<const field>) noexcept {}
  // A write() that said `paused` may go on.
  virtual void on_writable(exchange&) noexcept {}
  virtual void on_end(exchange&, exchange_end) noexcept {}
};

// What is put before every answer: looked at once, when its head is about to be written.
class response_filter {
 public:
  using extra_fields = base::fixed_vector<field, 8>;

  response_filter() noexcept = default;
  response_filter(const response_filter&) = delete;
  response_filter& operator=(const response_filter&) = delete;
  virtual ~response_filter() = default;

  // May change the status and add fields, whose texts live until respond() or begin() returns: the carrier has written
  // the head by then.
  virtual void on_response(exchange&, response_head& head, extra_fields& extra) noexcept = 0;
};

class exchange {
  bool answered_ = false;

 protected:
  request_head request_;

  exchange() noexcept = default;
  ~exchange() = default;
  [[nodiscard]] bool is_answered() const noexcept { return answered_; }

 public:
  exchange_handler* handler = nullptr;  // whose calls these are; a dispatcher sets the one it has found
  response_filter* filter = nullptr;    // the dispatcher's
  const route_match* route = nullptr;   // during on_request(), behind a dispatcher
  void* user = nullptr;

  exchange(const exchange&) = delete;
  exchange& operator=(const exchange&) = delete;

  [[nodiscard]] const request_head& request() const noexcept { return request_; }
  [[nodiscard]] virtual std::uint64_t now_ns() const noexcept = 0;  // of the call that is running

  // --- the request's body ---
  // The bytes that can be read at once; empty: none yet, or is_body_over().
  [[nodiscard]] virtual base::byte_view front() const noexcept = 0;
  virtual void consume(std::size_t bytes) noexcept = 0;  // at most front().size(); the peer may send as many more
  // All of front(), with a reference of its own; consumed. Its bytes are given out once: whoever takes them may change
  // them where they lie, though others hold other bytes of the same packet.
  [[nodiscard]] virtual buf::slice take() noexcept = 0;
  [[nodiscard]] virtual bool is_body_over() const noexcept = 0;
  // The rest is not wanted: it is dropped as it comes, or the peer is told to stop (RFC 9114 4.1.1).
  virtual void refuse_body() noexcept = 0;

  // --- the answer ---
  // Blocks for a chain that is to be sent; from the carrier's lcore.
  [[nodiscard]] virtual const buf::mbuf_source& blocks() const noexcept = 0;
  // 1xx (RFC 9110 15.2), before the answer.
  virtual void inform(const response_head& head) noexcept = 0;
  // Content-Length is added where the body's size is known and the status has content; a HEAD request gets the head
  // that GET would. False: no memory (the exchange is aborted), or answered before.
  bool respond(response_head head, body&& what) noexcept {
    return begin_answer() && send(filtered(head), std::move(what), true);
  }
  bool begin(response_head head, std::optional<std::uint64_t> size = std::nullopt) noexcept {
    return begin_answer() && send(filtered(head), pulled_body{{}, size}, false);
  }
  // Takes all of it, whatever it answers; `closed`: the exchange is over, what was written is freed.
  virtual buf::flow write(buf::chain&& part) noexcept = 0;
  virtual void finish(std::span<const field> trailers) noexcept = 0;
  // A pulled body's source that had nothing has some.
  virtual void wake() noexcept = 0;
  // Gives up with RFC 9114's H3_INTERNAL_ERROR, or by closing an HTTP/1.1 connection: no answer looks complete.
  virtual void abort() noexcept = 0;

 protected:
  // `is_whole` false: what follows comes by write() and finish().
  virtual bool send(const response_head& head, body&& what, bool is_whole) noexcept = 0;
  response_filter::extra_fields extra_;  // to be written behind head.fields

 private:
  bool begin_answer() noexcept {
    MILLRACE_ASSERT(!answered_);
    return !std::exchange(answered_, true);
  }
  response_head& filtered(response_head& head) noexcept {
    if (filter != nullptr) filter->on_response(*this, head, extra_);
    return head;
  }
};

}  // namespace millrace::http
