// A turn in order: what came in is judged packet by packet, because a host is one; from then on everything is by group.
// Nearly always a burst is for one service, and then its arrivals are handed over where the hosts have put them; only a
// mixed one is sorted first.
#include "pipeline/service_loop.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "env/lcore.hpp"
#include "port/port.hpp"

namespace millrace::pipeline {

using stats::drop_reason;

namespace {

constexpr unsigned prefetch_ahead = 6;  // packets: what a miss to another lcore's cache takes, at some 30 ns a packet
constexpr unsigned line_bytes = 64;     // headers and a small payload lie in the first two lines of a frame
constexpr unsigned news_a_turn = 32;
constexpr unsigned mailbox_slots = 256;
constexpr unsigned quiet_turns = 64;             // without a packet: the receive rings are empty
constexpr unsigned most_turns_under_load = 256;  // of finish(): what a ring may have held when the stop came, twice

struct letter {  // what travels in a mailbox's packet
  std::uint16_t interface;
  net::host_news news;
};
static_assert(std::is_trivially_copyable_v<letter>, "it crosses as bytes");

}  // namespace

struct service_loop::way {
  std::uint16_t index;
  std::uint16_t port;
  std::uint16_t rx_queue;
  impairment* wire = nullptr;  // none: packets come straight from the port
  std::unique_ptr<net::host> host;
  udp_output out;

  way(std::uint16_t number, const loop_interface& from, std::unique_ptr<net::host> h, const output_settings& settings,
      mem::packet_pool& pool, lcore_counters& counters) noexcept
      : index(number),
        port(from.port),
        rx_queue(from.rx_queue),
        host(std::move(h)),
        out(settings, *host, pool, counters) {}
};

struct service_loop::neighbourhood {
  port::packet_mailbox inbox;
  std::vector<std::unique_ptr<port::packet_sender>> others;

