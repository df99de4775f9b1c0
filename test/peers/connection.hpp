// test/peers/connection.hpp - one QUIC connection on libngtcp2 over kernel sockets: what client and server have in
// common.
//
// Shape    The owner calls read() for each datagram, on_time() when expiry() has come, and write() after either.
// Streams
//          send from a `body`. What happens is told by the virtual functions.
// Owner    sockets and the tls_context outlive it. Threads  one.
// Errors   is_over() and why(): a connection that failed has sent CONNECTION_CLOSE and does nothing more.
// Source   libngtcp2 0.12; RFC 9000, 9001, 9002.
#pragma once

#include <ngtcp2/ngtcp2.h>

#include <deque>
#include <map>

#include "body.hpp"
#include "tls.hpp"

namespace millrace::peers {

inline constexpr std::size_t cid_bytes = 8;
inline constexpr std::size_t ethernet_payload = 1452;  // ngtcp2 probes up to here: 1500 less IPv6 and UDP
inline constexpr std::size_t batch_bytes = 60'000;     // of datagrams, handed to the kernel together

[[nodiscard]] ngtcp2_tstamp now_ns();
[[nodiscard]] ngtcp2_cid cid_of(byte_view data);
[[nodiscard]] address address_of(const ngtcp2_addr& a);
[[nodiscard]] ngtcp2_path path_of(address& local, address& remote);

struct transport_options {
  std::size_t max_udp_payload = 0;  // that we send; 0: found by probing, up to ethernet_payload
  std::uint64_t stream_window = 1 << 20, connection_window = 4 << 20;  // at first; they grow
  std::uint64_t streams = 128;
  ngtcp2_duration idle_timeout = 30 * NGTCP2_SECONDS;
  bool no_migration = false;
  std::string congestion = "cubic";
};

class connection {
 public:
  struct stream {
    std::unique_ptr<body> out;
    std::uint64_t sent = 0;
    bool fin_sent = false;
    bool queued = false;  // in ready_
  };

  explicit connection(const transport_options& options) : options_(options) {}
  virtual ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  // `local` is the address ngtcp2 knows of.
  void read(address local, address remote, byte_view datagram, std::uint8_t ecn);
  void write();
  void on_time();
  [[nodiscard]] ngtcp2_tstamp expiry() const;
  // Says goodbye: no error, or an application's error code.
  void close(std::uint64_t application_code = 0);
  [[nodiscard]] bool is_over() const { return over_; }
  [[nodiscard]] const std::string& why() const { return why_; }
  [[nodiscard]] std::uint64_t key_updates() const { return keys_made_ > 0 ? keys_made_ - 1 : 0; }
  [[nodiscard]] std::uint64_t paths_validated() const { return paths_validated_; }

 protected:
  transport_options options_;
  ngtcp2_crypto_conn_ref ref_{get_conn, this};
  ngtcp2_conn* conn_ = nullptr;
  gnutls_session_t session_ = nullptr;
  std::map<std::int64_t, stream> streams_;
  bool over_ = false;
  bool peer_closed_ = false;
  int library_error_ = 0;
  std::string why_;

  // For the constructor of the derived class.
  [[nodiscard]] ngtcp2_callbacks common_callbacks() const;
  void fill(ngtcp2_settings& settings, ngtcp2_transport_params& params) const;
  // `out` may be empty until there is something to say.
  stream& add_stream(std::int64_t id, std::unique_ptr<body> out);
  void wake(std::int64_t id);  // its body has news
  void fail(std::string why);
  void forget_streams();

  [[nodiscard]] virtual udp_socket* socket_of(const address& local) = 0;
  virtual void on_handshake_completed() {}
  virtual void on_new_cid(byte_view cid) { (void)cid; }
  virtual void on_old_cid(byte_view cid) { (void)cid; }
  virtual void on_stream_data(std::int64_t id, byte_view data, bool fin, bool early) = 0;
  virtual void on_stream_closed(std::int64_t id, std::uint64_t code, bool has_code) = 0;
  virtual void on_stream_reset(std::int64_t id, std::uint64_t code) { (void)id, (void)code; }
  virtual void on_token(byte_view token) { (void)token; }
  virtual void on_versions(std::span<const std::uint32_t> versions) { (void)versions; }
  virtual void on_retry() {}
  // How many reset tokens are derived from; the same for all connections of a server.
  [[nodiscard]] virtual byte_view reset_secret() = 0;

 private:
  std::deque<std::int64_t> ready_;
  bytes out_ = bytes(batch_bytes + 65'536);
  std::uint64_t keys_made_ = 0;
  std::uint64_t paths_validated_ = 0;

  struct batch;
  struct hooks;
  static ngtcp2_conn* get_conn(ngtcp2_crypto_conn_ref* ref) { return static_cast<connection*>(ref->user_data)->conn_; }
  ngtcp2_ssize write_packet(ngtcp2_path_storage& path, ngtcp2_pkt_info& info, std::span<std::uint8_t> room,
                            ngtcp2_tstamp now);
  void flush(batch& b);
  void close_with(const ngtcp2_connection_close_error& error);
  void on_library_error(int status, const char* where);
};

}  // namespace millrace::peers
