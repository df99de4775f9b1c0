#include "loadgen/load_settings.hpp"

#include <algorithm>

#include "loadgen/load_messages.hpp"
#include "loadgen/pacer.hpp"
#include "rpc/wire/payload.hpp"

namespace millrace::loadgen {
namespace {

using base::failure;

std::string between(std::string_view what, std::uint64_t least, std::uint64_t most) {
  return std::string(what) + " must be " + std::to_string(least) + " to " + std::to_string(most);
}

base::outcome unusable(std::string what) { return failure{std::move(what), "", true}; }

bool calls(load_ask ask) {
  return ask == load_ask::rpc_echo || ask == load_ask::rpc_call || ask == load_ask::rpc_stream;
}

}  // namespace

std::string_view to_string(load_ask ask) noexcept {
  switch (ask) {
    case load_ask::echo:
      return "echo";
    case load_ask::rpc_echo:
      return "rpc_echo";
    case load_ask::rpc_call:
      return "rpc_call";
    case load_ask::rpc_stream:
      return "rpc_stream";
    case load_ask::one_way:
      return "one_way";
  }
  return "unknown";
}

std::string_view to_string(load_error kind) noexcept {
  switch (kind) {
    case load_error::timeout:
      return "timeout";
    case load_error::error_reply:
      return "error_reply";
    case load_error::mismatch:
      return "mismatch";
    case load_error::malformed:
      return "malformed";
    case load_error::unmatched:
      return "unmatched";
    case load_error::stranger:
      return "stranger";
    case load_error::refused:
      return "refused";
    case load_error::unreachable:
      return "unreachable";
    case load_error::icmp_error:
      return "icmp_error";
    case load_error::end_:
      break;
  }
  return "unknown";
}

std::string_view to_string(load_phase phase) noexcept {
  switch (phase) {
    case load_phase::waiting:
      return "waiting";
    case load_phase::knocking:
      return "knocking";
    case load_phase::running:
      return "running";
    case load_phase::draining:
      return "draining";
    case load_phase::finished:
      return "finished";
  }
  return "unknown";
}

base::outcome check(const load_settings& s) {
  if (s.target.address.family == base::ip_family::none || s.target.port == 0)
    return unusable("the target needs an address and a port");
  if (s.source.family != base::ip_family::none && s.source.family != s.target.address.family)
    return unusable("the source address is of another family than the target");
  if (s.connections < 1 || s.connections > max_load_connections)
    return unusable(between("connections", 1, max_load_connections));
  if (s.port_tries == 0 || (s.port_tries > 1 && s.port_step < s.port_offset + s.connections))
    return unusable("connections that look for their ports must not meet");
  if (s.first_port == 0 ||
      s.first_port + s.port_offset + s.connections - 1u + (s.port_tries - 1u) * s.port_step > UINT16_MAX)
    return unusable("there are not as many local ports from " + std::to_string(s.first_port) + " on as connections");
  if (s.window < 1 || s.window > max_load_window) return unusable(between("requests in flight", 1, max_load_window));
  if (s.rate > max_rate) return unusable(between("rate", 0, max_rate));
  if (s.shares == 0 || s.share >= s.shares) return unusable("the share of the rate is none of its shares");
  if (s.size > max_load_size) return unusable(between("size", 0, max_load_size));
  if (s.timeout_ns == 0) return unusable("the time-out must not be 0");
  if (calls(s.ask) && (s.method.size() > rpc::wire::max_name_size || !rpc::wire::is_callable(s.method)))
    return unusable("a method's name is 1 to 127 characters of ASCII, not '" + s.method + "'");
  if (s.ask == load_ask::rpc_echo && s.size < load_messages::least_arguments)
    return unusable(between("the size of an Echo's arguments", load_messages::least_arguments, max_load_size));
  return base::done{};
}

load_figures& load_figures::operator+=(const load_figures& more) noexcept {
  phase = std::min(phase, more.phase);
  answered = answered || more.answered;
  sent += more.sent;
  replies += more.replies;
  items += more.items;
  sent_bytes += more.sent_bytes;
  reply_bytes += more.reply_bytes;
  datagrams_sent += more.datagrams_sent;
  datagrams_received += more.datagrams_received;
  in_flight += more.in_flight;
  knocks += more.knocks;
  unheard += more.unheard;
  behind_ns = std::max(behind_ns, more.behind_ns);
  if (more.first_ns != 0) first_ns = first_ns == 0 ? more.first_ns : std::min(first_ns, more.first_ns);
  last_ns = std::max(last_ns, more.last_ns);
  for (std::size_t i = 0; i < errors.size(); ++i) errors[i] += more.errors[i];
  return *this;
}

}  // namespace millrace::loadgen
