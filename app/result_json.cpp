#include "app/result_json.hpp"

#include <cerrno>
#include <cmath>
#include <cstdio>

#include "app/version.hpp"
#include "json/writer.hpp"

namespace millrace::app {
namespace {

constexpr int places = 6;  // digits behind the point of a measured figure: a packet a second of 1 Mpps

// A figure without a value is an absent key, and so is one that came out of a division by zero.
void figure(json::writer& out, std::string_view name, std::optional<double> v) {
  if (!v || !std::isfinite(*v)) return;
  out.key(name);
  out.fixed(*v, places);
}

void text(json::writer& out, std::string_view name, const std::string& v) {
  if (!v.empty()) out.member(name, v);
}

void write_build(json::writer& out, const build_facts& build) {
  out.key("build");
  out.begin_object();
  text(out, "compiler", build.compiler);
  text(out, "cpu", build.cpu);
  text(out, "ipsec_mb_arch", build.ipsec_mb_arch);
  text(out, "dpdk", build.dpdk);
  out.member("hugepages", build.hugepages);
  out.end_object();
}

struct parameter_writer {
  json::writer& out;
  void operator()(const auto& v) const { out.value(v); }
  void operator()(double v) const {
    if (std::isfinite(v))
      out.value(v);
    else
      out.null();
  }
  void operator()(const std::vector<std::string>& list) const {
    out.begin_array();
    for (const std::string& item : list) out.value(item);
    out.end_array();
  }
};

void write_workload(json::writer& out, const workload_parameters& workload) {
  out.key("workload");
  out.begin_object();
  for (const auto& [name, value] : workload.items()) {
    out.key(name);
    std::visit(parameter_writer{out}, value);
  }
  out.end_object();
}

void write_traffic(json::writer& out, std::string_view name, const traffic_count& count) {
  out.key(name);
  out.begin_object();
  out.member("packets", count.packets);
  out.member("bytes", count.bytes);
  out.end_object();
}

void write_rate(json::writer& out, const rate_figures& rate) {
  out.key("rate");
  out.begin_object();
  figure(out, "mpps", rate.mpps);
  figure(out, "gbps", rate.gbps);
  figure(out, "messages_per_s", rate.messages_per_s);
  figure(out, "requests_per_s", rate.requests_per_s);
  figure(out, "goodput_gbps", rate.goodput_gbps);
  figure(out, "handshakes_per_s", rate.handshakes_per_s);
  out.end_object();
}

void write_latency(json::writer& out, const std::optional<latency_figures>& latency) {
  if (!latency) return;
  out.key("latency_ns");
  out.begin_object();
  out.member("p50", latency->p50);
  out.member("p90", latency->p90);
  out.member("p99", latency->p99);
  out.member("p999", latency->p999);
  out.member("max", latency->max);
  out.end_object();
}

void write_handshakes(json::writer& out, const std::optional<handshake_figures>& handshakes) {
  if (!handshakes) return;
  out.key("handshakes");
  out.begin_object();
  out.member("begun", handshakes->begun);
  out.member("completed", handshakes->completed);
  out.member("resumed", handshakes->resumed);
  out.member("early_data", handshakes->early_data);
  out.end_object();
}

void write_key_log(json::writer& out, const std::optional<key_log_figures>& key_log) {
  if (!key_log) return;
  out.key("key_log");
  out.begin_object();
  out.member("secrets", key_log->secrets);
  out.member("repeated", key_log->repeated);
  out.member("skipped", key_log->skipped);
  out.member("malformed", key_log->malformed);
  out.member("no_room", key_log->no_room);
  out.member("connections_decrypted", key_log->connections_decrypted);
  out.member("connections_closed", key_log->connections_closed);
  out.member("connections_evicted", key_log->connections_evicted);
  out.member("packets_opened", key_log->packets_opened);
  out.member("packets_unopened", key_log->packets_unopened);
  out.end_object();
}

void write_counts(json::writer& out, const run_result& result) {
  out.key("errors");
  out.begin_object();
  for (const auto& [kind, n] : result.errors)
    if (n != 0) out.member(kind, n);
  out.end_object();
  out.key("drops");
  out.begin_object();
  for (std::size_t i = 0; i < result.drops.size(); ++i)
    if (result.drops[i] != 0) out.member(to_string(static_cast<stats::drop_reason>(i)), result.drops[i]);
  out.end_object();
}

void write_conservation(json::writer& out, const conservation_count& count) {
  out.key("conservation");
  out.begin_object();
  out.member("rx", count.rx);
  out.member("originated", count.originated);
  out.member("tx", count.tx);
  out.member("delivered", count.delivered);
  out.member("held", count.held);
  out.member("dropped", count.dropped);
  out.member("holds", count.holds());
  out.end_object();
}

void write_stages(json::writer& out, const run_result& result) {
  out.key("cycles_per_packet");
  out.begin_object();
  for (const auto& [stage, cycles] : result.cycles_per_packet) figure(out, stage, cycles);
  out.end_object();
}

void write_lcores(json::writer& out, const run_result& result) {
  out.key("lcores");
  out.begin_array();
  for (const lcore_figures& lcore : result.lcores) {
    out.begin_object();
    out.member("id", lcore.id);
    figure(out, "busy_percent", lcore.busy_percent);
    figure(out, "mpps", lcore.mpps);
    figure(out, "cpu_percent", lcore.cpu_percent);
    out.end_object();
  }
  out.end_array();
}

void write_mempools(json::writer& out, const run_result& result) {
  out.key("mempools");
  out.begin_array();
  for (const mempool_figures& pool : result.mempools) {
    out.begin_object();
    out.member("name", pool.name);
    out.member("size", pool.size);
    out.member("in_use", pool.in_use);
    out.member("high_water", pool.high_water);
    out.member("refused", pool.refused);
    out.end_object();
  }
  out.end_array();
}

// Absent where the role has none of it; zeroes are left out.
void write_tally(json::writer& out, std::string_view key,
                 const std::vector<std::pair<std::string, std::uint64_t>>& tally) {
  if (tally.empty()) return;
  out.key(key);
  out.begin_object();
  for (const auto& [name, n] : tally)
    if (n != 0) out.member(name, n);
  out.end_object();
}

void write_heap(json::writer& out, const std::optional<heap_figures>& heap) {
  if (!heap) return;
  out.key("heap_calls");
  out.begin_object();
  out.member("data_path", heap->data_path);
  out.member("handshake", heap->handshake);
  out.end_object();
}

}  // namespace

void workload_parameters::set(std::string_view name, value v) {
  for (auto& [known, old] : items_) {
    if (known != name) continue;
    old = std::move(v);
    return;
  }
  items_.emplace_back(name, std::move(v));
}

void run_result::add_error(std::string_view kind, std::uint64_t n) {
  for (auto& [known, count] : errors) {
    if (known != kind) continue;
    count += n;
    return;
  }
  errors.emplace_back(kind, n);
}

void run_result::add_drops(const stats::drop_counters& lcore) noexcept {
  for (std::size_t i = 0; i < drops.size(); ++i) drops[i] += lcore.get(static_cast<stats::drop_reason>(i));
}

void write_result(const run_result& result, json::writer& out) {
  out.begin_object();
  out.member("version", version());
  write_build(out, result.build);
  out.member("role", result.role);
  write_workload(out, result.workload);
  figure(out, "duration_s", result.duration_s);
  write_traffic(out, "rx", result.rx);
  write_traffic(out, "tx", result.tx);
  write_rate(out, result.rate);
  write_latency(out, result.latency_ns);
  write_handshakes(out, result.handshakes);
  write_key_log(out, result.key_log);
  write_counts(out, result);
  write_conservation(out, result.conservation);
  write_stages(out, result);
  write_lcores(out, result);
  write_mempools(out, result);
  write_tally(out, "messages", result.messages);
  write_tally(out, "classes", result.classes);
  write_heap(out, result.heap_calls);
  out.end_object();
}

base::outcome write_result(const run_result& result, output_file& to) {
  std::FILE* file = to.stream();
  if (file == nullptr) return base::done{};
  json::write_errc line = json::write_errc::ok;
  {  // the sink is gone before its file is closed
    errno = 0;
    json::file_sink sink(file);
    json::writer out(sink);
    write_result(result, out);
    line = out.end_line();
    if (!sink.flush() || line == json::write_errc::no_room) return to.cannot_write();
  }
  if (line != json::write_errc::ok)
    return base::failure{"the result could not be written: " + std::string(to_string(line)), "", false};
  return to.finish();
}

}  // namespace millrace::app
