#include "loadgen/fetch_load.hpp"

#include <algorithm>

#include "base/body_pattern.hpp"
#include "pipeline/service_loop.hpp"

namespace millrace::loadgen {
namespace {

using quic::conn::connection;

constexpr std::uint64_t stop_drain_ns = 1'000'000'000;  // once told to stop, for what is in flight
constexpr std::size_t session_room = 16'384;
constexpr std::size_t token_room = 1'024;
constexpr std::size_t checked_bytes = 16;  // of each piece

}  // namespace

fetch_load::fetch_load(const fetch_settings& settings)
    : settings_(settings), callers_(settings.connections), session_(session_room), token_(token_room) {
  for (std::uint16_t i = 0; i < settings.connections; ++i) callers_[i].which = i;
  static_cast<void>(base::pattern_block());
}

base::outcome fetch_load::prepare(mem::packet_pool& pool, quic::conn::application& by) {
  auto client = quic_client::make({settings_.target, settings_.source, settings_.interface, settings_.server_name,
                                   settings_.version, settings_.tls},
                                  settings_.endpoint, pool, by);
  if (!client) return client.error();
  client_ = std::move(client.value());
  client_->endpoint().set_client_memory(this);
  auto requests = mem::object_pool<request>::make("fetch_requests", settings_.endpoint.streams);
  if (!requests) return requests.error();
  requests_ = std::make_unique<mem::object_pool<request>>(std::move(requests.value()));
  return base::done{};
}

base::outcome fetch_load::open_on(pipeline::service_loop& loop) {
  for (std::uint32_t k = 0; k < settings_.ports_each(); ++k) {
    const std::uint32_t first = settings_.first_port + k * settings_.step();
    for (std::uint32_t i = 0; i < settings_.connections; ++i)
      if (auto opened = loop.open(static_cast<std::uint16_t>(first + i), *this); !opened) return opened;
  }
  return base::done{};
}

void fetch_load::on_datagrams(std::span<const pipeline::udp_arrival> arrivals, pipeline::service_turn& turn) noexcept {
  now_ns_ = turn.now_ns;
  client_->service().on_datagrams(arrivals, turn);
}

std::uint64_t fetch_load::due_ns() const noexcept { return std::min(next_look_ns_, client_->service().due_ns()); }

void fetch_load::on_time(pipeline::service_turn& turn) noexcept {
  now_ns_ = turn.now_ns;
  client_->service().on_time(turn);
  if (now_ns_ < next_look_ns_) return;
  next_look_ns_ = phase() == phases::finished ? UINT64_MAX : now_ns_ + quic_look_ns;
  step(turn);
}

void fetch_load::on_stop(pipeline::service_turn& turn) noexcept {
  now_ns_ = turn.now_ns;
  end_ns_ = now_ns_;
  drain_until_ns_ = std::min(drain_until_ns_, now_ns_ + stop_drain_ns);
  next_look_ns_ = now_ns_;
  step(turn);
}

bool fetch_load::may_begin() const noexcept {
  return now_ns_ < end_ns_ && (settings_.requests == 0 || begun_ < settings_.requests);
}

// Connections that are missing are begun; when all is over, those there are are closed.
void fetch_load::step(pipeline::service_turn& turn) noexcept {
  if (patience_until_ns_ == 0) patience_until_ns_ = now_ns_ + settings_.patience_ns;
  switch (phase()) {
    case phases::waiting:
    case phases::running:
      if (!may_begin() || (phase() == phases::waiting && now_ns_ >= patience_until_ns_)) {
        enter(phases::draining);
        drain_until_ns_ = std::min(drain_until_ns_, now_ns_ + settings_.patience_ns);
        break;
      }
      for (caller& who : callers_) {
        if (who.connection == nullptr) {
          if (now_ns_ >= who.next_try_ns) connect(who, turn);
        } else if (settings_.migrate_every_ns != 0 && now_ns_ >= who.next_move_ns) {
          move_on(who);
        }
      }
      break;
    case phases::draining:
    case phases::closing:
    case phases::finished:
      break;
  }
  if (phase() == phases::draining && (in_flight_ == 0 || count_.answered.get() == 0 || now_ns_ >= drain_until_ns_)) {
    enter(phases::closing);
    for (caller& who : callers_) {
      if (who.connection == nullptr) continue;
      who.closing = true;
      client_->close(*who.connection, now_ns_);
    }
  }
  client_->service().pump(turn);
  // The last goodbye is said; nobody waits for connections that are only remembered.
  if (phase() == phases::closing && open_ == 0 && !client_->endpoint().wants_poll()) enter(phases::finished);
}

void fetch_load::connect(caller& who, pipeline::service_turn& turn) noexcept {
  who.next_try_ns = now_ns_ + quic_look_ns;
  who.moves = 0;
  quic_client::extras more{.port = port_of(who), .session = {}, .token = {}, .early_data = settings_.early_data};
  if (settings_.resumes) {
    more.session = base::byte_view(session_).first(session_size_);
    more.token = base::byte_view(token_).first(token_size_);
  }
  connection* c = client_->connect(more, turn);
  if (c == nullptr) return;
  who.next_try_ns = now_ns_ + quic_retry_ns;
  who.connection = c;
  who.begun = who.in_flight = who.bytes = 0;
  who.next_move_ns = UINT64_MAX;
  who.closing = false;
  ++open_;
  count_.connections.add(1);
  ask(who);  // as 0-RTT, where the session allows any; else there is no stream yet
  client_->endpoint().touch(*c);
}

std::uint16_t fetch_load::port_of(const caller& who) const noexcept {
  return static_cast<std::uint16_t>(settings_.first_port + who.which +
                                    who.moves % settings_.ports_each() * settings_.step());
}

// RFC 9000 9: from another port, without a word before.
void fetch_load::move_on(caller& who) noexcept {
  connection& c = *who.connection;
  who.next_move_ns = now_ns_ + quic_look_ns;  // not confirmed yet, or no connection ID is at hand
  ++who.moves;
  if (c.migrate({{client_->source(), port_of(who)}, settings_.target}, settings_.interface, now_ns_))
    who.next_move_ns = now_ns_ + settings_.migrate_every_ns;
  else
    --who.moves;
  client_->endpoint().touch(c);
}

void fetch_load::connected(caller& who) noexcept {
  count_.established.add(1);
  if (settings_.migrate_every_ns != 0) who.next_move_ns = now_ns_ + settings_.migrate_every_ns;
  if (count_.answered.get() == 0) {
    count_.answered.set(1);
    count_.first_ns.set(now_ns_);
    if (settings_.duration_ns != 0) end_ns_ = std::min(end_ns_, now_ns_ + settings_.duration_ns);
    enter(phases::running);
  }
  ask(who);
}

void fetch_load::ask(caller& who) noexcept {
  while (who.connection != nullptr && who.in_flight < settings_.window && may_begin() &&
         (settings_.requests_each == 0 || who.begun < settings_.requests_each)) {
    request* const r = requests_->get();
    if (r == nullptr) return;
    r->of = &who;
    r->begun_ns = now_ns_;
    ++who.begun;
    ++who.in_flight;
    ++begun_;
    ++in_flight_;
    if (!begin(who, *r)) {
      --who.begun;
      --who.in_flight;
      --begun_;
      --in_flight_;
      requests_->give(r);
      return;
    }
    count_.begun.add(1);
    count_.in_flight.set(in_flight_);
  }
}

void fetch_load::got(caller& who, request& r, base::byte_view bytes) noexcept {
  if (settings_.checks_pattern) {
    const base::byte_view pattern(base::pattern_block());
    const auto at = static_cast<std::size_t>(r.got % base::pattern_bytes);
    const std::size_t n = std::min({bytes.size(), checked_bytes, pattern.size() - at});
    if (!std::equal(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n),
                    pattern.begin() + static_cast<std::ptrdiff_t>(at)))
      count_.wrong.add(1);
  }
  r.got += bytes.size();
  who.bytes += bytes.size();
  count_.bytes.add(bytes.size());
  count_.last_ns.set(now_ns_);
  if (settings_.update_keys_every != 0 && who.bytes >= settings_.update_keys_every &&
      who.connection->update_keys(now_ns_))
    who.bytes = 0;
}

