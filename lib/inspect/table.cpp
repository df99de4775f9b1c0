#include "inspect/table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "inspect/json_object.hpp"
#include "inspect/json_session.hpp"

namespace millrace::inspect {
namespace {

constexpr std::size_t max_name = 60;  // of a server name or an ALPN list in a row

std::string endpoint_text(const base::endpoint& e) {
  std::array<char, base::endpoint::max_text_size> room;
  return {room.data(), e.format_to(room)};
}

std::string version_text(const connection& c) {
  if (c.version == 0) return "-";
  std::array<char, 16> room;
  const std::string_view name = version_name(c.version, room);
  std::string text = name.empty() ? fmt::format("0x{:08x}", c.version) : std::string(name);
  if (c.versions.size() > 1) text += "*";  // it spoke others before
  return text;
}

std::string alpn_text(const hello_facts& f) {
  std::string all;
  f.for_each_alpn([&](std::string_view name) {
    if (!all.empty()) all += ',';
    all += name;
  });
  return all.empty() ? "-" : printable(all, max_name);
}

std::string packets_text(const packet_counts& p) {
  std::string text;
  const auto add = [&](std::string_view name, std::uint64_t n) {
    if (n != 0) fmt::format_to(std::back_inserter(text), "{}{}:{}", text.empty() ? "" : " ", name, n);
  };
  add("initial", p.initial);
  add("0rtt", p.zero_rtt);
  add("handshake", p.handshake);
  add("retry", p.retry);
  add("vn", p.version_negotiation);
  add("1rtt", p.one_rtt);
  add("long", p.unknown_long);
  add("gquic", p.gquic);
  return text;
}

template <class Kind>
std::string counts_text(const counts_by<Kind>& counts) {
  std::string text;
  for (std::size_t i = 0; i < counts.of.size(); ++i)
    if (counts.of[i] != 0)
      fmt::format_to(std::back_inserter(text), " {}:{}", to_string(static_cast<Kind>(i)), counts.of[i]);
  return text;
}

void add_side(std::string& text, std::string_view name, const side_facts& side) {
  if (side.packets.total() == 0) return;
  fmt::format_to(std::back_inserter(text), "    {}: packets{}; frames{}", name, counts_text(side.packets),
                 counts_text(side.frames));
  if (side.stream_bytes != 0) fmt::format_to(std::back_inserter(text), "; stream bytes {}", side.stream_bytes);
  if (side.datagram_bytes != 0) fmt::format_to(std::back_inserter(text), "; datagram bytes {}", side.datagram_bytes);
  if (side.key_updates != 0) fmt::format_to(std::back_inserter(text), "; key updates {}", side.key_updates);
  if (side.h3_streams.total() != 0)
    fmt::format_to(std::back_inserter(text), "; HTTP/3 streams{}", counts_text(side.h3_streams));
  if (side.h3_frames.total() != 0)
    fmt::format_to(std::back_inserter(text), "; HTTP/3 frames{}", counts_text(side.h3_frames));
  if (side.close.seen) {
    fmt::format_to(std::back_inserter(text), "; closed with {} code {}",
                   side.close.from_application ? "application" : "transport", side.close.code);
    if (side.close.reason_size != 0)
      fmt::format_to(std::back_inserter(text), " \"{}\"", printable(side.close.text(), max_reason_kept));
  }
  text += '\n';
}

std::string details_text(const session_facts& f) {
  std::string text = fmt::format("  decrypted: {} packets", f.opened());
  if (f.unopened.total() != 0) fmt::format_to(std::back_inserter(text), ", not{}", counts_text(f.unopened));
  if (f.cipher_suite != 0) {
    const std::string_view name = suite_name(f.cipher_suite);
    text += ", " + (name.empty() ? fmt::format("cipher suite 0x{:04x}", f.cipher_suite) : std::string(name));
  }
  if (f.has_protocol) text += ", ALPN " + printable(f.alpn(), max_name);
  if (f.bad_frames != 0) fmt::format_to(std::back_inserter(text), ", {} packets with frames unread", f.bad_frames);
  if (f.limits.total() != 0) text += ", limits reached:" + counts_text(f.limits);
  text += '\n';
  add_side(text, "client", f.of(peer::client));
  add_side(text, "server", f.of(peer::server));
  return text;
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const std::string shown =
        byte < 0x20 || byte > 0x7E || c == '\\' ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
    if (out.size() + shown.size() > limit) return out + "...";
    out += shown;
  }
  return out;
}

connection_table::connection_table() {
  rows_.push_back({"CLIENT", "SERVER", "VERSION", "SNI", "ALPN", "JA4", "BYTES", "PACKETS"});
  details_.emplace_back();
}

void connection_table::add(const connection& c) {
  const hello_facts& f = c.facts;
  rows_.push_back({endpoint_text(c.client) + (c.role_known ? "" : "?"), endpoint_text(c.server), version_text(c),
                   f.sni_size == 0 ? "-" : printable(f.sni(), max_name), alpn_text(f),
                   f.has_ja4 ? printable({f.ja4.data(), f.ja4.size()}, 2 * max_name) : "-", std::to_string(c.bytes),
                   packets_text(c.packets)});
  details_.push_back(c.decrypted == nullptr ? std::string() : details_text(*c.decrypted));
}

void connection_table::print(std::FILE* out) {
  if (rows() == 0) return;  // the heading alone says nothing
  headed_ = true;
  for (const row& r : rows_)
    for (std::size_t i = 0; i < columns; ++i) widths_[i] = std::max(widths_[i], r[i].size());
  for (std::size_t n = 0; n < rows_.size(); ++n) {
    const row& r = rows_[n];
    std::string line;
    for (std::size_t i = 0; i + 1 < columns; ++i)
      fmt::format_to(std::back_inserter(line), "{:<{}}  ", r[i], widths_[i]);
    line += r[columns - 1];
    line += '\n';
    line += details_[n];
    std::fwrite(line.data(), 1, line.size(), out);
  }
  const auto marked = [&](std::size_t column, char mark) {
    return std::any_of(rows_.begin(), rows_.end(), [&](const row& r) { return r[column].ends_with(mark); });
  };
  constexpr std::size_t client_column = 0;
  constexpr std::size_t version_column = 2;
  if (marked(version_column, '*')) std::fputs("* other versions were spoken before this one\n", out);
  if (marked(client_column, '?')) std::fputs("? the beginning was not seen: this side may be the server\n", out);
  rows_.clear();
  details_.clear();
}

}  // namespace millrace::inspect
