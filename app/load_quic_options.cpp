#include "app/load_quic_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>

#include "app/options.hpp"
#include "quic/protect/initial.hpp"

namespace millrace::app {
namespace {

using base::failure;
using quic::recovery::congestion_kind;
using tls::cipher_suite;

constexpr std::array<std::string_view, 16> names = {
    "--data",       "--data-size",    "--requests-each", "--resume",   "--early-data",  "--ciphers", "--quic-version",
    "--key-update", "--ca",           "--pin",           "--insecure", "--server-name", "--keylog",  "--max-datagram",
    "--congestion", "--migrate-every"};
constexpr std::uint32_t smallest_datagram = 1200;  // RFC 9000 14
constexpr std::uint32_t largest_datagram = 65'527;
constexpr unsigned ipv4_udp_headers = 28;
constexpr unsigned ipv6_udp_headers = 48;

[[noreturn]] void refuse(const char* option, const std::string& why) { throw CLI::ValidationError(option, why); }

void read_ciphers(const std::string& text, tls::algorithms& out) {
  static const std::map<std::string, cipher_suite, std::less<>> known = {
      {"aes128", cipher_suite::aes_128_gcm_sha256},
      {"aes256", cipher_suite::aes_256_gcm_sha384},
      {"chacha20", cipher_suite::chacha20_poly1305_sha256}};
  out.suites.clear();
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const auto found = known.find(text.substr(at, comma - at));
    if (found == known.end())
      refuse("--ciphers", "'" + text.substr(at, comma - at) + "' is none of aes128, aes256, chacha20");
    if (std::find(out.suites.begin(), out.suites.end(), found->second) != out.suites.end())
      refuse("--ciphers", "'" + found->first + "' stands there twice");
    out.suites.push_back(found->second);
    at = comma + 1;
  }
}

quic::wire::version_number read_version(const std::string& text) {
  if (text == "v1") return quic::wire::version_1;
  if (text == "v2") return quic::wire::version_2;
  quic::wire::version_number version = 0;
  const char* last = text.data() + text.size();
  const bool is_hex = text.starts_with("0x") && text.size() == 10;
  const auto [at, code] = std::from_chars(text.data() + (is_hex ? 2 : 0), last, version, 16);
  if (!is_hex || code != std::errc{} || at != last)
    refuse("--quic-version", "'" + text + "' is none of v1, v2, 0x and eight hexadecimal digits");
  if (!quic::protect::has_initial_salt(version))
    refuse("--quic-version", "'" + text + "' has no keys that we know: nothing can be said in it");
  return version;
}

void add_connection_options(CLI::App& options, load_quic_options& out) {
  loadgen::fetch_settings& s = out.asked;
  add_count(options, "--requests-each", s.requests_each,
            "requests of a connection, which then ends and is followed by another; 0: no end");
  options.add_option("--data", out.data, "h3://: a file that is sent with each request, as a POST")->type_name("FILE");
  add_size(options, "--data-size", out.data_bytes, "h3://: or so many bytes");
  options.add_flag("--resume", s.resumes, "connections after the first resume with its ticket and token");
  options.add_flag("--early-data", s.early_data, "and send their first requests as 0-RTT; means --resume");
  options
      .add_option_function<std::string>(
          "--quic-version", [&s](const std::string& text) { s.version = read_version(text); },
          "that is tried first: v1, v2 or 0xNNNNNNNN; the server may lead to v1 or v2")
      ->type_name("WORD")
      ->default_str("v1");
  add_size(options, "--key-update", s.update_keys_every, "change keys after so many bytes received; 0: never");
  options.add_option("--max-datagram", out.max_datagram, "UDP payload that is tried at most; 0: what --mtu carries")
      ->check(CLI::Range(std::uint32_t{0}, largest_datagram))
      ->type_name("BYTES")
      ->capture_default_str();
  options
      .add_option_function<std::string>(
          "--congestion",
          [&s](const std::string& text) {
            congestion_kind& kind = s.endpoint.transport.congestion;
            if (text == "cubic")
              kind = congestion_kind::cubic;
            else if (text == "new-reno")
              kind = congestion_kind::new_reno;
            else if (text == "bbr")
              kind = congestion_kind::bbr;
            else
              refuse("--congestion", "'" + text + "' is none of cubic, new-reno, bbr");
          },
          "what governs our sending: cubic, new-reno, bbr")
      ->type_name("WORD")
      ->default_str("cubic");
  add_seconds(options, "--migrate-every", out.migrate_every_s, "go on from another local port so often; 0: never");
}

void add_tls_options(CLI::App& options, load_quic_options& out) {
  options
      .add_option_function<std::string>(
          "--ciphers", [&out](const std::string& text) { read_ciphers(text, out.offered); },
          "TLS suites that are offered, with commas between: aes128, aes256, chacha20")
      ->type_name("LIST")
      ->default_str("aes128,aes256,chacha20");
  options
      .add_option(
          "--ca", out.ca,
          "the server's certificate must be signed by one of this file (PEM), valid today, and name --server-name")
      ->type_name("FILE");
  options
      .add_option("--pin", out.pin,
                  "the server must have the key of this SHA-256 (base64, as serve prints it); names and dates are not "
                  "looked at")
      ->type_name("HASH");
  options.add_flag("--insecure", out.insecure,
                   "whoever answers is believed: no certificate is checked (the default without --ca and --pin)");
  options.add_option("--server-name", out.asked.server_name, "asked for (SNI), and looked for with --ca")
      ->type_name("NAME")
      ->default_str("the target's address, which is no SNI");
  options.add_option("--keylog", out.keylog, "TLS secrets are appended to it (NSS key log format)")
      ->type_name("FILE")
      ->default_str("SSLKEYLOGFILE");
}

}  // namespace

