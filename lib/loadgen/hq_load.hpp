// loadgen/hq_load.hpp - clients of an hq-interop server, as a service of a loop: connections that fetch bodies.
//
// Shape    make(settings); open_on(loop); the loop does the rest. Each connection keeps `window` requests in flight;
// when
//          one ends the next is asked for, until so many were, or so long, or it is told to stop; then it waits for
//          those in flight. With `requests_each`, a connection is closed after so many and another one is begun: that
//          is how handshakes are counted.
// Checks   of a body whose size is known (/bytes/N) every byte count, and of each received piece its first bytes
// against
//          hq_pattern; the AEAD vouches for the rest.
// Latency  ns from the request's first packet being asked for to the body's last byte.
// Owner    the object; the loop it is opened on must not outlive it. Memory is taken in make().
// Errors   make(): what of the settings cannot work. Everything else is counted.
// Threads  one lcore; is_done(), figures() and latency() from anywhere.
// Tests    test/loadgen/hq_load_test.cpp
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pipeline/quic_service.hpp"
#include "stats/latency_histogram.hpp"

namespace millrace::pipeline {
class service_loop;
}

namespace millrace::loadgen {

struct hq_settings {
  base::endpoint target;
  base::ip_address source;  // ours; family none: what the host would choose for the target
  std::string server_name;  // SNI, and what the certificate must say where that is checked
  std::uint16_t first_port = 49152;
  std::uint16_t connections = 1;
  std::uint16_t window = 1;         // requests in flight of one connection
  std::uint64_t requests = 0;       // of all; 0: until time is up
  std::uint64_t requests_each = 0;  // of one connection, which then ends and is followed by another; 0: no end
  std::uint64_t duration_ns = 0;
  std::string path = "/bytes/1000000";
  std::uint64_t expected_bytes = 0;  // of each body; 0: not known
  bool checks_pattern = false;
  bool resumes = false;     // connections after the first use its ticket and token
  bool early_data = false;  // and send their first requests as 0-RTT
  quic::wire::version_number version = quic::wire::version_1;
  std::uint64_t update_keys_every = 0;         // bytes received by a connection; 0: never
  std::uint64_t patience_ns = 10'000'000'000;  // for the first answer; then it gives up
  std::uint16_t interface = 0;
  quic::endpoint::endpoint_settings endpoint;
  std::shared_ptr<const tls::client_context> tls;
};

[[nodiscard]] base::outcome check(const hq_settings& settings);

// Once nothing is in flight: begun == whole + short_bodies + failed.
struct hq_figures {
  bool answered = false;
  std::uint64_t connections = 0;  // begun
  std::uint64_t established = 0;  // of those
  std::uint64_t resumed = 0;
  std::uint64_t early_accepted = 0;
  std::uint64_t lost_connections = 0;  // ended by the peer or by silence, not by us
  std::uint64_t begun = 0;             // requests
  std::uint64_t whole = 0;
  std::uint64_t short_bodies = 0;  // ended with another number of bytes than expected
  std::uint64_t failed = 0;        // reset, or their connection ended
  std::uint64_t wrong = 0;         // pieces that were not hq_pattern
  std::uint64_t bytes = 0;         // of bodies
  std::uint64_t in_flight = 0;
  std::uint64_t first_ns = 0;  // when measuring began, on the loop's clock; 0: not yet
  std::uint64_t last_ns = 0;   // of the last byte that came