  explicit neighbourhood(port::packet_mailbox box) noexcept : inbox(std::move(box)) {}
};

service_loop::service_loop(passkey, const loop_settings& settings, mem::packet_pool& pool) noexcept
    : settings_(settings), pool_(&pool), idler_(settings.idle), stamp_cycles_(measure_stamp_cycles()) {}

service_loop::~service_loop() = default;

base::result<std::unique_ptr<service_loop>> service_loop::make(const loop_settings& settings,
                                                               std::span<const loop_interface> interfaces,
                                                               mem::packet_pool& pool) {
  if (interfaces.empty()) return base::failure{"there is no interface to answer on", "", true};
  if (interfaces.size() > max_interfaces)
    return base::failure{"more than " + std::to_string(max_interfaces) + " interfaces", "", true};
  if (settings.burst_pkts == 0 || settings.burst_pkts > buf::burst::capacity)
    return base::failure{"a burst of " + std::to_string(settings.burst_pkts) + " packets cannot be",
                         "give 1 to " + std::to_string(buf::burst::capacity), true};
  auto made = std::make_unique<service_loop>(passkey{}, settings, pool);
  for (const loop_interface& one : interfaces) {
    auto host = net::host::make(one.host);
    if (!host) return host.error();
    const output_settings out{
        .port = one.port, .queue = one.tx_queue, .patience_ns = settings.tx_patience_ns, .offload = one.host.offload};
    const auto index = static_cast<std::uint16_t>(made->ways_.size());
    made->ways_.push_back(std::make_unique<way>(index, one, std::move(host.value()), out, pool, made->counters_));
    made->outputs_.push_back(&made->ways_.back()->out);
  }
  return made;
}

base::outcome service_loop::attach(udp_service& service) {
  if (std::find(services_.begin(), services_.end(), &service) != services_.end()) return base::done{};
  if (services_.size() == max_services)
    return base::failure{"more than " + std::to_string(max_services) + " services on one lcore", "", true};
  services_.push_back(&service);
  return base::done{};
}

base::outcome service_loop::open(std::uint16_t udp_port, udp_service& service) {
  if (udp_port == 0) return base::failure{"UDP port 0 cannot be opened", "", true};
  if (service_at_[udp_port] != 0)
    return base::failure{"UDP port " + std::to_string(udp_port) + " has a service already", "", true};
  if (auto known = attach(service); !known) return known.error();
  const auto at = std::find(services_.begin(), services_.end(), &service) - services_.begin();
  service_at_[udp_port] = static_cast<std::uint8_t>(at + 1);
  for (const auto& w : ways_) w->host->open_port(udp_port);
  return base::done{};
}

base::outcome service_loop::join(std::span<service_loop* const> loops, const std::string& name) {
  if (loops.size() < 2) return base::done{};
  for (std::size_t i = 0; i < loops.size(); ++i) {
    auto box = port::make_packet_mailbox(name + std::to_string(i), mailbox_slots, port::writers::many);
    if (!box) return box.error();
    loops[i]->neighbours_ = std::make_unique<neighbourhood>(std::move(box.value()));
  }
  for (service_loop* from : loops)
    for (service_loop* to : loops)
      if (from != to)
        from->neighbours_->others.push_back(
            std::unique_ptr<port::packet_sender>(new port::packet_sender(to->neighbours_->inbox.open())));
  return base::done{};
}

net::host& service_loop::host(std::size_t interface) noexcept { return *ways_[interface]->host; }
udp_output& service_loop::output(std::size_t interface) noexcept { return ways_[interface]->out; }

void service_loop::receive_through(std::size_t interface, impairment* wire) noexcept { ways_[interface]->wire = wire; }

void service_loop::start_hosts(std::uint64_t now_ns) noexcept {
  started_ = true;
  for (const auto& w : ways_) w->host->start(now_ns);
}

// Asks the host of `w` about every packet in rx_. Afterwards those that are nobody's are gone, and arrivals_ has what
// is for a service.
void service_loop::judge(way& w, std::uint64_t now_ns) noexcept {
  const unsigned count = rx_.size();
  // The mbufs first: where the bytes are stands in them, and behind a ring another lcore wrote both.
  for (unsigned i = 0; i < count; ++i) rx_.prefetch_header(i);
  const auto prefetch = [this](unsigned i) {
    rx_.prefetch_data(i);
    rx_.prefetch_data(i, line_bytes);
  };
  for (unsigned i = 0; i < std::min(count, prefetch_ahead); ++i) prefetch(i);
  std::uint64_t bytes = 0;
  unsigned consumed = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (i + prefetch_ahead < count) prefetch(i + prefetch_ahead);
    bytes += rx_.length(i);
    const base::byte_view frame = rx_.flat(i, scratch_);
    udp_arrival& to = arrivals_[arrived_];
    net::rx_answer answer{net::rx_what::drop, drop_reason::l2_oversized};
    if (!frame.empty() || rx_.length(i) == 0) [[likely]]
      answer = w.host->receive(frame, rx_.checksums(i), now_ns, w.out.frames(), to.udp);
    if (answer.what == net::rx_what::deliver) [[likely]] {
      to.interface = w.index;
      to.packet = to.udp.reassembled || rx_.is_chain(i) ? udp_arrival::no_packet : static_cast<std::uint16_t>(i);
      const auto service = static_cast<std::uint8_t>(service_at_[to.udp.local.port] - 1);
      mixed_ |= service != service_of_[0] && arrived_ != 0;
      service_of_[arrived_++] = service;
      // A payload that was put together lies in the host until it sees the next packet; one of a chain lies in scratch_
      // until that is used again.
      if (to.udp.reassembled || frame.data() == scratch_.data()) [[unlikely]]
        hand_over(now_ns);
    } else if (answer.what == net::rx_what::drop) {
      rx_.drop(i, answer.why, counters_.drops);
    } else {
      ++consumed;
    }
  }
  counters_.add(count::rx_bytes, bytes);
  counters_.add(count::delivered_pkts, consumed);
}

// Gives each service what arrived for it.
void service_loop::hand_over(std::uint64_t now_ns) noexcept {
  if (arrived_ == 0) return;
  service_turn turn = make_turn(now_ns);
  turn.received = &rx_;
  if (!mixed_) [[likely]]
    services_[service_of_[0]]->on_datagrams(std::span(arrivals_).first(arrived_), turn);
  else
    hand_over_mixed(turn);
  counters_.add(count::delivered_pkts, arrived_ - turn.refused);
  arrived_ = 0;
  mixed_ = false;
}

