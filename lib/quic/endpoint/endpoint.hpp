// quic/endpoint/endpoint.hpp - all QUIC connections of one lcore: datagrams in, datagrams out, one clock.
//
// Shape    on_datagrams() takes a received burst, finds each datagram's connection and gives each connection its part
//          of the burst at once. poll() writes what is to be sent, one datagram a call, until it answers 0. due_ns()
//          is when on_time() wants to be called. A server answers strangers: Version Negotiation, Retry, stateless
//          resets, all within the budgets of source_limits. A client begins with connect().
//              while (size = e.poll(room, now, out)) send(room.first(size), out);
// Units    ns of a monotonic clock; bytes of UDP payload.
// Owner    the endpoint owns pools and connections. Applications, contexts and the packet source are the caller's and
//          outlive it. Packets handed in stay the caller's; what streams keep of them they hold by reference.
// Limits   endpoint_settings. Everything is allocated by make(); GnuTLS alone takes heap, in handshakes.
// Errors   make(): a failure. Full tables refuse newcomers and count it.
// Threads  one lcore.
// Source   RFC 9000 5.2, 6, 8.1, 10.3, 14.1, 17.2.5. Tests  test/quic/endpoint/, test/quic/sim/
#pragma once

#include <memory>

#include "base/result.hpp"
#include "base/timer_wheel.hpp"
#include "mem/pool_listing.hpp"
#include "quic/conn/connection.hpp"
#include "quic/endpoint/cid_map.hpp"
#include "quic/endpoint/settings.hpp"

namespace millrace::quic::endpoint {

struct client_request {
  path::path_address address;
  std::uint16_t interface = 0;
  wire::version_number version = wire::version_1;
  std::string_view server_name;
  base::byte_view session{};
  base::byte_view token{};
  bool early_data = true;
  bool negotiated = false;  // `version` is what connection_end::code said of a connection that ended in
                            // end_reason::version_negotiation (RFC 9368 4: what the server lists is checked then)
  conn::application* protocol = nullptr;
  std::shared_ptr<const tls::client_context> context;
};

// What clients are told besides what applications are: to keep for the next connection. Views die with the call.
class client_memory {
 public:
  client_memory() noexcept = default;
  client_memory(const client_memory&) = delete;
  client_memory& operator=(const client_memory&) = delete;
  virtual ~client_memory() = default;
  virtual void on_session(conn::connection&, base::byte_view) noexcept {}
  virtual void on_token(conn::connection&, base::byte_view) noexcept {}
};

class quic_endpoint final : public conn::connection_host {
  struct held;  // a connection with its timer and its place in the tables
  class lookahead;
  struct parts;  // the pools
  struct passkey {};
  struct reply {
    conn::datagram_out to;
    std::uint16_t size = 0;
    std::array<std::uint8_t, 512> bytes;
  };
  static constexpr std::size_t most_replies = 64;  // that wait to be sent
  static constexpr std::size_t most_applications = 8;
  struct served {
    std::string_view protocol;
    conn::application* by = nullptr;
  };

  endpoint_settings settings_;
  crypto::engine& engine_;
  std::unique_ptr<parts> parts_;
  std::shared_ptr<const tls::server_context> server_;
  client_memory* memory_ = nullptr;
  base::fixed_vector<served, most_applications> applications_;
  conn::connection* first_ready_ = nullptr;
  conn::connection* last_ready_ = nullptr;
  held *oldest_half_open_ = nullptr, *newest_half_open_ = nullptr;
  std::uint32_t turn_left_ = 0;
  std::size_t reply_at_ = 0, reply_count_ = 0;
  std::uint64_t next_serial_ = 0;
  std::uint64_t now_ns_ = 0;
  std::uint64_t next_rest_ns_ = 0;  // when keys that were not used are looked for
  std::int64_t wall_less_now_ns_ = 0;
  conn::counters events_;
  mem::heap_tally handshake_heap_;
  bool draining_ = false;

 public:
  // `now_ns` and `wall_ns` (since 1970) are read at the same moment. `packets`: where small pieces of streams are
  // copied to.
  [[nodiscard]] static base::result<std::unique_ptr<quic_endpoint>> make(const endpoint_settings& settings,
                                                                         const endpoint_keys& keys,
                                                                         crypto::engine& engine,
                                                                         const buf::mbuf_source& packets,
                                                                         std::uint64_t now_ns, std::int64_t wall_ns);
  quic_endpoint(passkey, const endpoint_settings& settings, crypto::engine& engine) noexcept;
  ~quic_endpoint() override;

  // Server: from here on Initials are answered. A second call changes what later handshakes get. nullptr: none.
  void serve(std::shared_ptr<const tls::server_context> context) noexcept { server_ = std::move(context); }
  // Who serves a protocol; the name outlives the endpoint. False: too many.
  [[nodiscard]] bool add_application(std::string_view protocol, conn::application& by) noexcept {
    return applications_.push_back({protocol, &by});
  }
  void set_client_memory(client_memory* memory) noexcept { memory_ = memory; }
  // Connections that begin from now on are traced; the queue outlives the endpoint. nullptr: none are.
  void trace_to(conn::trace_queue* queue) noexcept;
  // Who takes expensive handshake steps from now on; outlives the endpoint. nullptr: nobody.
  void set_steps(conn::handshake_steps* steps) noexcept;
  // A step that was handed over is back. On this endpoint's lcore.
  void on_step_done(conn::handshake_step& step, std::uint64_t now_ns) noexcept;

