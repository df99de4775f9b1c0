// The handlers of docs/examples behind a dispatcher, as docs/handlers.md registers them.
#include <deque>

#include "docs/examples/greeting.hpp"
#include "docs/examples/lines.hpp"
#include "docs/examples/token_door.hpp"
#include "docs/examples/upload.hpp"
#include "mem/heap_counter.hpp"
#include "service/scripted_carrier.hpp"
#include "support/eal_main.hpp"
#include "support/packets.hpp"

namespace {

using namespace millrace;
using test::scripted_carrier;

class slow_store final : public examples::store {
 public:
  std::size_t left = 0;
  std::string got, name;
  std::size_t room() noexcept override { return left; }
  void put(std::string_view of, base::byte_view bytes) noexcept override {
    EXPECT_LE(bytes.size(), left);
    left -= bytes.size();
    name = of;
    got.append(base::as_text(bytes));
  }
};

struct examples_handlers : testing::Test {
  test::checked_pool pool{4095};
  slow_store store;
  examples::greeting greeting;
  std::unique_ptr<examples::lines> lines = std::move(examples::lines::make(2).value());
  std::unique_ptr<examples::upload> upload = std::move(examples::upload::make(store, 1000, 2).value());
  examples::token_door door{"secret"};
  examples::no_sniffing no_sniffing;
  std::vector<http::exchange_handler*> handlers;
  http::request_filter* before[1] = {&door};
  http::response_filter* after[1] = {&no_sniffing};
  http::router routes;
  std::unique_ptr<http::dispatcher> root;

  void SetUp() override {
    http::router_builder b;
    for (const service::route& r : {greeting.route(), lines->route(), upload->route()}) {
      ASSERT_TRUE(b.add(r.method, r.pattern, static_cast<std::uint32_t>(handlers.size())));
      handlers.push_back(r.handler);
    }
    routes = std::move(b.build().value());
    root = std::make_unique<http::dispatcher>(http::dispatcher::parts{&routes, handlers, before, after, "millrace"});
  }
  void TearDown() override { EXPECT_TRUE(lines->is_whole() && upload->is_whole()); }
  void ask(scripted_carrier& x, std::string_view method, std::string path, bool has_body = false,
           std::vector<http::field> more = {}) {
    more.push_back({"authorization", "Bearer secret"});
    x.begin(*root, method, std::move(path), std::move(more), has_body);
  }
};

TEST_F(examples_handlers, a_greeting_is_json) {
  scripted_carrier x(*pool);
  ask(x, "GET", "/greet/w\"orld");
  EXPECT_EQ(x.status, 200);
  EXPECT_EQ(x.header("content-type"), "application/json");
  EXPECT_EQ(x.header("x-content-type-options"), "nosniff");
  EXPECT_EQ(x.text(), R"({"hello":"w\"orld"})");
  scripted_carrier other(*pool);
  ask(other, "GET", "/greet/");
  EXPECT_EQ(other.status, 404);
  scripted_carrier post(*pool);
  ask(post, "POST", "/greet/x");
  EXPECT_EQ(post.status, 405);
}

TEST_F(examples_handlers, the_door_opens_to_the_token_alone) {
  for (const char* said : {"", "Bearer", "Bearer secreT", "Bearer secret ", "Basic secret"}) {
    scripted_carrier x(*pool);
    x.begin(*root, "GET", "/greet/x", {{"authorization", said}});
    EXPECT_EQ(x.status, 401) << said;
    EXPECT_EQ(x.header("www-authenticate"), "Bearer");
    EXPECT_EQ(x.header("x-content-type-options"), "nosniff");
  }
}