[[gnu::noinline]] void service_loop::hand_over_mixed(service_turn& turn) noexcept {
  for (std::size_t s = 0; s < services_.size(); ++s) {
    unsigned mine = 0;
    for (unsigned i = 0; i < arrived_; ++i)
      if (service_of_[i] == s) sorted_[mine++] = arrivals_[i];
    if (mine != 0) services_[s]->on_datagrams(std::span(sorted_).first(mine), turn);
  }
}

template <class Meter>
inline unsigned service_loop::receive(way& w, Meter& meter, std::uint64_t now_ns) noexcept {
  if (w.out.is_blocked()) [[unlikely]]
    return 0;  // what could not be answered stays in the receive ring
  const unsigned got = w.wire == nullptr
                           ? port::rx_burst(w.port, w.rx_queue, rx_, settings_.burst_pkts)
                           : w.wire->receive(w.port, w.rx_queue, rx_, settings_.burst_pkts, now_ns, counters_);
  meter.done(loop_stage::rx);
  if (got == 0) return 0;
  counters_.add(count::rx_pkts, got);
  counters_.add(count::rx_bursts, 1);
  judge(w, now_ns);
  meter.done(loop_stage::classify);
  hand_over(now_ns);
  rx_.free_all();
  meter.done(loop_stage::handle);
  return got;
}

void service_loop::keep_time(std::uint64_t now_ns) noexcept {
  for (const auto& w : ways_)
    if (w->host->due_ns() <= now_ns) w->host->on_time(now_ns, w->out.frames());
  service_turn turn = make_turn(now_ns);
  for (udp_service* s : services_)
    if (s->due_ns() <= now_ns) s->on_time(turn);
}

unsigned service_loop::transmit() noexcept {
  unsigned sent = 0;
  for (const auto& w : ways_) sent += w->out.transmit();
  return sent;
}

// What our hosts heard goes to all the others, what those heard to our hosts. A letter that cannot be sent is lost,
// like a packet that was never heard: the other host asks for itself.
void service_loop::exchange_news(std::uint64_t now_ns) noexcept {
  letter mail;
  for (const auto& w : ways_)
    while (w->host->poll_news(mail.news)) {
      mail.interface = w->index;
      for (const auto& other : neighbours_->others) {
        buf::packet one = buf::packet::alloc(*pool_);
        const base::byte_span room = one.append(sizeof mail);
        if (room.empty()) continue;
        std::memcpy(room.data(), &mail, sizeof mail);
        if (other->put(one.raw())) (void)one.release();
      }
    }
  std::array<rte_mbuf*, news_a_turn> came;
  const unsigned count = neighbours_->inbox.take(came);
  for (unsigned i = 0; i < count; ++i) {
    const buf::packet one(came[i]);
    std::memcpy(&mail, one.first().data(), sizeof mail);
    way& w = *ways_[mail.interface];
    w.host->on_news(mail.news, now_ns, w.out.frames());
  }
}

template <class Meter>
inline unsigned service_loop::pass(Meter& meter) noexcept {
  const std::uint64_t now_ns = clock_.now_ns();
  turn_ns_ = now_ns;
  if (!started_) [[unlikely]]
    start_hosts(now_ns);
  unsigned moved = 0;
  for (const auto& w : ways_) {
    w->out.begin_turn(now_ns);
    moved += receive(*w, meter, now_ns);
  }
  if (moved != 0) {
    moved += transmit();
    meter.done(loop_stage::tx);
  }
  keep_time(now_ns);
  if (neighbours_) exchange_news(now_ns);
  meter.done(loop_stage::timers);
  moved += transmit();
  meter.done(loop_stage::tx);
  return moved;
}

std::uint64_t service_loop::next_due_ns() const noexcept {
  std::uint64_t due = never_ns;
  for (const auto& w : ways_) {
    due = std::min(due, w->host->due_ns());
    if (w->wire != nullptr) due = std::min(due, w->wire->due_ns());
  }
  for (const udp_service* s : services_) due = std::min(due, s->due_ns());
  return due;
}

