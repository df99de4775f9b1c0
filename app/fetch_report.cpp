#include "app/fetch_report.hpp"

#include <fmt/format.h>

#include <array>
#include <iterator>

#include "app/load_report.hpp"

namespace millrace::app {
namespace {

using loadgen::fetch_figures;

double per(std::uint64_t amount, double divisor) noexcept {
  return divisor > 0 ? static_cast<double>(amount) / divisor : 0;
}
double gbps(std::uint64_t bytes, double seconds) noexcept { return 8 * per(bytes, seconds) / 1e9; }
double us(std::uint64_t ns) noexcept { return static_cast<double>(ns) / 1e3; }

// What went wrong with requests and connections, by the keys of the result.
std::array<std::pair<const char*, std::uint64_t>, 4> wrongs(const fetch_figures& f) noexcept {
  return {{{"failed_requests", f.failed},
           {"short_bodies", f.short_bodies},
           {"wrong_pieces", f.wrong},
           {"lost_connections", f.lost_connections}}};
}

std::string errors_text(const fetch_figures& f, std::span<const std::pair<std::string, std::uint64_t>> troubles) {
  std::string text;
  for (const auto& [kind, n] : wrongs(f)) add_kind_text(kind, n, text);
  for (const auto& [kind, n] : troubles) add_kind_text(kind, n, text);
  return text.empty() ? "none" : text;
}

}  // namespace

fetch_end gather(const loadgen::fetch_settings& asked, std::span<const std::unique_ptr<loadgen::fetch_load>> loads) {
  fetch_end end;
  end.asked = asked;
  for (const auto& one : loads) {
    end.did += one->figures();
    end.latency->merge(one->latency());
    end.quic.handshake_heap += one->endpoint().handshake_heap_calls();
    if (const auto loss = one->last_loss()) end.quic.last_loss = loss;
    add_troubles(one->events(), end.quic.troubles);
  }
  end.quic.begun = end.did.connections;
  end.quic.completed = end.did.established;
  end.quic.lost = end.did.lost_connections;
  return end;
}

std::string fetch_period_text(double at_s, double period_s, const fetch_figures& before, const fetch_figures& now) {
  std::string text = fmt::format("{:7.1f} s  {:.0f} requests/s, {:.3f} Gbit/s, {:.0f} handshakes/s, {} in flight", at_s,
                                 per(now.whole - before.whole, period_s), gbps(now.bytes - before.bytes, period_s),
                                 per(now.established - before.established, period_s), now.in_flight);
  fetch_figures since;
  since.failed = now.failed - before.failed;
  since.short_bodies = now.short_bodies - before.short_bodies;
  since.wrong = now.wrong - before.wrong;
  since.lost_connections = now.lost_connections - before.lost_connections;
  if (const std::string errors = errors_text(since, {}); errors != "none") text += ", errors: " + errors;
  return text + "\n";
}

std::string fetch_text(const fetch_end& end) {
  const fetch_figures& f = end.did;
  const double seconds = f.seconds();
  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "  requests  {} begun, {} whole in {:.2f} s, {:.1f} a second", f.begun, f.whole, seconds,
                 per(f.whole, seconds));
  if (f.in_flight != 0) fmt::format_to(out, ", {} still in flight", f.in_flight);
  fmt::format_to(out, "\n  goodput   {:.3f} Gbit/s of bodies\n", gbps(f.bytes, seconds));
  fmt::format_to(out, "  handshakes {} of {} completed, {:.1f} a second: {} resumed, {} of those with 0-RTT\n",
                 f.established, f.connections, per(f.established, seconds), f.resumed, f.early_accepted);
  if (const stats::latency_histogram& l = *end.latency; l.count() != 0)
    fmt::format_to(
        out, "  latency   of whole bodies: p50 {:.1f}, p90 {:.1f}, p99 {:.1f}, p99.9 {:.1f}, max {:.1f} us\n",
        us(l.percentile(50)), us(l.percentile(90)), us(l.percentile(99)), us(l.percentile(99.9)), us(l.max()));
  if (f.key_updates + f.migrations != 0)
    fmt::format_to(out, "  changes   {} key updates, {} moves to another port\n", f.key_updates, f.migrations);
  fmt::format_to(out, "  errors    {}\n", errors_text(f, end.quic.troubles));
  if (f.lost_connections != 0 && end.quic.last_loss)
    fmt::format_to(out, "            of the last lost connection: {}\n", loss_text(*end.quic.last_loss));
  return text;
}

void fill_fetch_result(const fetch_end& end, run_result& out) {
  const fetch_figures& f = end.did;
  const double seconds = f.seconds();
  if (seconds > 0) out.duration_s = seconds;
  out.rate.requests_per_s = per(f.whole, seconds);
  out.rate.goodput_gbps = gbps(f.bytes, seconds);
  out.rate.handshakes_per_s = per(f.established, seconds);
  out.handshakes = handshake_figures{
      .begun = f.connections, .completed = f.established, .resumed = f.resumed, .early_data = f.early_accepted};
  if (const stats::latency_histogram& l = *end.latency; l.count() != 0)
    out.latency_ns = latency_figures{l.percentile(50), l.percentile(90), l.percentile(99), l.percentile(99.9), l.max()};
  for (const auto& [kind, n] : wrongs(f))
    if (n != 0) out.add_error(kind, n);
  for (const auto& [kind, n] : end.quic.troubles) out.add_error(kind, n);
}

std::string fetch_failure(const fetch_end& end, bool forgiven) {
  const fetch_figures& f = end.did;
  if (!f.answered) return no_connection_text(end.asked.target, end.quic);
  const std::string errors = errors_text(f, end.quic.troubles);
  if (f.wrong + f.short_bodies != 0) return "bodies were not what was asked for: " + errors;
  if (f.begun != 0 && f.whole == 0)
    return fmt::format("no whole body from {}: {}{}", to_text(end.asked.target), errors,
                       f.lost_connections != 0 && end.quic.last_loss ? "; " + loss_text(*end.quic.last_loss) : "");
  if (f.lost_connections != 0 && !forgiven)
    return fmt::format("connections were lost: {}{}", errors,
                       end.quic.last_loss ? "; " + loss_text(*end.quic.last_loss) : "");
  return {};
}

}  // namespace millrace::app
