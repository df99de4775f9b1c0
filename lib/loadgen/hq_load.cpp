#include "loadgen/hq_load.hpp"

#include <algorithm>

#include "pipeline/hq_pattern.hpp"
#include "pipeline/hq_server.hpp"
#include "pipeline/service_loop.hpp"

namespace millrace::loadgen {
namespace {

using quic::conn::connection;
using quic::conn::live_stream;

constexpr std::uint64_t stop_drain_ns = 1'000'000'000;  // once told to stop, for what is in flight
constexpr std::size_t session_room = 16'384;
constexpr std::size_t token_room = 1'024;
constexpr std::size_t checked_bytes = 16;  // of each piece

}  // namespace

base::result<std::unique_ptr<hq_load>> hq_load::make(const hq_settings& settings, mem::packet_pool& pool) {
  if (auto sound = check(settings); !sound) return sound.error();
  auto made = std::make_unique<hq_load>(passkey{}, settings);
  auto client = quic_client::make(
      {settings.target, settings.source, settings.interface, settings.server_name, settings.version, settings.tls},
      settings.endpoint, pool, *made);
  if (!client) return client.error();
  made->client_ = std::move(client.value());
  made->client_->endpoint().set_client_memory(made.get());
  auto requests = mem::object_pool<request>::make("hq_load_requests", settings.endpoint.streams);
  if (!requests) return requests.error();
  made->requests_ = std::make_unique<mem::object_pool<request>>(std::move(requests.value()));
  return made;
}

hq_load::hq_load(passkey, const hq_settings& settings)
    : settings_(settings), callers_(settings.connections), session_(session_room), token_(token_room) {
  line_.line = "GET " + settings.path + "\r\n";
  for (std::uint16_t i = 0; i < settings.connections; ++i) callers_[i].which = i;
  static_cast<void>(pipeline::pattern_block());
}

hq_load::~hq_load() {
  if (client_) client_->end();  // its connections tell this object of their end
}

base::outcome hq_load::open_on(pipeline::service_loop& loop) {
  for (std::uint32_t k = 0; k < settings_.ports_each(); ++k) {
    const std::uint32_t first = settings_.first_port + k * settings_.step();
    for (std::uint32_t i = 0; i < settings_.connections; ++i)
      if (auto opened = loop.open(static_cast<std::uint16_t>(first + i), *this); !opened) return opened;
  }
  return base::done{};
}

void hq_load::on_datagrams(std::span<const pipeline::udp_arrival> arrivals, pipeline::service_turn& turn) noexcept {
  now_ns_ = turn.now_ns;
  client_->service().on_datagrams(arrivals, turn);
}

std::uint64_t hq_load::due_ns() const noexcept { return std::min(next_look_ns_, client_->service().due_ns()); }

void hq_load::on_time(pipeline::service_turn& turn) noexcept {
  now_ns_ = turn.now_ns;
  client_->service().on_time(turn);
  if (now_ns_ < next_look_ns_) return;
  next_look_ns_ = phase() == phases::finished ? UINT64_MAX : now_ns_ + quic_look_ns;
  step(turn);
}

void hq_load::on_stop(pipeline::service_turn& turn) noexcept {
  now_ns_ = turn.now_ns;
  end_ns_ = now_ns_;
  drain_until_ns_ = std::min(drain_until_ns_, now_ns_ + stop_drain_ns);
  next_look_ns_ = now_ns_;
  step(turn);
}

bool hq_load::may_begin() const noexcept {
  return now_ns_ < end_ns_ && (settings_.requests == 0 || begun_ < settings_.requests);
}

// Connections that are missing are begun; when all is over, those there are are closed.
void hq_load::step(pipeline::service_turn& turn) noexcept {
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

void hq_load::connect(caller& who, pipeline::service_turn& turn) noexcept {
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
  c->user = &who;
  ++open_;
  count_.connections.add(1);
  ask(who);  // as 0-RTT, where the session allows any; else there is no stream yet
  client_->endpoint().touch(*c);
}

std::uint16_t hq_load::port_of(const caller& who) const noexcept {
  return static_cast<std::uint16_t>(settings_.first_port + who.which +
                                    who.moves % settings_.ports_each() * settings_.step());
}

// RFC 9000 9: from another port, without a word before.
void hq_load::move_on(caller& who) noexcept {
  connection& c = *who.connection;
  who.next_move_ns = now_ns_ + quic_look_ns;  // not confirmed yet, or no connection ID is at hand
  ++who.moves;
  if (c.migrate({{client_->source(), port_of(who)}, settings_.target}, settings_.interface, now_ns_))
    who.next_move_ns = now_ns_ + settings_.migrate_every_ns;
  else
    --who.moves;
  client_->endpoint().touch(c);
}

void hq_load::on_established(connection& c) noexcept {
  count_.established.add(1);
  caller& who = *static_cast<caller*>(c.user);
  if (settings_.migrate_every_ns != 0) who.next_move_ns = now_ns_ + settings_.migrate_every_ns;
  if (count_.answered.get() == 0) {
    count_.answered.set(1);
    count_.first_ns.set(now_ns_);
    if (settings_.duration_ns != 0) end_ns_ = std::min(end_ns_, now_ns_ + settings_.duration_ns);
    enter(phases::running);
  }
  ask(who);
}

void hq_load::ask(caller& who) noexcept {
  connection& c = *who.connection;
  while (who.in_flight < settings_.window && may_begin() &&
         (settings_.requests_each == 0 || who.begun < settings_.requests_each)) {
    live_stream* s = c.open(quic::stream::direction::bidirectional, now_ns_);
    if (s == nullptr) return;
    request* r = requests_->get();
    s->user = r;
    s->source = &line_;
    if (r != nullptr) r->begun_ns = now_ns_;
    static_cast<void>(c.write(*s, line_.line.size()));
    c.finish(*s);
    ++who.begun;
    ++who.in_flight;
    ++begun_;
    ++in_flight_;
    count_.begun.add(1);
    count_.in_flight.set(in_flight_);
  }
}

void hq_load::on_readable(connection& c, live_stream& s) noexcept {
  caller& who = *static_cast<caller*>(c.user);
  auto* r = static_cast<request*>(s.user);
  if (s.recv.is_reset()) {
    c.reset_read(s);
    if (r != nullptr) finish_request(who, *r, false);
    return;
  }
  if (r == nullptr) {
    c.stop(s, static_cast<std::uint64_t>(pipeline::hq_code::no_memory));
    return;
  }
  read(c, s, *r);
  if (s.recv.is_at_end() && !r->ended) finish_request(who, *r, true);
}

void hq_load::read(connection& c, live_stream& s, request& r) noexcept {
  const base::byte_view pattern(pipeline::pattern_block());
  std::uint64_t got = 0;
  for (base::byte_view bytes = s.recv.front(); !bytes.empty(); bytes = s.recv.front()) {
    if (settings_.checks_pattern) {
      const auto at = static_cast<std::size_t>(r.got % pipeline::pattern_bytes);
      const std::size_t n = std::min({bytes.size(), checked_bytes, pattern.size() - at});
      if (!std::equal(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n),
                      pattern.begin() + static_cast<std::ptrdiff_t>(at)))
        count_.wrong.add(1);
    }
    r.got += bytes.size();
    got += bytes.size();
    c.consume(s, bytes.size());
  }
  count_.bytes.add(got);
  count_.last_ns.set(now_ns_);
  caller& who = *static_cast<caller*>(c.user);
  who.bytes += got;
  if (settings_.update_keys_every != 0 && who.bytes >= settings_.update_keys_every && c.update_keys(now_ns_))
    who.bytes = 0;
}

void hq_load::finish_request(caller& who, request& r, bool whole) noexcept {
  if (std::exchange(r.ended, true)) return;
  --who.in_flight;
  --in_flight_;
  count_.in_flight.set(in_flight_);
  if (!whole) {
    count_.failed.add(1);
  } else if (settings_.expected_bytes != 0 && r.got != settings_.expected_bytes) {
    count_.short_bodies.add(1);
  } else {
    count_.whole.add(1);
    latency_.record(now_ns_ - r.begun_ns);
  }
}

void hq_load::on_stream_closed(connection& c, live_stream& s) noexcept {
  caller& who = *static_cast<caller*>(c.user);
  if (auto* r = static_cast<request*>(std::exchange(s.user, nullptr))) {
    finish_request(who, *r, false);  // nothing, when it has ended
    requests_->give(r);
  }
  if (c.is_closing()) return;
  if (settings_.requests_each != 0 && who.begun >= settings_.requests_each && who.in_flight == 0) {
    who.closing = true;
    c.close(0, now_ns_);
    return;
  }
  ask(who);
}

void hq_load::on_closed(connection& c, const quic::conn::connection_end& end) noexcept {
  if (c.user == nullptr) return;
  caller& who = *static_cast<caller*>(c.user);
  const bool soon = who.closing || client_->take_end(c, end);
  if (!soon) count_.lost_connections.add(1);
  who.connection = nullptr;
  who.next_try_ns = soon ? now_ns_ : now_ns_ + quic_retry_ns;
  next_look_ns_ = std::min(next_look_ns_, now_ns_);
  --open_;
}

void hq_load::on_session(connection&, base::byte_view session) noexcept {
  if (session.size() > session_.size()) return;
  std::copy(session.begin(), session.end(), session_.begin());
  session_size_ = session.size();
}
void hq_load::on_token(connection&, base::byte_view token) noexcept {
  if (token.size() > token_.size()) return;
  std::copy(token.begin(), token.end(), token_.begin());
  token_size_ = token.size();
}

hq_figures hq_load::figures() const noexcept {
  hq_figures f;
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
