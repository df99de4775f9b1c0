// loadgen/quic_client.hpp - what load generators over QUIC have in common: an endpoint of their own behind a loop, how
// connections are begun and closed, and why the last one was lost.
//
// Shape    make(); connect() for each connection, `by` is told of everything; service() gets the loop's calls.
// Owner    engine, endpoint and service are inside. `by` outlives the object, as its connections tell it of their end.
// Errors   make(): no CPU, no random bytes, no memory.
// Threads  one lcore; last_loss() and the endpoint's counters from anywhere.
// Tests    test/loadgen/hq_load_test.cpp, test/loadgen/srmp_quic_load_test.cpp
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "pipeline/quic_service.hpp"

namespace millrace::loadgen {

inline constexpr std::uint64_t quic_look_ns = 1'000'000;     // how often connections are looked after
inline constexpr std::uint64_t quic_retry_ns = 200'000'000;  // between attempts to connect

// How a connection that was lost ended.
struct quic_loss {
  quic::conn::connection_end end;
  const char* text = "";  // why we closed it; lives for ever
};

struct quic_terms {  // of every connection
  base::endpoint target;
  base::ip_address source;  // ours; family none: what the host would choose for the target
  std::uint16_t interface = 0;
  std::string server_name;  // SNI, and what the certificate must say where that is checked
  quic::wire::version_number version = quic::wire::version_1;  // a Version Negotiation may change it
  std::shared_ptr<const tls::client_context> tls;
};

class quic_client {
  struct passkey {};

 public:
  struct extras {  // of one connection; views are read at once
    std::uint16_t port = 0;
    base::byte_view session, token;  // of a connection before; empty: none
    bool early_data = false;
  };

  [[nodiscard]] static base::result<std::unique_ptr<quic_client>> make(
      quic_terms terms, const quic::endpoint::endpoint_settings& settings, mem::packet_pool& pool,
      quic::conn::application& by);
  quic_client(passkey, quic_terms terms, quic::conn::application& by) noexcept : terms_(std::move(terms)), by_(by) {}

  // nullptr: we have no address yet, or every place is taken (by connections that are closed and still remembered).
  [[nodiscard]] quic::conn::connection* connect(const extras& more, pipeline::service_turn& turn) noexcept;
  // Ends all connections without a word; `by` is told. What remains is last_loss(). Before `by` goes.
  void end() noexcept;
  // Says goodbye.
  void close(quic::conn::connection& c, std::uint64_t now_ns) noexcept;
  // Of one that we did not close. True: the server named a version that we speak, and the next connection speaks it;
  // false: it is lost, and remembered as the last one that was.
  bool take_end(quic::conn::connection& c, const quic::conn::connection_end& end) noexcept;

  // Our address as of the last connect(); family none before.
  [[nodiscard]] const base::ip_address& source() const noexcept { return source_; }
  // Of the connection that was lost last; none: no connection was.
  [[nodiscard]] std::optional<quic_loss> last_loss() const noexcept;
  [[nodiscard]] quic::endpoint::quic_endpoint& endpoint() noexcept { return *endpoint_; }
  [[nodiscard]] const quic::endpoint::quic_endpoint& endpoint() const noexcept { return *endpoint_; }
  [[nodiscard]] pipeline::quic_service& service() noexcept { return *service_; }
  [[nodiscard]] const pipeline::quic_service& service() const noexcept { return *service_; }

 private:
  quic_terms terms_;
  quic::conn::application& by_;
  bool negotiated_ = false;  // the version is what a Version Negotiation packet led to
  base::ip_address source_;
  std::unique_ptr<crypto::engine> engine_;
  std::unique_ptr<quic::endpoint::quic_endpoint> endpoint_;
  std::unique_ptr<pipeline::quic_service> service_;
  stats::counter loss_reason_, loss_code_, loss_text_;  // loss_reason_: 0 none, else 2 * reason + from_application + 1
};

}  // namespace millrace::loadgen
