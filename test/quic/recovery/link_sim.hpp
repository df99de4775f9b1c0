// test/quic/recovery/link_sim.hpp - senders and receivers around one bottleneck, in virtual time.
//
// Shape    every flow has a recovery at its sender and an ack_policy at its receiver; data goes through a queue of
//          limited rate and size, ACKs come back after the delay. Nothing sleeps; the same seed gives the same run.
// Units    ns, bytes. A run's figures are read from the flows afterwards.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include "quic/recovery/ack_frames.hpp"
#include "quic/recovery/ack_policy.hpp"
#include "quic/recovery/recovery.hpp"
#include "support/seeded.hpp"

namespace millrace::test {

namespace rec = quic::recovery;

struct link_config {
  std::uint64_t bits_per_second = 100'000'000;
  std::uint64_t delay_ns = 10 * rec::ms;  // one way
  std::uint64_t queue_bytes = 250'000;    // what does not fit is dropped
  double loss = 0;                        // of data packets, at random
  double ack_loss = 0;
  double reorder = 0;  // so many packets arrive `reorder_ns` later
  std::uint64_t reorder_ns = 0;
  std::uint64_t mark_above_bytes = 0;  // of queue: CE instead of ECT(0); 0: never
  std::uint64_t down_from_ns = 0;      // everything is lost meanwhile
  std::uint64_t down_until_ns = 0;
  std::uint64_t seed = 1;
};

struct flow_config {
  rec::congestion_kind kind = rec::congestion_kind::cubic;
  std::uint64_t start_ns = 0;
  std::uint64_t datagrams = UINT64_MAX;  // to transfer
  std::uint64_t pause_every = 0;         // datagrams, then nothing for pause_ns; 0: never
  std::uint64_t pause_ns = 0;
  std::uint32_t datagram_bytes = 1200;
  bool use_ecn = false;
  std::uint64_t initial_rtt_ns = 0;  // 0: the RFC's
  rec::ack_policy_config acks{};
};

class link_sim;

class sim_flow {
  friend class link_sim;
  flow_config config_;
  rec::ack_policy policy_;
  std::vector<quic::wire::packet_range> received_;  // ascending, at most 64
  std::vector<bool> arrived_;                       // datagrams of the transfer
  std::deque<std::uint64_t> again_;                 // lost ones
  std::uint64_t next_datagram_ = 0;
  std::uint64_t pause_until_ns_ = 0;
  std::uint64_t sender_event_ns_ = rec::never_ns;
  std::uint64_t receiver_event_ns_ = rec::never_ns;
  quic::wire::ecn_counts ecn_;

 public:
  rec::loss_recovery recovery;
  std::uint64_t packets = 0;  // sent with data
  std::uint64_t dropped = 0;  // of those, by the link
  std::uint64_t acks = 0;
  std::uint64_t delivered = 0;  // datagrams that arrived for the first time
  std::uint64_t duplicates = 0;
  std::uint64_t probes = 0;
  std::uint64_t done_ns = rec::never_ns;
  std::uint64_t ack_faults = 0;
  std::uint64_t marked = 0;
  std::uint64_t most_in_flight = 0;
  std::uint64_t most_rtt_ns = 0;
  std::uint64_t least_window = UINT64_MAX;

  sim_flow(const flow_config& c, rec::sent_pool& pool)
      : config_(c),
        policy_(c.acks),
        recovery({.kind = c.kind,
                  .congestion = {.datagram_bytes = c.datagram_bytes, .seed = 3},
                  .use_ecn = c.use_ecn,
                  .skip_seed = 99},
                 pool) {
    recovery.on_handshake_confirmed();
    if (c.initial_rtt_ns != 0) recovery.set_initial_rtt(c.initial_rtt_ns);
  }
  void on_acked(rec::packet_space, const rec::sent_token&) {}
  void on_lost(rec::packet_space, const rec::sent_token& token) { again_.push_back(token.value); }
  [[nodiscard]] bool is_done() const { return done_ns != rec::never_ns; }
  [[nodiscard]] double goodput(std::uint64_t from_ns, std::uint64_t to_ns) const {  // bits a second
    return static_cast<double>(delivered) * config_.datagram_bytes * 8e9 / static_cast<double>(to_ns - from_ns);
  }
};

class link_sim {
  struct event {
    std::uint64_t at_ns;
    std::uint64_t order;
    std::function<void()> act;
    bool operator<(const event& other) const {
      return at_ns != other.at_ns ? at_ns > other.at_ns : order > other.order;
    }
  };
  link_config config_;
  seeded random_;
  rec::sent_pool pool_{4000};
  std::priority_queue<event> events_;
  std::uint64_t order_ = 0;
  std::uint64_t now_ = 0;
  std::uint64_t busy_until_ = 0;
  std::vector<std::unique_ptr<sim_flow>> flows_;
  static constexpr auto space = rec::packet_space::application;

