// loadgen/fetch_load.hpp - clients that fetch bodies over QUIC, as a service of a loop; hq_load and h3_load say how a
// body is asked for.
//
// Shape    hq_load::make(settings) or h3_load::make(settings); open_on(loop); the loop does the rest. Each connection
// keeps `window` requests in flight;
//          when one ends the next is asked for, until so many were, or so long, or it is told to stop; then it waits
//          for those in flight. With `requests_each`, a connection is closed after so many and another one is begun:
//          that is how handshakes are counted.
// Moves    with `migrate_every_ns` a connection goes on from another of its ports, as a client behind a new address.
// Version  a server that answers with Version Negotiation is asked again in a version of its list that we speak.
// Checks   of a body whose size is known (/bytes/N) every byte count, and of each received piece its first bytes
//          against the pattern; the AEAD vouches for the rest.
// Latency  ns from the request's first packet being asked for to the body's last byte.
// Owner    the object; the loop it is opened on must not outlive it. Memory is taken in make().
// Errors   make(): what of the settings cannot work. Everything else is counted.
// Threads  one lcore; is_done(), figures(), last_loss(), events() and latency() from anywhere.
// Tests    test/loadgen/hq_load_test.cpp, test/loadgen/h3_load_test.cpp
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loadgen/fetch_settings.hpp"
#include "loadgen/quic_client.hpp"
#include "stats/latency_histogram.hpp"

namespace millrace::pipeline {
class service_loop;
}

namespace millrace::loadgen {

class fetch_load : public pipeline::udp_service, private quic::endpoint::client_memory {
 public:
  ~fetch_load() override = default;

  // Before the loop runs.
  base::outcome open_on(pipeline::service_loop& loop);

  void on_datagrams(std::span<const pipeline::udp_arrival> arrivals, pipeline::service_turn& turn) noexcept override;
  [[nodiscard]] std::uint64_t due_ns() const noexcept override;
  void on_time(pipeline::service_turn& turn) noexcept override;
  void on_stop(pipeline::service_turn& turn) noexcept override;
  [[nodiscard]] bool is_finished() const noexcept override { return phase() == phases::finished; }

  [[nodiscard]] bool is_done() const noexcept { return is_finished(); }
  [[nodiscard]] fetch_figures figures() const noexcept;
  // Of the connection that was lost last; none: no connection was.
  [[nodiscard]] std::optional<quic_loss> last_loss() const noexcept { return client_->last_loss(); }
  [[nodiscard]] const stats::latency_histogram& latency() const noexcept { return latency_; }
  [[nodiscard]] const fetch_settings& settings() const noexcept { return settings_; }
  [[nodiscard]] const quic::conn::counters& events() const noexcept { return endpoint().events(); }
  [[nodiscard]] const quic::endpoint::quic_endpoint& endpoint() const noexcept { return client_->endpoint(); }
  // Every pool has back what it lent. On the load's lcore.
  [[nodiscard]] bool is_whole() noexcept {
    return client_->endpoint().is_whole() && requests_->is_whole() && is_protocol_whole();
  }

 protected:
  struct caller {  // one of settings_.connections
    quic::conn::connection* connection = nullptr;
    std::uint64_t next_try_ns = 0;
    std::uint64_t begun = 0;  // requests of the connection there is
    std::uint64_t in_flight = 0;
    std::uint64_t bytes = 0;         // received since the last key update
    std::uint64_t next_move_ns = 0;  // 0: there is no connection yet
    std::uint16_t moves = 0;         // of this connection
    std::uint16_t which = 0;
    bool closing = false;  // by us
  };
  struct request {
    caller* of = nullptr;
    std::uint64_t begun_ns = 0;
    std::uint64_t got = 0;
    bool ended = false;
    bool refused = false;  // by a status
  };
  struct tallies {
    stats::counter answered, connections, established, lost_connections, begun, whole, short_bodies, failed, wrong,
        bytes, in_flight, first_ns, last_ns;
  };

  explicit fetch_load(const fetch_settings& settings);
  // Makes the client, whose connections report to `by`, and the requests.
  base::outcome prepare(mem::packet_pool& pool, quic::conn::application& by);

  // --- what derives ---
  // Asks for one body. False: not now, the peer or a pool has no room; nothing was begun.
  [[nodiscard]] virtual bool begin(caller& who, request& r) noexcept = 0;
  [[nodiscard]] virtual bool is_protocol_whole() noexcept { return true; }

  // --- what it tells ---
  void connected(caller& who) noexcept;
  void may_ask(caller& who) noexcept { ask(who); }
  void got(caller& who, request& r, base::byte_view bytes) noexcept;  // some of the body, before it is consumed
  void ended(request& r, bool whole) noexcept;                        // once counts
  void gone(request& r) noexcept;                                     // nothing more of it comes: it is given back
  void lost(caller& who, const quic::conn::connection_end& end) noexcept;
  [[nodiscard]] caller* find(const quic::conn::connection& c) noexcept;

  [[nodiscard]] std::uint64_t now_ns() const noexcept { return now_ns_; }
  [[nodiscard]] quic_client& client() noexcept { return *client_; }
  void end() noexcept {  // before what derives goes: its connections tell it of their end
    if (client_) client_->end();
  }

 private:
  enum class phases : std::uint8_t { waiting, running, draining, closing, finished };
  void on_session(quic::conn::connection&, base::byte_view session) noexcept override;
  void on_token(quic::conn::connection&, base::byte_view token) noexcept override;

  [[nodiscard]] phases phase() const noexcept { return static_cast<phases>(phase_.get()); }
  void enter(phases next) noexcept { phase_.set(static_cast<std::uint64_t>(next)); }
  void step(pipeline::service_turn& turn) noexcept;
  void connect(caller& who, pipeline::service_turn& turn) noexcept;
  void move_on(caller& who) noexcept;
  [[nodiscard]] std::uint16_t port_of(const caller& who) const noexcept;
  void ask(caller& who) noexcept;
  [[nodiscard]] bool may_begin() const noexcept;

  fetch_settings settings_;
  std::unique_ptr<quic_client> client_;
  std::unique_ptr<mem::object_pool<request>> requests_;
  std::vector<caller> callers_;
  std::vector<std::uint8_t> session_, token_;
  std::size_t session_size_ = 0, token_size_ = 0;
  std::uint64_t now_ns_ = 0;
  std::uint64_t end_ns_ = UINT64_MAX;
  std::uint64_t patience_until_ns_ = 0;
  std::uint64_t drain_until_ns_ = UINT64_MAX;  // what is in flight then is given up
  std::uint64_t next_look_ns_ = 0;
  std::uint64_t begun_ = 0;
  std::uint64_t in_flight_ = 0;
  std::uint32_t open_ = 0;  // connections
  stats::counter phase_;
  tallies count_;
  stats::latency_histogram latency_;
};

}  // namespace millrace::loadgen
