#include "app/load_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "loadgen/srmp_load.hpp"
#include "loadgen/srmp_quic_load.hpp"

namespace millrace::app {
namespace {

using loadgen::load_ask;
using loadgen::load_error;
using loadgen::load_figures;
using loadgen::load_settings;

double per(std::uint64_t amount, double divisor) noexcept {
  return divisor > 0 ? static_cast<double>(amount) / divisor : 0;
}

// 1234567 -> "1.235 M": three digits behind the point below a thousand of the unit.
std::string scaled(double a_second) {
  for (const auto& [factor, letter] : {std::pair{1e9, " G"}, std::pair{1e6, " M"}, std::pair{1e3, " k"}})
    if (a_second >= factor) return fmt::format("{:.3f}{}", a_second / factor, letter);
  return fmt::format("{:.1f} ", a_second);
}

// In the unit that shows three or more digits.
std::string time_text(std::uint64_t ns) {
  const auto value = static_cast<double>(ns);
  if (ns < 10'000) return fmt::format("{} ns", ns);
  if (ns < 10'000'000) return fmt::format("{:.1f} us", value / 1e3);
  if (ns < 10'000'000'000) return fmt::format("{:.1f} ms", value / 1e6);
  return fmt::format("{:.2f} s", value / 1e9);
}

bool is_one_way(const load_end& end) noexcept { return end.asked.ask == load_ask::one_way; }
bool is_call(load_ask ask) noexcept { return ask != load_ask::echo && ask != load_ask::one_way; }

// What the run was for: right replies, or, where none are due, what was sent.
std::uint64_t achieved(const load_end& end) noexcept {
  return is_one_way(end) ? end.did.sent : end.did.replies + end.did.items;
}
std::uint64_t achieved_bytes(const load_end& end) noexcept {
  return is_one_way(end) ? end.did.sent_bytes : end.did.reply_bytes;
}

latency_figures latency_of(const stats::latency_histogram& h) noexcept {
  return {h.percentile(50), h.percentile(90), h.percentile(99), h.percentile(99.9), h.max()};
}

std::string errors_text(const load_figures& did, const quic_end* quic = nullptr) {
  std::string text;
  for (std::size_t i = 0; i < did.errors.size(); ++i)
    add_kind_text(to_string(static_cast<load_error>(i)), did.errors[i], text);
  if (quic != nullptr) {
    add_kind_text("lost_connections", quic->lost, text);
    for (const auto& [kind, n] : quic->troubles) add_kind_text(kind, n, text);
  }
  return text.empty() ? "none" : text;
}
const quic_end* quic_of(const load_end& end) noexcept { return end.quic ? &*end.quic : nullptr; }

// What all kinds of generators have; `each` sees every one of them.
template <class Load, class Each>
load_end gather_all(const load_settings& asked, std::span<const std::unique_ptr<Load>> loads, Each&& each) {
  load_end end;
  end.asked = asked;
  bool first = true;
  for (const auto& one : loads) {
    const load_figures did = one->figures();
    if (first)
      end.did = did;
    else
      end.did += did;
    first = false;
    end.latency->merge(one->latency());
    each(*one);
  }
  return end;
}

}  // namespace

load_end gather(const load_settings& asked, std::span<const std::unique_ptr<loadgen::srmp_load>> loads) {
  return gather_all(asked, loads, [](const loadgen::srmp_load&) {});
}

load_end gather(const load_settings& asked, std::span<const std::unique_ptr<loadgen::srmp_quic_load>> loads) {
  quic_end quic;
  load_end end = gather_all(asked, loads, [&](const loadgen::srmp_quic_load& one) {
    quic.begun += one.connections_begun();
    quic.completed += one.handshakes();
    quic.lost += one.connections_lost();
    quic.handshake_heap += one.endpoint().handshake_heap_calls();
    if (const auto loss = one.last_loss()) quic.last_loss = loss;
    add_troubles(one.events(), quic.troubles);
  });
  end.quic = std::move(quic);
  return end;
}

std::string to_text(const base::endpoint& where) {
  std::array<char, base::endpoint::max_text_size> text;
  return {text.data(), where.format_to(text)};
}

std::string load_period_text(double at_s, double period_s, const load_figures& before, const load_figures& now) {
  std::string text = fmt::format(
      "{:7.1f} s  sent {}/s, answered {}/s, {} in flight", at_s, scaled(per(now.sent - before.sent, period_s)),
      scaled(per(now.replies + now.items - before.replies - before.items, period_s)), now.in_flight);
  load_figures since;
  for (std::size_t i = 0; i < since.errors.size(); ++i) since.errors[i] = now.errors[i] - before.errors[i];
  if (const std::string errors = errors_text(since); errors != "none") text += ", errors: " + errors;
  return text + "\n";
}

std::string load_text(const load_end& end) {
  const load_figures& did = end.did;
  const double seconds = did.seconds();
  std::string text;
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "  messages  {} sent, {} answered in {:.2f} s", did.sent, did.replies, seconds);
  if (did.items != 0) fmt::format_to(out, ", with {} items of streams", did.items);
  if (did.in_flight != 0) fmt::format_to(out, ", {} still in flight", did.in_flight);
  fmt::format_to(out, "\n  rate      {} messages a second, {:.1f} {}\n", scaled(per(achieved(end), seconds)),
                 per(did.sent, static_cast<double>(did.datagrams_sent)), end.quic ? "at a time" : "a datagram");
  if (end.asked.rate != 0)
    fmt::format_to(out, "  open loop {} a second asked; sending was behind by {} at most\n",
                   scaled(static_cast<double>(end.asked.rate)), time_text(did.behind_ns));
  fmt::format_to(out, "  goodput   {:.3f} Gbit/s of payload\n", 8 * per(achieved_bytes(end), seconds) / 1e9);
  if (end.latency->count() != 0) {
    const latency_figures l = latency_of(*end.latency);
    fmt::format_to(out, "  latency   p50 {}, p90 {}, p99 {}, p99.9 {}, max {}{}\n", time_text(l.p50), time_text(l.p90),
                   time_text(l.p99), time_text(l.p999), time_text(l.max),
                   end.asked.rate != 0 ? ", from the time a message was meant to be sent" : "");
  }
  if (end.quic)
    fmt::format_to(out, "  handshakes {} of {} completed, {:.1f} a second\n", end.quic->completed, end.quic->begun,
                   per(end.quic->completed, seconds));
  fmt::format_to(out, "  errors    {}\n", errors_text(did, quic_of(end)));
  if (end.quic && end.quic->lost != 0 && end.quic->last_loss)
    fmt::format_to(out, "            of the last lost connection: {}\n", loss_text(*end.quic->last_loss));
  if (did.answered && did.unheard != 0)
    fmt::format_to(out, "  unheard   {} of {} connections got no answer, from no port they tried\n", did.unheard,
                   end.asked.connections);
  return text;
}

void add_load_workload(const load_settings& asked, workload_parameters& out) {
  out.add("target", to_text(asked.target));
  out.add("ask", to_string(asked.ask));
  if (is_call(asked.ask)) out.add("method", asked.method);
  out.add("connections", asked.connections);
  out.add("streams", asked.window);
  out.add("rate", asked.rate);
  out.add("requests", asked.requests);
  out.add("duration", static_cast<double>(asked.duration_ns) / 1e9);
  out.add("size", asked.size);
  out.add("fill", asked.fill);
  out.add("timeout", static_cast<double>(asked.timeout_ns) / 1e9);
}

void fill_load_result(const load_end& end, run_result& out) {
  const double seconds = end.did.seconds();
  if (seconds > 0) out.duration_s = seconds;
  out.rate.messages_per_s = per(achieved(end), seconds);
  if (is_call(end.asked.ask)) out.rate.requests_per_s = per(end.did.replies, seconds);
  out.rate.goodput_gbps = 8 * per(achieved_bytes(end), seconds) / 1e9;
  if (end.latency->count() != 0) out.latency_ns = latency_of(*end.latency);
  for (std::size_t i = 0; i < end.did.errors.size(); ++i)
    if (end.did.errors[i] != 0) out.add_error(to_string(static_cast<load_error>(i)), end.did.errors[i]);
  if (!end.quic) return;
  out.rate.handshakes_per_s = per(end.quic->completed, seconds);
  out.handshakes =
      handshake_figures{.begun = end.quic->begun, .completed = end.quic->completed, .resumed = 0, .early_data = 0};
  if (end.quic->lost != 0) out.add_error("lost_connections", end.quic->lost);
  for (const auto& [kind, n] : end.quic->troubles) out.add_error(kind, n);
}

std::string load_failure(const load_end& end, std::uint64_t unroutable) {
  const load_figures& did = end.did;
  const std::string target = to_text(end.asked.target);
  if (end.quic && !did.answered) return no_connection_text(end.asked.target, *end.quic);
  if (!did.answered && did.knocks == 0)
    return "nothing was sent to " + target + ": our address was not ours in time (is it somebody else's?)";
  if (!did.answered && unroutable != 0)
    return "no route leads to " + target + ": give --gateway, or an --address on its network";
  const std::string_view resolution = end.asked.target.address.family == base::ip_family::v4 ? "ARP" : "ND";
  if (!did.answered && did[load_error::unreachable] != 0)
    return fmt::format("no reply from {}: nobody answers {} for it, or for the gateway", target, resolution);
  if (!did.answered && did[load_error::icmp_error] != 0)
    return "no reply from " + target + ": ICMP says that the port is closed, or that no way leads there";
  if (!did.answered)
    return "no reply from " + target +
           ": it was asked, and said nothing (raw frames want a server that echoes them; /Echo is a call)";
  if (did.sent != 0 && !is_one_way(end) && did.replies == 0 && did.items == 0)
    return fmt::format("no right reply from {}: {}", target, errors_text(did, quic_of(end)));
  return {};
}

}  // namespace millrace::app
