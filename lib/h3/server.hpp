// h3/server.hpp - HTTP/3, the serving side, of one lcore: requests of all its connections to one handler.
//
// Shape    auto s = server::make(settings, root, blocks); s->serve_on(endpoint). `root` gets every request, and mostly
//          is a dispatcher that hands it to the handler of its path (http/exchange.hpp). An exchange is an object of a
//          pool, from its stream's first event until both directions are over.
// Answers  of our own: 431 to a head beyond the limit, 400 to a path that cannot be looked up, 503 when no memory is
//          left for a head. A malformed request is a stream error (H3_MESSAGE_ERROR), without asking the handler.
// Early    an answer may be complete before its request is: what then still comes of the body is read by its handler;
//          what it leaves in front is refused once the answer is acknowledged (RFC 9114 4.1.1).
// Tunnels  CONNECT, plain and extended (RFC 9220 3): the handler answers begin(200), both ways stay open: front() and
//          write(), until finish() and the peer's end.
// Owner    handler, pool of blocks and endpoint are the caller's; the endpoint dies first, then the server.
// Limits   settings. Errors  make(): what is missing. Threads  one lcore; counters may be read from anywhere.
// Source   RFC 9114, RFC 9204, RFC 9218, RFC 9220. Tests  test/h3/server_test.cpp, attack_test.cpp
#pragma once

#include "h3/server_exchange.hpp"

namespace millrace::h3 {

class server final : public carrier {
  http::exchange_handler& root_;
  mem::object_pool<server_exchange> exchanges_;
  stats::latency_histogram latency_;

  server(const settings& s, http::exchange_handler& root, const buf::mbuf_source& blocks, parts of,
         mem::object_pool<server_exchange> exchanges) noexcept;
  [[nodiscard]] message* begin(link& l, live_stream& s) noexcept override;
  void give(message& m) noexcept override;

 public:
  // `blocks` (of 2 KiB, say): what heads and copied bodies are written into until they are acknowledged.
  [[nodiscard]] static base::result<std::unique_ptr<server>> make(const settings& s, http::exchange_handler& root,
                                                                  const buf::mbuf_source& blocks);
  ~server() override;
  // Makes it the endpoint's application for ALPN h3.
  base::outcome serve_on(quic::endpoint::quic_endpoint& endpoint);

  [[nodiscard]] http::exchange_handler& root() const noexcept { return root_; }
  [[nodiscard]] std::uint32_t open_exchanges() const noexcept;
  [[nodiscard]] std::size_t memory_bytes() const noexcept;
  // From any lcore.
  void list(mem::pool_listing& to) const noexcept;
  // Of requests that were answered whole: from their first byte until the peer had acknowledged the last one.
  [[nodiscard]] const stats::latency_histogram& latency() const noexcept { return latency_; }
};

}  // namespace millrace::h3
