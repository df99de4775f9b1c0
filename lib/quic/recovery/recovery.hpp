// quic/recovery/recovery.hpp - loss recovery and congestion control of one connection: packets in, tokens and one
// deadline out.
//
// Shape    the three packet number spaces, and for the current path its RTT, congestion controller, pacer and ECN
//          state. The connection asks budget() how much may leave, reserve()s and numbers each packet, and tells
//          on_sent(); it hands in ACK frames and, at timer().at_ns, on_timeout(). What was acknowledged or lost comes
//          back as tokens: owner.on_acked(packet_space, const sent_token&) and owner.on_lost(packet_space, const
//          sent_token&).
//          An owner that has on_packet_lost(packet_space, number, bytes) is told of each lost packet before its tokens.
// Units    ns, bytes of whole packets. Time is the caller's and does not go back.
// Owner    tokens die when the owner's call returns. The pool outlives this. The owner may not call back into it.
// Limits   recovery_config::most_blocks of sent packets a space; see reserve().
// Errors   ack_fault: close with PROTOCOL_VIOLATION.
// Source   RFC 9002 A, B, RFC 9000 13.4, 9.4. Tests  test/quic/recovery/recovery_test.cpp, congestion_sim_test.cpp
#pragma once

#include "quic/recovery/early_spaces.hpp"
#include "quic/recovery/ecn.hpp"
#include "quic/recovery/pacer.hpp"
#include "quic/recovery/persistence.hpp"
#include "quic/recovery/recovery_config.hpp"
#include "quic/recovery/rtt.hpp"

namespace millrace::quic::recovery {

enum class timer_kind : std::uint8_t { none, loss, pto };
struct recovery_timer {
  std::uint64_t at_ns = never_ns;
  timer_kind kind = timer_kind::none;
  packet_space space = packet_space::application;
};

class loss_recovery {
  struct ack_tally {
    std::uint64_t now_ns = 0;
    std::uint64_t largest = 0;
    std::uint64_t largest_sent_ns = never_ns;  // of `largest`, when it was newly acknowledged
    std::uint64_t newest_sent_ns = 0;          // of the largest newly acknowledged
    std::uint64_t newest_number = 0;
    std::uint64_t prior_in_flight = 0;
    std::uint64_t acked_bytes = 0;
    std::uint64_t growth_bytes = 0;
    std::uint64_t marked = 0;
    std::uint64_t marked_here = 0;  // on the current path
    std::uint64_t rtt_ns = 0;       // 0: no sample
    std::uint32_t packets = 0;
    bool eliciting = false;
    bool advances = false;
    bool congested = false;  // by ECN
  };
  struct loss_tally {
    std::uint64_t bytes = 0;
    std::uint64_t newest_sent_ns = 0;
    std::uint64_t marked = 0;
    std::uint32_t packets = 0;  // that say something about congestion
    bool persistent = false;
  };
  static constexpr std::uint64_t least_packet_threshold = 3;  // RFC 9002 6.1.1
  static constexpr std::uint64_t most_packet_threshold = 64;  // ours: how far reordering may widen it

  sent_packets application_;
  early_spaces* early_ = nullptr;
  rtt rtt_;
  congestion congestion_;
  pacer pacer_;
  delivery delivery_;
  ecn ecn_;
  std::uint64_t in_flight_ = 0;
  std::uint64_t path_first_ = 0;  // application packets below belong to an earlier path
  std::uint64_t anti_deadlock_ns_ = 0;
  std::uint64_t threshold_ = least_packet_threshold;
  std::uint64_t next_skip_;  // distance still to go
  std::uint64_t skip_state_;
  std::uint64_t spurious_ = 0;
  std::uint32_t event_lost_ = 0;  // packets that the last reduction was made for
  std::uint32_t event_spurious_ = 0;
  std::uint32_t pto_count_ = 0;
  bool confirmed_ = false;
  bool peer_validated_;  // it knows our address to be real: RFC 9002 A.6
  bool has_handshake_keys_ = false;

 public:
  loss_recovery(const recovery_config& config, sent_pool& pool) noexcept;

