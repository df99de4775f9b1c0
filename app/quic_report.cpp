#include "app/quic_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/load_report.hpp"

namespace millrace::app {
namespace {

using loadgen::quic_loss;
using quic::conn::end_reason;
using quic::conn::event;

constexpr std::array troubling = {event::early_data_rejected, event::handshake_failed, event::handshake_timeout,
                                  event::idle_timeout,        event::closed_for_fault, event::reset_by_peer,
                                  event::refused_no_memory,   event::undecryptable,    event::auth_failed,
                                  event::ack_of_unsent,       event::crypto_too_far,   event::stream_no_memory,
                                  event::path_failed,         event::sent_pool_empty};

std::string code_text(const quic_loss& loss) {
  constexpr std::uint64_t first_alert = 0x100;  // RFC 9001 4.8
  if (!loss.end.from_application && loss.end.code >= first_alert && loss.end.code < 2 * first_alert)
    return fmt::format("TLS alert {}", loss.end.code - first_alert);
  return fmt::format("{} error {:#x}", loss.end.from_application ? "application" : "QUIC", loss.end.code);
}

}  // namespace

void add_troubles(const quic::conn::counters& events, std::vector<std::pair<std::string, std::uint64_t>>& to) {
  for (const event e : troubling) {
    const std::uint64_t n = events.get(e);
    if (n == 0) continue;
    const std::string kind = "quic_" + std::string(to_string(e));
    const auto known = std::ranges::find(to, kind, &std::pair<std::string, std::uint64_t>::first);
    if (known == to.end())
      to.emplace_back(kind, n);
    else
      known->second += n;
  }
}

void add_kind_text(std::string_view kind, std::uint64_t n, std::string& to) {
  if (n != 0) to += fmt::format("{}{} {}", to.empty() ? "" : ", ", kind, n);
}

std::string loss_text(const quic_loss& loss) {
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

std::string no_connection_text(const base::endpoint& target, const quic_end& end) {
  const std::string whom = to_text(target);
  if (end.begun == 0)
    return "nothing was sent to " + whom + ": our address was not ours in time (is it somebody else's?)";
  if (end.unroutable != 0) return "no route leads to " + whom + ": give --gateway, or an --address on its network";
  if (end.unreachable != 0)
    return fmt::format("no reply from {}: nobody answers {} for it, or for the gateway", whom,
                       target.address.family == base::ip_family::v4 ? "ARP" : "ND");
  if (end.last_loss && end.last_loss->end.reason != end_reason::handshake_timeout)
    return fmt::format("no connection to {} came to be: {}", whom, loss_text(*end.last_loss));
  return "no QUIC reply from " + whom + ": it was asked, and said nothing";
}

}  // namespace millrace::app