void service_loop::after(unsigned moved) noexcept {
  if (moved != 0) {
    idler_.on_work();
    return;
  }
  bool waits = false;
  for (const auto& w : ways_) waits |= w->out.is_blocked();
  const std::uint64_t due = next_due_ns();
  idler_.on_empty(waits || due <= turn_ns_ ? 0 : due - turn_ns_);
}

void service_loop::turn() noexcept {
  no_loop_meter none;
  after(pass(none));
}

[[gnu::noinline]] void service_loop::measured_turn() noexcept {
  const auto now = [this](count what) { return counters_.counts[static_cast<std::size_t>(what)].get(); };
  const std::uint64_t received_before = now(count::rx_pkts);
  const std::uint64_t sent_before = now(count::tx_pkts);
  loop_meter meter(stamp_cycles_);
  const unsigned moved = pass(meter);
  // Of a service that says much and hears little, what it sends is what its cycles are for.
  const auto packets =
      static_cast<unsigned>(std::max(now(count::rx_pkts) - received_before, now(count::tx_pkts) - sent_before));
  const std::uint64_t worked = meter.elapsed();
  after(moved);
  const std::uint64_t cycles = meter.elapsed();
  if (limit_.is_exceeded(moved != 0 ? worked : cycles, moved)) {
    counters_.add(count::interrupted_passes, 1);
    return;
  }
  counters_.add(count::measured_cycles, cycles);
  if (moved == 0) return;
  counters_.add(count::measured_busy_cycles, worked);
  counters_.add(count::measured_pkts, packets);
  if (packets != 0) meter.report(counters_, packets);
}

void service_loop::turns(unsigned count) noexcept {
  for (; count != 0; --count) {
    if (--until_measured_ != 0) [[likely]] {
      turn();
      continue;
    }
    chance_ = chance_ * 1'664'525 + 1'013'904'223;  // Numerical Recipes' generator; its upper bits are good enough
    until_measured_ = sample_stride / 2 + (chance_ >> 16) % (sample_stride + 1);
    measured_turn();
  }
}

void service_loop::slice() noexcept { turns(turns_per_slice); }

void service_loop::run(const std::atomic<bool>& stop) noexcept {
  const std::uint64_t before = env::thread_cpu_ns();
  {
    const mem::heap_watch watch(counters_.heap);
    while (!stop.load(std::memory_order_relaxed)) slice();
    finish();
  }
  counters_.add(count::cpu_ns, env::thread_cpu_ns() - before);
}

bool service_loop::is_quiet() const noexcept {
  for (const auto& w : ways_)
    if (w->out.waiting() != 0 || (w->wire != nullptr && w->wire->waiting_pkts() != 0)) return false;
  return std::all_of(services_.begin(), services_.end(), [](const udp_service* s) { return s->is_finished(); });
}

void service_loop::tell_services_to_stop() noexcept {
  turn();  // also starts a loop that never ran, so that services find hosts as they know them
  if (std::exchange(told_, true)) return;
  service_turn stopping = make_turn(turn_ns_);
  for (udp_service* s : services_) s->on_stop(stopping);
}

void service_loop::finish() noexcept {
  tell_services_to_stop();
  const std::uint64_t until = turn_ns_ + settings_.stop_patience_ns;
  unsigned quiet = 0;
  unsigned turns = 0;
  no_loop_meter none;
  while (turn_ns_ < until) {
    const unsigned moved = pass(none);
    ++turns;
    quiet = moved == 0 ? quiet + 1 : 0;
    // A peer that never stops asking would keep us for ever: after two rings' worth of turns only our own promises
    // count.
    if (is_quiet() && (quiet >= quiet_turns || turns >= most_turns_under_load)) break;
    if (moved == 0) env::pause();
  }
  for (const auto& w : ways_) {
    w->out.abandon();
    if (w->wire != nullptr) w->wire->abandon(counters_);
  }
}

figures service_loop::total() const noexcept {
  figures sum = read(counters_);
  for (const auto& w : ways_) {
    const stats::drop_counters& held = w->host->held_drops();
    sum.counts[static_cast<std::size_t>(count::originated_pkts)] += held.total();
    for (std::size_t i = 0; i < stats::drop_reason_count; ++i) sum.drops[i] += held.get(static_cast<drop_reason>(i));
  }
  return sum;
}

}  // namespace millrace::pipeline