 public:
  explicit link_sim(const link_config& c) : config_(c), random_(c.seed) {}

  sim_flow& add(const flow_config& c) {
    flows_.push_back(std::make_unique<sim_flow>(c, pool_));
    sim_flow& f = *flows_.back();
    at(std::max<std::uint64_t>(c.start_ns, 1), [this, &f] { send(f); });
    return f;
  }
  void run(std::uint64_t until_ns) {
    while (!events_.empty() && events_.top().at_ns <= until_ns) {
      event e = events_.top();
      events_.pop();
      now_ = e.at_ns;
      e.act();
    }
    now_ = until_ns;
  }
  [[nodiscard]] std::uint64_t now() const { return now_; }
  [[nodiscard]] std::uint32_t blocks_lent() const { return pool_.lent(); }
  void set_loss(double loss) { config_.loss = loss; }

 private:
  void at(std::uint64_t when_ns, std::function<void()> act) { events_.push({when_ns, order_++, std::move(act)}); }
  [[nodiscard]] bool chance(double p) { return p > 0 && static_cast<double>(random_.below(1'000'000)) < p * 1e6; }
  [[nodiscard]] bool is_down() const { return now_ >= config_.down_from_ns && now_ < config_.down_until_ns; }

  [[nodiscard]] static bool has_data(const sim_flow& f, std::uint64_t now) {
    return !f.again_.empty() || (f.next_datagram_ < f.config_.datagrams && now >= f.pause_until_ns_);
  }
  void emit(sim_flow& f, bool probe) {
    if (!f.recovery.reserve(space, 1)) return;
    std::uint64_t datagram = 0;
    if (!f.again_.empty()) {
      datagram = f.again_.front();
      f.again_.pop_front();
    } else if (f.next_datagram_ < f.config_.datagrams) {
      datagram = f.next_datagram_++;
      if (f.config_.pause_every != 0 && f.next_datagram_ % f.config_.pause_every == 0)
        f.pause_until_ns_ = now_ + f.config_.pause_ns;
    } else if (probe) {
      f.recovery.space(space).for_each_outstanding([&](const rec::sent_report& r) {
        datagram = r.tokens[0].value;
        return false;
      });
    }
    const std::uint64_t number = f.recovery.next_number(space);
    rec::sent_packet p;
    p.sent_ns = now_;
    p.bytes = static_cast<std::uint16_t>(f.config_.datagram_bytes);
    p.eliciting = true;
    p.ect = f.recovery.should_mark();
    const rec::sent_token token{.kind = 1, .value = datagram};
    f.recovery.on_sent(space, number, p, {&token, 1});
    ++f.packets;
    f.most_in_flight = std::max(f.most_in_flight, f.recovery.in_flight());
    transmit(f, number, datagram, p.ect);
  }
  void send(sim_flow& f) {
    while (has_data(f, now_) && f.recovery.budget_bytes(now_) >= f.config_.datagram_bytes) emit(f, false);
    if (!has_data(f, now_)) f.recovery.on_app_limited();
    arm(f);
  }
  void arm(sim_flow& f) {
    std::uint64_t next = f.recovery.timer().at_ns;
    if (has_data(f, now_) && !f.recovery.is_window_full())
      next = std::min(next, std::max(f.recovery.next_send_ns(), now_ + 1));
    if (!has_data(f, now_) && f.next_datagram_ < f.config_.datagrams) next = std::min(next, f.pause_until_ns_);
    if (next == rec::never_ns || (f.sender_event_ns_ <= next && f.sender_event_ns_ > now_)) return;
    f.sender_event_ns_ = next;
    at(std::max(next, now_), [this, &f, next] {
      if (f.sender_event_ns_ != next) return;
      f.sender_event_ns_ = rec::never_ns;
      const auto probe = f.recovery.on_timeout(now_, f);
      for (unsigned i = 0; i < probe.packets; ++i, ++f.probes) emit(f, true);
      send(f);
    });
  }
  void transmit(sim_flow& f, std::uint64_t number, std::uint64_t datagram, bool ect) {
    const std::uint64_t bytes = f.config_.datagram_bytes;
    const auto wire_ns = [this](std::uint64_t n) { return n * 8 * rec::second / config_.bits_per_second; };
    const std::uint64_t waiting_ns = busy_until_ > now_ ? busy_until_ - now_ : 0;
    if (is_down() || chance(config_.loss) || waiting_ns + wire_ns(bytes) > wire_ns(config_.queue_bytes)) {
      ++f.dropped;
      return;
    }
    const bool ce = ect && config_.mark_above_bytes != 0 && waiting_ns > wire_ns(config_.mark_above_bytes);
    busy_until_ = std::max(busy_until_, now_) + wire_ns(bytes);
    const std::uint64_t more_ns = chance(config_.reorder) ? config_.reorder_ns : 0;
    at(busy_until_ + config_.delay_ns + more_ns,
       [this, &f, number, datagram, ect, ce] { receive(f, number, datagram, ect, ce); });
  }
  void receive(sim_flow& f, std::uint64_t number, std::uint64_t datagram, bool ect, bool ce) {
    if (datagram >= f.arrived_.size()) f.arrived_.resize(datagram + 1024);
    if (f.arrived_[datagram]) {
      ++f.duplicates;
    } else {
      f.arrived_[datagram] = true;
      if (++f.delivered == f.config_.datagrams) f.done_ns = now_;
    }
    if (ect) ce ? ++f.ecn_.ce : ++f.ecn_.ect0;
    f.marked += ce;
    add(f.received_, number);
    f.policy_.set_rtt(f.recovery.round_trip().smoothed_ns());
    f.policy_.on_packet({.number = number, .now_ns = now_, .eliciting = true, .ce = ce});
    acknowledge(f);
  }
  static void add(std::vector<quic::wire::packet_range>& all, std::uint64_t number) {
    auto next = std::ranges::find_if(all, [&](const auto& r) { return r.largest + 1 >= number; });
    if (!all.empty() && all.back().largest + 1 == number) next = all.end() - 1;
    if (next == all.end()) {
      all.push_back({number, number});
      if (all.size() > 64) all.erase(all.begin());
      return;
    }
    if (number >= next->smallest && number <= next->largest) return;
    if (next->largest + 1 == number) {
      next->largest = number;
      const auto after = next + 1;
      if (after != all.end() && after->smallest == number + 1) {
        next->largest = after->largest;
        all.erase(after);
      }
    } else if (next->smallest == number + 1) {
      next->smallest = number;
    } else {
      all.insert(next, {number, number});
    }
  }
  void acknowledge(sim_flow& f) {
    if (f.policy_.should_send(now_)) {
      const std::uint64_t delay_ns = f.policy_.delay_ns(now_);
      f.policy_.on_sent(false);
      ++f.acks;
      if (!is_down() && !chance(config_.ack_loss)) {
        const auto ecn = f.ecn_;
        auto frame = std::make_shared<made_ack>(f.received_, f.config_.use_ecn ? &ecn : nullptr);
        at(now_ + config_.delay_ns, [this, &f, frame, delay_ns] {
          if (f.recovery.on_ack(space, frame->frame, delay_ns, now_, f) != rec::ack_fault::none) ++f.ack_faults;
          f.most_rtt_ns = std::max(f.most_rtt_ns, f.recovery.round_trip().latest_ns());
          f.least_window = std::min(f.least_window, f.recovery.controller().window_bytes());
          send(f);
        });
      }
    }
    const std::uint64_t deadline = f.policy_.deadline_ns();
    if (deadline == rec::never_ns || deadline == f.receiver_event_ns_) return;
    f.receiver_event_ns_ = deadline;
    at(deadline, [this, &f, deadline] {
      if (f.receiver_event_ns_ != deadline) return;
      f.receiver_event_ns_ = rec::never_ns;
      acknowledge(f);
    });
  }
};

}  // namespace millrace::test
