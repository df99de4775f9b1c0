// h3/client.hpp - HTTP/3, the asking side, of one lcore: requests on any of its connections, responses to observers.
//
// Shape    auto c = client::make(settings, blocks, &events); c->use(endpoint); then endpoint.connect() with
//          client_request.protocol = c.get(), and, once events.on_connected() came (or on_early(), for 0-RTT),
//              c->request(connection, {.fields = fields, .observer = &o}, now)
//          A request's fields are sent as they are, pseudo-header fields first: :method :scheme :authority :path.
// Flow     bytes of a response that are not consumed give the server no credit.
// Ends     on_end(), once, the last call. `rejected`: the server has not looked at it, it may be asked again elsewhere
//          (RFC 9114 5.2, 8.1). A server that stops reading a request's body does not end the response (4.1.1).
// Owner    observers, pool of blocks and endpoint are the caller's; the endpoint dies first. A client_request is the
//          client's, and good until on_end() returns. What a body names stays until then, too.
// Limits   settings: connections, exchanges, field_section_bytes, progress_ns.
// Threads  one lcore. Source  RFC 9114. Tests  test/h3/client_test.cpp
#pragma once

#include "h3/message.hpp"

namespace millrace::h3 {

class asked;

enum class request_end : std::uint8_t {
  complete,
  rejected,
  peer_reset,
  malformed,  // the response broke a rule
  cancelled,  // by cancel(), or for want of memory
  timed_out,
  connection_lost,
};

class response_observer {
 public:
  response_observer() noexcept = default;
  response_observer(const response_observer&) = delete;
  response_observer& operator=(const response_observer&) = delete;
  virtual ~response_observer() = default;

  virtual void on_interim(asked&, const response_fields&) noexcept {}  // 1xx; fields die with the call
  virtual void on_response(asked&) noexcept = 0;                       // asked::response() is there
  virtual void on_body(asked&) noexcept = 0;                           // something in front() that was not there before
  virtual void on_body_end(asked&, std::span<const http::field> /*trailers*/) noexcept {}
  virtual void on_writable(asked&) noexcept {}  // a write() that said `paused` may go on
  virtual void on_end(asked&, request_end) noexcept = 0;
};

// One request and its response.
class asked final : public message {
  response_fields response_;
  bool is_head_ = false;
  bool is_connect_ = false;

 public:
  response_observer* observer;
  void* user = nullptr;  // the caller's

  asked(link& l, live_stream& s, response_observer& o) noexcept : message(l, s), observer(&o) {}

  [[nodiscard]] const response_fields& response() const noexcept { return response_; }
  [[nodiscard]] quic::conn::connection& connection() const noexcept { return message::connection(); }
  [[nodiscard]] base::byte_view front() const noexcept { return message::front(); }
  void consume(std::size_t bytes) noexcept { message::consume(bytes); }
  [[nodiscard]] buf::slice take() noexcept { return message::take(); }
  [[nodiscard]] bool is_body_over() const noexcept { return is_body_over_; }
  // As http::exchange's.
  buf::flow write(buf::chain&& part) noexcept { return message::write(std::move(part)); }
  void finish(std::span<const http::field> trailers = {}) noexcept { message::finish(trailers); }
  void wake() noexcept { message::go_on(); }
  void cancel() noexcept { fail(wire::error::request_cancelled, ending::aborted); }

 private:
  friend class client;
  [[nodiscard]] bool send(std::span<const http::field> fields, http::body&& body, bool is_whole) noexcept;
  [[nodiscard]] bool on_head(section_reader& r) noexcept override;
  void on_body() noexcept override;
  void on_body_end(std::span<const http::field> trailers) noexcept override;
  void on_room() noexcept override;
  void on_end(ending why) noexcept override;
  void on_refused(section_errc why) noexcept override;
  [[nodiscard]] section_kind head_kind() const noexcept override { return section_kind::response; }
};

// What is told of connections.
class client_events {
 public:
  client_events() noexcept = default;
  client_events(const client_events&) = delete;
  client_events& operator=(const client_events&) = delete;
  virtual ~client_events() = default;
  virtual void on_early(quic::conn::connection&) noexcept {}
  virtual void on_connected(quic::conn::connection&) noexcept {}
  virtual void on_streams_available(quic::conn::connection&) noexcept {}
  virtual void on_closed(quic::conn::connection&, const quic::conn::connection_end&) noexcept {}
};

struct request_to_send {
  std::span<const http::field> fields;
  http::body body{};
  bool is_whole = true;  // false: the body comes by write() and finish()
  response_observer* observer = nullptr;
  void* user = nullptr;
};

class client final : public carrier {
  client_events* events_;
  mem::object_pool<asked> asked_;

  client(const settings& s, const buf::mbuf_source& blocks, parts of, mem::object_pool<asked> pool,
         client_events* events) noexcept
      : carrier(false, s, blocks, std::move(of)), events_(events), asked_(std::move(pool)) {}
  [[nodiscard]] message* begin(link& l, live_stream& s) noexcept override;
  void give(message& m) noexcept override;

 public:
  [[nodiscard]] static base::result<std::unique_ptr<client>> make(const settings& s, const buf::mbuf_source& blocks,
                                                                  client_events* events = nullptr);
  // The endpoint whose connections it uses: its clock runs there.
  base::outcome use(quic::endpoint::quic_endpoint& endpoint);

  // nullptr: the connection is closing or going away, the peer allows no more streams, or no memory is left; nothing
  // was sent, and no call comes.
  [[nodiscard]] asked* request(quic::conn::connection& c, request_to_send&& what, std::uint64_t now_ns) noexcept;
  [[nodiscard]] std::uint32_t open_requests() const noexcept { return asked_.in_use(); }

  void on_early(connection& c) noexcept override;
  void on_established(connection& c) noexcept override;
  void on_streams_available(connection& c) noexcept override;
  void on_closed(connection& c, const quic::conn::connection_end& e) noexcept override;
};

}  // namespace millrace::h3