  // --- what the connection knows ---
  // For Initial and Handshake packets, until end_early(): nothing is sent or taken in there before and after.
  void lend(early_spaces& early) noexcept { early_ = &early; }
  void end_early(std::uint64_t now_ns) noexcept;
  void on_handshake_keys() noexcept { has_handshake_keys_ = true; }
  void on_handshake_confirmed() noexcept { confirmed_ = peer_validated_ = true; }
  void set_max_ack_delay(std::uint64_t ns) noexcept { rtt_.set_max_ack_delay(ns); }
  void set_initial_rtt(std::uint64_t ns) noexcept { rtt_.set_initial(ns); }
  void set_datagram_bytes(std::uint64_t bytes) noexcept { congestion_.set_datagram_bytes(bytes); }
  // There is nothing to send although budget() has room.
  void on_app_limited() noexcept {
    if (in_flight_ + congestion_.datagram_bytes() <= congestion_.window_bytes()) delivery_.on_app_limited(in_flight_);
  }
  // RFC 9000 9.4: the peer is reached on another path from now on. `same_host`: only its port changed.
  void on_path_changed(std::uint64_t now_ns, bool same_host) noexcept;
  // RFC 9002 6.4: the keys of the space are gone. A client's first Handshake packet discards Initial, and so on.
  void discard(packet_space space, std::uint64_t now_ns) noexcept;
  // RFC 9002 6.3: after a Retry, or when 0-RTT was refused, what left is lost, without blame, and probing starts over.
  template <class Owner>
  void lose_all(packet_space space, Owner& owner) noexcept {
    lose_visitor<Owner> visitor{*this, owner, space};
    if (has(space)) at(space).lose_all(visitor);
    pto_count_ = 0;
  }

  void fetch_ahead() const noexcept { application_.fetch_ahead(); }

  // --- sending ---
  // Bytes that may leave now: what the window and the pacer leave. Probes (RFC 9002 6.2.4) and packets of ACKs alone
  // (RFC 9002 7.7) may exceed it.
  [[nodiscard]] std::uint64_t budget_bytes(std::uint64_t now_ns) const noexcept {
    const std::uint64_t window = congestion_.window_bytes();
    const std::uint64_t room = window > in_flight_ ? window - in_flight_ : 0;
    return std::min(room, rtt_.has_sample() ? pacer_.burst_bytes(now_ns) : UINT64_MAX);
  }
  // When the pacer lets the next datagram go; a time that has passed when it would now.
  [[nodiscard]] std::uint64_t next_send_ns() const noexcept {
    return rtt_.has_sample() ? pacer_.next_ns(congestion_.datagram_bytes()) : 0;
  }
  [[nodiscard]] bool is_window_full() const noexcept {
    return in_flight_ + congestion_.datagram_bytes() > congestion_.window_bytes();
  }
  // RFC 9000 13.4: whether the next packet is marked ECT(0).
  [[nodiscard]] bool should_mark() const noexcept { return ecn_.should_mark(); }
  // The number of the next packet; leaves one out now and then (application space only).
  [[nodiscard]] std::uint64_t next_number(packet_space space) noexcept {
    sent_packets& s = at(space);
    if (space == packet_space::application && next_skip_ != 0 && --next_skip_ == 0) [[unlikely]]
      skip();
    return s.largest_sent() + 1;
  }
  // Room to keep the next packet with so many tokens. False: send only what need not be kept; counted in the pool.
  [[nodiscard]] bool reserve(packet_space space, unsigned tokens) noexcept {
    return has(space) && at(space).reserve(tokens);
  }
  // An ack-eliciting packet, or one in flight. sent_ns, bytes, eliciting, ect and path_probe are the caller's to fill
  // in. bytes 0 is a packet of another path (RFC 9000 9.3.1): it is not in flight on this one.
  void on_sent(packet_space space, std::uint64_t number, const sent_packet& packet,
               std::span<const sent_token> tokens) noexcept {
    delivery_.on_sent(at(space).on_sent(number, packet, tokens), in_flight_);
    in_flight_ += packet.bytes;
    pacer_.on_sent(packet.sent_ns, packet.bytes);
    anti_deadlock_ns_ = packet.sent_ns;
    if (packet.ect) ecn_.on_sent(space, packet.sent_ns, rtt_.pto_ns());
  }
  // There was nothing to send: memory that was reserved for it goes back.
  void release_unused() noexcept { at(packet_space::application).release_idle(); }
  // Any other: only ACK, PADDING-free.
  void on_sent_unkept(packet_space space, std::uint64_t number, bool ect = false) noexcept {
    if (ect) ecn_.on_sent_unkept(space);
    at(space).on_sent_unkept(number);
    at(space).release_idle();
  }