  hq_figures& operator+=(const hq_figures& more) noexcept;
  [[nodiscard]] double seconds() const noexcept {
    return last_ns > first_ns ? static_cast<double>(last_ns - first_ns) / 1e9 : 0;
  }
};

class hq_load final : public pipeline::udp_service,
                      private quic::conn::application,
                      private quic::endpoint::client_memory {
  struct passkey {};

 public:
  [[nodiscard]] static base::result<std::unique_ptr<hq_load>> make(const hq_settings& settings, mem::packet_pool& pool);
  hq_load(passkey, const hq_settings& settings);
  ~hq_load() override;

  // Before the loop runs.
  base::outcome open_on(pipeline::service_loop& loop);

  void on_datagrams(std::span<const pipeline::udp_arrival> arrivals, pipeline::service_turn& turn) noexcept override;
  [[nodiscard]] std::uint64_t due_ns() const noexcept override;
  void on_time(pipeline::service_turn& turn) noexcept override;
  void on_stop(pipeline::service_turn& turn) noexcept override;
  [[nodiscard]] bool is_finished() const noexcept override { return phase() == phases::finished; }

  [[nodiscard]] bool is_done() const noexcept { return is_finished(); }
  [[nodiscard]] hq_figures figures() const noexcept;
  [[nodiscard]] const stats::latency_histogram& latency() const noexcept { return latency_; }
  [[nodiscard]] const hq_settings& settings() const noexcept { return settings_; }
  [[nodiscard]] const quic::conn::counters& events() const noexcept { return endpoint_->events(); }
  [[nodiscard]] const quic::endpoint::quic_endpoint& endpoint() const noexcept { return *endpoint_; }

 private:
  enum class phases : std::uint8_t { waiting, running, draining, closing, finished };
  struct caller {  // one of settings_.connections
    quic::conn::connection* connection = nullptr;
    std::uint64_t next_try_ns = 0;
    std::uint64_t begun = 0;  // requests of the connection there is
    std::uint64_t in_flight = 0;
    std::uint64_t bytes = 0;  // received since the last key update
    std::uint16_t which = 0;
    bool closing = false;  // by us
  };
  struct request {
    std::uint64_t begun_ns = 0;
    std::uint64_t got = 0;
    bool ended = false;
  };
  class line_source final : public quic::conn::send_source {
   public:
    std::string line;
    [[nodiscard]] unsigned borrow(std::uint64_t offset, std::size_t size,
                                  std::span<base::byte_view, quic::conn::most_source_parts> parts) noexcept override {
      parts[0] = base::as_bytes(std::string_view(line)).subspan(static_cast<std::size_t>(offset), size);
      return 1;
    }
    void released(std::uint64_t) noexcept override {}
  };
  struct tallies {
    stats::counter answered, connections, established, lost_connections, begun, whole, short_bodies, failed, wrong,
        bytes, in_flight, first_ns, last_ns;
  };

  // --- application, client_memory ---
  void on_early(quic::conn::connection& c) noexcept override;
  void on_established(quic::conn::connection& c) noexcept override;
  void on_streams_available(quic::conn::connection& c) noexcept override { ask(*static_cast<caller*>(c.user)); }
  void on_readable(quic::conn::connection& c, quic::conn::live_stream& s) noexcept override;
  void on_stream_closed(quic::conn::connection& c, quic::conn::live_stream& s) noexcept override;
  void on_closed(quic::conn::connection& c, const quic::conn::connection_end& end) noexcept override;
  void on_session(quic::conn::connection&, base::byte_view session) noexcept override;
  void on_token(quic::conn::connection&, base::byte_view token) noexcept override;

  [[nodiscard]] phases phase() const noexcept { return static_cast<phases>(phase_.get()); }
  void enter(phases next) noexcept { phase_.set(static_cast<std::uint64_t>(next)); }
  void step(pipeline::service_turn& turn) noexcept;
  void connect(caller& who, pipeline::service_turn& turn) noexcept;
  void ask(caller& who) noexcept;
  [[nodiscard]] bool may_begin() const noexcept;
  void read(quic::conn::connection& c, quic::conn::live_stream& s, request& r) noexcept;
  void finish_request(caller& who, request& r, bool whole) noexcept;

  hq_settings settings_;
  std::unique_ptr<crypto::engine> engine_;
  std::unique_ptr<quic::endpoint::quic_endpoint> endpoint_;
  std::unique_ptr<pipeline::quic_service> service_;
  std::unique_ptr<mem::object_pool<request>> requests_;
  line_source line_;
  std::vector<caller> callers_;
  std::vector<std::uint8_t> session_, token_;
  std::size_t session_size_ = 0, token_size_ = 0;
  std::uint64_t now_ns_ = 0;
  std::uint64_t end_ns_ = UINT64_MAX;
  std::uint64_t patience_until_ns_ = 0;
  std::uint64_t next_look_ns_ = 0;
  std::uint64_t begun_ = 0;
  std::uint64_t in_flight_ = 0;
  std::uint32_t open_ = 0;  // connections
  stats::counter phase_;
  tallies count_;
  stats::latency_histogram latency_;
};

}  // namespace millrace::loadgen
