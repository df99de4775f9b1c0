// test/peers/client_main.cpp - a QUIC client on libngtcp2 that speaks hq-interop (HTTP/0.9) and SRMP, to hold millrace
// against.
//
// Prints "sha256 DIGEST BYTES PATH" for every file; with --stats one JSON object behind. Exit status 1 when anything
// asked for did not happen: the reason is the last line on stderr.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "client.hpp"

namespace millrace::peers {
namespace {

void report(const client_options& o, const client_result& r) {
  for (const auto& [path, digest] : r.digests)
    std::printf("sha256 %s %llu %s\n", digest.c_str(), static_cast<unsigned long long>(r.sizes.at(path)), path.c_str());
  if (!o.stats) return;
  std::string versions;
  for (const std::uint32_t version : r.versions) {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "%s0x%08x", versions.empty() ? "" : " ", version);
    versions += text.data();
  }
  json_object j;
  j.add("ok", r.why.empty()).add("why", r.why).add("handshake", r.completed).add("resumed", r.resumed);
  j.add("early_data", r.early_data).add("retry", r.retried).add("versions_offered", versions);
  j.add("cipher", r.cipher).add("alpn", r.alpn).add("ticket", r.ticket).add("token", r.token);
  j.add("requests", r.requests).add("calls", r.calls).add("bytes", r.bytes).add("key_updates", r.key_updates);
  j.add("rebound", r.rebound).add("migrated", r.migrated).add("paths_validated", r.paths_validated);
  j.add("handshake_s", r.handshake_s).add("seconds", r.seconds);
  j.add("goodput_gbps", r.seconds > 0 ? static_cast<double>(r.bytes) * 8e-9 / r.seconds : 0.0);
  j.add("datagrams_sent", r.datagrams.sent).add("datagrams_received", r.datagrams.received);
  j.add("datagrams_lost_on_purpose", r.lost).add("cpu_s", cpu_seconds());
  std::printf("%s\n", j.text().c_str());
}

// What was asked for beside the transfer, and did not come to be.
std::string missed(const client_options& o, const client_result& r) {
  if (!r.why.empty()) return r.why;
  if (r.mismatches != 0) return std::to_string(r.mismatches) + " answers were not what they should be";
  if (o.key_update != 0 && r.keys_asked == 0) return "no key update";
  if (o.rebind != 0 && !r.rebound) return "the transfer ended before the rebinding";
  if (!o.migrate.empty() && !r.migrated) return "no migration";
  if (!o.migrate.empty() && r.paths_validated == 0) return "the new path was not validated";
  return {};
}

void describe(CLI::App& app, client_options& o, std::string& version, bool& chacha, bool& aes256) {
  app.add_option("host", o.host, "numeric address of the server")->required();
  app.add_option("port", o.port, "UDP port")->required();
  app.add_option("paths", o.paths, "/path ...; several are asked for at the same time");
  app.add_option("--alpn", o.tls.alpn, "hq-interop (default), srmp, or echo (/bytes/N is sent, and comes back)")
      ->expected(1);
  app.add_option("--server-name", o.server_name, "SNI; empty: none");
  app.add_option("--repeat", o.repeat, "ask so many times for all paths");
  app.add_option("--streams", o.streams, "requests in flight; SRMP connections");
  app.add_option("--calls", o.calls, "Echo calls on each SRMP connection");
  app.add_option("--call-bytes", o.call_bytes, "arguments of each");
  app.add_option("--window", o.window, "calls in flight of each, at most 255");
  app.add_option("--session", o.session_file, "ticket to resume with, and where to keep the next");
  app.add_flag("--early-data", o.tls.early_data, "send requests as 0-RTT when --session has a ticket");
  app.add_flag("--chacha20", chacha, "offer ChaCha20-Poly1305 alone");
  app.add_flag("--aes256", aes256, "offer AES-256-GCM alone");
  app.add_option("--key-update", o.key_update, "update keys every so many bytes");
  app.add_option("--rebind", o.rebind, "another port, unknown to the connection, after so many bytes");
  app.add_option("--migrate", o.migrate, "local address to migrate to");
  app.add_option("--migrate-after", o.migrate_after, "bytes");
  app.add_option("--local", o.local, "local address");
  app.add_option("--version", version, "hexadecimal; an unknown one provokes Version Negotiation");
  app.add_option("--token", o.token_file, "address validation token to use, and where to keep the next");
  app.add_option("--max-udp-payload", o.transport.max_udp_payload, "of datagrams that are sent; without: probed");
  app.add_option("--congestion", o.transport.congestion, "cubic, reno, bbr");
  auto* download = app.add_option("--download", o.download, "folder for what is received");
  app.add_flag_function(
         "--discard", [](std::int64_t) {}, "keep nothing of what is received, only its digest (default)")
      ->excludes(download);
  app.add_option("--timeout", o.timeout_s, "seconds for everything");
  app.add_option("--duration", o.duration_s, "seconds, then what has come is enough; 0: all of it");
  app.add_option("--loss", o.loss, "percent of datagrams to lose, each way");
  app.add_option("--seed", o.seed, "of the losses");
  app.add_option("--keylog", o.tls.keylog_file, "appends secrets (NSS key log)");
  app.add_flag("--no-segments", o.no_segments, "one datagram a system call (no UDP_SEGMENT, no UDP_GRO)");
  app.add_flag("--stats", o.stats, "a JSON object: what happened, goodput, CPU seconds");
}

int run(int argc, char** argv) {
  client_options o;
  std::string version = "1";
  bool chacha = false;
  bool aes256 = false;
  CLI::App app("QUIC client on libngtcp2: hq-interop and srmp");
  describe(app, o, version, chacha, aes256);
  CLI11_PARSE(app, argc, argv);
  if (o.tls.alpn.empty()) o.tls.alpn = {"hq-interop"};
  if (o.tls.alpn.front() == "srmp" && app.count("--streams") == 0) o.streams = 1;
  if (o.tls.alpn.front() != "srmp" && o.paths.empty()) throw std::runtime_error("nothing asked for: give a path");
  if (chacha) o.tls.ciphers = "CHACHA20-POLY1305";
  if (aes256) o.tls.ciphers = "AES-256-GCM";
  o.version = static_cast<std::uint32_t>(std::stoul(version, nullptr, 16));

  client_result r;
  lossy loss(o.loss, o.seed);
  const tls_context tls(o.tls, false);
  const ngtcp2_tstamp until = now_ns() + static_cast<ngtcp2_tstamp>(o.timeout_s * 1e9);
  client(o, tls, loss, r, o.version).run(until);
  // RFC 9000 6.2. Without version_information: the final one of RFC 9368 is not in this libngtcp2, whose draft has
  // another number.
  if (!r.completed && o.version != NGTCP2_PROTO_VER_V1 &&
      std::find(r.versions.begin(), r.versions.end(), NGTCP2_PROTO_VER_V1) != r.versions.end())
    client(o, tls, loss, r, NGTCP2_PROTO_VER_V1).run(until);
  r.lost = loss.lost;
  report(o, r);
  const std::string why = missed(o, r);
  if (why.empty()) return 0;
  std::fprintf(stderr, "%s\n", why.c_str());
  return 1;
}

}  // namespace
}  // namespace millrace::peers

int main(int argc, char** argv) {
  try {
    return millrace::peers::run(argc, argv);
  } catch (const std::exception& reason) {
    std::fprintf(stderr, "%s\n", reason.what());
    return 1;
  }
}