void fetch_load::ended(request& r, bool whole) noexcept {
  if (std::exchange(r.ended, true)) return;
  --r.of->in_flight;
  --in_flight_;
  count_.in_flight.set(in_flight_);
  if (!whole || r.refused) {
    count_.failed.add(1);
  } else if (settings_.expected_bytes != 0 && r.got != settings_.expected_bytes) {
    count_.short_bodies.add(1);
  } else {
    count_.whole.add(1);
    latency_.record(now_ns_ - r.begun_ns);
  }
}

void fetch_load::gone(request& r) noexcept {
  ended(r, false);  // nothing, when it has ended
  caller& who = *r.of;
  requests_->give(&r);
  if (who.connection == nullptr || who.connection->is_closing()) return;
  if (settings_.requests_each != 0 && who.begun >= settings_.requests_each && who.in_flight == 0) {
    who.closing = true;
    who.connection->close(0, now_ns_);
    return;
  }
  ask(who);
}

void fetch_load::lost(caller& who, const quic::conn::connection_end& end) noexcept {
  const bool soon = who.closing || client_->take_end(*who.connection, end);
  if (!soon) count_.lost_connections.add(1);
  who.connection = nullptr;
  who.next_try_ns = soon ? now_ns_ : now_ns_ + quic_retry_ns;
  next_look_ns_ = std::min(next_look_ns_, now_ns_);
  --open_;
}

// Of as many connections as there are, once or twice in the life of each.
fetch_load::caller* fetch_load::find(const connection& c) noexcept {
  const auto found = std::ranges::find(callers_, &c, &caller::connection);
  return found == callers_.end() ? nullptr : &*found;
}

void fetch_load::on_session(connection&, base::byte_view session) noexcept {
  if (session.size() > session_.size()) return;
  std::copy(session.begin(), session.end(), session_.begin());
  session_size_ = session.size();
}
void fetch_load::on_token(connection&, base::byte_view token) noexcept {
  if (token.size() > token_.size()) return;
  std::copy(token.begin(), token.end(), token_.begin());
  token_size_ = token.size();
}

fetch_figures fetch_load::figures() const noexcept {
  fetch_figures f;
  f.answered = count_.answered.get() != 0;
  f.connections = count_.connections.get();
  f.established = count_.established.get();
  f.resumed = events().get(quic::conn::event::resumed);
  f.early_accepted = events().get(quic::conn::event::early_data_accepted);
  f.lost_connections = count_.lost_connections.get();
  f.begun = count_.begun.get();
  f.whole = count_.whole.get();
  f.short_bodies = count_.short_bodies.get();
  f.failed = count_.failed.get();
  f.wrong = count_.wrong.get();
  f.bytes = count_.bytes.get();
  f.in_flight = count_.in_flight.get();
  f.key_updates = events().get(quic::conn::event::key_updates);
  f.migrations = events().get(quic::conn::event::migrations);
  f.first_ns = count_.first_ns.get();
  f.last_ns = count_.last_ns.get();
  return f;
}

}  // namespace millrace::loadgen