TEST_F(examples_handlers, lines_come_whole_in_pieces_of_any_size) {
  std::string all;
  for (unsigned i = 0; i < 1200; ++i) all += std::to_string(i) + "\n";
  for (const std::uint64_t piece : {1u, 7u, 1000u, 65'536u}) {
    scripted_carrier x(*pool);
    ask(x, "GET", "/lines/1200");
    EXPECT_EQ(x.status, 200);
    while (x.pull(piece) != 0) continue;
    EXPECT_EQ(x.text(), all) << piece;
  }
  scripted_carrier none(*pool);
  ask(none, "GET", "/lines/0");
  EXPECT_EQ(none.text(), "");
  scripted_carrier bad(*pool);
  ask(bad, "GET", "/lines/many");
  EXPECT_EQ(bad.status, 404);
}

TEST_F(examples_handlers, a_hundred_million_lines_take_no_memory_and_no_heap) {
  scripted_carrier x(*pool);
  ask(x, "GET", "/lines/100000000");
  mem::heap_tally heap;
  std::uint64_t got = 0;
  {
    const mem::heap_watch watch(heap);
    for (std::uint64_t part = 1; part != 0 && got < (64u << 20); got += part) part = x.pull_away(1 << 20);
  }
  EXPECT_GE(got, 64u << 20);
  EXPECT_EQ(pool->in_use(), 0u);
  if (mem::heap_counter_present()) {
    EXPECT_EQ(heap.calls.get(), 0u);
  }
}

TEST_F(examples_handlers, more_lines_at_a_time_than_places_are_refused) {
  std::deque<scripted_carrier> open;
  for (const int expected : {200, 200, 503}) {
    ask(open.emplace_back(*pool), "GET", "/lines/5");
    EXPECT_EQ(open.back().status, expected);
  }
}

TEST_F(examples_handlers, an_upload_waits_for_its_store) {
  store.left = 6;
  scripted_carrier x(*pool);
  ask(x, "PUT", "/upload/a/b.txt", true);
  x.send("0123");
  x.send("4567");
  EXPECT_EQ(store.got, "012345");
  EXPECT_EQ(store.name, "a/b.txt");
  EXPECT_EQ(x.waiting(), 2u) << "nobody has taken them, so the peer has no credit for more";
  x.send_end();
  upload->go_on();
  EXPECT_EQ(x.waiting(), 2u);
  EXPECT_EQ(x.status, 0);
  store.left = 100;
  upload->go_on();
  x.settle();
  EXPECT_EQ(store.got, "01234567");
  EXPECT_EQ(x.status, 201);
  EXPECT_EQ(x.text(), R"({"bytes":8})");
}

TEST_F(examples_handlers, uploads_that_wait_go_on_in_turns) {
  scripted_carrier one(*pool), two(*pool), gone(*pool);
  ask(one, "PUT", "/upload/1", true);
  ask(two, "PUT", "/upload/2", true);
  one.send("aaaa");
  two.send("bbbb");
  for (const char* got : {"aa", "aabb", "aabbaa", "aabbaabb"}) {
    store.left = 2;
    upload->go_on();
    EXPECT_EQ(store.got, got);
  }
  ask(gone, "PUT", "/upload/3", true);
  EXPECT_EQ(gone.status, 503);
  EXPECT_TRUE(gone.refused_body);
  one.send("cc");
  one.end(http::exchange_end::peer_reset);  // while it waits
  store.left = 2;
  upload->go_on();
  EXPECT_EQ(store.left, 2u);
}

TEST_F(examples_handlers, an_upload_beyond_the_limit_is_refused) {
  store.left = 10'000;
  scripted_carrier told(*pool), untold(*pool);
  ask(told, "PUT", "/upload/x", true, {{"content-length", "1001"}});
  EXPECT_EQ(told.status, 413);
  EXPECT_TRUE(told.refused_body);
  ask(untold, "PUT", "/upload/x", true);
  untold.send(std::string(1000, 'x'));
  EXPECT_EQ(untold.status, 0);
  untold.send("y");
  EXPECT_EQ(untold.status, 413);
  EXPECT_TRUE(untold.refused_body);
}

}  // namespace

MILLRACE_EAL_TEST_MAIN("-l", "0", "-m", "64")
