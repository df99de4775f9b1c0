#include "app/hq_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace millrace::app {
namespace {

using loadgen::hq_figures;
using loadgen::hq_loss;
using quic::conn::end_reason;
using quic::conn::event;

double per(std::uint64_t amount, double divisor) noexcept {
  return divisor > 0 ? static_cast<double>(amount) / divisor : 0;
}
double gbps(std::uint64_t bytes, double seconds) noexcept { return 8 * per(bytes, seconds) / 1e9; }
double us(std::uint64_t ns) noexcept { return static_cast<double>(ns) / 1e3; }

std::string endpoint_text(const base::endpoint& where) {
  std::array<char, base::endpoint::max_text_size> text;
  return {text.data(), where.format_to(text)};
}

// What went wrong with requests and connections, by the keys of the result.
std::array<std::pair<const char*, std::uint64_t>, 4> wrongs(const hq_figures& f) noexcept {
  return {{{"failed_requests", f.failed},
           {"short_bodies", f.short_bodies},
           {"wrong_pieces", f.wrong},
           {"lost_connections", f.lost_connections}}};
}

// Counters of QUIC that tell a client of trouble, its own or the server's.
constexpr std::array troubling = {event::early_data_rejected, event::handshake_failed, event::handshake_timeout,
                                  event::idle_timeout,        event::closed_for_fault, event::reset_by_peer,
                                  event::refused_no_memory,   event::undecryptable,    event::auth_failed,
                                  event::ack_of_unsent,       event::crypto_too_far,   event::stream_no_memory,
                                  event::path_failed,         event::sent_pool_empty};

std::string errors_text(const hq_figures& f, std::span<const std::pair<std::string, std::uint64_t>> troubles) {
  std::string text;
  const auto add = [&](std::string_view kind, std::uint64_t n) {
    if (n != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kind, n);
  };
  for (const auto& [kind, n] : wrongs(f)) add(kind, n);
  for (const auto& [kind, n] : troubles) add(kind, n);
  return text.empty() ? "none" : text;
}

std::string code_text(const hq_loss& loss) {
  constexpr std::uint64_t first_alert = 0x100;  // RFC 9001 4.8
  if (!loss.end.from_application && loss.end.code >= first_alert && loss.end.code < 2 * first_alert)
    return fmt::format("TLS alert {}", loss.end.code - first_alert);
  return fmt::format("{} error {:#x}", loss.end.from_application ? "application" : "QUIC", loss.end.code);
}

std::string loss_text(const hq_loss& loss) {
  switch (loss.end.reason) {
    case end_reason::closed_by_us:
      return fmt::format("we closed the connection: {} ({})", loss.text, code_text(loss));
    case end_reason::closed_by_peer:
      return "the server closed the connection: " + code_text(loss);
    case end_reason::idle_timeout:
      return "the connection fell silent";
    case end_reason::handshake_timeout:
      return "the handshake took too long";
    case end_reason::stateless_reset:
      return "the server knew nothing of the connection (stateless reset)";
    case end_reason::version_negotiation:
      return "the server speaks none of our QUIC versions";
    case end_reason::refused:
      return "there was no memory for it";
  }
  return {};
}

std::string unanswered_text(const hq_end& end) {
  const std::string target = endpoint_text(end.asked.target);
  if (end.did.connections == 0)
    return "nothing was sent to " + target + ": our address was not ours in time (is it somebody else's?)";
  if (end.unroutable != 0) return "no route leads to " + target + ": give --gateway, or an --address on its network";
  if (end.unreachable != 0)
    return fmt::format("no reply from {}: nobody answers {} for it, or for the gateway", target,
                       end.asked.target.address.family == base::ip_family::v4 ? "ARP" : "ND");
  if (end.last_loss && end.last_loss->end.reason != end_reason::handshake_timeout)
    return fmt::format("no connection to {} came to be: {}", target, loss_text(*end.last_loss));
  return "no QUIC reply from " + target + ": it was asked, and said nothing";
}

}  // namespace

hq_end gather(const loadgen::hq_settings& asked, std::span<const std::unique_ptr<loadgen::hq_load>> loads) {
  hq_end end;
  end.asked = asked;
  std::array<std::uint64_t, troubling.size()> counts{};
  for (const auto& one : loads) {
    end.did += one->figures();
    end.latency->merge(one->latency());
    end.handshake_heap_calls += one->endpoint().handshake_heap_calls();
    if (const auto loss = one->last_loss()) end.last_loss = loss;
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += one->events().get(troubling[i]);
  }
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] != 0) end.troubles.emplace_back("quic_" + std::string(to_string(troubling[i])), counts[i]);
  return end;
}

std::string hq_period_text(double at_s, double period_s, const hq_figures& before, const hq_figures& now) {
  std::string text = fmt::format("{:7.1f} s  {:.0f} requests/s, {:.3f} Gbit/s, {:.0f} handshakes/s, {} in flight", at_s,
                                 per(now.whole - before.whole, period_s), gbps(now.bytes - before.bytes, period_s),
                                 per(now.established - before.established, period_s), now.in_flight);
  hq_figures since;
  since.failed = now.failed - before.failed;
  since.short_bodies = now.short_bodies - before.short_bodies;
  since.wrong = now.wrong - before.wrong;
  since.lost_connections = now.lost_connections - before.lost_connections;
  if (const std::string errors = errors_text(since, {}); errors != "none") text += ", errors: " + errors;
  return text + "\n";
}

std::string hq_text(const hq_end& end) {
  const hq_figures& f = end.did;
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
  fmt::format_to(out, "  errors    {}\n", errors_text(f, end.troubles));
  if (f.lost_connections != 0 && end.last_loss)
    fmt::format_to(out, "            of the last lost connection: {}\n", loss_text(*end.last_loss));
  return text;
}

void fill_hq_result(const hq_end& end, run_result& out) {
  const hq_figures& f = end.did;
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
  for (const auto& [kind, n] : end.troubles) out.add_error(kind, n);
}

std::string hq_failure(const hq_end& end, bool forgiven) {
  const hq_figures& f = end.did;
  if (!f.answered) return unanswered_text(end);
  const std::string errors = errors_text(f, end.troubles);
  if (f.wrong + f.short_bodies != 0) return "bodies were not what was asked for: " + errors;
  if (f.begun != 0 && f.whole == 0)
    return fmt::format("no whole body from {}: {}{}", endpoint_text(end.asked.target), errors,
                       f.lost_connections != 0 && end.last_loss ? "; " + loss_text(*end.last_loss) : "");
  if (f.lost_connections != 0 && !forgiven)
    return fmt::format("connections were lost: {}{}", errors, end.last_loss ? "; " + loss_text(*end.last_loss) : "");
  return {};
}

}  // namespace millrace::app
