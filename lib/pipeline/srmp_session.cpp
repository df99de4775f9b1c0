#include "pipeline/srmp_session.hpp"

namespace millrace::pipeline {

using quic::conn::connection;
using quic::conn::live_stream;

namespace {

constexpr std::uint64_t sweep_ns = 500'000'000;  // how late a time-out is found, at most
constexpr std::uint64_t feed_ns = 1'000'000;     // how long one without a block waits before it asks again
constexpr std::uint32_t most_a_turn = 512;       // sessions looked at in one on_clock()

constexpr std::uint64_t number(srmp_code code) noexcept { return static_cast<std::uint64_t>(code); }

}  // namespace

base::result<srmp_sessions::parts> srmp_sessions::make_parts(const srmp_stream_settings& settings) {
  if (settings.sessions == 0) return base::failure{"SRMP over QUIC needs at least one session", "", true};
  auto pool = mem::object_pool<session>::make("srmp_streams", settings.sessions);
  if (!pool) return pool.error();
  auto store = intake_store::make(settings.intake, settings.assembly_blocks);
  if (!store) return store.error();
  mem::region spill = mem::region::make_array<std::uint8_t>("srmp_spill", srmp::stream_batch::spill_bytes);
  if (!spill) return base::failure{"no memory for SRMP replies", ""};
  return parts{std::move(pool.value()), std::move(store.value()), std::move(spill)};
}

base::outcome srmp_sessions::serve_on(quic::endpoint::quic_endpoint& endpoint) {
  const quic::conn::transport_settings& t = endpoint.settings().transport;
  // Each stream may keep an unfinished frame of so many bytes without giving credit back (srmp_intake.hpp).
  if (t.streams_bidi * store_->limits.keep_bytes > t.connection_window_bytes ||
      t.stream_window_bytes < 2 * std::uint64_t{store_->limits.keep_bytes})
    return base::failure{"QUIC's windows are too small for " + std::to_string(t.streams_bidi) +
                             " streams with unfinished SRMP frames of " + std::to_string(store_->limits.keep_bytes) +
                             " bytes",
                         "", true};
  endpoint_ = &endpoint;
  if (!endpoint.add_application(srmp_protocol, *this))
    return base::failure{"the endpoint serves too many protocols", ""};
  return base::done{};
}

void srmp_sessions::on_stream_opened(connection& c, live_stream& s) noexcept {
  if (!s.has_send) {
    count_.not_served.add(1);
    c.stop(s, number(srmp_code::not_served));
    return;
  }
  count_.streams.add(1);
  session* x = pool_.get(*this, c, s);
  if (x == nullptr) {
    count_.refused.add(1);
    c.stop(s, number(srmp_code::no_memory));
    c.reset(s, number(srmp_code::no_memory));
    return;
  }
  s.user = x;
  s.source = &x->out;
}

void srmp_sessions::on_readable(connection& c, live_stream& s) noexcept {
  auto* x = static_cast<session*>(s.user);
  if (s.recv.is_reset()) {
    c.reset_read(s);
    if (x == nullptr || !x->is_serving) return;
    count_.reset_by_peer.add(1);
    x->is_serving = false;
    x->intake.abandon();
    put(*x, session::listed::nowhere);
    c.reset(s, number(srmp_code::cancelled));
    return;
  }
  if (x == nullptr || !x->is_serving) return;  // stopped: what comes is dropped
  serve(*x);
}

void srmp_sessions::on_writable(connection&, live_stream& s) noexcept {
  auto* x = static_cast<session*>(s.user);
  if (x == nullptr) return;
  if (x->ending != srmp_code::no_error) {
    maybe_reset(*x);
  } else if (x->is_serving && x->is_paused && x->out.is_open()) {
    serve(*x);
  }
}

void srmp_sessions::on_stopped(connection& c, live_stream& s) noexcept {
  auto* x = static_cast<session*>(s.user);
  if (x == nullptr) return;
  count_.stopped_by_peer.add(1);
  x->is_serving = false;
  x->intake.abandon();
  put(*x, session::listed::nowhere);
  c.stop(s, number(srmp_code::cancelled));
}

void srmp_sessions::on_stream_closed(connection&, live_stream& s) noexcept {
  auto* x = static_cast<session*>(std::exchange(s.user, nullptr));
  if (x == nullptr) return;
  put(*x, session::listed::nowhere);
  pool_.give(x);
}

bool srmp_sessions::pass_body(session& x) noexcept {
  live_stream& s = *x.stream;
  while (x.body_left != 0) {
    base::byte_view here = s.recv.front();
    if (here.empty()) return false;
    here = here.first(std::min<std::size_t>(here.size(), x.body_left));
    if (x.fate == body_fate::pass) {
      if (!x.out.is_open()) return false;
      // Copied: what a slow reader has not acknowledged must not pin the packets we receive into.
      if (x.out.pipe().write(here) == buf::flow::exhausted) {
        starve(x);
        return false;
      }
    }
    x.body_left -= static_cast<std::uint32_t>(here.size());
    x.connection->consume(s, here.size());
  }
  return true;
}

// After what could be read was: credit back, replies on their way, and what comes next.
void srmp_sessions::after_serving(session& x, bool had_frames) noexcept {
  connection& c = *x.connection;
  live_stream& s = *x.stream;
  static_cast<void>(x.out.submit(c, s));
  if (x.in == session::listed::starved) return;
  x.is_paused = !x.out.is_open();
  if (x.is_paused) {
    count_.paused.add(1);
    put(x, session::listed::nowhere);
    return;
  }
  const bool inside = x.body_left != 0 || x.intake.is_inside(s);
  if (s.recv.is_complete()) {
    put(x, session::listed::nowhere);
    if (inside) {
      count_.truncated.add(1);
      end(x, srmp_code::truncated);
    } else {
      count_.finished.add(1);
      x.is_serving = false;
      c.finish(s);
    }
    return;
  }
  // Of a streamed payload only the silence between two arrivals is bounded.
  x.timer.on_arrival(c.now_ns(), had_frames || x.body_left != 0, inside);
  put(x, inside ? session::listed::unfinished : session::listed::nowhere);
}

void srmp_sessions::end(session& x, srmp_code code) noexcept {
  x.is_serving = false;
  x.ending = code;
  x.intake.abandon();
  put(x, session::listed::nowhere);
  x.connection->stop(*x.stream, number(code));
  maybe_reset(x);
}

void srmp_sessions::maybe_reset(session& x) noexcept {
  if (x.stream->send.acked() < x.stream->send.written()) return;
  x.connection->reset(*x.stream, number(x.ending));
}

void srmp_sessions::starve(session& x) noexcept {
  count_.starved.add(1);
  put(x, session::listed::starved);
}

void srmp_sessions::put(session& x, session::listed where) noexcept {
  if (x.in == where) return;
  if (x.in != session::listed::nowhere) {
    list& l = list_of(x.in);
    (x.previous == nullptr ? l.first : x.previous->next) = x.next;
    (x.next == nullptr ? l.last : x.next->previous) = x.previous;
    --l.size;
  }
  x.in = where;
  x.next = x.previous = nullptr;
  if (where == session::listed::nowhere) return;
  list& l = list_of(where);
  x.previous = l.last;
  (l.last == nullptr ? l.first : l.last->next) = &x;
  l.last = &x;
  ++l.size;
  const std::uint64_t now = x.connection->now_ns();
  if (where == session::listed::starved)
    next_feed_ns_ = std::min(next_feed_ns_, now + feed_ns);
  else
    next_sweep_ns_ = std::min(next_sweep_ns_, now + sweep_ns);
}

void srmp_sessions::on_clock(std::uint64_t now_ns) noexcept {
  if (now_ns >= next_sweep_ns_) sweep(now_ns);
  if (now_ns >= next_feed_ns_) feed(now_ns);
}

// Each is taken from the front of the list and put behind, so that what happens to it cannot spoil the walk.
void srmp_sessions::sweep(std::uint64_t now_ns) noexcept {
  for (std::uint32_t left = std::min(unfinished_.size, most_a_turn); left != 0 && unfinished_.first != nullptr;
       --left) {
    session& x = *unfinished_.first;
    put(x, session::listed::nowhere);
    if (!x.timer.has_expired(now_ns)) {
      put(x, session::listed::unfinished);
      continue;
    }
    count_.expired.add(1);
    connection& c = *x.connection;
    end(x, srmp_code::too_slow);
    endpoint_->touch(c);
  }
  const std::uint64_t later = unfinished_.size > most_a_turn ? sweep_ns / 16 : sweep_ns;
  next_sweep_ns_ = unfinished_.size == 0 ? UINT64_MAX : now_ns + later;
}

void srmp_sessions::feed(std::uint64_t now_ns) noexcept {
  for (std::uint32_t left = std::min(starved_.size, most_a_turn); left != 0 && starved_.first != nullptr; --left) {
    session& x = *starved_.first;
    put(x, session::listed::nowhere);
    connection& c = *x.connection;
    serve(x);
    endpoint_->touch(c);
  }
  next_feed_ns_ = starved_.size == 0 ? UINT64_MAX : now_ns + feed_ns;
}

}  // namespace millrace::pipeline