  // --- receiving ---
  template <class Owner>
  [[nodiscard]] ack_fault on_ack(packet_space space, const wire::ack_frame& f, std::uint64_t ack_delay_ns,
                                 std::uint64_t now_ns, Owner& owner) noexcept {
    if (!has(space)) [[unlikely]]
      return ack_fault::none;
    ack_tally tally;
    tally.now_ns = now_ns;
    tally.largest = f.largest;
    tally.prior_in_flight = in_flight_;
    const std::uint64_t before = at(space).largest_acked();
    tally.advances = before == wire::no_packet_number || f.largest > before;
    ack_visitor<Owner> visitor{*this, owner, space, tally, congestion_.recovery_start_ns()};
    const ack_fault fault = at(space).on_ack(f.largest, wire::ack_range_reader(f), visitor);
    if (fault != ack_fault::none || tally.packets == 0) return fault;
    before_losses(space, tally, ack_delay_ns, f.has_ecn ? &f.ecn : nullptr);
    after_losses(space, tally, find_losses(space, now_ns, owner));
    return ack_fault::none;
  }
  // Whether a server may not send now (RFC 9002 A.8: no timer then, one when it may again).
  [[nodiscard]] recovery_timer timer(bool amplification_limited = false) const noexcept;
  struct probe {
    packet_space space = packet_space::application;
    unsigned packets = 0;  // ack-eliciting ones to send now, whatever budget_bytes() says; 0: none
  };
  // At or after timer().at_ns. Losses found by time are reported to the owner.
  template <class Owner>
  [[nodiscard]] probe on_timeout(std::uint64_t now_ns, Owner& owner, bool amplification_limited = false) noexcept {
    const recovery_timer due = timer(amplification_limited);
    if (due.at_ns > now_ns) return {};
    if (due.kind == timer_kind::loss) {
      on_losses(now_ns, find_losses(due.space, now_ns, owner));
      return {};
    }
    return on_pto(due.space, now_ns);
  }

  // Whether packets of that space are known: of the application's always.
  [[nodiscard]] bool has(packet_space s) const noexcept { return s == packet_space::application || early_ != nullptr; }
  [[nodiscard]] const sent_packets& space(packet_space s) const noexcept {  // one that it has()
    MILLRACE_ASSERT(has(s));
    return s == packet_space::application ? application_ : early_->of_[static_cast<std::size_t>(s)];
  }
  [[nodiscard]] const rtt& round_trip() const noexcept { return rtt_; }
  [[nodiscard]] const congestion& controller() const noexcept { return congestion_; }
  [[nodiscard]] const delivery& delivered() const noexcept { return delivery_; }
  [[nodiscard]] ecn_state ecn_now() const noexcept { return ecn_.state(); }
  [[nodiscard]] std::uint64_t in_flight() const noexcept { return in_flight_; }
  [[nodiscard]] std::uint32_t pto_count() const noexcept { return pto_count_; }
  [[nodiscard]] std::uint64_t spurious() const noexcept { return spurious_; }
  [[nodiscard]] std::uint64_t packet_threshold() const noexcept { return threshold_; }
  // RFC 9002 6.2.1 with the peer's delay: what idle, closing and key timers are multiples of.
  [[nodiscard]] std::uint64_t pto_ns() const noexcept {
    return rtt_.pto_ns() + (confirmed_ ? rtt_.max_ack_delay_ns() : 0);
  }

