// test/peers/client.hpp - one client connection: what it asks for over hq-interop, srmp or echo, and what it does to
// the path.
//
// Shape    run() to the end. Requests of hq-interop go over a stream each, at most `streams` at a time. With srmp each
//          of `streams` streams is an SRMP connection: Api/All, an unknown method, then `calls` of Echo, all checked.
// Errors   run() throws std::runtime_error only for what the caller can mend; what the peer did wrong is in the result.
#pragma once

#include <memory>
#include <optional>

#include "connection.hpp"
#include "report.hpp"
#include "srmp.hpp"

namespace millrace::peers {

struct client_options {
  std::string host;
  std::uint16_t port = 443;
  std::vector<std::string> paths;
  std::string server_name = "peer.example";
  std::uint64_t repeat = 1, streams = 16;
  std::uint64_t calls = 100, call_bytes = 1000, window = 32;  // of an SRMP connection
  std::string session_file, token_file, download;
  std::string local;                         // address; empty: the kernel's choice
  std::uint64_t key_update = 0, rebind = 0;  // after so many bytes; 0: never
  std::string migrate;                       // local address
  std::uint64_t migrate_after = 100'000;
  std::uint32_t version = NGTCP2_PROTO_VER_V1;
  double loss = 0, timeout_s = 30;
  double duration_s = 0;  // then what has come is enough; 0: all of it
  std::uint64_t seed = 2;
  bool no_segments = false;
  bool stats = false;
  transport_options transport;
  tls_options tls;
};

// Outlives the attempts: Version Negotiation ends one connection and begins another.
struct client_result {
  std::string why;  // empty: all is well
  std::map<std::string, std::string> digests;
  std::map<std::string, std::uint64_t> sizes;
  std::uint64_t bytes = 0, requests = 0, calls = 0, early_bytes = 0, mismatches = 0;
  std::vector<std::uint32_t> versions;  // of a Version Negotiation packet
  bool completed = false, resumed = false, early_data = false, retried = false, rebound = false, migrated = false;
  bool ticket = false, token = false;
  std::uint64_t key_updates = 0, keys_asked = 0, paths_validated = 0;
  std::string cipher, alpn;
  double handshake_s = 0, seconds = 0;
  datagram_counters datagrams;
  std::uint64_t lost = 0;
};

class client final : public connection {
  struct request {
    std::string path;
    sha256 hash;
    std::uint64_t size = 0;
    std::FILE* file = nullptr;
    bool done = false;
  };
  struct calls {
    srmp_reader frames;
    std::map<std::uint8_t, std::pair<std::string, bytes>> open;  // by sequence: method, arguments
    std::uint64_t begun = 0, ended = 0;
    std::uint8_t seq = 0;
    bool done = false;
  };
  // `known` is what ngtcp2 takes for the local address; after a rebinding the socket's is another.
  struct end {
    address known;
    std::unique_ptr<udp_socket> socket;
  };
  const client_options& o_;
  const tls_context& tls_;
  lossy& loss_;
  client_result& result_;
  address remote_;
  std::vector<end> ends_;
  std::deque<std::string> waiting_;
  std::map<std::int64_t, std::shared_ptr<request>> requests_;
  std::map<std::int64_t, calls> srmp_;
  std::uint64_t finished_ = 0, wanted_ = 0;
  std::uint64_t next_key_update_ = 0;
  bytes reset_secret_ = random_bytes(32);
  bool early_ = false;
  ngtcp2_tstamp began_ = 0;

  [[nodiscard]] bool is_srmp() const { return o_.tls.alpn.front() == "srmp"; }
  void load_session(bytes& session, bytes& params) const;
  void save_session();
  void plan();
  void open_streams();
  [[nodiscard]] std::unique_ptr<body> what_to_say(const request& r) const;
  void pump_calls(std::int64_t id, calls& c);
  void on_reply(calls& c, const srmp_frame& frame);
  void on_body(std::int64_t id, byte_view data, bool fin);
  void meddle();
  void receive();
  [[nodiscard]] bool is_complete() const;
  static int on_ticket(gnutls_session_t session, unsigned type, unsigned when, unsigned incoming,
                       const gnutls_datum_t*);

 public:
  client(const client_options& o, const tls_context& tls, lossy& loss, client_result& result, std::uint32_t version);
  ~client() override;
  void run(ngtcp2_tstamp until);

 protected:
  udp_socket* socket_of(const address& local) override;
  void on_handshake_completed() override;
  void on_stream_data(std::int64_t id, byte_view data, bool fin, bool early) override;
  void on_stream_closed(std::int64_t id, std::uint64_t code, bool has_code) override;
  void on_stream_reset(std::int64_t id, std::uint64_t code) override;
  void on_token(byte_view token) override;
  void on_versions(std::span<const std::uint32_t> versions) override;
  void on_retry() override { result_.retried = true; }
  byte_view reset_secret() override { return reset_secret_; }
};

}  // namespace millrace::peers
