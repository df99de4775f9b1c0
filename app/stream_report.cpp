#include "app/stream_report.hpp"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <utility>

namespace millrace::app {
namespace {

using loadgen::stream_figures;

double per(std::uint64_t amount, double divisor) noexcept {
  return divisor > 0 ? static_cast<double>(amount) / divisor : 0;
}
double gbps(std::uint64_t bytes, double seconds) noexcept { return 8 * per(bytes, seconds) / 1e9; }
double us(std::uint64_t ns) noexcept { return static_cast<double>(ns) / 1e3; }

// What went wrong, by the keys of the result.
std::array<std::pair<const char*, std::uint64_t>, 9> troubles(const stream_figures& f) noexcept {
  return {{{"stream_holed", f.holed},
           {"stream_cut", f.cut},
           {"stream_failed", f.failed},
           {"missing_bytes", f.missing},
           {"reordered_items", f.reordered},
           {"wrong_items", f.wrong},
           {"unmatched", f.unmatched},
           {"malformed", f.malformed},
           {"refused", f.refused}}};
}

std::string troubles_text(const stream_figures& f) {
  std::string text;
  for (const auto& [kind, n] : troubles(f))
    if (n != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kind, n);
  return text.empty() ? "none" : text;
}

}  // namespace

stream_end gather(const loadgen::stream_settings& asked, std::span<const std::unique_ptr<loadgen::stream_load>> loads) {
  stream_end end;
  end.asked = asked;
  for (const auto& one : loads) {
    end.did += one->figures();
    end.latency->merge(one->latency());
  }
  return end;
}

std::string stream_period_text(double at_s, double period_s, const stream_figures& before, const stream_figures& now) {
  return fmt::format("{:7.1f} s  {:.0f} streams/s, {:.0f} items/s, {:.3f} Gbit/s, {} in flight, {} bytes missing\n",
                     at_s, per(now.whole - before.whole, period_s), per(now.items - before.items, period_s),
                     gbps(now.bytes - before.bytes, period_s), now.in_flight, now.missing - before.missing);
}

std::string stream_text(const stream_end& end) {
  const stream_figures& f = end.did;
  const double seconds = f.seconds();
  std::string text = fmt::format(
      "  streams   {} of {} bytes in {:.2f} s, {:.0f} a second: {} whole, {} with holes, {} without an end, {} "
      "failed\n",
      f.begun, end.asked.bytes, seconds, per(f.begun, seconds), f.whole, f.holed, f.cut, f.failed);
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "  items     {} of {} bytes, {:.3f} M a second; {} came behind later ones\n", f.items,
                 end.asked.item, per(f.items, seconds) / 1e6, f.reordered);
  fmt::format_to(out, "  goodput   {:.3f} Gbit/s of payload; {} of {} bytes are missing\n", gbps(f.bytes, seconds),
                 f.missing, f.begun * end.asked.bytes);
  if (const stats::latency_histogram& l = *end.latency; l.count() != 0)
    fmt::format_to(
        out, "  latency   of whole streams: p50 {:.1f}, p90 {:.1f}, p99 {:.1f}, p99.9 {:.1f}, max {:.1f} us\n",
        us(l.percentile(50)), us(l.percentile(90)), us(l.percentile(99)), us(l.percentile(99.9)), us(l.max()));
  fmt::format_to(out, "  errors    {}\n", troubles_text(f));
  return text;
}

void fill_stream_result(const stream_end& end, run_result& out) {
  const stream_figures& f = end.did;
  const double seconds = f.seconds();
  if (seconds > 0) out.duration_s = seconds;
  out.rate.messages_per_s = per(f.items, seconds);
  out.rate.requests_per_s = per(f.whole, seconds);
  out.rate.goodput_gbps = gbps(f.bytes, seconds);
  if (const stats::latency_histogram& l = *end.latency; l.count() != 0)
    out.latency_ns = latency_figures{l.percentile(50), l.percentile(90), l.percentile(99), l.percentile(99.9), l.max()};
  for (const auto& [kind, n] : troubles(f))
    if (n != 0) out.add_error(kind, n);
}

std::string stream_failure(const stream_end& end, bool good_wire) {
  const stream_figures& f = end.did;
  if (!f.answered) return "the server was asked, and never answered";
  if (f.wrong + f.malformed != 0) return fmt::format("items were not what was sent: {}", troubles_text(f));
  if (f.begun != 0 && f.failed == f.begun) return "the server answered every call of the stream with an error";
  if (good_wire && f.missing != 0)
    return fmt::format("{} bytes are missing, and the wire was a good one: {}", f.missing, troubles_text(f));
  return {};
}

}  // namespace millrace::app
