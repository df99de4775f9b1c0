// app/quic_server.hpp - QUIC of the appliance: what all lcores share, and what each has of its own.
//
// Shape    quic_shared: certificate, TLS context, keys, files, key log; made once. quic_server: crypto engine,
//          endpoint, applications and the loop's service, one a lcore.
// Owner    quic_shared outlives every quic_server.
// Errors   make(): a failure that an operator understands.
// Threads  made on the control thread; a quic_server is its lcore's, its counters are read from anywhere.
//          write_key_log() is the control thread's, now and then.
// Tests    test/app/appliance_test.cpp, test/e2e/
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/h3_service.hpp"
#include "app/qlog_files.hpp"
#include "app/quic_config.hpp"
#include "buf/large_block_pool.hpp"
#include "pipeline/echo_streams.hpp"
#include "pipeline/hq_server.hpp"
#include "pipeline/quic_service.hpp"
#include "pipeline/srmp_session.hpp"
#include "rpc/service.hpp"
#include "tls/context.hpp"

namespace millrace::app {

struct quic_link {                      // what the interfaces carry
  std::uint16_t datagram_bytes = 1452;  // UDP payload of the smallest MTU
  std::uint16_t receive_bytes = 2048;   // room of a packet
};

// Who answers SRMP on streams: one of the two, or nobody. The lcore's own; they outlive the server.
struct quic_srmp {
  rpc::service* calls = nullptr;
  srmp::echo_handler* echoes = nullptr;
  srmp::compatibility peers = {};
};

class quic_shared {
 public:
  [[nodiscard]] static base::result<std::unique_ptr<quic_shared>> make(const quic_config& config, std::size_t lcores);

  [[nodiscard]] const std::string& spki_pin() const noexcept { return credentials_->spki_pin(); }
  [[nodiscard]] bool is_self_signed() const noexcept { return config_.cert.empty(); }
  [[nodiscard]] std::size_t files() const noexcept { return files_.size(); }
  // Application protocols, most wanted first.
  [[nodiscard]] std::vector<std::string> protocols() const;
  // Lines that handshakes have left go into the file; false when it took less.
  bool write_key_log() noexcept;

 private:
  friend class quic_server;
  struct log {  // of one lcore
    tls::key_log_queue queue{65536};
    std::shared_ptr<const tls::server_context> context;
  };

  quic_config config_;
  quic::endpoint::endpoint_keys keys_;
  std::shared_ptr<const tls::server_credentials> credentials_;
  std::shared_ptr<tls::anti_replay> replay_;
  std::vector<std::unique_ptr<log>> logs_;
  tls::key_log_file key_log_;
  bool logs_keys_ = false;
  std::unique_ptr<buf::large_block_pool> blocks_;
  pipeline::hq_files files_;
  std::unique_ptr<buf::large_block_pool> pattern_blocks_;
  buf::content pattern_;  // of HTTP/3's /bytes/N
  std::unique_ptr<qlog_files> qlog_;
};

class quic_server {
 public:
  [[nodiscard]] static base::result<std::unique_ptr<quic_server>> make(quic_shared& shared, std::size_t which,
                                                                       const quic_link& link, mem::packet_pool& pool,
                                                                       const quic_srmp& srmp, const http_parts& http);
  quic_server() = default;
  quic_server(const quic_server&) = delete;
  quic_server& operator=(const quic_server&) = delete;
  ~quic_server();

  [[nodiscard]] pipeline::quic_service& service() noexcept { return *service_; }
  [[nodiscard]] const quic::endpoint::quic_endpoint& endpoint() const noexcept { return *endpoint_; }
  // Answered, or taken in: of hq-interop, of SRMP, of echo.
  [[nodiscard]] std::uint64_t bodies() const noexcept { return hq_->counters().requests.get(); }
  [[nodiscard]] std::uint64_t messages() const noexcept;
  [[nodiscard]] std::uint64_t echoed_streams() const noexcept;
  [[nodiscard]] const h3_service* h3() const noexcept { return h3_.get(); }
  void list(mem::pool_listing& to) const noexcept;  // from any lcore
  // What tells of trouble, by kind: "quic_auth_failed", "hq_not_found" ...; no zeroes.
  void add_errors(std::vector<std::pair<std::string, std::uint64_t>>& to) const;

 private:
  std::unique_ptr<crypto::engine> engine_;
  std::unique_ptr<pipeline::hq_server> hq_;
  std::unique_ptr<mem::packet_pool> replies_;
  std::unique_ptr<pipeline::srmp_sessions> srmp_;  // where SRMP is served
  std::unique_ptr<pipeline::echo_streams> echo_;   // where streams come back
  std::unique_ptr<h3_service> h3_;                 // where HTTP/3 is spoken
  std::unique_ptr<quic::endpoint::quic_endpoint> endpoint_;
  std::unique_ptr<pipeline::quic_service> service_;
  const qlog_files* qlog_ = nullptr;
  const quic::conn::trace_queue* trace_ = nullptr;
};

// Bytes of EAL memory that the endpoints of so many lcores take, a little above the truth.
[[nodiscard]] std::size_t expected_quic_bytes(const quic_config& config, std::size_t lcores);

}  // namespace millrace::app