  // Answers how many of the burst were of no use; each of those is counted in `drops`.
  unsigned on_datagrams(std::span<conn::datagram_in> burst, std::uint64_t now_ns, stats::drop_counters& drops) noexcept;
  [[nodiscard]] std::size_t poll(base::byte_span room, std::uint64_t now_ns, conn::datagram_out& out) noexcept;
  [[nodiscard]] bool wants_poll() const noexcept { return reply_count_ != 0 || first_ready_ != nullptr; }
  [[nodiscard]] std::uint64_t due_ns() const noexcept;
  void on_time(std::uint64_t now_ns) noexcept;

  // nullptr: no room for another connection or handshake.
  [[nodiscard]] conn::connection* connect(const client_request& request, std::uint64_t now_ns) noexcept;
  // Something was written to a connection's streams outside of its application's calls: it is polled next.
  void touch(conn::connection& c) noexcept;
  // No new connections; those there are are closed with this code of their applications.
  void close_all(std::uint64_t code, std::uint64_t now_ns) noexcept;

  [[nodiscard]] std::uint32_t connections() const noexcept;
  // What one takes of the pools and tables as long as it lives, its share of the IDs that are mapped now with it.
  [[nodiscard]] std::uint64_t connection_bytes() const noexcept;
  // What all connections take of pools and tables at this moment, what is lent to them on need with it; not what GnuTLS
  // takes (handshakes), nor received packets that streams hold.
  [[nodiscard]] std::uint64_t held_bytes() const noexcept;
  void list(mem::pool_listing& to) const noexcept;  // from any lcore
  [[nodiscard]] std::uint32_t half_open() const noexcept;
  [[nodiscard]] std::uint32_t connection_ids() const noexcept;  // that lead to connections, clients' first ones too
  [[nodiscard]] const conn::counters& events() const noexcept { return events_; }
  [[nodiscard]] std::uint64_t handshake_heap_calls() const noexcept { return handshake_heap_.calls.get(); }
  [[nodiscard]] const source_limits& sources() const noexcept;
  [[nodiscard]] const conn::transport& shared() const noexcept;
  [[nodiscard]] const endpoint_settings& settings() const noexcept { return settings_; }
  // Every pool has back what it lent: nothing is open, nothing was lost.
  [[nodiscard]] bool is_whole() noexcept;

  // --- connection_host ---
  [[nodiscard]] std::optional<new_cid> issue_cid(conn::connection& c) noexcept override;
  void retire_cid(conn::connection& c, const path::connection_id& cid) noexcept override;
  [[nodiscard]] conn::application* find_application(std::string_view protocol) noexcept override;
  [[nodiscard]] std::size_t make_token(conn::connection& c, base::byte_span out) noexcept override;
  void on_token(conn::connection& c, base::byte_view token) noexcept override {
    if (memory_ != nullptr) memory_->on_token(c, token);
  }
  void on_session(conn::connection& c, base::byte_view session) noexcept override {
    if (memory_ != nullptr) memory_->on_session(c, session);
  }
  void on_handshake_done(conn::connection& c) noexcept override;
  [[nodiscard]] std::int64_t wall_ns() const noexcept override {
    return static_cast<std::int64_t>(now_ns_) + wall_less_now_ns_;
  }

 private:
  [[nodiscard]] held* find(conn::datagram_in& d, wire::packet_header& header, bool& is_long, bool& is_strange) noexcept;
  [[nodiscard]] held* on_stranger(conn::datagram_in& d, const wire::packet_header& header) noexcept;
  [[nodiscard]] held* accept(conn::datagram_in& d, const wire::packet_header& header,
                             const path::opened_token& token) noexcept;
  [[nodiscard]] static bool is_same_destination(const conn::datagram_in& a, const conn::datagram_in& b) noexcept;
  void finish_without_a_word(held& h) noexcept;
  [[nodiscard]] bool evict_half_open() noexcept;
  [[nodiscard]] new_cid make_cid() noexcept;
  void after(held& h) noexcept;
  void end(held& h) noexcept;
  void set_timer(held& h) noexcept;
  void rest_keys() noexcept;
  void follow_tokens(held& h) noexcept;
  [[nodiscard]] held* find_reset(const conn::datagram_in& d) noexcept;
  void enqueue(conn::connection& c) noexcept;
  void dequeue(conn::connection& c) noexcept;
  // stateless.cpp
  [[nodiscard]] reply* add_reply(const conn::datagram_in& to) noexcept;
  void reply_versions(const conn::datagram_in& d, const wire::packet_header& header) noexcept;
  void reply_retry(const conn::datagram_in& d, const wire::packet_header& header) noexcept;
  void reply_reset(const conn::datagram_in& d) noexcept;
  void reply_close(const conn::datagram_in& d, const wire::packet_header& header, wire::transport_error code) noexcept;
};

}  // namespace millrace::quic::endpoint
