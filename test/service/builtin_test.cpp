// The built-in endpoints, without a connection: what they answer, and what they keep meanwhile.
#include "service/builtin.hpp"

#include <deque>

#include "base/body_pattern.hpp"
#include "mem/heap_counter.hpp"
#include "service/page.hpp"
#include "service/scripted_carrier.hpp"
#include "support/eal_main.hpp"
#include "support/packets.hpp"

namespace {

using namespace millrace;
using test::scripted_carrier;

class few_figures final : public service::stats_source {
 public:
  bool fails = false;
  void write(json::writer& to) noexcept override {
    to.begin_object();
    to.member("uptime_s", 5);
    if (!fails) to.end_object();
  }
};

buf::large_block_pool one_block() {
  buf::large_block_pool_config c;
  c.name = "pattern";
  c.blocks_per_mempool = 1;
  c.cache = 0;
  c.mbufs_per_block = 64;
  return std::move(buf::large_block_pool::make(c).value());
}

struct service_builtin : testing::Test {
  test::checked_pool pool{4095};
  buf::large_block_pool blocks = one_block();
  buf::content pattern = std::move(service::make_pattern(blocks).value());
  few_figures figures;
  service::settings limits;
  std::unique_ptr<service::builtin> of;

  void SetUp() override {
    limits.streamed = limits.json_bodies = limits.discarded = 4;
    of = std::move(service::builtin::make(limits, pattern, &figures).value());
  }
  void TearDown() override { EXPECT_TRUE(of->is_whole()); }

  // As a dispatcher does.
  void ask(scripted_carrier& x, std::string_view method, std::string path, std::vector<http::field> fields = {},
           bool has_body = false) {
    http::router_builder b;
    std::vector<http::exchange_handler*> handlers;
    for (const service::route& r : of->routes()) {
      ASSERT_TRUE(b.add(r.method, r.pattern, static_cast<std::uint32_t>(handlers.size())));
      handlers.push_back(r.handler);
    }
    const http::router routes = std::move(b.build().value());
    const http::route_match match = routes.match(http::wire::parse_method(method), path);
    ASSERT_EQ(match.result, http::route_match::outcome::found);
    x.route = &match;
    x.begin(*handlers[match.handler], method, std::move(path), std::move(fields), has_body);
    x.route = nullptr;
  }
};

std::string pattern_text(std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i)
    text.push_back(static_cast<char>(base::pattern_block()[i % base::pattern_bytes]));
  return text;
}

TEST_F(service_builtin, bytes_of_any_number_are_the_pattern) {
  for (const std::size_t size : {0u, 1u, 1024u, 65'536u, 65'537u, 1'000'003u}) {
    scripted_carrier x(*pool);
    ask(x, "GET", "/bytes/" + std::to_string(size));
    EXPECT_EQ(x.status, 200);
    EXPECT_TRUE(x.was_whole);
    EXPECT_EQ(x.text(), pattern_text(size)) << size;
  }
}

TEST_F(service_builtin, a_gigabyte_takes_no_memory_and_no_heap) {
  scripted_carrier x(*pool);
  ask(x, "GET", "/bytes/1073741824");
  mem::heap_tally heap;
  std::uint64_t got = 0;
  for (std::uint64_t part = 1; part != 0; got += part) {
    {
      const mem::heap_watch watch(heap);
      part = x.pull_away(1 << 20);
    }
    EXPECT_EQ(pool->in_use(), 0u);
  }
  EXPECT_EQ(got, 1u << 30);
  if (mem::heap_counter_present()) {
    EXPECT_EQ(heap.calls.get(), 0u);
  }
}

TEST_F(service_builtin, numbers_that_are_none_are_not_found) {
  for (const char* path : {"/bytes/-1", "/bytes/1x", "/bytes/18446744073709551616", "/bytes/1125899906842625"}) {
    scripted_carrier x(*pool);
    ask(x, "GET", path);
    EXPECT_EQ(x.status, 404) << path;
  }
  EXPECT_EQ(of->count().refused.get(), 4u);
}

TEST_F(service_builtin, more_streamed_answers_than_places_are_refused) {
  std::deque<scripted_carrier> open;
  for (unsigned i = 0; i < limits.streamed; ++i) {
    ask(open.emplace_back(*pool), "GET", "/bytes/100000");
    EXPECT_EQ(open.back().status, 200);
  }
  scripted_carrier late(*pool);
  ask(late, "GET", "/bytes/100000");
  EXPECT_EQ(late.status, 503);
  EXPECT_EQ(of->count().no_memory.get(), 1u);
  open.clear();
  scripted_carrier later(*pool);
  ask(later, "GET", "/bytes/100000");
  EXPECT_EQ(later.status, 200);
}

TEST_F(service_builtin, an_echo_gives_back_what_comes_and_keeps_nothing) {
  scripted_carrier x(*pool);
  ask(x, "POST", "/echo", {{"content-type", "text/x"}}, true);
  EXPECT_EQ(x.status, 200);
  EXPECT_EQ(x.header("content-type"), "text/x");
  x.send("one ");
  x.send("two");
  EXPECT_EQ(x.waiting(), 0u);
  // Of what comes while the answer is paused one piece is taken; those behind it wait where they came.
  x.takes = false;
  x.queue(" three");
  x.send(" four");
  EXPECT_EQ(x.waiting(), std::string_view(" four").size());
  x.takes = true;
  x.writable();
  EXPECT_EQ(x.waiting(), 0u);
  EXPECT_FALSE(x.is_finished);
  x.send_end();
  EXPECT_TRUE(x.is_finished);
  EXPECT_EQ(x.text(), "one two three four");
}

