#include "app/inspect_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "inspect/json_object.hpp"

namespace millrace::app {
namespace {

constexpr std::size_t rows_at_once = 1000;  // of the table: then they are printed, so that memory stays bounded

using stats::drop_reason;

struct pool_figures {
  const char* name;
  std::uint64_t size;
  std::uint64_t in_use;
  std::uint64_t high_water;
};

std::string counted(std::uint64_t n, const std::string& one) {
  return fmt::format("{} {}{}", n, one, n == 1 ? "" : "s");
}

std::vector<pool_figures> pools_of(const inspect::analyzer& a) {
  const auto& flows = a.flows().pool();
  const auto& connections = a.quic().pool();
  const auto& ids = a.quic().cids();
  const auto& hellos = a.quic().hellos().assemblies();
  std::vector<pool_figures> all = {
      {"inspect_flows", flows.capacity(), flows.in_use(), flows.high_water()},
      {"inspect_connections", connections.capacity(), connections.in_use(), connections.high_water()},
      {"inspect_cids", ids.capacity(), ids.in_use(), ids.high_water()},
      {"inspect_hellos", hellos.capacity(), hellos.in_use(), hellos.high_water()}};
  const inspect::decryptor& d = a.quic().decryption();
  if (!d.active()) return all;
  const auto& streams = d.streams();
  all.push_back({"inspect_secrets", d.secrets().capacity(), d.secrets().in_use(), d.secrets().in_use()});
  all.push_back({"inspect_sessions", d.sessions().capacity(), d.sessions().in_use(), d.sessions().high_water()});
  all.push_back(
      {"inspect_streams", streams.streams_capacity(), streams.streams_in_use(), streams.streams_high_water()});
  all.push_back(
      {"inspect_stream_pieces", streams.pieces_capacity(), streams.pieces_in_use(), streams.pieces_high_water()});
  return all;
}

// Lines of key logs, files or blocks of secrets in captures, and what they opened; nothing when there were none.
void print_key_log(std::FILE* out, const inspect::analyzer& a) {
  const inspect::key_log_counts& k = a.key_log();
  const inspect::counters& c = a.count();
  if (a.secrets_unread() != 0)
    fmt::print(out, "{} of other types than TLS key logs were skipped\n",
               counted(a.secrets_unread(), "block of secrets"));
  if (k.lines() == 0) return;
  fmt::print(out, "TLS secrets: {} of {}", counted(k.secrets, "secret"),
             counted(a.quic().decryption().secrets().in_use(), "handshake"));
  const auto add = [&](std::uint64_t n, const std::string& one, std::string_view fate) {
    if (n != 0) fmt::print(out, ", {} {}", counted(n, one), fate);
  };
  add(k.repeated, "line", "repeated");
  add(k.client_random, "line", "of TLS 1.2 (CLIENT_RANDOM) skipped");
  add(k.other, "other line", "skipped");
  add(k.malformed, "malformed line", "skipped");
  add(k.no_room, "secret", "more than are kept");
  fmt::print(out, "\n  {} decrypted", counted(c.sessions.get(), "connection"));
  if (c.sessions_closed.get() != 0) fmt::print(out, ", {} whose secrets opened nothing", c.sessions_closed.get());
  fmt::print(out, ": {} opened", counted(c.packets_opened.get(), "packet"));
  if (c.packets_opened_initial.get() != 0)
    fmt::print(out, " ({}, which need no secrets)", counted(c.packets_opened_initial.get(), "Initial"));
  fmt::print(out, ", {} not", c.packets_unopened.get());
  if (c.sessions_evicted.get() != 0)
    fmt::print(out, "; {} gave way to others (--max-decrypted)", c.sessions_evicted.get());
  fmt::print(out, "\n");
}

void print_reasons(std::FILE* out, const char* heading, const stats::drop_counters& counters) {
  if (counters.total() == 0) return;
  fmt::print(out, "{}\n", heading);
  for (std::size_t i = 0; i < stats::drop_reason_count; ++i) {
    const auto reason = static_cast<drop_reason>(i);
    if (counters.get(reason) != 0)
      fmt::print(out, "  {:>10} {:<26} {}\n", counters.get(reason), to_string(reason), describe(reason));
  }
}

}  // namespace

void inspect_report::open(output_file to, bool keep_stdout) {
  file_ = std::move(to);
  if (keep_stdout) people_ = stderr;
  if (!file_) return;
  if (file_.is_stdout()) {
    people_ = stderr;
    table_wanted_ = false;
  }
  sink_.emplace(file_.stream());
  writer_.emplace(*sink_);
}

void inspect_report::end_line() noexcept {
  errno = 0;
  if (writer_->end_line() == json::write_errc::ok || broken_) return;
  broken_ = true;
  errno_ = errno;
}

void inspect_report::on_connection(const inspect::connection& c) {
  const mem::heap_watch apart(heap_);
  ++(c.is_gquic ? totals_.gquic : totals_.quic);
  if (c.facts.known && !c.is_gquic) ++totals_.with_hello;
  totals_.quic_frames += c.datagrams;
  if (writer_) {
    inspect::write_object(c, capture_, *writer_);
    end_line();
  }
  if (!table_wanted_) return;
  table_.add(c);
  if (table_.rows() >= rows_at_once) table_.print(people_);
}

void inspect_report::on_flow(const inspect::flow& f) {
  const mem::heap_watch apart(heap_);
  ++totals_.flows[static_cast<std::size_t>(f.kind)];
  totals_.frames[static_cast<std::size_t>(f.kind)] += f.packets;
  if (!writer_) return;
  inspect::write_object(f, capture_, *writer_);
  end_line();
}

void inspect_report::end_capture(bool named) {
  if (!table_wanted_) return;
  if (named)
    fmt::print(people_, "{}== {}{}\n", name_shown_ ? "\n" : "", inspect::printable(capture_, 200),
               table_.rows() == 0 ? ": no QUIC" : "");
  name_shown_ = true;
  table_.print(people_);
  table_ = {};
}

base::outcome inspect_report::finish() {
  if (table_wanted_) table_.print(people_);
  if (!sink_) return base::done{};
  errno = broken_ ? errno_ : 0;
  const bool flushed = sink_->flush();
  const base::failure why = file_.cannot_write();
  writer_.reset();
  sink_.reset();  // before its file is closed
  if (!flushed || broken_) return why;
  return file_.finish();
}

void print_summary(std::FILE* out, const inspect::analyzer& a, const inspect_totals& totals, const inspect_run& run) {
  const inspect::counters& c = a.count();
  using inspect::flow_kind;
  fmt::print(out, "\n{}, {} bytes", counted(c.packets.get(), "frame"), c.bytes.get());
  if (run.captures != 0) fmt::print(out, " from {} capture{}", run.captures, run.captures == 1 ? "" : "s");
  fmt::print(out, " in {:.3f} s\n", run.seconds);
  fmt::print(out, "  {} ({} with ClientHello), {} gQUIC: {}\n", counted(totals.quic, "QUIC connection"),
             totals.with_hello, totals.gquic, counted(totals.quic_frames, "frame"));
  const auto other = [&](const char* name, flow_kind kind) {
    const auto i = static_cast<std::size_t>(kind);
    fmt::print(out, "  {}: {}\n", counted(totals.flows[i], std::string(name) + " flow"),
               counted(totals.frames[i], "frame"));
  };
  other("TCP", flow_kind::tcp);
  other("UDP", flow_kind::udp);
  other("SRMP", flow_kind::srmp);
  print_key_log(out, a);
  print_reasons(out, "not analysed (in JSON, and in the balance: drops):", c.drops);
  print_reasons(out, "noted inside frames that were analysed:", c.anomalies);
  for (const auto& [kind, count] : run.faults) fmt::print(out, "  {:>10} {} in capture files\n", count, kind);
  const std::uint64_t accounted = c.delivered.get() + c.drops.total();
  fmt::print(out, "conservation: {} received = {} delivered + {} dropped: {}\n", c.packets.get(), c.delivered.get(),
             c.drops.total(), c.packets.get() == accounted ? "holds" : "BROKEN");
  fmt::print(out,
             "tables: {:.1f} MiB for {} flows and as many connections; most in use {} and {}; {} flows and {} "
             "connections gave way to new ones\n",
             static_cast<double>(run.table_bytes) / (1 << 20), a.flows().pool().capacity(),
             a.flows().pool().high_water(), a.quic().pool().high_water(), c.flows_evicted.get(),
             c.connections_evicted.get());
}

void fill_result(run_result& result, const inspect::analyzer& a, const inspect_run& run) {
  const inspect::counters& c = a.count();
  result.duration_s = run.seconds;
  result.rx = {c.packets.get(), c.bytes.get()};
  result.rate.mpps = static_cast<double>(c.packets.get()) / run.seconds / 1e6;
  result.rate.gbps = static_cast<double>(c.bytes.get()) * 8 / run.seconds / 1e9;
  for (const auto& [kind, count] : run.faults) result.add_error(kind, count);
  result.add_drops(c.drops);
  result.add_drops(c.anomalies);
  result.conservation.rx = c.packets.get();
  result.conservation.delivered = c.delivered.get();
  result.conservation.dropped = c.drops.total();
  if (const inspect::key_log_counts& k = a.key_log(); k.lines() != 0) {
    result.key_log = key_log_figures{.secrets = k.secrets,
                                     .repeated = k.repeated,
                                     .skipped = k.client_random + k.other,
                                     .malformed = k.malformed,
                                     .no_room = k.no_room,
                                     .connections_decrypted = c.sessions.get(),
                                     .connections_closed = c.sessions_closed.get(),
                                     .connections_evicted = c.sessions_evicted.get(),
                                     .packets_opened = c.packets_opened.get(),
                                     .packets_unopened = c.packets_unopened.get()};
  }
  for (const pool_figures& p : pools_of(a)) result.mempools.push_back({p.name, p.size, p.in_use, p.high_water, 0});
}

}  // namespace millrace::app
