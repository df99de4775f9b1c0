// quic/conn/connection.hpp - one QUIC connection, client or server: datagrams in, datagrams and events out.
//
// Shape    on_datagrams() takes what arrived for it in one burst; then tell() hands events to the application, which
//          writes to streams; then build() is called until it answers 0, each time for one datagram, which it writes,
//          seals and books. deadline_ns() is when on_time() wants to be called. The work is in the folder's other
//          files: rx and tx (packets), rx_frames, tx_frames, handshake (TLS, keys), streams, paths, timers, close.
// Units    ns of the caller's monotonic clock; bytes of UDP payload.
// Owner    its endpoint's pool. What it holds of the lcore's pools goes back as soon as it is not needed, at the latest
//          by release().
// Limits   transport_settings; every number a peer could drive up has one. Counters say which was met.
// Errors   a peer that breaks a rule: the connection closes with the RFC's code (close_reason()), and the event is
//          counted. Want of memory: nothing acknowledged is lost; what was not taken in is not acknowledged.
// Threads  one lcore. Source  RFC 9000, RFC 9001, RFC 9221, RFC 9368, RFC 9369. Tests  test/quic/sim/
#pragma once
#include "quic/conn/close_state.hpp"
#include "quic/conn/connection_host.hpp"
#include "quic/conn/connection_parts.hpp"
#include "quic/conn/datagram_queue.hpp"
#include "quic/conn/idle_timer.hpp"
#include "quic/conn/path_table.hpp"
#include "quic/conn/peer_updates.hpp"
#include "quic/conn/stream_queues.hpp"
#include "quic/conn/transport.hpp"
#include "quic/path/cid_codec.hpp"
#include "quic/path/local_cids.hpp"
#include "quic/path/mtu_search.hpp"
#include "quic/path/remote_cids.hpp"
#include "quic/protect/initial.hpp"
#include "quic/recovery/recovery.hpp"
#include "quic/wire/frame_walker.hpp"
#include "quic/wire/header_emit.hpp"
#include "quic/wire/transport_parameters.hpp"

namespace millrace::quic::conn {
class packet_draft;
class connection {
  enum class phase : std::uint8_t { handshake, established, ended };
  struct arrival;        // rx.cpp: the packet being read
  struct frame_handler;  // rx.cpp
  struct close_watcher;
  struct token_owner;  // what recovery reports to
  struct draft_plan;   // tx.cpp
  struct packet_header_plan;
  transport& t_;
  connection_host& host_;
  application* app_ = nullptr;
  handshake_state* handshake_ = nullptr;
  one_rtt_keys keys_;
  stream::piece_account pieces_;
  recovery::loss_recovery recovery_;
  application_space numbers_;
  stream::receive_window receive_window_;
  stream::send_credit send_credit_{0};
  stream::stream_count peer_bidi_, peer_uni_;      // what we let the peer open
  stream::stream_count our_bidi_{0}, our_uni_{0};  // what it lets us
  peer_limits peer_;
  path::local_cids local_cids_;
  path::remote_cids remote_cids_;
  path::migration migration_;
  path_table paths_;
  path::mtu_search mtu_;
  idle_timer idle_;
  close_state close_;
  connection_end end_;
  const char* close_text_ = "";
  live_stream *streams_ = nullptr, *last_stream_ = nullptr;  // all of them; the one found last
  stream_queues queues_;
  datagram_queue datagrams_;
  peer_updates peer_updates_;
  event_budget resets_;
  path::connection_id original_dcid_, retry_scid_;  // of the client's first Initial; of the Retry that went before
  path::connection_id our_scid_, initial_dcid_;     // of long headers; what the Initial keys are made of
  std::uint64_t now_ns_ = 0, began_ns_, established_ns_ = 0;  // now: of the call that is running
  std::uint64_t previous_keys_until_ns_ = recovery::never_ns, key_update_after_ns_ = 0;  // RFC 9001 6.5; not before
  std::uint64_t first_one_rtt_ = wire::no_packet_number;                                 // of ours
  std::uint64_t built_ns_ = 0, retry_ns_ = recovery::never_ns;  // build() had nothing more to say; a pool was empty
  std::uint64_t open_again_ns_ = recovery::never_ns;            // open() had no memory: when to look again
  std::uint64_t bytes_in_ = 0, bytes_out_ = 0, packets_in_ = 0, packets_out_ = 0, packets_lost_ = 0;
  std::uint64_t moves_ = 0;  // a client's, to other addresses
  tracer trace_;
  std::uint32_t pending_ = 0, open_streams_ = 0;
  wire::stateless_reset_token_value reset_token_{};  // server: of the ID of the handshake
  wire::version_number version_, first_version_;
  std::array<std::uint8_t, recovery::packet_spaces> probes_{};  // ack-eliciting packets that a PTO wants
  phase phase_ = phase::handshake;
  bool is_server_, negotiated_ = false, confirmed_ = false;  // negotiated: RFC 9368 4, a client's second attempt
  bool told_established_ = false, told_early_ = false, told_closed_ = false;          // the application
  bool streams_available_ = false, key_update_wanted_ = false, mtu_changed_ = false;  // to be seen to
  bool had_peer_packet_ = false, had_ticket_ = false, early_refused_ = false;         // clients
  bool half_open_ = true, peer_spins_ = false, is_paced_ = false, is_away_ = false;   // for the pacer; a TLS step

