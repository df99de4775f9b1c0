#include "inspect/json_object.hpp"

#include <algorithm>
#include <charconv>

#include "inspect/json_session.hpp"

namespace millrace::inspect {
namespace {

using json::writer;
namespace wire = quic::wire;

constexpr int time_places = 6;  // microseconds: a double of seconds since 1970 holds no more

std::string_view hex_number(std::uint32_t v, std::size_t digits, std::span<char> room) noexcept {
  constexpr std::string_view alphabet = "0123456789abcdef";
  room[0] = '0';
  room[1] = 'x';
  for (std::size_t i = 0; i < digits; ++i) room[2 + i] = alphabet[v >> (4 * (digits - 1 - i)) & 15];
  return {room.data(), 2 + digits};
}

void number_list(writer& out, std::string_view name, auto numbers, std::size_t digits) noexcept {
  std::array<char, 16> room;
  out.key(name);
  out.begin_array();
  for (const std::uint32_t n : numbers) out.value(hex_number(n, digits, room));
  out.end_array();
}

void endpoint_member(writer& out, std::string_view name, const base::endpoint& e) noexcept {
  std::array<char, base::endpoint::max_text_size> room;
  out.member(name, std::string_view(room.data(), e.format_to(room)));
}

void time_member(writer& out, std::string_view name, std::uint64_t ns) noexcept {
  out.key(name);
  out.fixed(static_cast<double>(ns) / 1e9, time_places);
}

void cid_member(writer& out, std::string_view name, const cid& id) noexcept {
  if (id.too_long) return;
  out.key(name);
  out.hex(id.view());
}

void write_packets(writer& out, const packet_counts& p) noexcept {
  out.key("packets");
  out.begin_object();
  out.member("initial", p.initial);
  out.member("zero_rtt", p.zero_rtt);
  out.member("handshake", p.handshake);
  out.member("retry", p.retry);
  out.member("version_negotiation", p.version_negotiation);
  out.member("one_rtt", p.one_rtt);
  if (p.unknown_long != 0) out.member("unknown_long", p.unknown_long);
  if (p.gquic != 0) out.member("gquic", p.gquic);
  out.end_object();
}

void write_facts(writer& out, const hello_facts& f) noexcept {
  if (f.sni_size != 0) out.member("sni", f.sni());
  if (!f.has_ja4) return;  // no TLS ClientHello: none, or Google's CHLO
  out.key("alpn");
  out.begin_array();
  f.for_each_alpn([&](std::string_view name) { out.value(name); });
  out.end_array();
  out.member("ja4", std::string_view(f.ja4.data(), f.ja4.size()));
  number_list(out, "tls_versions", std::span(f.tls_versions).first(f.tls_version_count), 4);
  number_list(out, "cipher_suites", std::span(f.ciphers).first(f.cipher_count), 4);
  if (f.has_parameters) write_parameters("transport_parameters", f.parameters, out);
  if (!f.sni_cut && !f.alpn_cut && !f.ciphers_cut) return;
  out.key("cut");  // members that hold less than was said
  out.begin_array();
  if (f.sni_cut) out.value("sni");
  if (f.alpn_cut) out.value("alpn");
  if (f.ciphers_cut) out.value("cipher_suites");
  out.end_array();
}

std::string_view literal(std::string_view text, std::span<char> room) noexcept {
  std::ranges::copy(text, room.begin());
  return {room.data(), text.size()};
}

}  // namespace

std::string_view protocol_name(const connection& c) noexcept { return c.is_gquic ? "gquic" : "quic"; }

std::string_view protocol_name(const flow& f) noexcept {
  switch (f.kind) {
    case flow_kind::udp:
      return "udp";
    case flow_kind::tcp:
      return "tcp";
    case flow_kind::srmp:
      return "srmp";
  }
  return "udp";
}

std::string_view version_name(wire::version_number version, std::span<char> room) noexcept {
  if (wire::is_google_label(version)) {
    for (std::size_t i = 0; i < 4; ++i) room[i] = static_cast<char>(version >> (24 - 8 * i) & 0xFF);
    return {room.data(), 4};
  }
  switch (wire::family_of(version)) {
    case wire::version_family::ietf_v1:
      return literal("v1", room);
    case wire::version_family::ietf_v2:
      return literal(version == wire::version_2 ? "v2" : "v2-draft", room);
    case wire::version_family::ietf_draft: {
      constexpr std::string_view prefix = "draft-";
      std::ranges::copy(prefix, room.begin());
      const char* end = std::to_chars(room.data() + prefix.size(), room.data() + room.size(), version & 0xFF).ptr;
      return {room.data(), static_cast<std::size_t>(end - room.data())};
    }
    case wire::version_family::mvfst:
      return literal("mvfst", room);
    case wire::version_family::reserved:
      return literal("reserved", room);
    case wire::version_family::unknown:
    case wire::version_family::google_tls:
    case wire::version_family::google_q050:
    case wire::version_family::google_q046:
    case wire::version_family::google_old:
      break;
  }
  return {};
}

void write_object(const connection& c, std::string_view capture, writer& out) noexcept {
  std::array<char, 16> room;
  out.begin_object();
  out.member("proto", protocol_name(c));
  if (!capture.empty()) out.member("capture", capture);
  endpoint_member(out, "src", c.client);
  endpoint_member(out, "dst", c.server);
  out.member("role_known", c.role_known);
  if (c.version != 0) {
    out.member("version", hex_number(c.version, 8, room));
    const std::string_view name = version_name(c.version, room);
    if (!name.empty()) out.member("version_name", name);
  }
  number_list(out, "versions", c.versions.view(), 8);
  if (!c.offered.empty()) number_list(out, "offered_versions", c.offered.view(), 8);
  if (c.has_initial) {
    cid_member(out, "dcid", c.dcid);
    if (!c.is_gquic) cid_member(out, "scid", c.scid);
  }
  write_facts(out, c.facts);
  write_packets(out, c.packets);
  out.member("frames", c.datagrams);
  out.member("bytes", c.bytes);
  time_member(out, "first_ts", c.first_ns);
  time_member(out, "last_ts", c.last_ns);
  if (c.retry_verified) out.member("retry_verified", true);
  if (c.crypto_conflict) out.member("crypto_conflict", true);
  if (c.decrypted != nullptr) write_session(*c.decrypted, out);
  if (c.decryption_evicted) out.member("decryption_evicted", true);
  if (!c.moved_to.empty()) {
    out.key("moved_to");
    out.begin_array();
    for (const base::endpoint& e : c.moved_to) {
      std::array<char, base::endpoint::max_text_size> text;
      out.value(std::string_view(text.data(), e.format_to(text)));
    }
    out.end_array();
  }
  out.end_object();
}

void write_object(const flow& f, std::string_view capture, writer& out) noexcept {
  out.begin_object();
  out.member("proto", protocol_name(f));
  if (!capture.empty()) out.member("capture", capture);
  endpoint_member(out, "src", f.opened_by_low ? f.key.low() : f.key.high());
  endpoint_member(out, "dst", f.opened_by_low ? f.key.high() : f.key.low());
  out.member("role_known", f.opener_known);
  if (f.kind == flow_kind::srmp) out.member("messages", f.messages);
  out.member("frames", f.packets);
  out.member("bytes", f.bytes);
  time_member(out, "first_ts", f.first_ns);
  time_member(out, "last_ts", f.last_ns);
  out.end_object();
}

}  // namespace millrace::inspect
