// loadgen/reply_judge.hpp - the listener of a load generator's clients: each reply judged, counted and timed.
//
// Shape    one object a datagram: it is handed to datagram_client::on_datagram(), then flush() and did() say what was
//          in it. Counters that others read are touched a datagram, not a message.
// Units    ns of the session's clock. Threads  one lcore.
// Tests    test/loadgen/load_session_test.cpp
#pragma once

#include "loadgen/load_messages.hpp"
#include "srmp/datagram_client.hpp"
#include "stats/latency_histogram.hpp"

namespace millrace::loadgen {

// What others may read at any time.
struct load_counters {
  stats::counter phase;
  stats::counter answered;
  stats::counter sent;
  stats::counter replies;
  stats::counter items;
  stats::counter sent_bytes;
  stats::counter reply_bytes;
  stats::counter datagrams_sent;
  stats::counter datagrams_received;
  stats::counter in_flight;
  stats::counter knocks;
  stats::counter unheard;
  stats::counter behind_ns;
  stats::counter first_ns;
  stats::counter last_ns;
  std::array<stats::counter, load_error_count> errors;

  void add(load_error kind, std::uint64_t n) noexcept { errors[static_cast<std::size_t>(kind)].add(n); }
  void set(load_error kind, std::uint64_t n) noexcept { errors[static_cast<std::size_t>(kind)].set(n); }
  [[nodiscard]] load_figures read() const noexcept {
    load_figures out;
    out.phase = static_cast<load_phase>(phase.get());
    out.answered = answered.get() != 0;
    out.sent = sent.get();
    out.replies = replies.get();
    out.items = items.get();
    out.sent_bytes = sent_bytes.get();
    out.reply_bytes = reply_bytes.get();
    out.datagrams_sent = datagrams_sent.get();
    out.datagrams_received = datagrams_received.get();
    out.in_flight = in_flight.get();
    out.knocks = knocks.get();
    out.unheard = unheard.get();
    out.behind_ns = behind_ns.get();
    out.first_ns = first_ns.get();
    out.last_ns = last_ns.get();
    for (std::size_t i = 0; i < out.errors.size(); ++i) out.errors[i] = errors[i].get();
    return out;
  }
};

class reply_judge {
  const load_messages& messages_;
  load_counters& count_;
  stats::latency_histogram& latency_;
  std::uint64_t now_;  // of the stamps' clock
  // Replies of one datagram often have one latency: they are recorded together.
  std::uint64_t run_ns_ = 0;
  std::uint64_t run_ = 0;
  std::uint64_t replies_ = 0;
  std::uint64_t items_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t settled_ = 0;
  bool heard_ = false;

  void record(std::uint64_t latency_ns) noexcept {
    if (latency_ns != run_ns_) {
      if (run_ != 0) latency_.record(run_ns_, run_);
      run_ns_ = latency_ns;
      run_ = 0;
    }
    ++run_;
  }

 public:
  reply_judge(const load_messages& messages, load_counters& count, stats::latency_histogram& latency,
              std::uint64_t now) noexcept
      : messages_(messages), count_(count), latency_(latency), now_(now) {}

  [[nodiscard]] std::uint64_t settled() const noexcept { return settled_; }  // requests that wait no longer
  [[nodiscard]] bool has_progress() const noexcept { return replies_ + items_ != 0; }
  [[nodiscard]] bool heard() const noexcept { return heard_; }  // any reply to a request of ours, also to a knock

  void flush() noexcept {
    if (run_ != 0) latency_.record(run_ns_, run_);
    count_.datagrams_received.add(1);
    if (!has_progress()) return;
    count_.replies.add(replies_);
    count_.items.add(items_);
    count_.reply_bytes.add(bytes_);
  }

  // --- datagram_client calls these ---
  bool on_reply(const srmp::pending_request& asked, const srmp::wire::frame& f) noexcept {
    const load_stamp stamp{asked.cookie};
    heard_ = true;
    const load_verdict verdict = messages_.judge(f, stamp);
    if (stamp.is_knock()) [[unlikely]]
      return verdict != load_verdict::item;
    switch (verdict) {
      case load_verdict::right:
        record(stamp.age_ns(now_));
        ++replies_;
        bytes_ += f.payload.size();
        break;
      case load_verdict::item:
        ++items_;
        bytes_ += f.payload.size();
        return false;
      case load_verdict::stale:
        count_.add(load_error::unmatched, 1);
        return false;
      case load_verdict::error:
        count_.add(load_error::error_reply, 1);
        break;
      case load_verdict::wrong:
        count_.add(load_error::mismatch, 1);
        break;
    }
    ++settled_;
    return true;
  }
  void on_push(const srmp::wire::frame&) noexcept { count_.add(load_error::unmatched, 1); }
  void on_goodbye() noexcept {}
};

}  // namespace millrace::loadgen