 public:
  void *user = nullptr, *holder = nullptr;                      // the application's, the endpoint's
  connection *next_ready = nullptr, *previous_ready = nullptr;  // the endpoint's queue
  bool is_ready = false;                                        // in that queue
  // nullptr pools or a handshake that cannot begin: is_ended() at once.
  connection(transport& t, connection_host& host, const server_start& s,
             std::shared_ptr<const tls::server_context> context) noexcept;
  connection(transport& t, connection_host& host, const client_start& s,
             std::shared_ptr<const tls::client_context> context) noexcept;
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;
  ~connection() { release(); }

  // --- the endpoint's side ---
  // In order of arrival, all to an ID of this connection; answers how many were of no use (each counted in `drops`).
  unsigned on_datagrams(std::span<datagram_in> burst, std::uint64_t now_ns, stats::drop_counters& drops) noexcept;
  // A Retry; a Version Negotiation (RFC 9000 6.2). Clients only. Whether it was of use.
  bool on_retry(const wire::packet_header& header, base::byte_view packet, std::uint64_t now_ns) noexcept;
  bool on_version_negotiation(const wire::packet_header& header, std::uint64_t now_ns) noexcept;
  // The datagram ended in a token of the peer's: it has forgotten us.
  void on_stateless_reset(std::uint64_t now_ns) noexcept;
  [[nodiscard]] bool is_stateless_reset(base::byte_view datagram) const noexcept;
  void tell(std::uint64_t now_ns) noexcept;  // events since the last call, to the application
  void fetch_ahead() const noexcept, fetch_parts_ahead(std::size_t packet_bytes) const noexcept;  // into the cache
  // One datagram into `room`; its size, 0: nothing to say now.
  [[nodiscard]] std::size_t build(base::byte_span room, std::uint64_t now_ns, datagram_out& out) noexcept;
  [[nodiscard]] std::uint64_t deadline_ns(std::uint64_t now_ns) const noexcept;
  void on_time(std::uint64_t now_ns) noexcept;
  // The last CONNECTION_CLOSE was said and waited for: it can be destroyed.
  [[nodiscard]] bool is_ended() const noexcept { return phase_ == phase::ended && !is_away_; }
  void on_step_done(std::uint64_t now_ns) noexcept;  // what transport::steps had taken
  [[nodiscard]] bool is_closing() const noexcept { return !close_.is_open(); }
  void release() noexcept;                    // gives everything back to the lcore's pools
  void end_with(end_reason reason) noexcept;  // without a word to the peer
  // --- the application's side ---
  // nullptr: the peer allows no more, or no memory is left; on_streams_available() tells when to try again.
  [[nodiscard]] live_stream* open(stream::direction kind, std::uint64_t now_ns) noexcept;
  // `bytes` more can be borrowed from the stream's source. False: the stream has ended, or was reset.
  bool write(live_stream& s, std::uint64_t bytes) noexcept;
  // The stream's source makes more when it can go (send_source::pull), again after it said `later`.
  void pull(live_stream& s) noexcept;
  void prioritize(live_stream& s, std::uint8_t urgency, bool incremental) noexcept;  // RFC 9218 4; urgency 0 to 7
  void finish(live_stream& s) noexcept;
  void reset(live_stream& s, std::uint64_t code) noexcept;  // gives up sending
  void stop(live_stream& s, std::uint64_t code) noexcept;   // gives up reading
  void consume(live_stream& s, std::uint64_t bytes) noexcept;
  [[nodiscard]] buf::slice take(live_stream& s, std::size_t most = SIZE_MAX) noexcept;  // `most` is not 0
  void reset_read(live_stream& s) noexcept;
  // A DATAGRAM frame, copied; false: too large for the peer or the path, or too many wait.
  [[nodiscard]] bool send_datagram(base::byte_view bytes) noexcept;
  void close(std::uint64_t code, std::uint64_t now_ns) noexcept;  // with a code of the application's
  void close_transport(wire::transport_error code, const char* why, std::uint64_t now_ns) noexcept;
  bool update_keys(std::uint64_t now_ns) noexcept;  // RFC 9001 6; false: not allowed yet
  // Client: to another local address (RFC 9000 9.2); false: the peer forbids it, or no ID is left.
  bool migrate(const path::path_address& to, std::uint16_t interface, std::uint64_t now_ns) noexcept;
  void ping() noexcept { pending_ |= pending_ping; }

