#include "app/ring_pair.hpp"

namespace millrace::app {
namespace {

port::plan_request request_of(const ring_pair_wish& wish) {
  port::plan_request request;
  request.rxq = wish.queues;
  request.txq = wish.queues;
  request.burst_pkts = wish.burst_pkts;
  // Descriptors mean nothing to a ring: its slots are what packets lie in, one ring a queue and direction.
  request.budget_pkts = wish.budget_pkts + 2u * wish.queues * wish.slots;
  request.workers = wish.workers;
  return request;
}

}  // namespace

base::result<std::unique_ptr<ring_pair>> ring_pair::make(const ring_pair_wish& wish) {
  auto made = std::make_unique<ring_pair>(passkey{});
  auto rings = port::crossed_rings::make("loop", wish.queues, wish.slots);
  if (!rings) return rings.error();
  made->rings_.emplace(std::move(rings.value()));
  std::vector<port::port_facts> facts;
  for (const std::uint16_t id : {made->rings_->first(), made->rings_->second()}) {
    auto one = port::read_facts(id);
    if (!one) return one.error();
    facts.push_back(std::move(one.value()));
    facts.back().mtu = wish.mtu;
  }
  auto planned = port::make_plan(facts, request_of(wish));
  if (!planned) return planned.error();
  made->plan_ = std::move(planned.value());
  auto pool = mem::packet_pool::make(made->plan_.pool);
  if (!pool) return pool.error();
  made->pool_.emplace(std::move(pool.value()));
  for (const port::port_plan& how : made->plan_.ports) {
    auto opened = port::port::open(how, *made->pool_);
    if (!opened) return opened.error();
    made->ports_.push_back(std::move(opened.value()));
    if (auto started = made->ports_.back().start(); !started) return started.error();
  }
  return made;
}

std::uint64_t ring_pair::drain() noexcept {
  buf::burst packets;
  std::uint64_t found = 0;
  for (const port::port& p : ports_)
    for (std::uint16_t queue = 0; queue < p.plan().rxq; ++queue)
      while (port::rx_burst(p.id(), queue, packets, buf::burst::capacity) != 0) {
        found += packets.size();
        packets.free_all();
      }
  return found;
}

void ring_pair::close() noexcept {
  ports_.clear();
  rings_.reset();
}

std::size_t expected_bytes(const ring_pair_wish& wish, unsigned workers) noexcept {
  port::plan_request request = request_of(wish);
  request.mtu = wish.mtu;
  return mem::estimated_bytes(port::expected_pool(2, workers, request)) +
         std::size_t{2} * wish.queues * wish.slots * sizeof(void*);
}

}  // namespace millrace::app
