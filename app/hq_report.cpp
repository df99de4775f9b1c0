#include "app/hq_report.hpp"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <utility>

namespace millrace::app {
namespace {

using loadgen::hq_figures;

double per(std::uint64_t amount, double divisor) noexcept {
  return divisor > 0 ? static_cast<double>(amount) / divisor : 0;
}
double gbps(std::uint64_t bytes, double seconds) noexcept { return 8 * per(bytes, seconds) / 1e9; }
double us(std::uint64_t ns) noexcept { return static_cast<double>(ns) / 1e3; }

// What went wrong, by the keys of the result.
std::array<std::pair<const char*, std::uint64_t>, 4> troubles(const hq_figures& f) noexcept {
  return {{{"short_bodies", f.short_bodies},
           {"failed_requests", f.failed},
           {"wrong_pieces", f.wrong},
           {"lost_connections", f.lost_connections}}};
}

std::string troubles_text(const hq_figures& f) {
  std::string text;
  for (const auto& [kind, n] : troubles(f))
    if (n != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kind, n);
  return text.empty() ? "none" : text;
}

}  // namespace

hq_end gather(const loadgen::hq_settings& asked, std::span<const std::unique_ptr<loadgen::hq_load>> loads) {
  hq_end end;
  end.asked = asked;
  for (const auto& one : loads) {
    end.did += one->figures();
    end.latency->merge(one->latency());
  }
  return end;
}

std::string hq_period_text(double at_s, double period_s, const hq_figures& before, const hq_figures& now) {
  return fmt::format("{:7.1f} s  {:.3f} Gbit/s, {:.0f} bodies/s, {} in flight, {} connections\n", at_s,
                     gbps(now.bytes - before.bytes, period_s), per(now.whole - before.whole, period_s), now.in_flight,
                     now.established);
}

std::string hq_text(const hq_end& end) {
  const hq_figures& f = end.did;
  const double seconds = f.seconds();
  std::string text =
      fmt::format("  goodput   {:.3f} Gbit/s: {} bytes in {:.2f} s\n", gbps(f.bytes, seconds), f.bytes, seconds);
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "  bodies    {} of {} whole, {} still under way; {:.0f} a second\n", f.whole, f.begun,
                 f.in_flight, per(f.whole, seconds));
  fmt::format_to(out, "  connections {} begun, {} established, {:.0f} a second; {} resumed, {} with 0-RTT\n",
                 f.connections, f.established, per(f.established, seconds), f.resumed, f.early_accepted);
  if (const stats::latency_histogram& l = *end.latency; l.count() != 0)
    fmt::format_to(
        out, "  latency   of whole bodies: p50 {:.1f}, p90 {:.1f}, p99 {:.1f}, p99.9 {:.1f}, max {:.1f} us\n",
        us(l.percentile(50)), us(l.percentile(90)), us(l.percentile(99)), us(l.percentile(99.9)), us(l.max()));
  fmt::format_to(out, "  errors    {}\n", troubles_text(f));
  return text;
}

void fill_hq_result(const hq_end& end, run_result& out) {
  const hq_figures& f = end.did;
  const double seconds = f.seconds();
  if (seconds > 0) out.duration_s = seconds;
  out.rate.requests_per_s = per(f.whole, seconds);
  out.rate.goodput_gbps = gbps(f.bytes, seconds);
  if (const stats::latency_histogram& l = *end.latency; l.count() != 0)
    out.latency_ns = latency_figures{l.percentile(50), l.percentile(90), l.percentile(99), l.percentile(99.9), l.max()};
  for (const auto& [kind, n] : troubles(f))
    if (n != 0) out.add_error(kind, n);
}

std::string hq_failure(const hq_end& end) {
  const hq_figures& f = end.did;
  if (!f.answered) return "the server was asked, and no handshake was completed";
  if (f.wrong + f.short_bodies != 0) return fmt::format("bodies were not what was asked for: {}", troubles_text(f));
  if (f.lost_connections != 0) return fmt::format("connections were lost: {}", troubles_text(f));
  return {};
}

}  // namespace millrace::app
