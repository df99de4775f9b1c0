#include "pipeline/echo_streams.hpp"

namespace millrace::pipeline {

using quic::conn::connection;
using quic::conn::live_stream;

namespace {

constexpr std::uint64_t feed_ns = 1'000'000;  // until streams that found no block are looked at again
constexpr unsigned most_fed = 64;             // at a time

constexpr std::uint64_t number(echo_code code) noexcept { return static_cast<std::uint64_t>(code); }

}  // namespace

base::result<std::unique_ptr<echo_streams>> echo_streams::make(const echo_settings& settings,
                                                               const buf::mbuf_source& blocks) {
  auto pool = mem::object_pool<session>::make("echo_streams", settings.sessions);
  if (!pool) return pool.error();
  return std::unique_ptr<echo_streams>(new echo_streams(settings, blocks, std::move(pool.value())));
}

base::outcome echo_streams::serve_on(quic::endpoint::quic_endpoint& endpoint) {
  if (!endpoint.add_application(echo_protocol, *this))
    return base::failure{"too many applications of one endpoint", ""};
  endpoint_ = &endpoint;
  return base::done{};
}

void echo_streams::on_stream_opened(connection& c, live_stream& s) noexcept {
  if (!s.has_send) return;
  auto* x = pool_.get(*this, s);
  if (x == nullptr) {
    count_.refused.add(1);
    c.stop(s, number(echo_code::no_memory));
    c.reset(s, number(echo_code::no_memory));
    return;
  }
  count_.streams.add(1);
  s.user = x;
  s.source = &x->out;
}

void echo_streams::on_readable(connection& c, live_stream& s) noexcept {
  auto* x = static_cast<session*>(s.user);
  if (s.recv.is_reset()) {
    c.reset_read(s);
    count_.reset_by_peer.add(1);
    if (x == nullptr || x->is_over) return;
    x->is_over = true;
    forget_starved(*x);
    c.reset(s, number(echo_code::cancelled));
    return;
  }
  if (x != nullptr) {
    if (!x->is_over) pump(c, *x);
    return;
  }
  if (s.has_send) return;  // refused: what comes is dropped
  for (std::uint64_t size = s.recv.front().size(); size != 0; size = s.recv.front().size()) {
    count_.bytes_read.add(size);
    c.consume(s, size);
  }
}

// As much as the marks and the blocks let.
void echo_streams::pump(connection& c, session& x) noexcept {
  live_stream& s = *x.stream;
  for (base::byte_view here = s.recv.front(); !here.empty(); here = s.recv.front()) {
    if (!x.out.is_open()) {
      count_.paused.add(1);
      break;
    }
    if (x.out.pipe().write(here) == buf::flow::exhausted) {
      starve(c, x);
      break;
    }
    count_.bytes.add(here.size());
    c.consume(s, here.size());
  }
  static_cast<void>(x.out.submit(c, s));
  if (!s.recv.is_complete() || !s.recv.front().empty()) return;
  x.is_over = true;
  c.finish(s);
}

void echo_streams::on_writable(connection& c, live_stream& s) noexcept {
  auto* x = static_cast<session*>(s.user);
  if (x != nullptr && !x->is_over && x->out.is_open()) pump(c, *x);
}

void echo_streams::on_stopped(connection& c, live_stream& s) noexcept {
  count_.stopped_by_peer.add(1);
  auto* x = static_cast<session*>(s.user);
  if (x == nullptr) return;
  x->is_over = true;
  forget_starved(*x);
  c.stop(s, number(echo_code::cancelled));
}

void echo_streams::on_stream_closed(connection&, live_stream& s) noexcept {
  auto* x = static_cast<session*>(std::exchange(s.user, nullptr));
  if (x == nullptr) return;
  forget_starved(*x);
  pool_.give(x);
}

void echo_streams::starve(connection& c, session& x) noexcept {
  count_.starved.add(1);
  if (x.is_starved) return;
  x.is_starved = true;
  x.next_starved = std::exchange(starved_, &x);
  next_feed_ns_ = std::min(next_feed_ns_, c.now_ns() + feed_ns);
}

// Rare, and the list is short: it is walked.
void echo_streams::forget_starved(session& x) noexcept {
  if (!std::exchange(x.is_starved, false)) return;
  session** at = &starved_;
  while (*at != &x) at = &(*at)->next_starved;
  *at = x.next_starved;
}

void echo_streams::on_clock(std::uint64_t now_ns) noexcept {
  if (now_ns < next_feed_ns_) return;
  next_feed_ns_ = UINT64_MAX;
  session* waiting = std::exchange(starved_, nullptr);
  for (session* x = waiting; x != nullptr; x = x->next_starved) x->is_starved = false;
  for (unsigned fed = 0; waiting != nullptr; ++fed) {
    session& x = *waiting;
    waiting = x.next_starved;
    connection& c = *x.stream->owner;
    if (fed < most_fed)
      pump(c, x);
    else
      starve(c, x);
    endpoint_->touch(c);
  }
  if (starved_ != nullptr) next_feed_ns_ = now_ns + feed_ns;
}

}  // namespace millrace::pipeline
