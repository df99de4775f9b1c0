// test/quic/sim/pattern.hpp - an application for simulations: a client asks for so many bytes, a server sends them, and
// every byte is known by its place.
#pragma once

#include <gtest/gtest.h>

#include <charconv>
#include <map>
#include <string>
#include <vector>

#include "quic/endpoint/endpoint.hpp"

namespace millrace::test {

inline std::uint8_t pattern_at(std::uint64_t offset) {
  return static_cast<std::uint8_t>((offset * 131 + (offset >> 8) * 17 + (offset >> 16)) & 0xff);
}

// Bytes by their place; the pattern begins anew after 16 MiB.
class pattern_source final : public quic::conn::send_source {
  static constexpr std::size_t period = std::size_t{1} << 24;
  static base::byte_view all() {
    static const std::vector<std::uint8_t> made = [] {
      std::vector<std::uint8_t> bytes(period);
      for (std::size_t i = 0; i < period; ++i) bytes[i] = pattern_at(i);
      return bytes;
    }();
    return made;
  }

 public:
  std::uint64_t released_below = 0;
  unsigned borrow(std::uint64_t offset, std::size_t size,
                  std::span<base::byte_view, quic::conn::most_source_parts> parts) noexcept override {
    EXPECT_GE(offset, released_below == UINT64_MAX ? 0 : released_below) << "bytes that were given up are asked for";
    const std::size_t at = offset % period;
    const std::size_t first = std::min(size, period - at);
    parts[0] = all().subspan(at, first);
    if (first == size) return 1;
    parts[1] = all().first(size - first);
    return 2;
  }
  void released(std::uint64_t below) noexcept override { released_below = below; }
};

class bytes_source final : public quic::conn::send_source {
 public:
  std::string bytes;
  unsigned borrow(std::uint64_t offset, std::size_t size,
                  std::span<base::byte_view, quic::conn::most_source_parts> parts) noexcept override {
    parts[0] = base::as_bytes(bytes).subspan(static_cast<std::size_t>(offset), size);
    return 1;
  }
  void released(std::uint64_t) noexcept override {}
};

struct exchange {
  std::string request;  // server: as received
  std::uint64_t wanted = 0;
  std::uint64_t got = 0;
  bool finished = false;
  bool reset = false;
  bool wrong = false;
  bool stopped = false;
  pattern_source pattern;
  bytes_source text;
};

class pattern_application : public quic::conn::application {
 public:
  using connection = quic::conn::connection;
  using live_stream = quic::conn::live_stream;
  bool is_server = false;
  bool auto_open = true;                                       // client: as soon as it can
  std::vector<std::uint64_t> to_ask;                           // client: sizes, one a stream
  std::map<std::uint64_t, std::unique_ptr<exchange>> streams;  // by ID, kept after they end
  bool reads = true;
  bool established = false, early = false, closed = false;
  quic::conn::connection_end end;
  connection* last = nullptr;
  std::uint64_t now_ns = 0;
  std::vector<std::string> datagrams;
  unsigned opened = 0, closed_streams = 0;

  void ask(connection& c) {
    while (!to_ask.empty()) {
      live_stream* s = c.open(quic::stream::direction::bidirectional, now_ns);
      if (s == nullptr) return;
      auto x = std::make_unique<exchange>();
      x->wanted = to_ask.front();
      to_ask.erase(to_ask.begin());
      x->text.bytes = "GET " + std::to_string(x->wanted);
      s->source = &x->text;
      s->user = x.get();
      c.write(*s, x->text.bytes.size());
      c.finish(*s);
      streams[s->id.value()] = std::move(x);
    }
  }
  void on_early(connection& c) noexcept override {
    early = true;
    last = &c;
    if (!is_server && auto_open) ask(c);
  }
  void on_established(connection& c) noexcept override {
    established = true;
    last = &c;
    if (!is_server && auto_open) ask(c);
  }
  void on_streams_available(connection& c) noexcept override {
    if (!is_server && auto_open) ask(c);
  }
  void on_stream_opened(connection& c, live_stream& s) noexcept override {
    ++opened;
    last = &c;
    auto x = std::make_unique<exchange>();
    s.user = x.get();
    std::uint64_t key = s.id.value();
    while (streams.contains(key)) key += std::uint64_t{1} << 32;  // of another connection
    streams[key] = std::move(x);
  }
  void on_readable(connection& c, live_stream& s) noexcept override {
    auto& x = *static_cast<exchange*>(s.user);
    if (s.recv.is_reset()) {
      x.reset = true;
      c.reset_read(s);
      return;
    }
    if (!reads) return;
    for (base::byte_view v = s.recv.front(); !v.empty(); v = s.recv.front()) {
      if (is_server) {
        x.request.append(base::as_text(v));
      } else {
        for (std::size_t i = 0; i < v.size(); ++i) x.wrong |= v[i] != pattern_at(x.got + i);
      }
      x.got += v.size();
      c.consume(s, v.size());
    }
    if (!s.recv.is_at_end() || x.finished) return;
    x.finished = true;
    if (!is_server || !s.has_send) return;
    std::from_chars(x.request.data() + 4, x.request.data() + x.request.size(), x.wanted);
    s.source = &x.pattern;
    c.write(s, x.wanted);
    c.finish(s);
  }
  void on_stopped(connection&, live_stream& s) noexcept override { static_cast<exchange*>(s.user)->stopped = true; }
  void on_stream_closed(connection&, live_stream&) noexcept override { ++closed_streams; }
  void on_datagram(connection&, base::byte_view bytes) noexcept override {
    datagrams.emplace_back(base::as_text(bytes));
  }
  void on_closed(connection&, const quic::conn::connection_end& e) noexcept override {
    closed = true;
    end = e;
  }
  // Of connections that are over: what was kept of them.
  void forget() {
    streams.clear();
    datagrams.clear();
    established = early = closed = false;
    last = nullptr;
  }
  bool all_done() const {
    if (!to_ask.empty() || streams.empty()) return false;
    for (const auto& [id, x] : streams)
      if (!x->finished || x->got != x->wanted || x->wrong) return false;
    return true;
  }
};

}  // namespace millrace::test