  [[nodiscard]] bool is_server() const noexcept { return is_server_; }
  [[nodiscard]] bool is_established() const noexcept { return phase_ == phase::established; }
  [[nodiscard]] bool is_confirmed() const noexcept { return confirmed_; }
  [[nodiscard]] const connection_end& end() const noexcept { return end_; }
  [[nodiscard]] const char* close_text() const noexcept { return close_text_; }
  [[nodiscard]] wire::version_number version() const noexcept { return version_; }
  [[nodiscard]] const path::path_address& address() const noexcept {
    return migration_.info(migration_.active()).address;
  }
  [[nodiscard]] const path::local_cids& local_cids() const noexcept { return local_cids_; }
  [[nodiscard]] const path::remote_cids& remote_cids() const noexcept { return remote_cids_; }
  [[nodiscard]] const path::connection_id& original_dcid() const noexcept { return original_dcid_; }
  [[nodiscard]] const path::migration& paths() const noexcept { return migration_; }
  [[nodiscard]] const path::mtu_search& mtu() const noexcept { return mtu_; }
  [[nodiscard]] const recovery::loss_recovery& losses() const noexcept { return recovery_; }
  [[nodiscard]] const tls::quic_handshake* handshake() const noexcept;  // nullptr: it is over
  [[nodiscard]] const peer_limits& peer() const noexcept { return peer_; }
  [[nodiscard]] std::uint64_t requests_allowed() const noexcept { return peer_bidi_.limit(); }  // the peer's, in all
  [[nodiscard]] std::uint32_t open_streams() const noexcept { return open_streams_; }
  [[nodiscard]] std::uint64_t now_ns() const noexcept { return now_ns_; }  // of the call that is running
  [[nodiscard]] std::uint64_t began_ns() const noexcept { return began_ns_; }
  [[nodiscard]] connection_statistics statistics() const noexcept;
  [[nodiscard]] live_stream* find_stream(std::uint64_t id) noexcept;

