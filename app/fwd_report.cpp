#include "app/fwd_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "mem/heap_counter.hpp"

namespace millrace::app {
namespace {

using pipeline::count;
using pipeline::figures;

double per(std::uint64_t amount, double divisor) noexcept {
  return divisor > 0 ? static_cast<double>(amount) / divisor : 0;
}
double ratio(std::uint64_t amount, std::uint64_t of) noexcept { return per(amount, static_cast<double>(of)); }

struct traffic {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
};

std::uint64_t bytes_of(std::uint64_t packets, std::uint64_t counted, const figures& f, bool was_counted) noexcept {
  if (was_counted) return counted;
  return static_cast<std::uint64_t>(static_cast<double>(packets) *
                                    ratio(f[count::sampled_bytes], f[count::staged_pkts]));
}
traffic received(const figures& f, bool counted) noexcept {
  return {f[count::rx_pkts], bytes_of(f[count::rx_pkts], f[count::rx_bytes], f, counted)};
}
traffic sent(const figures& f, bool counted) noexcept {
  return {f[count::tx_pkts], bytes_of(f[count::tx_pkts], f[count::tx_bytes], f, counted)};
}
double busy_percent(const figures& f) noexcept {
  return 100 * ratio(f[count::measured_busy_cycles], f[count::measured_cycles]);
}
double cycles_per_packet(const figures& f) noexcept {
  return ratio(f[count::measured_busy_cycles], f[count::measured_pkts]);
}

// The usual unit, and smaller ones where it would show zeroes: a ping is no "0.000 Mpps".
std::string scaled(double a_second, const char* unit, double usual, char usual_letter, int places) {
  constexpr std::pair<double, char> prefixes[] = {{1e9, 'G'}, {1e6, 'M'}, {1e3, 'k'}, {1, ' '}};
  if (a_second == 0 || a_second >= usual / 100)
    return fmt::format("{:8.{}f} {}{}", a_second / usual, places, usual_letter, unit);
  for (const auto& [factor, letter] : prefixes)
    if (factor < usual && (a_second >= factor || factor == 1))
      return fmt::format("{:8.{}f} {}{}", a_second / factor, places, letter, unit);
  return {};
}

std::string rate_text(const char* word, const traffic& t, const fwd_window& w) {
  return fmt::format("{} {} {}{}", word, scaled(per(t.packets, w.seconds), "pps", 1e6, 'M', 3),
                     w.bytes_counted ? " " : "~", scaled(8 * per(t.bytes, w.seconds), "bit/s", 1e9, 'G', 2));
}

// Below this share of the time the figures say more about the machine than about the program.
constexpr double alone_percent = 95;

double cpu_percent(const figures& f, const fwd_window& w) noexcept {
  return std::min(100.0, per(f[count::cpu_ns], w.seconds * 1e7));
}

std::string lcore_text(const lcore_window& l, const fwd_window& w) {
  const figures& f = l.did;
  std::string text = fmt::format("lcore {:<3} {}   {}", l.lcore, rate_text("rx", received(f, w.bytes_counted), w),
                                 rate_text("tx", sent(f, w.bytes_counted), w));
  if (f[count::rx_bursts] != 0)
    fmt::format_to(std::back_inserter(text), "   {:5.1f} packets a burst",
                   ratio(f[count::rx_pkts], f[count::rx_bursts]));
  if (f[count::measured_pkts] != 0)
    fmt::format_to(std::back_inserter(text), "   {:6.1f} cycles a packet", cycles_per_packet(f));
  fmt::format_to(std::back_inserter(text), "   busy {:5.1f} %", busy_percent(f));
  return text;
}

std::string drops_text(const figures& f) {
  std::string text;
  for (std::size_t i = 0; i < f.drops.size(); ++i)
    if (f.drops[i] != 0)
      text +=
          fmt::format("{}{} {}", text.empty() ? "" : ", ", to_string(static_cast<stats::drop_reason>(i)), f.drops[i]);
  return text.empty() ? "none" : text;
}

std::string classes_text(const figures& f) {
  std::string text;
  for (std::size_t i = 0; i < f.classes.size(); ++i)
    if (f.classes[i] != 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", to_string(static_cast<pipeline::traffic_class>(i)),
                          f.classes[i]);
  return text;
}

void add_balance(std::string& text, const figures& f) {
  std::string delivered;  // by whoever has services
  if (f[count::delivered_pkts] != 0) delivered = fmt::format(" + delivered {}", f[count::delivered_pkts]);
  fmt::format_to(std::back_inserter(text), "  balance   rx {} + originated {} {} tx {}{} + held {} + dropped {}: {}\n",
                 f[count::rx_pkts], f[count::originated_pkts], f.is_conserved() ? "=" : "!=", f[count::tx_pkts],
                 delivered, f[count::held_pkts], f.dropped(),
                 f.is_conserved() ? "every packet is accounted for" : "PACKETS ARE MISSING");
}

struct stage_cycles {
  const char* key;
  const char* word;
  double cycles;
};

// Cycles a received packet by stage, in the order of the loop; a stage that the loop does not have is left out.
std::vector<stage_cycles> stages_of(const figures& f) {
  constexpr std::tuple<count, const char*, const char*, bool> stages[] = {
      {count::staged_rx_cycles, "rx", "receive", true},
      {count::staged_classify_cycles, "classify", "classify", false},
      {count::staged_work_cycles, "work", "work", true},
      {count::staged_timer_cycles, "timers", "timers", false},
      {count::staged_tx_cycles, "tx", "transmit", true}};
  std::vector<stage_cycles> found;
  for (const auto& [which, key, word, always] : stages)
    if (always || f[which] != 0) found.push_back({key, word, ratio(f[which], f[count::staged_pkts])});
  return found;
}

void add_stages(std::string& text, const figures& f) {
  const std::uint64_t pkts = f[count::staged_pkts];
  if (pkts == 0) return;
  const char* before = "  stages    ";
  for (const stage_cycles& stage : stages_of(f)) {
    fmt::format_to(std::back_inserter(text), "{}{} {:.1f}", before, stage.word, stage.cycles);
    before = ", ";
  }
  text += " cycles a packet\n";
  if (f[count::interrupted_passes] != 0)
    fmt::format_to(std::back_inserter(text), "            {} measured pass{} interrupted by the kernel and left out\n",
                   f[count::interrupted_passes], f[count::interrupted_passes] == 1 ? " was" : "es were");
}

}  // namespace

figures fwd_window::total() const noexcept {
  figures sum;
  for (const lcore_window& l : lcores) sum += l.did;
  return sum;
}

fwd_window read_window(const pipeline::engine& engine, const std::vector<figures>& since, double seconds,
                       bool bytes_counted) {
  fwd_window window{.seconds = seconds, .bytes_counted = bytes_counted, .lcores = {}};
  for (std::size_t i = 0; i < engine.workers(); ++i) {
    if (engine.streams_of(i).empty()) continue;
    const figures now = engine.of_worker(i);
    window.lcores.push_back({engine.lcore_of(i), i < since.size() ? now.since(since[i]) : now});
  }
  return window;
}

namespace {

void add_errors(const port::port& p, port::port_stats& sum) {
  const port::port_stats one = p.stats();
  sum.rx_missed += one.rx_missed;
  sum.rx_errors += one.rx_errors;
  sum.rx_no_mbuf += one.rx_no_mbuf;
  // A ring counts what it refused as errors; its loop has counted that already.
  if (!p.facts().is_software_ring()) sum.tx_errors += one.tx_errors;
}

std::vector<std::pair<std::string, std::uint64_t>> named(const port::port_stats& sum) {
  std::vector<std::pair<std::string, std::uint64_t>> found;
  const auto note = [&](const char* kind, std::uint64_t n) {
    if (n != 0) found.emplace_back(kind, n);
  };
  note("rx_missed", sum.rx_missed);
  note("rx_errors", sum.rx_errors);
  note("rx_no_mbuf", sum.rx_no_mbuf);
  note("tx_errors", sum.tx_errors);
  return found;
}

}  // namespace

std::vector<std::pair<std::string, std::uint64_t>> driver_errors(const std::deque<port::port>& ports) {
  port::port_stats sum;
  for (const port::port& p : ports) add_errors(p, sum);
  return named(sum);
}

std::vector<std::pair<std::string, std::uint64_t>> driver_errors(const port::port& one) {
  port::port_stats sum;
  add_errors(one, sum);
  return named(sum);
}

std::string period_text(double at_s, const fwd_window& period, const pool_reading& pool) {
  std::string text;
  for (const lcore_window& l : period.lcores)
    fmt::format_to(std::back_inserter(text), "{:7.1f} s  {}\n", at_s, lcore_text(l, period));
  const figures sum = period.total();
  fmt::format_to(std::back_inserter(text), "           pool {} free of {}   drops: {}\n", pool.size - pool.in_use,
                 pool.size, drops_text(sum));
  return text;
}

std::string summary_text(std::string_view title, const fwd_end& end) {
  const fwd_window& w = end.window;
  const figures did = w.total();
  const traffic rx = received(did, w.bytes_counted);
  const traffic tx = sent(did, w.bytes_counted);
  std::string text = fmt::format("{}, {:.2f} s\n", title, w.seconds);
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "  {}   {} packets\n", rate_text("received", rx, w), rx.packets);
  fmt::format_to(out, "  {}   {} packets\n", rate_text("sent    ", tx, w), tx.packets);
  for (const lcore_window& l : w.lcores) fmt::format_to(out, "  {}\n", lcore_text(l, w));
  add_stages(text, did);
  for (const lcore_window& l : w.lcores)
    if (const double share = cpu_percent(l.did, w); share < alone_percent && busy_percent(l.did) > alone_percent)
      fmt::format_to(out, "  shared    lcore {} had its CPU {:.0f} % of the time: do not compare these rates\n",
                     l.lcore, share);
  if (const std::string classes = classes_text(did); !classes.empty())
    fmt::format_to(out, "  classes   {}; {} QUIC packets in all\n", classes, did[count::quic_pkts]);
  fmt::format_to(out, "  drops     {}\n", drops_text(end.total));
  if (end.total[count::ungenerated_pkts] != 0)
    fmt::format_to(out, "  not made  {} packets, the pool was empty\n", end.total[count::ungenerated_pkts]);
  for (const auto& [kind, n] : end.driver_errors) fmt::format_to(out, "  driver    {} {}\n", kind, n);
  const char* separator = "  errors    ";
  for (const auto& [kind, n] : end.service_errors) {
    fmt::format_to(out, "{}{} {}", separator, kind, n);
    separator = ", ";
  }
  if (!end.service_errors.empty()) text += '\n';
  for (const port_end& p : end.ports)
    fmt::format_to(
        out, "  port      {}: received {}, sent {}, missed {}, errors {}, without buffer {} (driver's counts)\n",
        p.name, p.stats.rx_packets, p.stats.tx_packets, p.stats.rx_missed, p.stats.rx_errors, p.stats.rx_no_mbuf);
  fmt::format_to(out, "  pool      {}: {} packets, at most {} seen in use, {} refused; after the run {}\n",
                 end.pool.name, end.pool.size, end.pool.high_water, end.pool.refused,
                 end.pool.in_use == 0 ? "all came back" : std::to_string(end.pool.in_use) + " are missing");
  if (mem::heap_counter_present())
    fmt::format_to(out, "  heap      {} calls on data-path lcores\n", did.heap_calls);
  else
    text += "  heap      not counted: this build's sanitizer brings its own\n";
  if (!w.bytes_counted) text += "  bytes     ~ by the length of sampled bursts; this mode reads no lengths\n";
  add_balance(text, end.total);
  return text;
}

