// The rows of the configuration. Each kind of value has a maker below; what a maker says of ranges is what a refusal
// says.

#include "app/config_keys.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "buf/burst.hpp"

namespace millrace::app {
namespace {

constexpr double ns_a_second = 1e9;
// Longer is none of the rooms' times, and up to here every nanosecond survives being written in seconds.
constexpr std::uint64_t most_ns = 1'000'000ull * 1'000'000'000ull;

// Seconds, with as many digits as there are nanoseconds.
std::string seconds_text(std::uint64_t ns) {
  std::string text = fmt::format("{}.{:09}", ns / 1'000'000'000, ns % 1'000'000'000);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

template <class Number>
config_key number(std::string_view name, Number& to, std::uint64_t least, std::uint64_t most, std::string comment) {
  return {
      name, std::move(comment),
      [&to, least, most](const config_value& v) -> std::string {
        const auto* n = std::get_if<std::int64_t>(&v);
        if (n == nullptr || *n < 0 || static_cast<std::uint64_t>(*n) < least || static_cast<std::uint64_t>(*n) > most)
          return fmt::format("a number from {} to {}", least, most);
        to = static_cast<Number>(*n);
        return {};
      },
      [&to] { return fmt::format("{}", to); }};
}

template <class Number>
config_key size(std::string_view name, Number& to, std::uint64_t least, std::uint64_t most, std::string comment) {
  return {name, std::move(comment),
          [&to, least, most](const config_value& v) -> std::string {
            std::optional<std::uint64_t> n;
            if (const auto* plain = std::get_if<std::int64_t>(&v); plain != nullptr && *plain >= 0)
              n = static_cast<std::uint64_t>(*plain);
            else if (const auto* text = std::get_if<std::string>(&v))
              n = parse_size(*text);
            if (!n || *n < least || *n > most)
              return fmt::format("bytes from {} to {}, like 4096 or \"64K\"", least, most);
            to = static_cast<Number>(*n);
            return {};
          },
          [&to] { return fmt::format("{}", to); }};
}

std::optional<double> as_double(const config_value& v) {
  if (const auto* whole = std::get_if<std::int64_t>(&v)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&v)) return *real;
  return std::nullopt;
}

config_key time_ns(std::string_view name, std::uint64_t& to, std::uint64_t least, std::string comment) {
  return {name, std::move(comment),
          [&to, least](const config_value& v) -> std::string {
            const auto s = as_double(v);
            // Not-a-number fails both comparisons.
            if (!s || !(*s >= 0) || !(*s <= static_cast<double>(most_ns) / ns_a_second) ||
                static_cast<std::uint64_t>(std::llround(*s * ns_a_second)) < least)
              return fmt::format("seconds from {} to {}, like 5 or 0.25", seconds_text(least), seconds_text(most_ns));
            to = static_cast<std::uint64_t>(std::llround(*s * ns_a_second));
            return {};
          },
          [&to] { return seconds_text(to); }};
}

config_key seconds(std::string_view name, double& to, std::string comment) {
  return {name, std::move(comment),
          [&to](const config_value& v) -> std::string {
            const auto s = as_double(v);
            if (!s || !(*s >= 0) || !(*s <= 1e9)) return "seconds from 0 to 1000000000, like 5 or 0.25";
            to = *s;
            return {};
          },
          // Shortest form that reads back as the same; a whole number stays one.
          [&to] { return fmt::format("{}", to); }};
}

config_key flag(std::string_view name, bool& to, std::string comment) {
  return {name, std::move(comment),
          [&to](const config_value& v) -> std::string {
            const auto* b = std::get_if<bool>(&v);
            if (b == nullptr) return "true or false";
            to = *b;
            return {};
          },
          [&to] { return std::string(to ? "true" : "false"); }};
}

template <class Word>
config_key word(std::string_view name, Word& to, std::vector<std::pair<std::string_view, Word>> words,
                std::string comment) {
  std::string all;
  for (const auto& [text, value] : words) all += fmt::format("{}\"{}\"", all.empty() ? "" : ", ", text);
  comment += ": " + all;
  const auto shown = words;
  return {name, std::move(comment),
          [&to, words = std::move(words), all](const config_value& v) -> std::string {
            if (const auto* text = std::get_if<std::string>(&v))
              for (const auto& [known, value] : words)
                if (known == *text) {
                  to = value;
                  return {};
                }
            return "one of " + all;
          },
          [&to, shown] {
            for (const auto& [known, value] : shown)
              if (value == to) return quoted(known);
            return quoted("");
          }};
}

// A path; empty: none.
config_key path_text(std::string_view name, std::string& to, std::string comment) {
  return {name, std::move(comment),
          [&to](const config_value& v) -> std::string {
            const auto* text = std::get_if<std::string>(&v);
            if (text == nullptr || text->find('\0') != std::string::npos) return "a path in quotes";
            to = *text;
            return {};
          },
          [&to] { return quoted(to); }};
}

config_key ip_text(std::string_view name, base::ip_address& to, base::ip_family family, std::string comment) {
  return {name, std::move(comment),
          [&to, family](const config_value& v) -> std::string {
            const auto* text = std::get_if<std::string>(&v);
            const auto address = text == nullptr ? std::nullopt : base::ip_address::parse(*text);
            const bool is_none = text != nullptr && text->empty();
            if (!is_none && (!address || address->family != family))
              return fmt::format("an IPv{} address in quotes", family == base::ip_family::v4 ? 4 : 6);
            to = is_none ? base::ip_address{} : *address;
            return {};
          },
          [&to] { return quoted(to.family == base::ip_family::none ? "" : to_text(to)); }};
}

// The rate and its burst: two keys.
void add_rate(config_keys& keys, std::string_view name, std::string_view burst_name, net::rate_limit& to,
              const std::string& comment) {
  constexpr std::uint64_t most = 1'000'000'000;
  keys.push_back(number(name, to.per_second, 0, most, comment + ", a second; 0: no limit"));
  keys.push_back(number(burst_name, to.burst, 0, most, "of them at once"));
}

config_key port_of(interface_config& c) {
  return {"port", "EAL's number of the port, or its name in quotes",
          [&c](const config_value& v) -> std::string {
            if (const auto* n = std::get_if<std::int64_t>(&v); n != nullptr && *n >= 0 && *n < 65536) {
              c.port = std::to_string(*n);
              return {};
            }
            const auto* text = std::get_if<std::string>(&v);
            // 64 is what ethdev names hold; a control character would spoil every message.
            if (text == nullptr || text->empty() || text->size() >= 64 ||
                text->find_first_not_of(" !#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`"
                                        "abcdefghijklmnopqrstuvwxyz{|}~") != std::string::npos)
              return "a port's number, or its name like \"net_tap0\"";
            c.port = *text;
            return {};
          },
          [&c] {
            const bool digits = c.port.find_first_not_of("0123456789") == std::string::npos && c.port.size() < 6;
            return digits ? std::to_string(std::stoul(c.port)) : quoted(c.port);
          }};
}

config_key mac_of(interface_config& c) {
  return {"mac", "empty: the port's own",
          [&c](const config_value& v) -> std::string {
            const auto* text = std::get_if<std::string>(&v);
            if (text != nullptr && text->empty()) {
              c.own_mac = false;
              c.host.mac = {};
              return {};
            }
            const auto mac = text == nullptr ? std::nullopt : parse_mac(*text);
            if (!mac) return "a MAC address like \"02:00:00:00:00:01\"";
            c.own_mac = true;
            c.host.mac = *mac;
            return {};
          },
          [&c] { return quoted(c.own_mac ? to_text(c.host.mac) : ""); }};
}

config_key mtu_of(interface_config& c) {
  return {"mtu", "of IP packets; 0: the port's own",
          [&c](const config_value& v) -> std::string {
            const auto* n = std::get_if<std::int64_t>(&v);
            // 65000: with headers and headroom an mbuf of 64 KiB holds no more.
            if (n == nullptr || (*n != 0 && (*n < 576 || *n > 65000))) return "0, or a number from 576 to 65000";
            c.own_mtu = *n != 0;
            c.host.mtu = c.own_mtu ? static_cast<std::uint16_t>(*n) : net::host_config{}.mtu;
            return {};
          },
          [&c] { return std::to_string(c.own_mtu ? c.host.mtu : 0); }};
}

config_key vlan_of(interface_config& c) {
  return {"vlan", "tag of every frame, 1 to 4094; 0: untagged",
          [&c](const config_value& v) -> std::string {
            const auto* n = std::get_if<std::int64_t>(&v);
            if (n == nullptr || *n < 0 || *n > 4094) return "a number from 0 to 4094";
            c.host.vlan = *n == 0 ? std::nullopt : std::optional<std::uint16_t>(static_cast<std::uint16_t>(*n));
            return {};
          },
          [&c] { return std::to_string(c.host.vlan.value_or(0)); }};
}

}  // namespace

config_keys top_keys(serve_config& c) {
  using pipeline::idle_policy;
  return {number("srmp-port", c.srmp.port, 0, 65535, "SRMP over UDP; 0: none"),
          number("quic-port", c.quic.port, 0, 65535, "QUIC; 0: none"),
          number("echo-port", c.echo_port, 0, 65535, "UDP echo; 0: none"),
          word("idle", c.loop.idle,
               {{"poll", idle_policy::poll}, {"pause", idle_policy::pause}, {"adaptive", idle_policy::adaptive}},
               "what a loop does when nothing arrives"),
          seconds("duration", c.duration_s, "then it stops; 0: at a signal"),
          seconds("stats-period", c.stats_period_s, "a line of statistics every so often; 0: none")};
}

config_keys interface_keys(interface_config& c) {
  return {port_of(c),
          mac_of(c),
          vlan_of(c),
          mtu_of(c),
          flag("link-local", c.host.link_local, "with any IPv6 address: a link-local one beside it (RFC 4862 5.3)"),
          number("dad-transmits", c.host.dad_transmits, 0, 10, "probes for duplicate IPv6 addresses; 0: no detection"),
          flag("announce", c.host.announce, "gratuitous ARP and unsolicited advertisements at the start"),
          flag("accept-broadcast", c.host.accept_broadcast, "services get datagrams that were sent to everybody")};
}

config_keys srmp_keys(srmp_config& c) {
  return {word("answer", c.answer, {{"rpc", srmp_answer::rpc}, {"echo", srmp_answer::echo}},
               "calls of methods, or each payload sent back"),
          size("batch-bytes", c.batch_bytes, 0, 9216, "of a datagram of replies at most; 0: what the MTU carries"),
          number("amplification-factor", c.amplification.factor, 1, 1000,
                 "replies of so many times the request's bytes are free"),
          size("amplification-rate", c.amplification.bytes.per_second, 0, 1'000'000'000,
               "a second, beyond that, to all callers; 0: no limit"),
          size("amplification-burst", c.amplification.bytes.burst, 65536, 1'000'000'000, "of these at once")};
}

config_keys quic_keys(quic_config& c) {
  using quic::endpoint::retry_mode;
  using quic::recovery::congestion_kind;
  constexpr std::uint64_t million = 1u << 20;
  quic::endpoint::endpoint_settings& e = c.endpoint;
  quic::conn::transport_settings& t = e.transport;
  return {
      path_text("cert", c.cert, "the certificate chain in PEM; empty: self-signed, made at the start"),
      path_text("key", c.key, "its private key in PEM"),
      path_text("root", c.root, "files below it are served at /, over HTTP/3 and hq-interop; empty: none"),
      path_text("keylog", c.keylog, "TLS secrets are appended to it; empty: where SSLKEYLOGFILE says, if it does"),
      path_text("qlog", c.qlog, "a directory: qlog of each connection is written into it; empty: none"),
      flag("early-data", c.early_data, "0-RTT: each hello once, within ten seconds; not with SRMP"),
      flag("srmp", c.srmp, "SRMP on streams (ALPN srmp), answered as [srmp] says"),
      flag("h3", c.h3, "HTTP/3 with the built-in endpoints and directories"),
      flag("echo", c.echo, "streams that come back (ALPN echo)"),
      number("reply-blocks", c.reply_blocks, 64, million,
             "of 2 KiB, for replies and echoes not acknowledged, of each lcore"),
      word("retry", e.sources.retry,
           {{"never", retry_mode::never}, {"automatic", retry_mode::automatic}, {"always", retry_mode::always}},
           "whether a client must show first that it receives at its address (RFC 9000 8.1.2)"),
      flag("new-tokens", e.send_new_tokens, "tokens that spare a client's next connection the Retry (RFC 9000 8.1.3)"),
      number("connections", e.connections, 1, million, "at a time, of each lcore"),
      number("handshakes", e.handshakes, 1, million, "of these under way"),
      number("awake-keys", e.awake_keys, 0, million,
             "connections whose 1-RTT keys lie ready, 5 KiB each, of each lcore; others wake in 5 us; 0: those of all"),
      time_ns("rest-keys-after", e.rest_keys_after_ns, 0, "without a packet: keys are put to rest; 0: never"),
      number("handshakes-per-source", e.sources.source_unproven.per_second, 0, million,
             "a second, of one IPv4 address or IPv6 /64, before Retry is asked for; 0: no limit"),
      number("handshakes-burst", e.sources.source_unproven.burst, 1, million, "of these at once"),
      number("proven-per-source", e.sources.source_handshakes.per_second, 0, million,
             "a second, of those that came with a valid token; 0: no limit"),
      number("proven-burst", e.sources.source_handshakes.burst, 1, million, "of these at once"),
      number("streams", e.streams, 1, 4 * million, "of all connections of an lcore"),
      number("streams-bidi", t.streams_bidi, 1, million, "that a peer may have open"),
      number("streams-uni", t.streams_uni, 0, million, "one way, the same"),
      size("connection-window", t.connection_window_bytes, 65536, 1u << 30, "credit of a connection at first"),
      size("connection-window-most", t.connection_window_most, 65536, 1u << 30, "and what it grows to"),
      size("stream-window", t.stream_window_bytes, 16384, 1u << 30, "credit of a stream at first"),
      size("stream-window-most", t.stream_window_most, 16384, 1u << 30, "and what it grows to"),
      number("sent-blocks", e.sent_blocks, 64, million, "of 28 packets in flight, of all connections of an lcore"),
      number("pieces", e.pieces, 256, 16 * million, "received parts of streams that wait to be read"),
      time_ns("idle-timeout", t.idle_timeout_ns, 0, "of silence; 0: none"),
      time_ns("handshake-timeout", t.handshake_timeout_ns, 1'000'000, "from the first packet to the confirmation"),
      word("congestion", t.congestion,
           {{"cubic", congestion_kind::cubic}, {"new-reno", congestion_kind::new_reno}, {"bbr", congestion_kind::bbr}},
           "the controller"),
      flag("migration", t.migration, "clients may move to other addresses"),
      ip_text("preferred-ipv4", t.preferred_ipv4.address, base::ip_family::v4,
              "of ours: where clients are asked to go on after the handshake (RFC 9000 9.6); empty: nowhere"),
      ip_text("preferred-ipv6", t.preferred_ipv6.address, base::ip_family::v6, "the same; empty: nowhere"),
      flag("ecn", t.use_ecn, "packets are marked, as long as the path keeps the marks"),
  };
}

config_keys http_keys(http_config& c) {
  return {number("files", c.limits.most_files, 1, 1u << 24, "at most, of all directories"),
          size("bytes", c.limits.most_bytes, 65536, std::uint64_t{1} << 46, "at most, of all of them in memory"),
          number("path-bytes", c.limits.most_path_bytes, 16, 4096, "of a file's path below its directory")};
}

config_keys directory_keys(service::site_directory& c) {
  return {path_text("path", c.path, "where its files appear"), path_text("root", c.root, "on disk")};
}

config_keys peer_keys(srmp::compatibility& c) {
  return {flag("kind-of-reply", c.kind_of_reply, "a reply says of itself whether it is text or bytes"),
          flag("one-frame-a-datagram", c.one_frame_a_datagram, "one reply a datagram; false: as many as fit"),
          flag("empty-datagram-closes", c.empty_datagram_closes, "a datagram without a byte is the peer's goodbye")};
}

config_keys rpc_keys(rpc::service_limits& c) {
  return {size("max-json-bytes", c.max_json_bytes, 64, 16u << 20, "of arguments that a method reads as JSON"),
          number("max-json-depth", c.max_json_depth, 1, 1024, "of nesting in them"),
          number("max-items", c.max_items, 1, 1'000'000, "of one stream of results")};
}

config_keys limit_keys(net::host_limits& c) {
  constexpr std::uint64_t million = 1u << 20;
  config_keys keys = {
      number("neighbours", c.neighbours, 1, million, "known by MAC address, static ones included"),
      number("pending-frames", c.pending_frames, 1, 65535, "that wait for a neighbour's MAC address"),
      number("pending-per-neighbour", c.pending_per_neighbour, 1, 65535, "of these for one; the oldest gives way"),
      time_ns("reachable", c.reachable_ns, 1'000'000, "a neighbour is believed for so long (RFC 4861 10)"),
      time_ns("delay", c.delay_ns, 0, "then, when used, probed after so long"),
      time_ns("retransmit", c.retransmit_ns, 1'000'000, "between two probes"),
      number("multicast-solicits", c.multicast_solicits, 1, 100, "questions to all before giving up"),
      number("unicast-solicits", c.unicast_solicits, 0, 100, "probes of one before asking all"),
      time_ns("unused", c.unused_ns, 1'000'000'000, "a neighbour that nobody used for so long is forgotten"),
      number("reassembly-datagrams", c.reassembly_datagrams, 1, 4096, "put together at a time; the oldest gives way"),
      size("reassembly-bytes", c.reassembly_bytes, 65536, 128u << 20, "over all of them"),
      number("fragments-per-datagram", c.fragments_per_datagram, 2, 128, "more and it is dropped"),
      time_ns("reassembly-timeout", c.reassembly_ns, 1'000'000, "for the missing fragments (RFC 1122 3.3.2)"),
      number("path-mtus", c.path_mtus, 1, million, "destinations whose path carries less than the link"),
      time_ns("path-mtu-timeout", c.path_mtu_ns, 1'000'000'000, "then the link's MTU is tried again"),
      number("min-path-mtu-v4", c.min_path_mtu_v4, 68, 65535, "a smaller report counts as this")};
  add_rate(keys, "icmp-errors", "icmp-errors-burst", c.icmp_errors, "ICMP errors that are sent");
  add_rate(keys, "echo-replies", "echo-replies-burst", c.echo_replies, "answers to ping");
  add_rate(keys, "neighbour-answers", "neighbour-answers-burst", c.neighbour_answers, "ARP replies and advertisements");
  add_rate(keys, "neighbour-solicits", "neighbour-solicits-burst", c.neighbour_solicits, "ARP requests, solicitations");
  return keys;
}

config_keys loop_keys(pipeline::loop_settings& c) {
  return {number("burst", c.burst_pkts, 1, buf::burst::capacity, "packets of one receive"),
          time_ns("tx-patience", c.tx_patience_ns, 0, "packets that a full transmit ring refuses wait so long"),
          time_ns("stop-patience", c.stop_patience_ns, 0, "what was received is answered within this time")};
}

config_keys pool_keys(pool_config& c) {
  return {number("packets", c.packets, 0, std::numeric_limits<std::uint32_t>::max(), "0: derived from the rest"),
          number("cache", c.cache_pkts, 0, 512, "packets that each lcore keeps at hand"),
          number("rxd", c.rxd, 0, 65535, "descriptors of a receive queue; 0: the driver's wish, else 1024"),
          number("txd", c.txd, 0, 65535, "descriptors of a transmit queue; 0: likewise"),
          flag("checksum-offload", c.checksum_offload, "ports that can compute checksums do")};
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string describe(const config_value& value) {
  struct visitor {
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(std::int64_t n) const { return std::to_string(n); }
    std::string operator()(double d) const { return fmt::format("{}", d); }
    std::string operator()(const std::string& s) const {
      // Long and strange texts are cut and made printable: the place is what matters.
      std::string shown;
      for (const char c : s.substr(0, 48)) shown += c >= 0x20 && c < 0x7F ? c : '?';
      return "\"" + shown + (s.size() > 48 ? "...\"" : "\"");
    }
    std::string operator()(const other_type& t) const {
      return (t.name == "array" ? "an " : "a ") + std::string(t.name);
    }
  };
  return std::visit(visitor{}, value);
}

}  // namespace millrace::app
