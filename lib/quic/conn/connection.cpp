#include "quic/conn/connection.hpp"

namespace millrace::quic::conn {

namespace {

recovery::recovery_config recovery_settings(const transport& t, bool is_server) noexcept {
  recovery::recovery_config c;
  c.is_server = is_server;
  c.kind = t.settings.congestion;
  c.congestion.datagram_bytes = t.settings.initial_datagram_bytes;
  c.use_ecn = t.settings.use_ecn;
  c.most_blocks = t.settings.most_sent_blocks;
  c.skip_seed = t.settings.skip_numbers ? t.random.next() | 1 : 0;
  return c;
}

recovery::ack_policy_config application_acks(const transport_settings& s) noexcept {
  recovery::ack_policy_config c;
  c.max_delay_ns = s.max_ack_delay_ns > s.ack_timer_slack_ns ? s.max_ack_delay_ns - s.ack_timer_slack_ns : 0;
  return c;
}

recovery::ack_policy_config handshake_acks() noexcept {
  recovery::ack_policy_config c;
  c.at_once = true;  // RFC 9000 13.2.1
  return c;
}

idle_config idle_settings(const transport_settings& s) noexcept {
  return {.timeout_ms = s.idle_timeout_ns / recovery::ms, .keep_alive_ns = s.keep_alive_ns};
}

path::mtu_limits mtu_settings(const transport_settings& s) noexcept {
  path::mtu_limits l;
  l.most = s.max_datagram_bytes;
  return l;
}

path::migration_limits migration_settings(const transport_settings& s) noexcept {
  path::migration_limits l;
  l.disabled = !s.migration;
  return l;
}

}  // namespace

// A core has some 48 lines under way from memory at a time, and a connection is 61: those that a packet seldom needs
// would keep those of the next connection waiting. bench_quic_endpoint's quic_crowd shows it.
void connection::fetch_ahead() const noexcept {
  base::fetch_ahead(this, keys_.resting_part());
  base::fetch_ahead(&pieces_, &peer_bidi_);  // behind it: counts of streams, limits of the peer
  base::fetch_ahead(&local_cids_, &migration_);
  migration_.fetch_ahead();
  base::fetch_ahead(&paths_, &original_dcid_);  // behind it: IDs of the handshake
  base::fetch_ahead(&now_ns_, this + 1);
}

void connection::fetch_parts_ahead(std::size_t packet_bytes) const noexcept {
  keys_.fetch_ahead(packet_bytes);
  recovery_.fetch_ahead();
}

connection::connection(transport& t, connection_host& host, const server_start& s,
                       std::shared_ptr<const tls::server_context> context) noexcept
    : t_(t),
      host_(host),
      pieces_(t.pieces, stream::piece_account::most_for(t.settings.connection_window_most)),
      recovery_(recovery_settings(t, true), t.sent),
      numbers_(application_acks(t.settings)),
      receive_window_(t.settings.connection_window_bytes, t.settings.connection_window_most),
      peer_bidi_(t.settings.streams_bidi),
      peer_uni_(t.settings.streams_uni),
      local_cids_(s.our_scid, {.most_active = t.settings.most_cids}),
      remote_cids_(path::remote_cids::for_server(s.client_scid)),
      migration_(s.address, s.now_ns, migration_settings(t.settings)),
      mtu_(mtu_settings(t.settings)),
      idle_(s.now_ns, idle_settings(t.settings)),
      peer_updates_(true),
      original_dcid_(s.original_dcid),
      our_scid_(s.our_scid),
      initial_dcid_(s.initial_dcid),
      began_ns_(s.now_ns),
      reset_token_(s.reset_token),
      version_(s.version),
      first_version_(s.version),
      is_server_(true) {
  if (s.retried) retry_scid_ = s.initial_dcid;
  begin_path(migration_.active(), s.interface);
  active_path().has_cid = true;
  now_ns_ = s.now_ns;
  t_.events.add(event::accepted);
  trace_.begin(t_.trace, begun_record());
  if (s.validated) {
    active_path().amount.on_validated();
    migration_.on_validated(migration_.active(), s.now_ns);
  }
  handshake_ = t_.handshakes.get(std::move(context), handshake_acks(), t_.sent, t_.settings.most_sent_blocks);
  if (handshake_ != nullptr) recovery_.lend(handshake_->sent);
  if (handshake_ != nullptr && make_initial_keys()) return;
  t_.events.add(event::refused_no_memory);
  end_with(end_reason::refused);
}

connection::connection(transport& t, connection_host& host, const client_start& s,
                       std::shared_ptr<const tls::client_context> context) noexcept
    : t_(t),
      host_(host),
      app_(s.protocol),
      pieces_(t.pieces, stream::piece_account::most_for(t.settings.connection_window_most)),
      recovery_(recovery_settings(t, false), t.sent),
      numbers_(application_acks(t.settings)),
      receive_window_(t.settings.connection_window_bytes, t.settings.connection_window_most),
      peer_bidi_(t.settings.streams_bidi),
      peer_uni_(t.settings.streams_uni),
      local_cids_(s.our_scid, {.most_active = t.settings.most_cids}),
      remote_cids_(path::remote_cids::for_client(s.random_dcid)),
      migration_(s.address, s.now_ns),
      mtu_(mtu_settings(t.settings)),
      idle_(s.now_ns, idle_settings(t.settings)),
      peer_updates_(false),
      original_dcid_(s.random_dcid),
      our_scid_(s.our_scid),
      initial_dcid_(s.random_dcid),
      began_ns_(s.now_ns),
      version_(s.version),
      first_version_(s.version),
      is_server_(false),
      negotiated_(s.negotiated) {
  begin_path(migration_.active(), s.interface);
  active_path().has_cid = true;
  now_ns_ = s.now_ns;
  t_.events.add(event::connected);
  trace_.begin(t_.trace, begun_record());
  migration_.on_validated(migration_.active(), s.now_ns);
  handshake_ = t_.handshakes.get(std::move(context), handshake_acks(), t_.sent, t_.settings.most_sent_blocks);
  if (handshake_ == nullptr) {
    t_.events.add(event::refused_no_memory);
    end_with(end_reason::refused);
    return;
  }
  recovery_.lend(handshake_->sent);
  begin_client(s);
}

const tls::quic_handshake* connection::handshake() const noexcept {
  return handshake_ == nullptr ? nullptr : &handshake_->tls;
}

void connection::release() noexcept {
  trace_.tell({.time_ns = now_ns_,
               .kind = trace_kind::ended,
               .a = static_cast<std::uint64_t>(end_.reason),
               .b = end_.code,
               .c = end_.from_application});
  drop_streams();
  datagrams_.clear(pieces_);
  if (handshake_ != nullptr) {
    if (std::exchange(is_away_, false)) t_.steps->wait_for(handshake_->step);
    const mem::heap_watch watch(t_.handshake_heap);
    for (crypto_stream& c : handshake_->crypto) c.in.clear(pieces_, c.in.read());
    give_up_held();
    recovery_.end_early(now_ns_);
    t_.handshakes.give(std::exchange(handshake_, nullptr));
  }
  numbers_.give_back(t_.ranges);
  paths_.give_back(t_.paths);
  keys_.release(t_.keys);
  if (std::exchange(half_open_, false)) host_.on_handshake_done(*this);
  phase_ = phase::ended;
}

}  // namespace millrace::quic::conn