void fill_result(const fwd_end& end, run_result& out) {
  const fwd_window& w = end.window;
  const figures did = w.total();
  const traffic rx = received(did, w.bytes_counted);
  const traffic tx = sent(did, w.bytes_counted);
  out.duration_s = w.seconds;
  out.rx = {rx.packets, rx.bytes};
  out.tx = {tx.packets, tx.bytes};
  // What passes through is counted once: as received, or where nothing is received, as sent.
  const traffic& through = rx.packets != 0 ? rx : tx;
  out.rate.mpps = per(through.packets, w.seconds) / 1e6;
  out.rate.gbps = 8 * per(through.bytes, w.seconds) / 1e9;
  for (const auto& [kind, n] : end.driver_errors) out.add_error(kind, n);
  for (const auto& [kind, n] : end.service_errors) out.add_error(kind, n);
  if (end.total[count::ungenerated_pkts] != 0) out.add_error("ungenerated", end.total[count::ungenerated_pkts]);
  for (std::size_t i = 0; i < out.drops.size(); ++i) out.drops[i] += end.total.drops[i];
  out.conservation = {.rx = end.total[count::rx_pkts],
                      .originated = end.total[count::originated_pkts],
                      .tx = end.total[count::tx_pkts],
                      .delivered = end.total[count::delivered_pkts],
                      .held = end.total[count::held_pkts],
                      .dropped = end.total.dropped()};
  if (did[count::measured_pkts] != 0) out.cycles_per_packet.emplace_back("total", cycles_per_packet(did));
  if (did[count::staged_pkts] != 0)
    for (const stage_cycles& stage : stages_of(did)) out.cycles_per_packet.emplace_back(stage.key, stage.cycles);
  for (const lcore_window& l : w.lcores)
    out.lcores.push_back({.id = l.lcore,
                          .busy_percent = busy_percent(l.did),
                          .mpps = per(l.did[count::rx_pkts], w.seconds) / 1e6,
                          .cpu_percent = cpu_percent(l.did, w)});
  out.mempools.push_back({end.pool.name, end.pool.size, end.pool.in_use, end.pool.high_water, end.pool.refused});
  for (std::size_t i = 0; i < did.classes.size(); ++i)
    if (did.classes[i] != 0)
      out.classes.emplace_back(to_string(static_cast<pipeline::traffic_class>(i)), did.classes[i]);
  if (mem::heap_counter_present()) out.heap_calls = heap_figures{.data_path = did.heap_calls, .handshake = 0};
}

std::string broken_promise(const fwd_end& end) {
  if (!end.total.is_conserved()) return "packets are missing: the balance above does not hold";
  if (end.pool.in_use != 0)
    return std::to_string(end.pool.in_use) + " packets did not come back to the pool '" + end.pool.name + "'";
  return {};
}

}  // namespace millrace::app