TEST_F(service_builtin, what_is_discarded_is_counted) {
  scripted_carrier x(*pool);
  ask(x, "POST", "/discard", {}, true);
  x.send("abc");
  x.send("d");
  EXPECT_EQ(pool->in_use(), 0u);
  EXPECT_EQ(x.status, 0);
  x.send_end();
  EXPECT_EQ(x.status, 200);
  EXPECT_EQ(x.text(), R"({"bytes":4,"sum":394})");
  std::deque<scripted_carrier> open;
  for (unsigned i = 1; i < limits.discarded; ++i) ask(open.emplace_back(*pool), "POST", "/discard", {}, true);
  scripted_carrier late(*pool);
  ask(late, "POST", "/discard", {}, true);
  EXPECT_EQ(late.status, 503);
  EXPECT_TRUE(late.refused_body);
}

TEST_F(service_builtin, json_is_written_into_blocks) {
  scripted_carrier x(*pool);
  ask(x, "GET", "/json");
  EXPECT_EQ(x.status, 200);
  EXPECT_EQ(x.header("content-type"), "application/json");
  EXPECT_EQ(x.text(), R"({"message":"Hello, World!","id":1,"ok":true,"tags":["quic","http/3"]})");
}

TEST_F(service_builtin, json_is_judged_in_however_many_pieces_it_comes) {
  const std::string document = R"({"a":[1,2.5,-3],"b":{"c":"text","d":null,"e":true}})";
  const std::string census = R"({"bytes":51,"objects":2,"arrays":1,"members":5,"strings":1,"numbers":3,"literals":2})";
  for (std::size_t piece = 1; piece <= document.size(); ++piece) {
    scripted_carrier x(*pool);
    ask(x, "POST", "/json", {}, true);
    for (std::size_t at = 0; at < document.size(); at += piece) x.send(document.substr(at, piece));
    EXPECT_EQ(x.status, 0);
    x.send_end();
    EXPECT_EQ(x.status, 200);
    EXPECT_EQ(x.text(), census) << piece;
  }
}

TEST_F(service_builtin, bad_json_is_answered_with_why_and_where) {
  const std::pair<std::string, std::string> bad[] = {{R"({"a":})", R"({"error":"malformed","at":5})"},
                                                     {"", R"({"error":"malformed","at":0})"},
                                                     {"1 2", R"({"error":"trailing_bytes","at":2})"}};
  for (const auto& [text, answer] : bad) {
    scripted_carrier x(*pool);
    ask(x, "POST", "/json", {}, true);
    if (!text.empty()) x.send(text);
    x.send_end();
    EXPECT_EQ(x.status, 400) << text;
    EXPECT_EQ(x.text(), answer) << text;
  }
  EXPECT_EQ(of->count().refused.get(), 3u);
}

TEST_F(service_builtin, a_post_without_a_body_is_answered_once) {
  scripted_carrier x(*pool);
  ask(x, "POST", "/json");
  EXPECT_EQ(x.status, 400);
  EXPECT_EQ(of->count().refused.get(), 1u);
  scripted_carrier echo(*pool);
  ask(echo, "POST", "/echo");
  EXPECT_EQ(echo.status, 200);
  EXPECT_TRUE(echo.is_finished);
}

TEST_F(service_builtin, documents_beyond_the_limit_are_refused_at_once) {
  scripted_carrier told(*pool);
  ask(told, "POST", "/json", {{"content-length", "65537"}}, true);
  EXPECT_EQ(told.status, 413);
  EXPECT_EQ(told.text(), R"({"error":"too_large","most_bytes":65536})");
  EXPECT_TRUE(told.refused_body);
  scripted_carrier untold(*pool);
  ask(untold, "POST", "/json", {}, true);
  const std::string piece(1024, ' ');
  for (unsigned i = 0; i < 64; ++i) untold.send(piece);
  EXPECT_EQ(untold.status, 0);
  untold.send(" ");
  EXPECT_EQ(untold.status, 413);
  EXPECT_EQ(untold.text(), R"({"error":"too_large","most_bytes":65536})");
  EXPECT_EQ(pool->in_use(), 0u);
}

TEST_F(service_builtin, figures_and_the_page_that_shows_them) {
  scripted_carrier x(*pool);
  ask(x, "GET", "/stats");
  EXPECT_EQ(x.status, 200);
  EXPECT_EQ(x.header("cache-control"), "no-store");
  EXPECT_EQ(x.text(), R"({"uptime_s":5})");
  figures.fails = true;
  scripted_carrier broken(*pool);
  ask(broken, "GET", "/stats");
  EXPECT_EQ(broken.status, 500);
  scripted_carrier page(*pool);
  ask(page, "GET", "/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.text(), service::page_text);
  EXPECT_NE(page.header("content-security-policy").find("script-src 'sha256-"), std::string::npos);
  EXPECT_EQ(page.text().find("http://www.w3.org/2000/svg") == std::string::npos, false);
  EXPECT_EQ(page.text().find("https://"), std::string::npos) << "a page of its own, without anybody else's resources";
}

}  // namespace

MILLRACE_EAL_TEST_MAIN("-l", "0", "-m", "64")