std::span<const std::string_view> quic_option_names() noexcept { return names; }

void add_quic_options(CLI::App& options, load_quic_options& out) {
  add_connection_options(options, out);
  add_tls_options(options, out);
}

base::outcome settle_data(load_quic_options& out) {
  if (out.data.empty() && out.data_bytes == 0) return base::done{};
  if (!out.data.empty() && out.data_bytes != 0)
    return failure{"load: --data and --data-size exclude each other", "", true};
  std::string& body = out.asked.body;
  out.asked.body_type = "application/octet-stream";
  if (out.data.empty()) {
    if (out.data_bytes > loadgen::max_fetch_body)
      return failure{"load: --data-size must be " + std::to_string(loadgen::max_fetch_body) + " at most", "", true};
    body.resize(out.data_bytes);
    for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>('a' + i % 26);
    return base::done{};
  }
  std::ifstream file(out.data, std::ios::binary);
  std::error_code unknown;
  const auto size = std::filesystem::file_size(out.data, unknown);
  if (!file || unknown) return failure{"load: --data: '" + out.data + "' cannot be read", "name a regular file", true};
  if (size == 0 || size > loadgen::max_fetch_body)
    return failure{"load: --data: '" + out.data + "' has " + std::to_string(size) + " bytes",
                   "1 to " + std::to_string(loadgen::max_fetch_body) + " can be sent", true};
  body.resize(size);
  if (!file.read(body.data(), static_cast<std::streamsize>(size)))
    return failure{"load: --data: '" + out.data + "' changed while it was read", "", true};
  return base::done{};
}

base::outcome settle_quic(std::uint16_t mtu, load_quic_options& out) {
  const auto unusable = [](std::string what, std::string hint = "") {
    return failure{"load: " + std::move(what), std::move(hint), true};
  };
  loadgen::fetch_settings& s = out.asked;
  if (int{out.insecure} + int{!out.ca.empty()} + int{!out.pin.empty()} > 1)
    return unusable("--ca, --pin and --insecure exclude each other", "choose one");
  if (out.max_datagram != 0 && out.max_datagram < smallest_datagram)
    return unusable("--max-datagram " + std::to_string(out.max_datagram) + " is below 1200, which QUIC asks of a path");
  const unsigned headers = s.target.address.family == base::ip_family::v4 ? ipv4_udp_headers : ipv6_udp_headers;
  if (mtu < smallest_datagram + headers)
    return unusable("--mtu " + std::to_string(mtu) + " carries no QUIC: its datagrams have 1200 bytes at least");
  const std::uint32_t carried = mtu - headers;
  if (out.max_datagram > carried)
    return unusable("--max-datagram " + std::to_string(out.max_datagram) + " does not fit --mtu " + std::to_string(mtu),
                    "raise --mtu to " + std::to_string(out.max_datagram + headers));
  s.endpoint.transport.max_datagram_bytes =
      static_cast<std::uint16_t>(out.max_datagram != 0 ? out.max_datagram : carried);
  s.resumes |= s.early_data;
  s.migrate_every_ns = static_cast<std::uint64_t>(out.migrate_every_s * 1e9);
  s.expected_bytes = loadgen::body_bytes(s.path);
  s.checks_pattern = s.expected_bytes != 0;
  if (s.server_name.empty()) {
    std::array<char, base::ip_address::max_text_size> text;
    s.server_name.assign(text.data(), s.target.address.format_to(text));
  }
  return base::done{};
}

}  // namespace millrace::app