 private:
  // rx.cpp
  bool on_datagram(datagram_in& d, std::uint64_t now_ns, stats::drop_counters& drops) noexcept;
  std::size_t on_long_packet(arrival& a, base::byte_span rest, bool& useful) noexcept;
  unsigned on_short_packets(std::span<datagram_in> burst, std::uint64_t now_ns, stats::drop_counters& drops) noexcept;
  bool open_short(arrival& a, base::byte_span packet) noexcept;
  bool open_long(arrival& a, const wire::packet_header& header, base::byte_span packet) noexcept;
  [[nodiscard]] bool hold(const arrival& a, base::byte_span packet, wire::packet_type type) noexcept;
  void read_held(std::uint64_t now_ns) noexcept;
  void give_up_held() noexcept;
  bool on_opened(arrival& a) noexcept;
  bool judge_path(arrival& a) noexcept;
  void note_received(arrival& a, bool eliciting, bool probing, bool same_path) noexcept;
  void after_key_update(const arrival& a) noexcept;
  void count_refusal(protect::open_errc code, arrival& a) noexcept;
  // rx_frames.cpp
  bool on_ack(arrival& a, const wire::ack_frame& f) noexcept;
  bool on_crypto(arrival& a, const wire::crypto_frame& f) noexcept;
  bool on_stream(arrival& a, const wire::stream_frame& f) noexcept;
  bool on_reset_stream(arrival& a, const wire::reset_stream_frame& f) noexcept;
  bool on_stop_sending(arrival& a, const wire::stop_sending_frame& f) noexcept;
  bool may_reset(arrival& a) noexcept;
  bool on_max_data(const wire::max_data_frame& f) noexcept;
  bool on_max_stream_data(arrival& a, const wire::max_stream_data_frame& f) noexcept;
  bool on_max_streams(const wire::max_streams_frame& f) noexcept;
  bool on_stream_data_blocked(arrival& a, const wire::stream_data_blocked_frame& f) noexcept;
  bool on_new_connection_id(arrival& a, const wire::new_connection_id_frame& f) noexcept;
  bool on_retire_connection_id(arrival& a, const wire::retire_connection_id_frame& f) noexcept;
  bool on_path_response(arrival& a, const wire::path_response_frame& f) noexcept;
  bool on_connection_close(arrival& a, const wire::connection_close_frame& f) noexcept;
  bool on_handshake_done(arrival& a) noexcept;
  bool fault(arrival& a, wire::transport_error code, const char* why) noexcept;
  void on_token_acked(recovery::packet_space space, const recovery::sent_token& token) noexcept;
  void on_token_lost(recovery::packet_space space, const recovery::sent_token& token) noexcept;
  void on_stream_token_lost(const recovery::sent_token& token) noexcept;
  // handshake.cpp
  void begin_client(const client_start& s) noexcept;
  [[nodiscard]] bool make_initial_keys() noexcept;
  bool feed(arrival& a, std::size_t level, base::byte_view bytes, std::uint64_t offset) noexcept;
  bool step_tls(std::uint64_t now_ns) noexcept;
  bool follow_tls(bool was_complete, std::uint64_t now_ns) noexcept;
  [[nodiscard]] bool hand_step_over() noexcept;
  bool provide_waiting(std::size_t level, std::uint64_t now_ns) noexcept;
  bool prepare_server(std::uint64_t now_ns) noexcept;
  [[nodiscard]] std::size_t write_parameters(base::byte_span room, const connection_host::new_cid* preferred) noexcept;
  [[nodiscard]] bool read_parameters(base::byte_view body, bool remembered, std::uint64_t now_ns) noexcept;
  void apply(const wire::transport_parameters& p) noexcept;
  bool follow_version(wire::version_number v) noexcept;
  [[nodiscard]] bool check_versions(const wire::transport_parameters& p) noexcept;
  [[nodiscard]] bool install(const tls::traffic_secret& secret) noexcept;
  void collect_output() noexcept;
  void on_complete(std::uint64_t now_ns) noexcept;
  void on_early_refused() noexcept;
  void release_withheld() noexcept;
  void confirm(std::uint64_t now_ns) noexcept;
  void discard(recovery::packet_space space, std::uint64_t now_ns) noexcept;
  void drop_handshake_if_done() noexcept;
  [[nodiscard]] level_keys* keys_of(recovery::packet_space space) noexcept;
  // streams.cpp
  // nullptr with `is_closed`: it was, and the frame means nothing any more; nullptr without: the connection closes.
  [[nodiscard]] live_stream* stream_for(arrival& a, std::uint64_t id, bool for_receiving, bool& is_closed) noexcept;
  [[nodiscard]] live_stream* add_stream(stream::stream_id id, bool by_peer) noexcept;
  void remove_stream(live_stream& s) noexcept;
  void tell_stream(live_stream& s) noexcept;
  void after_reading(live_stream& s) noexcept;
  [[nodiscard]] std::uint64_t first_credit(stream::stream_id id) const noexcept;
  [[nodiscard]] bool has_data(const live_stream& s) const noexcept;
  [[nodiscard]] stream::side our_side() const noexcept;
  // tx.cpp
  std::size_t build_packets(base::byte_span room, std::uint64_t now_ns, datagram_out& out) noexcept;
  std::size_t build_packet(draft_plan& plan) noexcept;
  std::size_t build_path_probe(base::byte_span room, std::uint64_t now_ns, datagram_out& out) noexcept;
  std::size_t build_mtu_probe(base::byte_span room, std::uint64_t now_ns, datagram_out& out) noexcept;
  std::size_t finish_packet(draft_plan& plan, const packet_header_plan& h, packet_draft& draft) noexcept;
  void note_sent(draft_plan& plan, const packet_draft& draft, std::uint64_t number, std::size_t size) noexcept;
  [[nodiscard]] bool plan_header(const draft_plan& plan, packet_header_plan& h) noexcept;
  [[nodiscard]] wire::long_header long_form(const draft_plan& plan, const packet_header_plan& h,
                                            std::size_t length) const noexcept;
  [[nodiscard]] bool has_something(recovery::packet_space space, std::uint64_t now_ns, bool may_send) const noexcept;
  [[nodiscard]] bool can_write(recovery::packet_space space) const noexcept;
  [[nodiscard]] bool has_application_frames() const noexcept;
  [[nodiscard]] bool may_send_data(std::uint64_t now_ns) const noexcept;
  [[nodiscard]] std::size_t datagram_bytes() const noexcept;
  [[nodiscard]] bool wants_ping(recovery::packet_space space) const noexcept;
  [[nodiscard]] bool spin() const noexcept;
  void maybe_update_keys(std::uint64_t now_ns) noexcept;
  [[nodiscard]] bool has_keys_ready(std::uint64_t now_ns) noexcept;
  // tx_frames.cpp
  bool write_ack(const draft_plan& plan, packet_draft& draft) noexcept;
  void write_crypto(const draft_plan& plan, packet_draft& draft) noexcept;
  void write_pending(const draft_plan& plan, packet_draft& draft) noexcept;
  void write_cids(packet_draft& draft) noexcept;
  void write_stream_control(const draft_plan& plan, packet_draft& draft) noexcept;
  [[nodiscard]] bool write_control_of(const draft_plan& plan, packet_draft& draft, live_stream& s) noexcept;
  void write_streams(packet_draft& draft) noexcept;
  [[nodiscard]] bool write_stream(packet_draft& draft, live_stream& s) noexcept;
  void pull_more(live_stream& s, std::size_t room) noexcept;
  void write_datagrams(packet_draft& draft) noexcept;
  void write_path_frames(packet_draft& draft, path_state& p, bool padded, std::uint64_t now_ns) noexcept;
  void repeat_or_ping(const draft_plan& plan, packet_draft& draft) noexcept;
  // close.cpp
  std::size_t build_close(base::byte_span room, std::uint64_t now_ns, datagram_out& out) noexcept;
  // paths.cpp
  [[nodiscard]] path_state& active_path() noexcept { return paths_[migration_.active().index]; }
  [[nodiscard]] const path_state& active_path() const noexcept { return paths_[migration_.active().index]; }
  void begin_path(path::path_slot slot, std::uint16_t interface) noexcept;
  void move_to(const path::migration::decision& d, std::uint64_t now_ns) noexcept;
  void probe_preferred(std::uint64_t now_ns) noexcept;
  void move_to_preferred(path::path_slot proven, std::uint64_t now_ns) noexcept;
  [[nodiscard]] bool give_cid(path_state& p) noexcept;
  void drop_cid(path_state& p) noexcept;
  void replace_cids(std::uint64_t now_ns) noexcept;
  void check_paths(std::uint64_t now_ns) noexcept;
  void follow_mtu() noexcept;
  [[nodiscard]] base::byte_view destination(const path_state& p) const noexcept;
  trace_record begun_record() const noexcept;  // connection_trace.cpp
  void trace_metrics() noexcept;
  void trace_drop(const arrival& a) noexcept;
  void note_lost(recovery::packet_space space, std::uint64_t number, std::uint32_t bytes) noexcept;
  void issue_cids() noexcept;  // timers.cpp, close.cpp
  void enter_closing(const connection_end& end, const char* why, std::uint64_t now_ns) noexcept;
  void tell_end() noexcept;
  void lose_everything(recovery::packet_space space) noexcept;
  [[nodiscard]] bool is_amplification_limited() const noexcept;
  void drop_streams() noexcept;
};

}  // namespace millrace::quic::conn
