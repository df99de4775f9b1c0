#include "loadgen/srmp_quic_load.hpp"

#include <algorithm>

#include "pipeline/service_loop.hpp"

namespace millrace::loadgen {
namespace {

using base::failure;
using quic::conn::connection;
using quic::conn::live_stream;

constexpr std::uint64_t stream_cancelled = 6;  // pipeline::srmp_code::cancelled

}  // namespace

base::result<std::unique_ptr<srmp_quic_load>> srmp_quic_load::make(const srmp_quic_settings& settings,
                                                                   mem::packet_pool& pool) {
  if (auto sound = check(settings); !sound) return sound.error();
  auto made = std::make_unique<srmp_quic_load>(passkey{}, settings, pool);
  auto store =
      pipeline::intake_store::make({}, std::min<std::uint32_t>(settings.load.connections * settings.streams, 64));
  if (!store) return store.error();
  made->store_ = std::move(store.value());
  const load_settings& l = settings.load;
  auto client =
      quic_client::make({l.target, l.source, l.interface, settings.server_name, settings.version, settings.tls},
                        settings.endpoint, pool, *made);
  if (!client) return client.error();
  made->client_ = std::move(client.value());
  return made;
}

srmp_quic_load::srmp_quic_load(passkey, const srmp_quic_settings& settings, mem::packet_pool& pool)
    : settings_(settings),
      messages_(settings.load),
      pool_(pool),
      spill_(srmp::stream_batch::spill_bytes),
      callers_(settings.load.connections) {
  for (std::uint16_t i = 0; i < settings.load.connections; ++i) {
    callers_[i].which = i;
    for (std::uint16_t k = 0; k < settings.streams; ++k) lines_.emplace_back(settings.load, callers_[i]);
  }
  enter(load_phase::waiting);
}

srmp_quic_load::~srmp_quic_load() {
  if (client_) client_->end();  // its connections tell this object of their end
}

base::outcome srmp_quic_load::open_on(pipeline::service_loop& loop) {
  const load_settings& s = settings_.load;
  if (s.interface >= loop.interfaces())
    return failure{"the load generator's interface " + std::to_string(s.interface) + " is none of the loop's", "",
                   true};
  for (std::uint16_t i = 0; i < s.connections; ++i)
    if (auto opened = loop.open(static_cast<std::uint16_t>(s.first_port + i), *this); !opened) return opened;
  return base::done{};
}

void srmp_quic_load::on_datagrams(std::span<const pipeline::udp_arrival> arrivals,
                                  pipeline::service_turn& turn) noexcept {
  now_ns_ = turn.now_ns;
  client_->service().on_datagrams(arrivals, turn);
  if (phase() == load_phase::draining && in_flight_ == 0) next_look_ns_ = std::min(next_look_ns_, now_ns_);
}

std::uint64_t srmp_quic_load::due_ns() const noexcept {
  std::uint64_t due = std::min(next_look_ns_, client_->service().due_ns());
  if (is_open_loop() && phase() == load_phase::running) due = std::min(due, pacer_.next_ns());
  return due;
}

void srmp_quic_load::on_time(pipeline::service_turn& turn) noexcept {
  now_ns_ = turn.now_ns;
  if (is_open_loop() && may_send()) send_due();
  client_->service().on_time(turn);
  if (now_ns_ < next_look_ns_) return;
  next_look_ns_ = phase() == load_phase::finished ? UINT64_MAX : now_ns_ + quic_look_ns;
  step(turn);
}

void srmp_quic_load::on_stop(pipeline::service_turn& turn) noexcept {
  now_ns_ = turn.now_ns;
  end_ns_ = now_ns_;
  next_look_ns_ = now_ns_;
  step(turn);
}

// Connections and streams that are missing are begun; when all is over, those there are are closed.
void srmp_quic_load::step(pipeline::service_turn& turn) noexcept {
  if (phase() == load_phase::waiting) {
    enter(load_phase::knocking);
    patience_until_ns_ = now_ns_ + settings_.load.patience_ns;
  }
  if (phase() == load_phase::knocking && (now_ns_ >= patience_until_ns_ || now_ns_ >= end_ns_)) {
    count_.add(load_error::unreachable, 1);
    enter(load_phase::draining);
  }
  if (phase() == load_phase::running && !may_send()) enter(load_phase::draining);
  if (phase() == load_phase::knocking || phase() == load_phase::running) {
    for (caller& who : callers_) {
      if (who.connection == nullptr && now_ns_ >= who.next_try_ns) connect(who, turn);
      if (who.connection != nullptr && who.connection->is_established() && open_streams(who))
        client_->endpoint().touch(*who.connection);
    }
  }
  if (now_ns_ >= next_sweep_ns_) sweep();
  if (phase() == load_phase::draining && in_flight_ == 0 && has_said_all() && !std::exchange(closing_, true)) {
    for (caller& who : callers_) {
      if (who.connection == nullptr) continue;
      who.closing = true;
      client_->close(*who.connection, now_ns_);
    }
  }
  client_->service().pump(turn);
  if (closing_ && open_ == 0 && !client_->endpoint().wants_poll()) enter(load_phase::finished);
}

// Whether the server has acknowledged every byte: a close would take back what it has not. Given up with the time-out.
bool srmp_quic_load::has_said_all() const noexcept {
  if (now_ns_ >= count_.last_ns.get() + settings_.load.timeout_ns) return true;
  return std::ranges::all_of(lines_, [](const line& l) { return !l.io || l.io->out.waiting_bytes() == 0; });
}

void srmp_quic_load::connect(caller& who, pipeline::service_turn& turn) noexcept {
  who.next_try_ns = now_ns_ + quic_retry_ns;
  // No early data: a request that is repeated would be answered twice.
  connection* c = client_->connect({.port = static_cast<std::uint16_t>(settings_.load.first_port + who.which),
                                    .session = {},
                                    .token = {},
                                    .early_data = false},
                                   turn);
  if (c == nullptr) return;
  who.connection = c;
  who.closing = false;
  c->user = &who;
  ++open_;
  connections_begun_.add(1);
  client_->endpoint().touch(*c);
}

void srmp_quic_load::on_established(connection& c) noexcept {
  if (c.user == nullptr) return;
  handshakes_.add(1);
  if (phase() == load_phase::knocking) {
    zero_ns_ = std::max<std::uint64_t>(now_ns_, 1);
    count_.answered.set(1);
    count_.first_ns.set(now_ns_);
    const load_settings& s = settings_.load;
    if (s.duration_ns != 0) end_ns_ = std::min(end_ns_, now_ns_ + s.duration_ns);
    if (is_open_loop()) pacer_ = pacer({s.rate, s.share, s.shares}, now_ns_);
    enter(load_phase::running);
  }
  static_cast<void>(open_streams(*static_cast<caller*>(c.user)));
}

void srmp_quic_load::on_streams_available(connection& c) noexcept {
  if (c.user != nullptr) static_cast<void>(open_streams(*static_cast<caller*>(c.user)));
}

// Those that are missing; whether there were any.
bool srmp_quic_load::open_streams(caller& who) noexcept {
  connection& c = *who.connection;
  bool opened = false;
  for (std::size_t i = 0; i < settings_.streams && phase() == load_phase::running; ++i) {
    line& l = lines_[who.which * std::size_t{settings_.streams} + i];
    if (l.stream != nullptr) continue;
    live_stream* s = c.open(quic::stream::direction::bidirectional, now_ns_);
    if (s == nullptr) break;
    l.io.emplace(pool_, *store_);
    l.stream = s;
    s->user = &l;
    s->source = &l.io->out;
    if (!is_open_loop()) fill(l, UINT64_MAX);
    opened = true;
  }
  return opened;
}

bool srmp_quic_load::ask_one(srmp::stream_batch& out, line& l, load_stamp stamp) noexcept {
  const std::size_t size = messages_.size();
  const auto write = [&](base::byte_span room) {
    messages_.write(room, stamp);
    return size;
  };
  constexpr auto kind = static_cast<std::uint8_t>(srmp::wire::data_kind::packet);
  if (messages_.is_one_way()) return static_cast<bool>(l.client.one_way(out, kind, size, write));
  const srmp::request_terms terms{
      .cookie = stamp.bits, .deadline = now_ns_ + settings_.load.timeout_ns, .data_kind = kind};
  return static_cast<bool>(l.client.request(out, terms, size, write));
}

// One line asks for as much as window, time and memory let, up to `most`.
void srmp_quic_load::fill(line& l, std::uint64_t most) noexcept {
  if (!l.io || !may_send() || !has_room(l)) return;
  srmp::stream_batch out(l.io->out.pipe(), pool_.data_room(), spill_);
  std::uint64_t asked = 0;
  for (; asked < most && may_send() && has_room(l); ++asked) {
    if (is_open_loop() && !pacer_.is_due(now_ns_)) break;
    const std::uint64_t meant = is_open_loop() ? pacer_.next_ns() : now_ns_;
    if (!ask_one(out, l, load_stamp::of(meant - zero_ns_, sent_, false))) {
      count_.add(load_error::refused, 1);
      break;
    }
    if (is_open_loop()) pacer_.take();
    ++sent_;
    if (!messages_.is_one_way()) ++in_flight_;
  }
  if (asked == 0) return;
  static_cast<void>(l.io->out.submit(*l.of->connection, *l.stream));
  count_.sent.set(sent_);
  count_.sent_bytes.add(asked * messages_.size());
  count_.datagrams_sent.add(1);
  count_.in_flight.set(in_flight_);
  count_.last_ns.set(now_ns_);
}

// Open loop: what is due, in turns.
void srmp_quic_load::send_due() noexcept {
  std::size_t fruitless = 0;
  while (may_send() && pacer_.is_due(now_ns_) && fruitless < lines_.size()) {
    line& l = lines_[next_line_];
    next_line_ = next_line_ + 1 == lines_.size() ? 0 : next_line_ + 1;
    const std::uint64_t before = sent_;
    fill(l, 1);
    fruitless = sent_ == before ? fruitless + 1 : 0;
    if (sent_ != before) client_->endpoint().touch(*l.of->connection);
  }
  count_.behind_ns.set(std::max(count_.behind_ns.get(), pacer_.behind_ns(now_ns_)));
}

void srmp_quic_load::on_readable(connection& c, live_stream& s) noexcept {
  auto* l = static_cast<line*>(s.user);
  if (s.recv.is_reset()) {
    c.reset_read(s);
    c.reset(s, stream_cancelled);
    return;
  }
  if (l == nullptr) return;
  reply_judge judge(messages_, count_, latency_, now_ns_ - zero_ns_);
  srmp::wire::frame f;
  pipeline::intake_found found;
  while ((found = l->io->in.next(c, s, f)) == pipeline::intake_found::frame) l->client.on_frame(f, judge);
  l->io->in.settle(c, s);
  judge.flush();
  if (judge.has_progress()) count_.last_ns.set(now_ns_);
  settle(judge.settled());
  if (found != pipeline::intake_found::wait || (s.recv.is_complete() && l->io->in.is_inside(s))) {
    count_.add(load_error::malformed, 1);
    c.stop(s, stream_cancelled);
    c.reset(s, stream_cancelled);
    return;
  }
  if (s.recv.is_complete()) {  // it hangs up
    c.finish(s);
    return;
  }
  if (!is_open_loop()) fill(*l, UINT64_MAX);
}

void srmp_quic_load::on_writable(connection&, live_stream& s) noexcept {
  auto* l = static_cast<line*>(s.user);
  if (l != nullptr && !is_open_loop()) fill(*l, UINT64_MAX);
}

void srmp_quic_load::lose(line& l) noexcept {
  std::uint64_t gone = 0;
  static_cast<void>(l.client.close([&](const srmp::pending_request&) { ++gone; }));
  if (gone == 0) return;
  count_.add(load_error::timeout, gone);
  settle(gone);
}

void srmp_quic_load::on_stream_closed(connection&, live_stream& s) noexcept {
  auto* l = static_cast<line*>(std::exchange(s.user, nullptr));
  if (l == nullptr) return;
  l->stream = nullptr;
  l->io.reset();
  lose(*l);
}

void srmp_quic_load::on_closed(connection& c, const quic::conn::connection_end& end) noexcept {
  if (c.user == nullptr) return;
  caller& who = *static_cast<caller*>(c.user);
  const bool again = !who.closing && client_->take_end(c, end);
  if (!who.closing && !again) connections_lost_.add(1);
  who.connection = nullptr;
  who.next_try_ns = again ? now_ns_ : now_ns_ + quic_retry_ns;
  next_look_ns_ = std::min(next_look_ns_, now_ns_);
  --open_;
}

// Time-outs are found at most a sixteenth late.
void srmp_quic_load::sweep() noexcept {
  next_sweep_ns_ = now_ns_ + std::clamp<std::uint64_t>(settings_.load.timeout_ns / 16, 100'000, 100'000'000);
  for (line& l : lines_) {
    std::uint64_t gone = 0;
    l.client.expire(now_ns_, [&](const srmp::pending_request&) { ++gone; });
    if (gone == 0) continue;
    count_.add(load_error::timeout, gone);
    settle(gone);
    if (is_open_loop() || l.stream == nullptr) continue;
    fill(l, UINT64_MAX);
    client_->endpoint().touch(*l.of->connection);
  }
}

load_figures srmp_quic_load::figures() const noexcept {
  load_figures f = count_.read();
  for (const line& l : lines_) {
    const srmp::client_counters& c = l.client.counters();
    f.errors[static_cast<std::size_t>(load_error::unmatched)] += c.unmatched.get() + c.unexpected.get();
  }
  return f;
}

}  // namespace millrace::loadgen
