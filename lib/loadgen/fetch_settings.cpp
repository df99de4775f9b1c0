#include "loadgen/fetch_settings.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "pipeline/hq_server.hpp"

namespace millrace::loadgen {
namespace {

constexpr std::uint64_t most_waiting_bytes = 32u << 20;  // of all connections: what may lie behind lost packets
constexpr std::uint64_t least_window = 64u << 10;
constexpr std::uint64_t least_payload = 1'100;       // of a full packet
constexpr std::uint32_t most_remembered = 2'048;     // closed connections, each for three PTO
constexpr std::uint64_t rarely_ended = 1'000;        // requests of a connection: its end is no frequent event
constexpr std::uint32_t blocks_of_a_connection = 4;  // its packet number spaces and a tail
constexpr std::size_t body_block_bytes = 65'536;
constexpr std::size_t block_memory = 66'500 + 2 * 256;  // with its mbufs
constexpr std::size_t request_bytes = 96;               // hq_load's own of a request, with its place in the pool
base::failure unusable(std::string what) { return {std::move(what), "", true}; }

template <class To>
To capped(std::uint64_t value) noexcept {
  return static_cast<To>(std::min<std::uint64_t>(value, std::numeric_limits<To>::max()));
}

}  // namespace

std::uint64_t body_bytes(std::string_view path) noexcept {
  constexpr std::string_view front = "/bytes/";
  if (!path.starts_with(front)) return 0;
  std::uint64_t size = 0;
  const char* last = path.data() + path.size();
  const auto [at, code] = std::from_chars(path.data() + front.size(), last, size);
  return code == std::errc{} && at == last && size <= pipeline::max_pattern_body ? size : 0;
}

h3::settings h3_settings_for(const fetch_settings& s) noexcept {
  h3::settings out;
  out.connections = s.endpoint.connections;
  out.exchanges = s.endpoint.streams;
  out.progress_ns = 0;  // how long a load waits is its own to say
  out.head_ns = 0;
  return out;
}

base::outcome check(const fetch_settings& s) {
  if (s.target.address.family == base::ip_family::none || s.target.port == 0)
    return unusable("the target needs an address and a port");
  if (s.connections == 0 || s.connections > max_fetch_connections)
    return unusable("there are 1 to " + std::to_string(max_fetch_connections) + " connections");
  if (s.step() < s.connections) return unusable("ports of different connections would be the same");
  if (s.first_port == 0 || s.first_port + s.connections - 1u + (s.ports_each() - 1u) * s.step() > UINT16_MAX)
    return unusable("there are not as many local ports from " + std::to_string(s.first_port) +
                    " on as connections use");
  if (s.window == 0) return unusable("a connection that asks for nothing cannot be");
  if (std::uint32_t{s.window} * s.connections > max_fetches_in_flight)
    return unusable("connections times requests in flight of each are more than " +
                    std::to_string(max_fetches_in_flight));
  if (s.body.size() > max_fetch_body)
    return unusable("a request has a body of " + std::to_string(max_fetch_body) + " bytes at most");
  if (s.path.empty() || s.path[0] != '/' || s.path.size() > max_fetch_path ||
      s.path.find_first_of(" \r\n") != std::string::npos)
    return unusable("a path begins with / and has up to " + std::to_string(max_fetch_path) +
                    " characters, without spaces");
  return base::done{};
}

std::uint32_t fit(fetch_settings& s) noexcept {
  quic::endpoint::endpoint_settings& e = s.endpoint;
  quic::conn::transport_settings& t = e.transport;
  const std::uint64_t n = std::max<std::uint64_t>(s.connections, 1);
  const std::uint64_t window = std::max<std::uint64_t>(s.window, 1);

  // What may come ahead of a lost packet: not more than was asked for, and not more than we want to keep.
  const std::uint64_t body = s.expected_bytes != 0 ? s.expected_bytes : t.connection_window_most;
  const std::uint64_t asked = body > most_waiting_bytes / window ? most_waiting_bytes : body * window;
  t.connection_window_most =
      std::max(std::min({t.connection_window_most, asked, most_waiting_bytes / n}), least_window);
  t.connection_window_bytes = std::min(t.connection_window_bytes, t.connection_window_most);
  t.stream_window_most = std::min(t.stream_window_most, t.connection_window_most);
  t.stream_window_bytes = std::min(t.stream_window_bytes, t.stream_window_most);
  if (!s.resumes) t.keep_tickets_ns = 0;

  std::uint64_t remembered = s.requests_each != 0 && s.requests_each < rarely_ended ? most_remembered : n + 16;
  if (s.requests != 0 && s.requests_each != 0) remembered = std::min(remembered, s.requests / s.requests_each + 16);
  e.connections = capped<std::uint32_t>(n + remembered);
  e.handshakes = e.connections;
  e.streams = capped<std::uint32_t>(2 * n * window + n * s.standing_streams + 64);
  e.sent_blocks = capped<std::uint32_t>((n + remembered) * blocks_of_a_connection +
                                        n * (window / quic::recovery::packets_per_block) + 64);
  const std::uint64_t packets = n * t.connection_window_most / least_payload + 64 * n;
  e.pieces = capped<std::uint32_t>(packets + 1'024);
  e.source_slots = 64;  // nobody connects to us
  return capped<std::uint32_t>(packets);
}

std::size_t memory_bytes(const fetch_settings& s) noexcept {
  const std::size_t h3 = s.standing_streams == 0 ? 0 : h3::memory_bytes(h3_settings_for(s));
  const std::size_t body =
      s.body.size() <= most_copied_body ? 0 : (s.body.size() / body_block_bytes + 1) * block_memory;
  return quic::endpoint::memory_bytes(s.endpoint) + std::size_t{s.endpoint.streams} * request_bytes + h3 + body;
}

fetch_figures& fetch_figures::operator+=(const fetch_figures& more) noexcept {
  answered = answered || more.answered;
  connections += more.connections;
  established += more.established;
  resumed += more.resumed;
  early_accepted += more.early_accepted;
  lost_connections += more.lost_connections;
  begun += more.begun;
  whole += more.whole;
  short_bodies += more.short_bodies;
  failed += more.failed;
  wrong += more.wrong;
  bytes += more.bytes;
  in_flight += more.in_flight;
  key_updates += more.key_updates;
  migrations += more.migrations;
  if (more.first_ns != 0) first_ns = first_ns == 0 ? more.first_ns : std::min(first_ns, more.first_ns);
  last_ns = std::max(last_ns, more.last_ns);
  return *this;
}

}  // namespace millrace::loadgen
