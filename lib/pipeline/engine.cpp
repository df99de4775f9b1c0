#include "pipeline/engine.hpp"

#include <algorithm>
#include <utility>

#include "env/lcore.hpp"

namespace millrace::pipeline {
namespace {

std::vector<port::queue_counts> queues_of(std::span<const port::port* const> ports) {
  std::vector<port::queue_counts> all;
  for (const port::port* p : ports) all.push_back({.port = p->id(), .rxq = p->plan().rxq, .txq = p->plan().txq});
  return all;
}

base::outcome check(const engine_settings& settings, std::span<const port::port* const> ports,
                    const mem::packet_pool& pool, const frame_set& frames) {
  const std::uint16_t burst = settings.work.burst_pkts;
  if (ports.empty()) return base::failure{"there is no port to forward between", "", true};
  if (burst == 0 || burst > buf::burst::capacity)
    return base::failure{"a burst of " + std::to_string(burst) + " packets cannot be",
                         "give --burst 1 to " + std::to_string(buf::burst::capacity), true};
  if (generates(settings.work.mode) && frames.empty())
    return base::failure{std::string(to_string(settings.work.mode)) + " has no frames to send", "", true};
  if (frames.largest() > pool.data_room())
    return base::failure{"frames of " + std::to_string(frames.largest()) + " bytes do not fit into buffers of " +
                             std::to_string(pool.data_room()),
                         "give a smaller --size, or an --mtu that holds them", true};
  return base::done{};
}

}  // namespace

engine::engine(engine_settings settings, std::span<const port::port* const> ports, mem::packet_pool& pool,
               const frame_set& frames)
    : settings_(std::move(settings)),
      pool_(&pool),
      frames_(&frames),
      ports_(ports.begin(), ports.end()),
      control_(std::make_unique<lcore_counters>()),
      stop_(std::make_unique<stop_signal>()) {}

engine::engine(engine&& other) noexcept
    : settings_(std::move(other.settings_)),
      pool_(other.pool_),
      frames_(other.frames_),
      ports_(std::move(other.ports_)),
      workers_(std::move(other.workers_)),
      control_(std::move(other.control_)),
      stop_(std::move(other.stop_)),
      launched_(std::move(other.launched_)),
      running_(std::exchange(other.running_, false)),
      turned_cpu_ns_(std::exchange(other.turned_cpu_ns_, 0)) {}

engine::~engine() { stop(); }

base::result<engine> engine::make(const engine_settings& settings, std::span<const port::port* const> ports,
                                  mem::packet_pool& pool, const frame_set& frames) {
  if (auto sound = check(settings, ports, pool, frames); !sound) return sound.error();
  engine made(settings, ports, pool, frames);
  made.deal_out();
  return made;
}

worker_stream engine::make_stream(const port::stream& link, std::uint64_t number) const {
  worker_stream s;
  s.link = link;
  // testpmd's peer addresses: locally administered, the port in the last byte.
  const std::uint8_t peer[6] = {0x02, 0, 0, 0, 0, static_cast<std::uint8_t>(link.tx_port)};
  std::copy(std::begin(peer), std::end(peer), s.addresses.dst_src.begin());
  for (const port::port* p : ports_)
    if (p->id() == link.tx_port) std::copy_n(p->facts().mac.begin(), 6, s.addresses.dst_src.begin() + 6);
  s.frames = frame_cursor(*frames_, settings_.flows, number * settings_.work.burst_pkts);
  return s;
}

void engine::deal_out() {
  const std::vector<port::queue_counts> queues = queues_of(ports_);
  const bool only_sends = !receives(settings_.work.mode);
  const std::vector<port::stream> streams =
      only_sends ? port::make_tx_streams(queues) : port::make_streams(queues, settings_.topology);
  const auto lcores = static_cast<unsigned>(std::max<std::size_t>(1, settings_.lcores.size()));
  std::uint64_t number = 0;
  for (const std::vector<port::stream>& list : port::assign(streams, lcores)) {
    std::vector<worker_stream> mine;
    for (const port::stream& link : list) mine.push_back(make_stream(link, number++));
    workers_.push_back(std::make_unique<worker>(settings_.work, std::move(mine), *pool_));
  }
}

seeded engine::seed(unsigned bursts) {
  seeded sum;
  buf::burst packets;
  const std::uint16_t count = settings_.work.burst_pkts;
  std::vector<worker_stream> targets;
  for (const auto& w : workers_) targets.insert(targets.end(), w->streams().begin(), w->streams().end());
  for (unsigned i = 0; i < bursts; ++i)
    for (worker_stream& s : targets) {
      const std::uint64_t bytes = s.frames.fill(packets, *pool_, count);
      if (bytes == 0) {
        control_->add(count::ungenerated_pkts, count);
        continue;
      }
      control_->add(count::originated_pkts, count);
      sum.made += count;
      const unsigned sent = port::tx_burst(s.link.tx_port, s.link.tx_queue, packets);
      control_->add(count::tx_pkts, sent);
      control_->add(count::tx_bytes, bytes - packets.bytes());
      sum.queued += sent;
      packets.drop_all(stats::drop_reason::tx_ring_full, control_->drops);
    }
  return sum;
}

base::outcome engine::start() {
  if (running_ || !has_lcores()) return base::done{};
  stop_->raised.store(false);
  running_ = true;
  launched_.clear();
  for (const auto& w : workers_) launched_.push_back({w.get(), &stop_->raised});
  for (std::size_t i = 0; i < launched_.size(); ++i) {
    const auto body = [](void* argument) {
      const auto* record = static_cast<const launch_record*>(argument);
      if (!record->work->streams().empty()) record->work->run(*record->stop);
      return 0;
    };
    if (env::launch(settings_.lcores[i], body, &launched_[i])) continue;
    stop();
    return base::failure{"lcore " + std::to_string(settings_.lcores[i]) + " cannot be started", ""};
  }
  return base::done{};
}

void engine::turn() noexcept {
  if (turned_cpu_ns_ == 0) turned_cpu_ns_ = env::thread_cpu_ns();
  for (const auto& w : workers_) {
    const mem::heap_watch watch(w->counters().heap);
    w->slice();
  }
}

void engine::stop() noexcept {
  if (turned_cpu_ns_ != 0 && !workers_.empty()) {
    workers_.front()->counters().add(count::cpu_ns, env::thread_cpu_ns() - turned_cpu_ns_);
    turned_cpu_ns_ = 0;
  }
  if (!std::exchange(running_, false)) return;
  stop_->raised.store(true);
  for (const unsigned lcore : settings_.lcores) env::wait(lcore);
}

std::uint64_t engine::drain() noexcept {
  buf::burst packets;
  std::uint64_t found = 0;
  for (const port::port* p : ports_) {
    if (!p->facts().is_software_ring()) continue;  // a device takes its packets back itself when it is closed
    for (std::uint16_t queue = 0; queue < p->plan().rxq; ++queue)
      while (port::rx_burst(p->id(), queue, packets, buf::burst::capacity) != 0) {
        found += packets.size();
        packets.free_all();
      }
  }
  control_->add(count::rx_pkts, found);
  control_->add(count::held_pkts, found);
  return found;
}

unsigned engine::lcore_of(std::size_t worker) const noexcept {
  return has_lcores() ? settings_.lcores[worker] : env::main_lcore();
}

figures engine::total() const noexcept {
  figures sum = of_control();
  for (std::size_t i = 0; i < workers_.size(); ++i) sum += of_worker(i);
  return sum;
}

std::string engine::describe() const {
  std::string text;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    text += "lcore " + std::to_string(lcore_of(i)) + ":";
    const char* separator = " ";
    for (const worker_stream& s : streams_of(i)) {
      text += separator;
      const port::stream& l = s.link;
      if (receives(settings_.work.mode))
        text += "port " + std::to_string(l.rx_port) + " queue " + std::to_string(l.rx_queue) + " -> ";
      text += "port " + std::to_string(l.tx_port) + " queue " + std::to_string(l.tx_queue);
      separator = ", ";
    }
    text += streams_of(i).empty() ? " nothing to do\n" : "\n";
  }
  return text;
}

}  // namespace millrace::pipeline
