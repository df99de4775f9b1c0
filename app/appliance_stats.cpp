#include "app/appliance_stats.hpp"

#include <array>
#include <charconv>

#include "base/fixed_vector.hpp"
#include "env/tsc_clock.hpp"
#include "stats/latency_summary.hpp"

namespace millrace::app {
namespace {

using pipeline::count;
using pipeline::figures;

constexpr std::size_t most_parts = 128;  // lcores; RTE_MAX_LCORE of Debian's DPDK

double ratio(std::uint64_t part, std::uint64_t whole) noexcept {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

void write_traffic(json::writer& to, std::string_view name, std::uint64_t packets, std::uint64_t bytes) noexcept {
  to.key(name);
  to.begin_object();
  to.member("packets", packets);
  to.member("bytes", bytes);
  to.end_object();
}

void write_stages(json::writer& to, const figures& f) noexcept {
  constexpr std::array<std::pair<count, std::string_view>, 5> stages{{{count::staged_rx_cycles, "rx"},
                                                                      {count::staged_classify_cycles, "classify"},
                                                                      {count::staged_work_cycles, "work"},
                                                                      {count::staged_timer_cycles, "timers"},
                                                                      {count::staged_tx_cycles, "tx"}}};
  to.key("cycles_per_packet");
  to.begin_object();
  if (f[count::staged_pkts] != 0)
    for (const auto& [which, name] : stages) {
      to.key(name);
      to.fixed(ratio(f[which], f[count::staged_pkts]), 1);
    }
  to.end_object();
}

void write_drops(json::writer& to, const figures& f) noexcept {
  to.key("drops");
  to.begin_object();
  for (std::size_t i = 0; i < f.drops.size(); ++i)
    if (f.drops[i] != 0) to.member(to_string(static_cast<stats::drop_reason>(i)), f.drops[i]);
  to.end_object();
}

}  // namespace

appliance_stats::appliance_stats(const mem::packet_pool& pool, std::string version)
    : pool_(pool), version_(std::move(version)), began_ns_(env::tsc_clock{}.now_ns()) {}

void appliance_stats::write(json::writer& to) noexcept {
  figures all;
  for (const part& p : parts_) all += p.loop->total();
  to.begin_object();
  to.member("version", std::string_view(version_));
  to.key("uptime_s");
  to.fixed(static_cast<double>(env::tsc_clock{}.now_ns() - began_ns_) / 1e9, 3);
  write_traffic(to, "rx", all[count::rx_pkts], all[count::rx_bytes]);
  write_traffic(to, "tx", all[count::tx_pkts], all[count::tx_bytes]);
  write_drops(to, all);
  write_stages(to, all);
  write_lcores(to);
  write_protocols(to);
  write_latency(to);
  if (site_ != nullptr) write_site(to);
  write_pools(to);
  to.end_object();
}

void appliance_stats::write_latency(json::writer& to) const noexcept {
  base::fixed_vector<const stats::latency_histogram*, most_parts> all;
  for (const part& p : parts_)
    if (p.quic != nullptr && p.quic->h3() != nullptr) static_cast<void>(all.push_back(&p.quic->h3()->latency()));
  const stats::latency_summary s = stats::summarize({all.begin(), all.size()});
  to.key("latency_ns");
  to.begin_object();
  to.member("count", s.count);
  to.member("p50", s.p50);
  to.member("p90", s.p90);
  to.member("p99", s.p99);
  to.member("p999", s.p999);
  to.member("max", s.max);
  to.key("below");
  to.begin_object();
  for (std::size_t i = 0; i < s.powers; ++i) {
    if (s.by_power[i] == 0) continue;
    std::array<char, 24> name;
    const auto end = std::to_chars(name.data(), name.data() + name.size(), std::uint64_t{1} << i).ptr;
    to.member(std::string_view(name.data(), static_cast<std::size_t>(end - name.data())), s.by_power[i]);
  }
  to.end_object();
  to.end_object();
}

void appliance_stats::write_pools(json::writer& to) const noexcept {
  mem::pool_listing list;
  list.add(pool_.name(), pool_.size(), pool_.in_use());
  for (const part& p : parts_)
    if (p.quic != nullptr) p.quic->list(list);
  to.key("mempools");
  to.begin_array();
  for (const mem::pool_listing::row& r : list.rows()) {
    to.begin_object();
    to.member("name", r.name);
    to.member("size", r.capacity);
    to.member("in_use", r.in_use);
    to.end_object();
  }
  to.end_array();
}

void appliance_stats::write_lcores(json::writer& to) const noexcept {
  to.key("lcores");
  to.begin_array();
  for (const part& p : parts_) {
    const figures f = p.loop->total();
    to.begin_object();
    to.member("id", p.lcore);
    to.member("rx_packets", f[count::rx_pkts]);
    to.member("tx_packets", f[count::tx_pkts]);
    to.member("measured_cycles", f[count::measured_cycles]);
    to.member("busy_cycles", f[count::measured_busy_cycles]);
    to.end_object();
  }
  to.end_array();
}

void appliance_stats::write_protocols(json::writer& to) const noexcept {
  constexpr std::array quic = {quic::conn::event::accepted,         quic::conn::event::established,
                               quic::conn::event::resumed,          quic::conn::event::early_data_accepted,
                               quic::conn::event::packets_received, quic::conn::event::packets_sent,
                               quic::conn::event::packets_lost,     quic::conn::event::key_updates,
                               quic::conn::event::migrations,       quic::conn::event::handshake_failed,
                               quic::conn::event::auth_failed};
  to.key("quic");
  to.begin_object();
  for (const auto e : quic) {
    std::uint64_t sum = 0;
    for (const part& p : parts_)
      if (p.quic != nullptr) sum += p.quic->endpoint().events().get(e);
    to.member(to_string(e), sum);
  }
  to.end_object();
  to.key("http3");
  to.begin_object();
  for (std::size_t i = 0; i < h3::event_count; ++i) {
    const auto e = static_cast<h3::event>(i);
    std::uint64_t sum = 0;
    for (const part& p : parts_)
      if (p.quic != nullptr && p.quic->h3() != nullptr) sum += p.quic->h3()->events().get(e);
    if (sum != 0 || e == h3::event::requests) to.member(h3::to_string(e), sum);
  }
  to.end_object();
  to.key("websocket");
  to.begin_object();
  for (std::size_t i = 0; i < ws::event_count; ++i) {
    const auto e = static_cast<ws::event>(i);
    std::uint64_t sum = 0;
    for (const part& p : parts_)
      if (p.quic != nullptr && p.quic->h3() != nullptr) sum += p.quic->h3()->websocket().get(e);
    if (sum != 0 || e == ws::event::sessions) to.member(ws::to_string(e), sum);
  }
  to.end_object();
}

void appliance_stats::write_site(json::writer& to) const noexcept {
  using counters = service::site_counters;
  constexpr std::array<std::pair<std::string_view, stats::counter counters::*>, 8> answers{
      {{"files", &counters::files},
       {"ranges", &counters::ranges},
       {"not_modified", &counters::not_modified},
       {"redirects", &counters::redirects},
       {"not_found", &counters::not_found},
       {"not_acceptable", &counters::not_acceptable},
       {"precondition_failed", &counters::precondition_failed},
       {"not_satisfiable", &counters::not_satisfiable}}};
  to.key("site");
  to.begin_object();
  for (const auto& [name, which] : answers) {
    std::uint64_t sum = 0;
    for (const part& p : parts_)
      if (p.quic != nullptr && p.quic->h3() != nullptr && p.quic->h3()->site() != nullptr)
        sum += (p.quic->h3()->site()->*which).get();
    to.member(name, sum);
  }
  to.member("reloads", site_->reloads());
  to.member("reload_failures", site_->reload_failures());
  to.member("loaded_files", site_->files());
  to.member("loaded_bytes", site_->bytes());
  to.member("trees", site_->trees());
  to.end_object();
}

}  // namespace millrace::app
