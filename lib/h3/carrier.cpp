#include "h3/carrier.hpp"

#include "h3/message.hpp"

namespace millrace::h3 {

namespace {

constexpr std::uint64_t sweep_ns = 500'000'000;  // how late a time-out is found, at most
constexpr std::uint64_t feed_ns = 1'000'000;     // how long one without memory waits before it asks again
constexpr std::uint32_t most_a_turn = 512;       // messages looked at in one on_clock()
constexpr std::uint64_t last_request = (std::uint64_t{1} << 62) - 4;

}  // namespace

struct carrier::running {
  carrier& of;
  connection* before;
  running(carrier& c, connection& which) noexcept : of(c), before(std::exchange(c.current_, &which)) {}
  running(const running&) = delete;
  running& operator=(const running&) = delete;
  ~running() { of.current_ = before; }
};

carrier::carrier(bool is_server, const settings& s, const buf::mbuf_source& blocks, parts of) noexcept
    : settings_(s), blocks_(blocks), parts_(std::move(of)), is_server_(is_server) {}

carrier::~carrier() = default;

base::result<carrier::parts> carrier::make_parts(const settings& s) {
  if (s.connections == 0 || s.exchanges == 0)
    return base::failure{"HTTP/3 needs at least one connection and one exchange", "", true};
  auto links = mem::object_pool<link>::make("h3_links", s.connections);
  if (!links) return links.error();
  auto tables = mem::slot_pool::make("h3_tables", s.connections, link::table_bytes(s), 64);
  if (!tables) return tables.error();
  auto fields = field_memory::make(s.exchanges, s.field_section_bytes);
  if (!fields) return fields.error();
  mem::region scratch = mem::region::make_array<std::uint8_t>("h3_scratch", encoded_most(s.field_section_bytes, 128));
  if (!scratch) return base::failure{"no memory for HTTP/3 heads", ""};
  return parts{std::move(links.value()), std::move(tables.value()), std::move(fields.value()), std::move(scratch)};
}

link* carrier::link_of(connection& c) noexcept {
  now_ns_ = std::max(now_ns_, c.now_ns());
  if (c.user != nullptr) [[likely]]
    return static_cast<link*>(c.user);
  if (c.is_closing()) return nullptr;
  void* const tables = parts_.tables.get();
  link* const l =
      tables == nullptr
          ? nullptr
          : parts_.links.get(*this, c, std::span(static_cast<std::byte*>(tables), link::table_bytes(settings_)));
  if (l == nullptr) {
    parts_.tables.put(tables);
    count_.add(event::refused_connections);
    c.close(wire::number(wire::error::excessive_load), c.now_ns());
    return nullptr;
  }
  c.user = l;
  l->next = links_;
  if (links_ != nullptr) links_->previous = l;
  links_ = l;
  count_.add(event::connections);
  l->open_streams();
  return l;
}

std::uint64_t carrier::seed() noexcept {
  std::array<std::uint8_t, sizeof(std::uint64_t)> bytes{};
  if (endpoint_ != nullptr) endpoint_->shared().random.fill(bytes);
  return base::load_be64(bytes.data());
}

void carrier::on_early(connection& c) noexcept {
  const running call(*this, c);
  static_cast<void>(link_of(c));
}

void carrier::on_established(connection& c) noexcept {
  const running call(*this, c);

  link* const l = link_of(c);
  if (l == nullptr) return;
  l->open_streams();
  if (is_draining_) l->send_goaway(final_goaway_ns_ == UINT64_MAX ? l->next_request() : last_request);
}

void carrier::on_streams_available(connection& c) noexcept {
  const running call(*this, c);

  if (link* const l = link_of(c)) l->open_streams();
}

void carrier::on_stream_opened(connection& c, live_stream& s) noexcept {
  const running call(*this, c);

  link* const l = link_of(c);
  if (l == nullptr || !s.has_send) return;  // a unidirectional one: its first bytes say what it is
  if (!is_server_) {                        // RFC 9114 6.1
    l->fault(wire::error::stream_creation_error, event::fault_stream_creation);
    return;
  }
  count_.add(event::requests);
  if (!l->may_begin(s.id.value())) {
    count_.add(event::rejected);
  } else if (begin(*l, s) != nullptr) {
    return;
  } else {
    count_.add(event::no_exchange);
  }
  c.stop(s, wire::number(wire::error::request_rejected));
  c.reset(s, wire::number(wire::error::request_rejected));
}

void carrier::on_readable(connection& c, live_stream& s) noexcept {
  const running call(*this, c);

  link* const l = link_of(c);
  if (l == nullptr) return;
  if (!s.has_send) {
    l->on_readable(s);
  } else if (s.user != nullptr) {
    static_cast<message*>(s.user)->on_readable();
  } else if (s.recv.is_reset()) {
    c.reset_read(s);
  }
  l->send_acknowledgements();
}

void carrier::on_writable(connection& c, live_stream& s) noexcept {
  const running call(*this, c);

  if (s.user == nullptr || !s.has_recv) return;
  now_ns_ = std::max(now_ns_, c.now_ns());
  static_cast<message*>(s.user)->on_writable();
}

void carrier::on_stopped(connection& c, live_stream& s) noexcept {
  const running call(*this, c);

  link* const l = link_of(c);
  if (l == nullptr) return;
  if (!s.has_recv)  // RFC 9114 6.2.1: the peer must not ask for this one's end
    l->fault(wire::error::closed_critical_stream, event::fault_critical_stream);
  else if (s.user != nullptr)
    static_cast<message*>(s.user)->on_stopped();
}

void carrier::on_stream_closed(connection& c, live_stream& s) noexcept {
  const running call(*this, c);

  auto* const l = static_cast<link*>(c.user);
  if (l == nullptr) return;
  if (!s.has_send || !s.has_recv) return l->on_stream_closed(s);
  auto* const m = static_cast<message*>(std::exchange(s.user, nullptr));
  if (m == nullptr) return;
  now_ns_ = std::max(now_ns_, c.now_ns());
  s.source = nullptr;  // the stream may outlive it, when the connection closes in this very call
  m->tell_end(m->is_complete() ? message::ending::complete : message::ending::connection_lost);
  give(*m);
  l->on_message_gone();
}

void carrier::on_closed(connection& c, const quic::conn::connection_end&) noexcept {
  auto* const l = static_cast<link*>(std::exchange(c.user, nullptr));
  if (l == nullptr) return;
  (l->previous == nullptr ? links_ : l->previous->next) = l->next;
  if (l->next != nullptr) l->next->previous = l->previous;
  const std::span<std::byte> tables = l->tables();
  parts_.links.give(l);
  parts_.tables.put(tables.data());
}

// --- those that wait ---

void carrier::watch(message& m) noexcept {
  if (m.is_watched_) return;
  m.is_watched_ = true;
  m.watch_next_ = nullptr;
  m.watch_previous_ = watched_.last;
  (watched_.last == nullptr ? watched_.first : watched_.last->watch_next_) = &m;
  watched_.last = &m;
  ++watched_.size;
  if (next_sweep_ns_ == UINT64_MAX) next_sweep_ns_ = now_ns_ + sweep_ns;
}

void carrier::forget(message& m) noexcept {
  if (std::exchange(m.is_watched_, false)) {
    (m.watch_previous_ == nullptr ? watched_.first : m.watch_previous_->watch_next_) = m.watch_next_;
    (m.watch_next_ == nullptr ? watched_.last : m.watch_next_->watch_previous_) = m.watch_previous_;
    --watched_.size;
  }
  if (m.listed_ == message::listed::nowhere) return;
  message** at = m.listed_ == message::listed::due ? &due_ : &starved_;  // rare, and short
  while (*at != &m) at = &(*at)->list_next_;
  *at = m.list_next_;
  --(m.listed_ == message::listed::due ? due_size_ : starved_size_);
  m.listed_ = message::listed::nowhere;
}

void carrier::look_soon(message& m) noexcept {
  if (m.listed_ != message::listed::nowhere) return;
  m.listed_ = message::listed::due;
  m.list_next_ = std::exchange(due_, &m);
  ++due_size_;
}

void carrier::look_later(message& m) noexcept {
  count_.add(event::starved);
  if (m.listed_ != message::listed::nowhere) return;
  m.listed_ = message::listed::starved;
  m.list_next_ = std::exchange(starved_, &m);
  ++starved_size_;
  next_feed_ns_ = std::min(next_feed_ns_, now_ns_ + feed_ns);
}

std::uint64_t carrier::clock_ns() const noexcept {
  return due_ != nullptr ? 0 : std::min({next_sweep_ns_, next_feed_ns_, final_goaway_ns_});
}

void carrier::on_clock(std::uint64_t now_ns) noexcept {
  now_ns_ = std::max(now_ns_, now_ns);
  turn(due_, due_size_);  // what is put on the list meanwhile has its turn with the next call
  if (now_ns >= next_sweep_ns_) sweep(now_ns);
  if (now_ns >= next_feed_ns_) feed(now_ns);
  if (now_ns >= final_goaway_ns_) send_final_goaways();
}

// Each is taken from the front of the list and put behind, so that what happens to it cannot spoil the walk.
void carrier::sweep(std::uint64_t now_ns) noexcept {
  for (std::uint32_t left = std::min(watched_.size, most_a_turn); left != 0 && watched_.first != nullptr; --left) {
    message& m = *watched_.first;
    watched_.first = m.watch_next_;
    (m.watch_next_ == nullptr ? watched_.last : m.watch_next_->watch_previous_) = nullptr;
    --watched_.size;
    m.is_watched_ = false;
    watch(m);
    connection& c = m.connection();
    bool is_late;
    {
      const running call(*this, c);
      is_late = m.check_times(now_ns);
    }
    if (is_late) touch(c);
  }
  const std::uint64_t later = watched_.size > most_a_turn ? sweep_ns / 16 : sweep_ns;
  next_sweep_ns_ = watched_.size == 0 ? UINT64_MAX : now_ns + later;
}

void carrier::feed(std::uint64_t now_ns) noexcept {
  turn(starved_, std::min(starved_size_, most_a_turn));
  next_feed_ns_ = starved_ == nullptr ? UINT64_MAX : now_ns + feed_ns;
}

// Each leaves its list before anything happens to it: what that does may end others, which then leave theirs.
void carrier::turn(message*& list, std::uint32_t most) noexcept {
  for (; most != 0 && list != nullptr; --most) {
    message& m = *list;
    list = m.list_next_;
    --(m.listed_ == message::listed::due ? due_size_ : starved_size_);
    m.listed_ = message::listed::nowhere;
    connection& c = m.connection();
    {
      const running call(*this, c);
      m.on_turn();
    }
    touch(c);
  }
}

void carrier::touch(message& m) noexcept {
  if (current_ != &m.connection()) look_soon(m);
}

void carrier::drain(std::uint64_t now_ns) noexcept {
  if (std::exchange(is_draining_, true)) return;
  now_ns_ = std::max(now_ns_, now_ns);
  final_goaway_ns_ = now_ns_ + settings_.drain_notice_ns;
  for (link *l = links_, *following; l != nullptr; l = following) {
    following = l->next;
    if (is_server_)
      l->send_goaway(last_request);
    else
      l->close_when_done();
  }
}

void carrier::send_final_goaways() noexcept {
  final_goaway_ns_ = UINT64_MAX;
  for (link *l = links_, *following; l != nullptr; l = following) {
    following = l->next;
    if (is_server_) l->send_goaway(l->next_request());
    l->close_when_done();
  }
}

}  // namespace millrace::h3
