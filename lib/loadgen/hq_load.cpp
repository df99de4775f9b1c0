#include "loadgen/hq_load.hpp"

#include <algorithm>
#include <chrono>

#include "crypto/random.hpp"
#include "pipeline/hq_pattern.hpp"
#include "pipeline/hq_server.hpp"
#include "pipeline/service_loop.hpp"

namespace millrace::loadgen {
namespace {

using base::failure;
using quic::conn::connection;
using quic::conn::live_stream;

constexpr std::uint64_t look_ns = 1'000'000;            // how often connections are looked after
constexpr std::uint64_t retry_ns = 200'000'000;         // between attempts to connect
constexpr std::uint64_t stop_drain_ns = 1'000'000'000;  // once told to stop, for what is in flight
constexpr std::size_t session_room = 16'384;
constexpr std::size_t token_room = 1'024;
constexpr std::size_t checked_bytes = 16;  // of each piece

std::int64_t wall_now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

base::result<std::unique_ptr<hq_load>> hq_load::make(const hq_settings& settings, mem::packet_pool& pool) {
  if (auto sound = check(settings); !sound) return sound.error();
  if (!settings.tls) return failure{"there is no TLS context", "", true};
  auto made = std::make_unique<hq_load>(passkey{}, settings);
  auto engine = crypto::engine::make();
  if (!engine) return failure{"IPsec-MB cannot start on this CPU", ""};
  made->engine_ = std::make_unique<crypto::engine>(std::move(*engine));
  quic::endpoint::endpoint_keys keys;
  if (!crypto::random_bytes(keys.cid) || !crypto::random_bytes(keys.reset) || !crypto::random_bytes(keys.token))
    return failure{"the kernel gives no random bytes", ""};
  const std::uint64_t now = env::tsc_clock{}.now_ns();
  auto endpoint =
      quic::endpoint::quic_endpoint::make(settings.endpoint, keys, *made->engine_, pool, now, wall_now_ns());
  if (!endpoint) return endpoint.error();
  made->endpoint_ = std::move(endpoint.value());
  made->endpoint_->set_client_memory(made.get());
  made->service_ = std::make_unique<pipeline::quic_service>(*made->endpoint_, pool);
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
  endpoint_.reset();  // its connections tell this object of their end
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
  service_->on_datagrams(arrivals, turn);
}

std::uint64_t hq_load::due_ns() const noexcept { return std::min(next_look_ns_, service_->due_ns()); }

void hq_load::on_time(pipeline::service_turn& turn) noexcept {
  now_ns_ = turn.now_ns;
  service_->on_time(turn);
  if (now_ns_ < next_look_ns_) return;
  next_look_ns_ = phase() == phases::finished ? UINT64_MAX : now_ns_ + look_ns;
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
      who.connection->close(0, now_ns_);
      endpoint_->touch(*who.connection);
    }
  }
  service_->pump(turn);
  // The last goodbye is said; nobody waits for connections that are only remembered.
  if (phase() == phases::closing && open_ == 0 && !endpoint_->wants_poll()) enter(phases::finished);
}

void hq_load::connect(caller& who, pipeline::service_turn& turn) noexcept {
  who.next_try_ns = now_ns_ + retry_ns;
  source_ = settings_.source;
  if (source_.family == base::ip_family::none) {
    const net::local_address* ours = turn.outputs[settings_.interface]->host().source_for(settings_.target.address);
    if (ours == nullptr) return;  // no address yet
    source_ = ours->ip;
  }
  who.moves = 0;
  quic::endpoint::client_request r;
  r.address.local = local_of(who);
  r.address.remote = settings_.target;
  r.interface = settings_.interface;
  r.version = settings_.version;
  r.server_name = settings_.server_name;
  if (settings_.resumes) {
    r.session = base::byte_view(session_).first(session_size_);
    r.token = base::byte_view(token_).first(token_size_);
  }
  r.early_data = settings_.early_data;
  r.protocol = this;
  r.context = settings_.tls;
  connection* c = endpoint_->connect(r, now_ns_);
  if (c == nullptr) {  // every place is taken, by closed connections that are still remembered
    who.next_try_ns = now_ns_ + look_ns;
    return;
  }
  who.connection = c;
  who.begun = who.in_flight = who.bytes = 0;
  who.next_move_ns = UINT64_MAX;
  who.closing = false;
  c->user = &who;
  ++open_;
  count_.connections.add(1);
  ask(who);  // as 0-RTT, where the session allows any; else there is no stream yet
  endpoint_->touch(*c);
}

base::endpoint hq_load::local_of(const caller& who) const noexcept {
  const unsigned port = settings_.first_port + who.which + who.moves % settings_.ports_each() * settings_.step();
  return {source_, static_cast<std::uint16_t>(port)};
}

// RFC 9000 9: from another port, without a word before.
void hq_load::move_on(caller& who) noexcept {
  connection& c = *who.connection;
  who.next_move_ns = now_ns_ + look_ns;  // not confirmed yet, or no connection ID is at hand
  ++who.moves;
  if (c.migrate({local_of(who), settings_.target}, settings_.interface, now_ns_))
    who.next_move_ns = now_ns_ + settings_.migrate_every_ns;
  else
    --who.moves;
  endpoint_->touch(c);
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
  bool soon = who.closing;
  if (end.reason == quic::conn::end_reason::version_negotiation && end.code != 0 && end.code != settings_.version) {
    settings_.version = static_cast<quic::wire::version_number>(end.code);
    soon = true;
  } else if (!who.closing) {
    count_.lost_connections.add(1);
    count_.loss_code.set(end.code);
    count_.loss_text.set(reinterpret_cast<std::uintptr_t>(c.close_text()));
    count_.loss_reason.set(2 * static_cast<std::uint64_t>(end.reason) + (end.from_application ? 2 : 1));
  }
  who.connection = nullptr;
  who.next_try_ns = soon ? now_ns_ : now_ns_ + retry_ns;
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
  f.resumed = endpoint_->events().get(quic::conn::event::resumed);
  f.early_accepted = endpoint_->events().get(quic::conn::event::early_data_accepted);
  f.lost_connections = count_.lost_connections.get();
  f.begun = count_.begun.get();
  f.whole = count_.whole.get();
  f.short_bodies = count_.short_bodies.get();
  f.failed = count_.failed.get();
  f.wrong = count_.wrong.get();
  f.bytes = count_.bytes.get();
  f.in_flight = count_.in_flight.get();
  f.key_updates = endpoint_->events().get(quic::conn::event::key_updates);
  f.migrations = endpoint_->events().get(quic::conn::event::migrations);
  f.first_ns = count_.first_ns.get();
  f.last_ns = count_.last_ns.get();
  return f;
}

std::optional<hq_loss> hq_load::last_loss() const noexcept {
  const std::uint64_t reason = count_.loss_reason.get();
  if (reason == 0) return std::nullopt;
  hq_loss loss;
  loss.end.reason = static_cast<quic::conn::end_reason>((reason - 1) / 2);
  loss.end.from_application = (reason - 1) % 2 != 0;
  loss.end.code = count_.loss_code.get();
  loss.text = reinterpret_cast<const char*>(static_cast<std::uintptr_t>(count_.loss_text.get()));
  return loss;
}

}  // namespace millrace::loadgen
