#include "inspect/table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "inspect/json_object.hpp"

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
}

void connection_table::add(const connection& c) {
  const hello_facts& f = c.facts;
  rows_.push_back({endpoint_text(c.client) + (c.role_known ? "" : "?"), endpoint_text(c.server), version_text(c),
                   f.sni_size == 0 ? "-" : printable(f.sni(), max_name), alpn_text(f),
                   f.has_ja4 ? printable({f.ja4.data(), f.ja4.size()}, 2 * max_name) : "-", std::to_string(c.bytes),
                   packets_text(c.packets)});
}

void connection_table::print(std::FILE* out) {
  if (rows() == 0) return;  // the heading alone says nothing
  headed_ = true;
  for (const row& r : rows_)
    for (std::size_t i = 0; i < columns; ++i) widths_[i] = std::max(widths_[i], r[i].size());
  for (const row& r : rows_) {
    std::string line;
    for (std::size_t i = 0; i + 1 < columns; ++i)
      fmt::format_to(std::back_inserter(line), "{:<{}}  ", r[i], widths_[i]);
    line += r[columns - 1];
    line += '\n';
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
}

}  // namespace millrace::inspect
