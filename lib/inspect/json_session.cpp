#include "inspect/json_session.hpp"

#include <algorithm>

namespace millrace::inspect {
namespace {

using json::writer;

template <class Kind>
void write_counts(std::string_view name, const counts_by<Kind>& counts, writer& out) noexcept {
  if (counts.total() == 0) return;
  out.key(name);
  out.begin_object();
  for (std::size_t i = 0; i < counts.of.size(); ++i)
    if (counts.of[i] != 0) out.member(to_string(static_cast<Kind>(i)), counts.of[i]);
  out.end_object();
}

void write_count(std::string_view name, std::uint64_t n, writer& out) noexcept {
  if (n != 0) out.member(name, n);
}

void write_h3_frames(const side_facts& side, writer& out) noexcept {
  if (side.h3_frames.total() == 0) return;
  out.key("frames");
  out.begin_object();
  for (std::size_t i = 0; i < side.h3_frames.of.size(); ++i) {
    if (side.h3_frames.of[i] == 0) continue;
    out.key(to_string(static_cast<h3_frame_kind>(i)));
    out.begin_object();
    out.member("count", side.h3_frames.of[i]);
    out.member("bytes", side.h3_frame_bytes.of[i]);
    out.end_object();
  }
  out.end_object();
}

void write_close(const close_facts& c, writer& out) noexcept {
  if (!c.seen) return;
  out.key("close");
  out.begin_object();
  out.member("from_application", c.from_application);
  out.member("code", c.code);
  if (!c.from_application) out.member("frame_type", c.frame_type);
  if (c.reason_size != 0) out.member("reason", c.text());
  if (c.reason_cut) out.member("reason_cut", true);
  out.end_object();
}

void write_side(std::string_view name, const side_facts& side, writer& out) noexcept {
  out.key(name);
  out.begin_object();
  write_counts("packets", side.packets, out);
  write_count("key_updates", side.key_updates, out);
  write_counts("frames", side.frames, out);
  write_counts("handshake", side.messages, out);
  write_count("crypto_bytes", side.crypto_bytes, out);
  write_count("stream_bytes", side.stream_bytes, out);
  write_count("datagram_bytes", side.datagram_bytes, out);
  if (side.h3_streams.total() != 0 || side.h3_frames.total() != 0) {
    out.key("h3");
    out.begin_object();
    write_counts("streams", side.h3_streams, out);
    write_h3_frames(side, out);
    out.end_object();
  }
  write_close(side.close, out);
  out.end_object();
}

void write_stream_side(std::string_view name, const stream_side& s, writer& out) noexcept {
  if (!s.used) return;
  out.key(name);
  out.begin_object();
  out.member("bytes", s.bytes);
  out.member("ended", s.ended);
  if (s.reset) out.member("reset", true);
  write_count("headers", s.headers_frames, out);
  write_count("data", s.data_frames, out);
  write_count("data_bytes", s.data_bytes, out);
  write_count("other", s.other_frames, out);
  out.end_object();
}

void write_streams(const session_facts& f, writer& out) noexcept {
  constexpr std::string_view kinds[] = {"client_bidi", "server_bidi", "client_uni", "server_uni"};  // RFC 9000 2.1
  if (std::ranges::all_of(f.streams, [](std::uint64_t n) { return n == 0; })) return;
  out.key("streams");
  out.begin_object();
  for (std::size_t i = 0; i < f.streams.size(); ++i) write_count(kinds[i], f.streams[i], out);
  out.end_object();
  if (f.streams_listed == 0) return;
  out.key("stream_list");
  out.begin_array();
  for (std::uint32_t i = 0; i < f.streams_listed; ++i) {
    const stream_facts& s = f.stream[i];
    out.begin_object();
    out.member("id", s.id);
    if (s.has_type) out.member("type", s.type);
    write_stream_side("client", s.side[0], out);
    write_stream_side("server", s.side[1], out);
    out.end_object();
  }
  out.end_array();
  if (f.more_streams) out.member("stream_list_cut", true);
}

std::string_view hex16(std::uint16_t v, std::array<char, 6>& room) noexcept {
  constexpr std::string_view digits = "0123456789abcdef";
  room = {'0', 'x', digits[v >> 12], digits[v >> 8 & 15], digits[v >> 4 & 15], digits[v & 15]};
  return {room.data(), room.size()};
}

}  // namespace

std::string_view suite_name(std::uint16_t suite) noexcept {  // RFC 8446 B.4
  switch (suite) {
    case 0x1301:
      return "TLS_AES_128_GCM_SHA256";
    case 0x1302:
      return "TLS_AES_256_GCM_SHA384";
    case 0x1303:
      return "TLS_CHACHA20_POLY1305_SHA256";
    default:
      return {};
  }
}

void write_parameters(std::string_view name, const parameter_facts& p, writer& out) noexcept {
  out.key(name);
  out.begin_object();
  for (std::size_t i = 0; i < parameter_count; ++i) {
    const auto which = static_cast<parameter>(i);
    if (!p.has(which)) continue;
    if (is_flag(which))
      out.member(to_string(which), true);
    else
      out.member(to_string(which), p.value(which));
  }
  out.end_object();
}

void write_session(const session_facts& f, writer& out) noexcept {
  std::array<char, 6> room;
  out.key("decrypted");
  out.begin_object();
  if (f.cipher_suite != 0) out.member("cipher_suite", hex16(f.cipher_suite, room));
  if (f.has_protocol) out.member("alpn", f.alpn());
  if (f.protocol_cut) out.member("alpn_cut", true);
  if (f.early_data_accepted) out.member("early_data_accepted", true);
  if (f.has_parameters) write_parameters("transport_parameters", f.parameters, out);
  out.member("packets", f.opened());
  write_counts("unopened", f.unopened, out);
  write_count("bad_frames", f.bad_frames, out);
  write_count("crypto_conflicts", f.crypto_conflicts, out);
  write_side("client", f.of(peer::client), out);
  write_side("server", f.of(peer::server), out);
  write_streams(f, out);
  write_counts("limits", f.limits, out);
  out.end_object();
}

}  // namespace millrace::inspect
