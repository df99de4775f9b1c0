// test/h3/pair.hpp - an HTTP/3 server on a QUIC connection in virtual time, a handler that notes what it is told, and a
// client that says any bytes on any streams.
//
// Owner    the network goes before what derives has gone: end() in destructors.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "h3/server.hpp"
#include "pipeline/scripted_pair.hpp"
#include "support/bytes.hpp"

namespace millrace::test {

using fields = std::vector<http::field>;

inline bytes frame(std::uint64_t type, const bytes& payload) {
  bytes out(h3::wire::max_frame_header_size);
  out.resize(h3::wire::emit(out.data(), {type, payload.size()}));
  return out + payload;
}
inline bytes frame(h3::wire::frame_type type, const bytes& payload) {
  return frame(static_cast<std::uint64_t>(type), payload);
}
inline bytes varint(std::uint64_t v) {
  bytes out(base::max_varint_size);
  out.resize(base::encode_varint(out.data(), v));
  return out;
}
// A field section without a dynamic table, whatever the fields say.
inline bytes section(const fields& list) {
  std::vector<h3::qpack::field> in;
  for (const http::field& f : list) in.push_back({f.name, f.value, false});
  const h3::qpack::encoder_settings none{.max_table_capacity = 0};
  std::vector<std::byte> storage(h3::qpack::encoder::storage_size(none));
  h3::qpack::encoder e(none, storage);
  bytes out(h3::qpack::encoder::max_section_size(in));
  out.resize(e.encode(0, in, out, {}).section);
  return out;
}
inline bytes head(const fields& list) { return frame(h3::wire::frame_type::headers, section(list)); }
inline bytes data(const bytes& payload) { return frame(h3::wire::frame_type::data, payload); }
inline bytes text(std::string_view t) { return from_text(t); }
inline fields get(std::string_view path = "/") {
  return {{":method", "GET"}, {":scheme", "https"}, {":authority", "example.test"}, {":path", path}};
}
inline fields post(std::string_view path = "/") {
  return {{":method", "POST"}, {":scheme", "https"}, {":authority", "example.test"}, {":path", path}};
}
inline fields operator+(fields a, const fields& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// What a message says, read frame by frame.
struct read_message {
  struct head_fields {
    std::vector<std::pair<std::string, std::string>> all;
    std::string operator[](std::string_view name) const {
      for (const auto& [n, v] : all)
        if (n == name) return v;
      return "(none)";
    }
  };
  std::vector<head_fields> heads;  // interim ones, the head, trailers
  std::string body;
  std::vector<std::size_t> data_frames;
  bool is_whole = true;  // ends between two frames

  explicit read_message(base::byte_view in) {
    struct sink final : h3::qpack::field_sink {
      head_fields to;
      h3::qpack::sink_answer on_field(const h3::qpack::field& f) noexcept override {
        to.all.emplace_back(f.name, f.value);
        return h3::qpack::sink_answer::go_on;
      }
    };
    const h3::qpack::decoder_settings none{.max_table_capacity = 0};
    std::vector<std::byte> storage(h3::qpack::decoder::storage_size(none));
    std::vector<char> scratch(h3::qpack::decoder::scratch_size(none));
    h3::qpack::decoder d(none, storage, scratch);
    h3::wire::pair_reader r;
    h3::wire::frame_header h;
    while (r.next(in, h) == base::progress::done) {
      if (h.length > in.size()) {
        is_whole = false;
        return;
      }
      const base::byte_view payload = in.first(static_cast<std::size_t>(h.length));
      in = in.subspan(payload.size());
      if (h.type == 0) {
        body.append(base::as_text(payload));
        data_frames.push_back(payload.size());
      } else if (h.type == 1) {
        sink s;
        EXPECT_EQ(d.decode(0, payload, s).outcome, h3::qpack::section_outcome::done);
        heads.push_back(std::move(s.to));
      }
    }
    is_whole = !r.is_inside();
  }
  [[nodiscard]] std::string status() const { return heads.empty() ? "(none)" : heads.back()[":status"]; }
};

// Notes what it is told, and answers by the path:
//   /            "hello"                     /echo       what comes, as it comes
//   /bytes/N     pulled                      /file/N     N bytes of loaded content
//   /fields      204 with the fields of `answer`, which may be refused
//   /trailers    200, and behind it those fields
//   /hold        nothing, until told         /ignore     204, the body left where it is
class noting_handler final : public http::exchange_handler {
 public:
  struct seen {
    http::exchange* at = nullptr;
    std::string method, target, path, authority, protocol;
    std::vector<std::pair<std::string, std::string>> all, trailers;
    std::string body;
    bool has_body = false, is_early = false, body_end = false, ended = false;
    http::exchange_end end = http::exchange_end::complete;
    std::uint64_t left = 0, pulled = 0;
    bool fails = false, waits = false;
    unsigned writable = 0;
  };
  std::deque<seen> requests;
  fields answer;
  buf::content* content = nullptr;
  plain_pool* pull_pool = nullptr;
  std::uint64_t most_pulled = 0;

  void on_request(http::exchange& x) noexcept override {
    seen& s = requests.emplace_back();
    x.user = &s;
    const http::request_head& r = x.request();
    s.at = &x;
    s.method = r.method_name;
    s.target = r.target;
    s.path = r.path;
    s.authority = r.authority;
    s.protocol = r.protocol;
    s.has_body = r.has_body;
    s.is_early = r.is_early;
    for (const http::field& f : r.fields) s.all.emplace_back(f.name, f.value);
    if (s.path == "/hold") return;
    if (s.path == "/fields") return void(x.respond({http::wire::status_code::no_content, answer}, http::body{}));
    if (s.path == "/trailers") {
      EXPECT_TRUE(x.begin({http::wire::status_code::ok, {}}));
      return x.finish(answer);
    }
    if (s.path == "/ignore") {
      EXPECT_TRUE(x.respond({http::wire::status_code::no_content, {}}, http::body{}));
      return;
    }
    if (s.path == "/echo" || !s.protocol.empty()) {
      EXPECT_TRUE(x.begin({http::wire::status_code::ok, {}}));
      return;
    }
    if (s.path.starts_with("/bytes/") || s.path.starts_with("/unknown/")) {
      s.left = std::stoull(s.path.substr(s.path.rfind('/') + 1));
      std::optional<std::uint64_t> size;
      if (s.path[1] == 'b') size = s.left;
      EXPECT_TRUE(x.respond({http::wire::status_code::ok, {}}, http::pulled_body{{&s, pull}, size}));
      return;
    }
    if (s.path.starts_with("/file/")) {
      const std::uint64_t size = std::stoull(s.path.substr(6));
      EXPECT_TRUE(x.respond({http::wire::status_code::ok, {}}, http::content_range{content, 3, size}));
      return;
    }
    buf::chain hello;
    EXPECT_TRUE(hello.append_copy(base::as_bytes("hello"), x.blocks()));
    const http::field type{"content-type", "text/plain"};
    EXPECT_TRUE(x.respond({http::wire::status_code::ok, {&type, 1}}, std::move(hello)));
  }
  void on_body(http::exchange& x) noexcept override {
    seen& s = *static_cast<seen*>(x.user);
    if (s.path == "/ignore") return;
    const bool echoes = s.path == "/echo" || !s.protocol.empty();
    for (base::byte_view v = x.front(); !v.empty(); v = x.front()) {
      s.body.append(base::as_text(v));
      if (!echoes) {
        x.consume(v.size());
        continue;
      }
      buf::chain part(x.take());
      if (x.write(std::move(part)) != buf::flow::open) return;
    }
  }
  void on_writable(http::exchange& x) noexcept override {
    ++static_cast<seen*>(x.user)->writable;
    on_body(x);
    maybe_finish(x);
  }
  void on_body_end(http::exchange& x, std::span<const http::field> trailers) noexcept override {
    seen& s = *static_cast<seen*>(x.user);
    s.body_end = true;
    for (const http::field& f : trailers) s.trailers.emplace_back(f.name, f.value);
    maybe_finish(x);
  }
  void maybe_finish(http::exchange& x) {
    seen& s = *static_cast<seen*>(x.user);
    if (!s.body_end || !(s.path == "/echo" || !s.protocol.empty())) return;
    fields t;
    for (const auto& [n, v] : s.trailers) t.push_back({n, v});
    x.finish(t);
  }
  void on_end(http::exchange& x, http::exchange_end why) noexcept override {
    seen& s = *static_cast<seen*>(x.user);
    EXPECT_FALSE(s.ended);
    s.ended = true;
    s.end = why;
    s.at = nullptr;
  }
  static buf::pull_status pull(void* context, std::uint32_t most, buf::packet& out) noexcept;
};

inline plain_pool& pulled_blocks() {
  static plain_pool pool(64, 60'000);
  return pool;
}

inline std::uint8_t body_byte(std::uint64_t at) { return static_cast<std::uint8_t>(at * 7 + (at >> 10)); }

inline buf::pull_status noting_handler::pull(void* context, std::uint32_t most, buf::packet& out) noexcept {
  seen& s = *static_cast<seen*>(context);
  if (s.fails) return buf::pull_status::failed;
  if (s.waits) return buf::pull_status::not_yet;
  if (s.left == 0) return buf::pull_status::end;
  buf::packet block{pulled_blocks().alloc()};
  if (!block) return buf::pull_status::no_memory;
  const auto size = static_cast<std::uint16_t>(std::min<std::uint64_t>({most, s.left, 59'000}));
  const base::byte_span room = block.append(size);
  for (std::size_t i = 0; i < room.size(); ++i) room[i] = body_byte(s.pulled + i);
  s.pulled += size;
  s.left -= size;
  out = std::move(block);
  return buf::pull_status::block;
}

inline std::string pulled_text(std::uint64_t size) {
  std::string out(size, '\0');
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<char>(body_byte(i));
  return out;
}

struct h3_options {
  sim_options sim;
  h3::settings settings;
  std::size_t blocks = 8192;
  bool says_settings = true;
  h3_options() {
    settings.connections = 16;
    settings.exchanges = 512;
  }
};

struct h3_pair : scripted_pair {
  noting_handler handler;
  std::unique_ptr<h3::server> app;
  scripted* control = nullptr;

  explicit h3_pair(const h3_options& o = {}) : h3_pair(o, o.blocks) {}
  h3_pair(const h3_options& o, std::size_t most_blocks) : scripted_pair("h3", o.sim, most_blocks) {
    auto made = h3::server::make(o.settings, handler, blocks);
    EXPECT_TRUE(made) << made.error().what;
    app = std::move(made.value());
    EXPECT_TRUE(app->serve_on(*net.server->endpoint));
    connect();
    if (o.says_settings) {
      control = &open(quic::stream::direction::unidirectional);
      say(*control, varint(0) + frame(h3::wire::frame_type::settings, {}));
    }
  }
  ~h3_pair() {
    end();
    EXPECT_EQ(app->open_exchanges(), 0u);
    EXPECT_EQ(app->open_links(), 0u);
    EXPECT_EQ(app->fields().in_use(), 0u);
    EXPECT_EQ(blocks.in_use(), 0u);
    EXPECT_EQ(pulled_blocks().in_use(), 0u);
  }
  scripted& request(const bytes& what, bool fin = true) {
    scripted& x = open();
    say(x, what, fin);
    return x;
  }
  // Says it, and waits until the stream is over.
  scripted& ask(const bytes& what, bool fin = true, std::uint64_t limit_ns = 60 * second) {
    scripted& x = request(what, fin);
    net.run([&] { return x.over || client_app.closed; }, limit_ns);
    return x;
  }
  std::uint64_t count(h3::event e) const { return app->events().get(e); }
  std::uint64_t count(h3::section_errc e) const { return app->events().get(e); }
  // The code that the server closed the connection with; 0: it has not.
  std::uint64_t closed_with() {
    net.run([&] { return client_app.closed; }, 5 * second);
    return client_app.closed && client_app.end.from_application ? client_app.end.code : 0;
  }
  bool rests() {
    return net.run([&] { return app->open_exchanges() == 0 && blocks.in_use() == 0; }, 5 * second);
  }
};

}  // namespace millrace::test
