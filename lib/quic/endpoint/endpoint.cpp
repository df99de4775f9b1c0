#include "quic/endpoint/endpoint.hpp"

#include "crypto/random.hpp"
#include "quic/endpoint/parts.hpp"

namespace millrace::quic::endpoint {

namespace {

constexpr std::uint64_t timer_tick_ns = 65'536;  // 65 us: shorter than any deadline that matters here
constexpr std::uint32_t timer_steps_a_turn = 4096;
constexpr std::size_t spent_slots = 4096;  // address tokens that are known to be used up
constexpr std::uint32_t ids_each = path::max_local_cids;
constexpr std::uint64_t rest_step_ns = 250 * recovery::ms;  // between looks at keys that may rest
constexpr std::uint32_t rest_steps = 8;                     // in which all are looked at

std::uint32_t key_blocks(const endpoint_settings& s) noexcept {
  return s.awake_keys == 0 ? s.connections : std::min(s.awake_keys, s.connections);
}
// Those with more than one path at a time: a crowd behind a NAT that began anew, and no more than there are.
std::uint32_t moved_connections(const endpoint_settings& s) noexcept {
  constexpr std::uint32_t least = 256;
  return std::min(s.connections, std::max(least, s.connections / 4));
}

}  // namespace

std::size_t memory_bytes(const endpoint_settings& s) noexcept {
  constexpr std::size_t a_slot = 80;  // a pool's own share, rounding
  const std::size_t connections = s.connections;
  return connections * (sizeof(conn::connection) + 128 + 2 * a_slot + sizeof(base::timer_node) +
                        (ids_each + 1 + cid_map::tokens_each) * (64 + 4 * sizeof(base::hash_index::slot))) +
         key_blocks(s) * (sizeof(conn::traffic_keys) + sizeof(conn::many_ranges) + a_slot) +
         moved_connections(s) * (sizeof(conn::more_paths) + a_slot) +
         s.handshakes * (sizeof(conn::handshake_state) + a_slot) +
         s.streams * (sizeof(conn::live_stream) + 64 + 4 * sizeof(base::hash_index::slot) + 8) +
         s.sent_blocks * sizeof(recovery::sent_block) + s.pieces * (sizeof(stream::piece) + a_slot / 2) +
         s.source_slots * sizeof(source_limits::slot) + 65'536;
}

quic_endpoint::parts::parts(pools made, const seeds& s, quic_endpoint& owner, const endpoint_keys& k,
                            const buf::mbuf_source& packets, std::uint64_t now_ns) noexcept
    : sent(owner.settings_.sent_blocks),
      piece_pool(std::move(made.pieces)),
      pieces(piece_pool, packets),
      streams(owner.settings_.streams, s.streams),
      handshakes(std::move(made.handshakes)),
      keys(std::move(made.keys)),
      ranges(std::move(made.ranges)),
      paths(std::move(made.paths)),
      connections(std::move(made.connections)),
      random(s.random),
      cids(owner.settings_.connections, ids_each, s.cids),
      timer_memory(mem::region::make_array<base::timer_node>("quic_timers", owner.settings_.connections)),
      timers(timer_memory.array<base::timer_node>(), base::timer_wheel::shift_for(timer_tick_ns), now_ns),
      source_memory(mem::region::make_array<source_limits::slot>("quic_sources", owner.settings_.source_slots)),
      sources(source_memory.array<source_limits::slot>(), s.sources, owner.settings_.sources),
      codec(k.cid),
      resets(owner.engine_, k.reset),
      tokens(s.nonce, owner.settings_.tokens),
      spent_memory(mem::region::make_array<std::uint64_t>("quic_spent_tokens", spent_slots)),
      spent(spent_memory.array<std::uint64_t>()),
      shared{owner.settings_.transport,
             owner.engine_,
             sent,
             pieces,
             streams,
             handshakes,
             keys,
             ranges,
             paths,
             random,
             owner.events_,
             owner.handshake_heap_} {
  static_cast<void>(tokens.rotate(owner.engine_, 1, k.token));
}

quic_endpoint::quic_endpoint(passkey, const endpoint_settings& settings, crypto::engine& engine) noexcept
    : settings_(settings), engine_(engine) {
  // The pool of handshakes is the table of those half open: Retry is asked for before it is full.
  source_limits_config& s = settings_.sources;
  s.most_half_open = std::min(s.most_half_open, settings_.handshakes);
  s.retry_above = std::min(s.retry_above, std::max(1u, s.most_half_open / 4 * 3));
  s.accept_below = std::min(s.accept_below, std::max(1u, s.retry_above / 2));
}

base::result<std::unique_ptr<quic_endpoint>> quic_endpoint::make(const endpoint_settings& settings,
                                                                 const endpoint_keys& keys, crypto::engine& engine,
                                                                 const buf::mbuf_source& packets, std::uint64_t now_ns,
                                                                 std::int64_t wall_ns) {
  auto made = std::make_unique<quic_endpoint>(passkey{}, settings, engine);
  const std::string name = "quic" + std::to_string(settings.lcore) + "_";
  auto pieces = mem::object_pool<stream::piece>::make(name + "pieces", settings.pieces);
  if (!pieces) return pieces.error();
  auto handshakes = mem::object_pool<conn::handshake_state>::make(name + "handshakes", settings.handshakes);
  if (!handshakes) return handshakes.error();
  auto traffic = mem::object_pool<conn::traffic_keys>::make(name + "keys", key_blocks(settings));
  if (!traffic) return traffic.error();
  auto ranges = mem::object_pool<conn::many_ranges>::make(name + "ranges", key_blocks(settings));
  if (!ranges) return ranges.error();
  auto paths = mem::object_pool<conn::more_paths>::make(name + "paths", moved_connections(settings));
  if (!paths) return paths.error();
  auto connections = mem::object_pool<held>::make(name + "connections", settings.connections);
  if (!connections) return connections.error();
  parts::seeds seeds;
  if (!crypto::random_bytes({reinterpret_cast<std::uint8_t*>(&seeds), sizeof(seeds)}))
    return base::failure{"the kernel gives no random bytes", ""};
  made->parts_ = std::make_unique<parts>(
      parts::pools{std::move(pieces.value()), std::move(handshakes.value()), std::move(traffic.value()),
                   std::move(ranges.value()), std::move(paths.value()), std::move(connections.value())},
      seeds, *made, keys, packets, now_ns);
  const parts& p = *made->parts_;
  if (p.sent.capacity() < settings.sent_blocks || p.streams.capacity() < settings.streams || !p.cids.is_made() ||
      !p.timer_memory || !p.source_memory || !p.spent_memory)
    return base::failure{"no memory for " + std::to_string(settings.connections) + " QUIC connections",
                         "give EAL more memory (-m), or lower the numbers of connections and streams"};
  made->now_ns_ = now_ns;
  made->wall_less_now_ns_ = wall_ns - static_cast<std::int64_t>(now_ns);
  return made;
}

quic_endpoint::~quic_endpoint() {
  if (parts_ == nullptr) return;
  // Whatever is still open: found through its own IDs.
  close_all(0, now_ns_);
  while (first_ready_ != nullptr) {
    held& h = *static_cast<held*>(first_ready_->holder);
    h.connection.tell(now_ns_);
    end(h);
  }
}

void quic_endpoint::trace_to(conn::trace_queue* queue) noexcept { parts_->shared.trace = queue; }

void quic_endpoint::set_steps(conn::handshake_steps* steps) noexcept { parts_->shared.steps = steps; }

void quic_endpoint::on_step_done(conn::handshake_step& step, std::uint64_t now_ns) noexcept {
  now_ns_ = now_ns;
  held& h = *static_cast<held*>(step.owner->holder);
  h.connection.on_step_done(now_ns);
  after(h);
}

std::uint32_t quic_endpoint::connections() const noexcept { return parts_->connections.in_use(); }
std::uint64_t quic_endpoint::connection_bytes() const noexcept {
  const std::uint64_t ids = parts_->cids.ours() * cid_map::bytes_each;
  return parts_->connections.slot_bytes() + sizeof(base::timer_node) + ids / std::max(1u, connections());
}
std::uint64_t quic_endpoint::held_bytes() const noexcept {
  const auto lent = [](const auto& pool) { return std::uint64_t{pool.in_use()} * pool.slot_bytes(); };
  const parts& p = *parts_;
  return std::uint64_t{p.connections.in_use()} * connection_bytes() + lent(p.keys) + lent(p.handshakes) +
         lent(p.ranges) + lent(p.paths) + lent(p.piece_pool) + p.sent.lent() * sizeof(recovery::sent_block) +
         p.streams.open_streams() * sizeof(conn::live_stream);
}
void quic_endpoint::list(mem::pool_listing& to) const noexcept {
  const parts& p = *parts_;
  // Names without the lcore's number, which the pools' own have.
  to.add("quic_connections", p.connections.capacity(), p.connections.in_use());
  to.add("quic_handshakes", p.handshakes.capacity(), p.handshakes.in_use());
  to.add("quic_keys", p.keys.capacity(), p.keys.in_use());
  to.add("quic_streams", p.streams.capacity(), p.streams.open_streams());
  to.add("quic_sent", p.sent.capacity(), p.sent.lent());
  to.add("quic_pieces", p.piece_pool.capacity(), p.piece_pool.in_use());
}
std::uint32_t quic_endpoint::connection_ids() const noexcept { return parts_->cids.ours() + parts_->cids.strange(); }
std::uint32_t quic_endpoint::half_open() const noexcept { return parts_->sources.half_open(); }
const source_limits& quic_endpoint::sources() const noexcept { return parts_->sources; }
const conn::transport& quic_endpoint::shared() const noexcept { return parts_->shared; }

bool quic_endpoint::is_whole() noexcept {
  return parts_->connections.is_whole() && parts_->handshakes.is_whole() && parts_->keys.is_whole() &&
         parts_->ranges.is_whole() && parts_->paths.is_whole() && parts_->piece_pool.is_whole() &&
         parts_->streams.open_streams() == 0 && parts_->sent.lent() == 0 && parts_->cids.tokens() == 0;
}

conn::connection_host::new_cid quic_endpoint::make_cid() noexcept {
  new_cid out;
  out.cid = parts_->codec.encode({{settings_.instance, settings_.lcore}, next_serial_++});
  out.token = parts_->resets.of(engine_, out.cid.view());
  return out;
}

std::optional<conn::connection_host::new_cid> quic_endpoint::issue_cid(conn::connection& c) noexcept {
  const new_cid fresh = make_cid();
  if (!parts_->cids.add_ours(fresh.cid.view(), c.holder)) return std::nullopt;
  return fresh;
}

void quic_endpoint::retire_cid(conn::connection&, const path::connection_id& cid) noexcept {
  parts_->cids.remove_ours(cid.view());
}

conn::application* quic_endpoint::find_application(std::string_view protocol) noexcept {
  for (const served& s : applications_.view())
    if (s.protocol == protocol) return s.by;
  return nullptr;
}

std::size_t quic_endpoint::make_token(conn::connection& c, base::byte_span out) noexcept {
  if (!settings_.send_new_tokens) return 0;
  return parts_->tokens.seal_new_token(
      engine_, {c.address().remote, c.version(), static_cast<std::uint64_t>(wall_ns()) / 1'000'000}, out);
}

void quic_endpoint::on_handshake_done(conn::connection& c) noexcept {
  held* h = static_cast<held*>(c.holder);
  if (h == nullptr || !h->is_half_open) return;
  h->is_half_open = false;
  (h->older == nullptr ? oldest_half_open_ : h->older->newer) = h->newer;
  (h->newer == nullptr ? newest_half_open_ : h->newer->older) = h->older;
  parts_->sources.on_half_open_done();
  if (!h->strange.empty()) {
    parts_->cids.remove_strange(h->strange);
    h->strange = {};
  }
}

conn::connection* quic_endpoint::connect(const client_request& request, std::uint64_t now_ns) noexcept {
  now_ns_ = now_ns;
  if (draining_) return nullptr;
  const new_cid ours = make_cid();
  conn::client_start start;
  start.version = request.version;
  start.our_scid = ours.cid;
  std::array<std::uint8_t, 16> random;  // RFC 9000 7.2: 8 bytes at least, nobody can guess them
  parts_->random.fill(random);
  start.random_dcid = path::connection_id::of(random);
  start.address = request.address;
  start.interface = request.interface;
  start.server_name = request.server_name;
  start.session = request.session;
  start.token = request.token;
  start.early_data = request.early_data;
  start.negotiated = request.negotiated;
  start.protocol = request.protocol;
  start.now_ns = now_ns;
  held* h = parts_->connections.get(parts_->shared, static_cast<conn::connection_host&>(*this), start, request.context);
  if (h == nullptr) {
    events_.add(conn::event::refused_no_memory);
    return nullptr;
  }
  if (h->connection.is_ended() || !parts_->cids.add_ours(ours.cid.view(), h)) {
    parts_->connections.give(h);
    return nullptr;
  }
  after(*h);
  return &h->connection;
}

void quic_endpoint::touch(conn::connection& c) noexcept { after(*static_cast<held*>(c.holder)); }

// Events out, then it waits for poll() and its timer; or it has ended, and goes.
void quic_endpoint::after(held& h) noexcept {
  h.connection.tell(now_ns_);
  if (h.connection.is_ended()) {
    end(h);
    return;
  }
  if (h.connection.remote_cids().changes() != h.cid_changes) [[unlikely]]
    follow_tokens(h);
  enqueue(h.connection);
  set_timer(h);
}

void quic_endpoint::enqueue(conn::connection& c) noexcept {
  if (std::exchange(c.is_ready, true)) return;
  c.next_ready = nullptr;
  c.previous_ready = last_ready_;
  (first_ready_ == nullptr ? first_ready_ : last_ready_->next_ready) = &c;
  last_ready_ = &c;
}

// A deadline that moved away is looked at when the timer fires: most of them do, with each packet.
void quic_endpoint::set_timer(held& h) noexcept {
  const std::uint64_t at = h.connection.deadline_ns(now_ns_);
  if (at >= h.timer_ns && parts_->timers.is_armed(h.timer)) return;
  if (at == recovery::never_ns) return;
  h.timer_ns = at;
  if (!parts_->timers.rearm(h.timer, at)) h.timer = parts_->timers.arm(at, reinterpret_cast<std::uintptr_t>(&h));
}

void quic_endpoint::end(held& h) noexcept {
  for (const path::issued_cid& id : h.connection.local_cids().serving()) parts_->cids.remove_ours(id.cid.view());
  if (!h.strange.empty()) parts_->cids.remove_strange(h.strange);
  h.strange = {};
  for (const auto& token : h.tokens) parts_->cids.remove_token(token, &h);
  h.tokens.clear();
  h.connection.release();
  static_cast<void>(parts_->timers.cancel(h.timer));
  if (h.connection.is_ready) dequeue(h.connection);
  parts_->connections.give(&h);
}

void quic_endpoint::dequeue(conn::connection& c) noexcept {
  c.is_ready = false;
  (c.previous_ready == nullptr ? first_ready_ : c.previous_ready->next_ready) = c.next_ready;
  (c.next_ready == nullptr ? last_ready_ : c.next_ready->previous_ready) = c.previous_ready;
}

std::uint64_t quic_endpoint::due_ns() const noexcept {
  if (wants_poll()) return now_ns_;
  std::uint64_t due = parts_->timers.next_turn();
  if (settings_.rest_keys_after_ns != 0 && parts_->keys.in_use() != 0) due = std::min(due, next_rest_ns_);
  for (const served& one : applications_) due = std::min(due, one.by->clock_ns());
  return due;
}

// Keys of connections that fell silent.
void quic_endpoint::rest_keys() noexcept {
  const std::uint64_t after_ns = settings_.rest_keys_after_ns;
  if (after_ns == 0 || now_ns_ < next_rest_ns_) return;
  next_rest_ns_ = now_ns_ + rest_step_ns;
  if (now_ns_ > after_ns) parts_->keys.rest_unused(now_ns_ - after_ns, parts_->keys.in_use() / rest_steps + 1);
}

void quic_endpoint::on_time(std::uint64_t now_ns) noexcept {
  now_ns_ = now_ns;
  rest_keys();
  static_cast<void>(parts_->timers.turn(now_ns, timer_steps_a_turn, [this](std::uint64_t cookie) {
    held& h = *reinterpret_cast<held*>(static_cast<std::uintptr_t>(cookie));
    h.timer = {};
    h.timer_ns = UINT64_MAX;
    if (h.connection.deadline_ns(now_ns_) > now_ns_) {
      set_timer(h);
      return;
    }
    h.connection.on_time(now_ns_);
    after(h);
  }));
  for (const served& one : applications_)
    if (one.by->clock_ns() <= now_ns) one.by->on_clock(now_ns);
}

std::size_t quic_endpoint::poll(base::byte_span room, std::uint64_t now_ns, conn::datagram_out& out) noexcept {
  now_ns_ = now_ns;
  if (reply_count_ != 0) {
    const reply& r = parts_->replies[reply_at_];
    reply_at_ = (reply_at_ + 1) % most_replies;
    --reply_count_;
    if (r.size > room.size()) return 0;
    out = r.to;
    std::copy_n(r.bytes.begin(), r.size, room.begin());
    return r.size;
  }
  while (first_ready_ != nullptr) {
    conn::connection& c = *first_ready_;
    const std::size_t size = c.build(room, now_ns, out);
    if (size != 0 && turn_left_ != 0) {
      --turn_left_;
      return size;
    }
    turn_left_ = settings_.most_per_turn;
    dequeue(c);
    held& h = *static_cast<held*>(c.holder);
    if (size != 0) {
      enqueue(c);
      return size;
    }
    if (c.is_closing()) c.tell(now_ns);  // sealing may have failed
    if (c.is_ended()) {
      end(h);
      continue;
    }
    set_timer(h);
  }
  return 0;
}

void quic_endpoint::close_all(std::uint64_t code, std::uint64_t now_ns) noexcept {
  now_ns_ = now_ns;
  draining_ = true;
  server_.reset();
  parts_->cids.for_each_ours([&](void* value) {
    held& h = *static_cast<held*>(value);
    h.connection.close(code, now_ns);
    enqueue(h.connection);
  });
}

}  // namespace millrace::quic::endpoint