 private:
  [[nodiscard]] sent_packets& at(packet_space s) noexcept {
    return s == packet_space::application ? application_ : early_->of_[static_cast<std::size_t>(s)];
  }
  [[nodiscard]] bool is_current(packet_space s, std::uint64_t number) const noexcept {
    return s != packet_space::application || number >= path_first_;
  }

  template <class Owner>
  struct ack_visitor {
    loss_recovery& self;
    Owner& owner;
    packet_space space;
    ack_tally& tally;
    std::uint64_t recovery_start_ns;
    void acked(const sent_report& r) noexcept {
      const sent_packet& p = r.packet;
      ++tally.packets;
      tally.eliciting |= p.eliciting;
      tally.marked += p.ect;
      // What is not in flight is a probe of another path, whose round trip is none of this one's (RFC 9000 9.4).
      if (r.number == tally.largest && p.bytes != 0) tally.largest_sent_ns = p.sent_ns;
      if (r.number >= tally.newest_number) {
        tally.newest_number = r.number;
        tally.newest_sent_ns = p.sent_ns;
      }
      if (self.is_current(space, r.number)) [[likely]] {
        self.in_flight_ -= p.bytes;
        tally.marked_here += p.ect;
        tally.acked_bytes += p.bytes;
        // RFC 9002 7.8: nor does what left a window open that the application has not filled since.
        if (p.sent_ns > recovery_start_ns && !p.app_limited && !self.delivery_.is_app_limited())
          tally.growth_bytes += p.bytes;
        if (p.bytes != 0) self.delivery_.on_acked(p, tally.now_ns);
      }
      for (const sent_token& token : r.tokens) owner.on_acked(space, token);
    }
    void spurious(const sent_report& r) noexcept { self.on_spurious(space, r); }
  };
  template <class Owner>
  struct lose_visitor {
    loss_recovery& self;
    Owner& owner;
    packet_space space;
    void lost(const sent_report& r) noexcept {
      if (self.is_current(space, r.number)) self.in_flight_ -= r.packet.bytes;
      if constexpr (requires { owner.on_packet_lost(space, r.number, r.packet.bytes); })
        owner.on_packet_lost(space, r.number, r.packet.bytes);
      for (const sent_token& token : r.tokens) owner.on_lost(space, token);
    }
  };
  template <class Owner>
  [[nodiscard]] loss_tally find_losses(packet_space space, std::uint64_t now_ns, Owner& owner) noexcept {
    loss_tally tally;
    persistence run(rtt_.first_sample_ns(), rtt_.persistent_ns());
    struct {
      loss_recovery& self;
      loss_tally& tally;
      persistence& run;
      lose_visitor<Owner> common;
      void lost(const sent_report& r) noexcept {
        common.lost(r);
        if (!self.is_current(common.space, r.number)) return;
        tally.marked += r.packet.ect;
        run.on_lost(r);
        if (r.packet.path_probe || r.packet.bytes == 0) return;  // RFC 9000 14.4
        ++tally.packets;
        tally.bytes += r.packet.bytes;
        tally.newest_sent_ns = r.packet.sent_ns;
      }
    } visitor{*this, tally, run, {*this, owner, space}};
    at(space).detect_lost({now_ns, rtt_.loss_delay_ns(), threshold_, rtt_.pto_ns()}, visitor);
    tally.persistent = run.is_persistent();
    return tally;
  }
  void before_losses(packet_space space, ack_tally& tally, std::uint64_t ack_delay_ns,
                     const wire::ecn_counts* counts) noexcept;
  void after_losses(packet_space space, const ack_tally& tally, const loss_tally& lost) noexcept;
  void on_losses(std::uint64_t now_ns, const loss_tally& lost) noexcept;
  void on_spurious(packet_space space, const sent_report& r) noexcept;
  [[nodiscard]] probe on_pto(packet_space space, std::uint64_t now_ns) noexcept;
  void skip() noexcept;
};

}  // namespace millrace::quic::recovery
