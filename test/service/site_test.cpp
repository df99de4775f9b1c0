// A site, without a connection: what it answers to every kind of request, and what becomes of answers that are under
// way when the files are replaced.
#include "service/site.hpp"

#include <algorithm>
#include <deque>
#include <thread>

#include "http/wire/target.hpp"
#include "mem/heap_counter.hpp"
#include "service/folder.hpp"
#include "service/scripted_carrier.hpp"
#include "service/site_handler.hpp"
#include "support/eal_main.hpp"
#include "support/packets.hpp"

namespace {

using namespace millrace;
using fields = std::vector<http::field>;
using test::scripted_carrier;

constexpr std::int64_t modified_s = 1'700'000'000;
constexpr std::string_view modified = "Tue, 14 Nov 2023 22:13:20 GMT";
constexpr std::string_view earlier = "Tue, 14 Nov 2023 22:13:19 GMT";
// By sha256sum: echo -n 'console.log(1)' | sha256sum
constexpr std::string_view script = "console.log(1)";

struct service_site : testing::Test {
  test::checked_pool pool{1023};
  test::folder disk;
  service::site_settings limits;
  std::vector<service::site_directory> directories{{"/", disk.path()}};
  std::unique_ptr<service::site> of;
  std::unique_ptr<service::site_handler> handler;
  http::router routes;
  std::vector<http::exchange_handler*> handlers;

  void SetUp() override {
    disk.write("app.js", std::string(script), modified_s);
    disk.write("digits.txt", "0123456789", modified_s);
    disk.write("empty.bin", "", modified_s);
    disk.write("docs/index.html", "<p>docs", modified_s);
    disk.write("docs/a\\b", "nobody can ask for it", modified_s);
    disk.write("bare/file", "x", modified_s);
    disk.write("many.css", "plain", modified_s);
    disk.write("many.css.gz", "by gzip", modified_s + 1);
    disk.write("many.css.br", "by brotli", modified_s + 2);
    disk.write("many.css.zst", "by zstd", modified_s + 3);
  }
  void TearDown() override {
    if (!of) return;
    EXPECT_TRUE(of->reap()) << "an exchange has kept a tree";
  }

  void serve() {
    auto made = service::site::make(directories, limits, 2);
    ASSERT_TRUE(made) << made.error().what;
    of = std::move(made.value());
    handler = std::make_unique<service::site_handler>(*of, 0, 1'800'000'000ll * 1'000'000'000);
    http::router_builder b;
    for (const service::route& r : handler->routes()) {
      ASSERT_TRUE(b.add(r.method, r.pattern, static_cast<std::uint32_t>(handlers.size())));
      handlers.push_back(r.handler);
    }
    routes = std::move(b.build().value());
  }
  // As a carrier and its dispatcher do. False: the path is none (400), or nobody's (404).
  bool ask(scripted_carrier& x, std::string_view method, std::string_view path, fields with = {}) {
    if (!of) serve();
    std::array<char, 1024> scratch;
    const auto normal = http::wire::normalize_path(http::wire::split_target(path).path, scratch);
    if (normal.code != http::wire::path_errc::ok) return false;
    const http::route_match match = routes.match(http::wire::parse_method(method), normal.path);
    if (match.result != http::route_match::outcome::found) return false;
    x.route = &match;
    x.begin(*handlers[match.handler], method, std::string(normal.path), std::move(with));
    x.route = nullptr;
    return true;
  }
  struct answer {
    int status = 0;
    std::string text;
    std::vector<std::pair<std::string, std::string>> fields;
    [[nodiscard]] std::string operator[](std::string_view name) const {
      for (const auto& [n, v] : fields)
        if (n == name) return v;
      return {};
    }
  };
  answer get(std::string_view path, fields with = {}, std::string_view method = "GET") {
    scripted_carrier x(*pool);
    if (!ask(x, method, path, std::move(with))) return {};
    return {x.status, x.text(), x.answered};
  }
  std::string tag(std::string_view path) { return get(path)["etag"]; }
};

TEST_F(service_site, a_file_comes_with_all_that_is_known_of_it) {
  const answer a = get("/app.js");
  EXPECT_EQ(a.status, 200);
  EXPECT_EQ(a.text, script);
  EXPECT_EQ(a["content-type"], "text/javascript; charset=utf-8");
  EXPECT_EQ(a["last-modified"], modified);
  EXPECT_EQ(a["accept-ranges"], "bytes");
  EXPECT_EQ(a["etag"], "\"0a286891c11c056e1ab5bfc25bf5d6b2\"");
  EXPECT_EQ(a["vary"], "");
  EXPECT_EQ(a["content-encoding"], "");
  EXPECT_EQ(a["content-range"], "");
  EXPECT_EQ(handler->count().files.get(), 1u);
}

TEST_F(service_site, head_is_answered_as_get_is) {
  scripted_carrier x(*pool);
  ASSERT_TRUE(ask(x, "HEAD", "/digits.txt"));
  EXPECT_EQ(x.status, 200);
  EXPECT_EQ(x.header("etag"), tag("/digits.txt"));
  EXPECT_TRUE(x.was_whole);
  // RFC 9110 14.2: a range is of GET alone.
  EXPECT_EQ(get("/digits.txt", {{"range", "bytes=0-0"}}, "HEAD").status, 200);
}

TEST_F(service_site, an_empty_file_is_one) {
  const answer a = get("/empty.bin");
  EXPECT_EQ(a.status, 200);
  EXPECT_EQ(a.text, "");
  EXPECT_EQ(a["etag"], "\"e3b0c44298fc1c149afbf4c8996fb924\"");
  EXPECT_EQ(get("/empty.bin", {{"range", "bytes=0-"}}).status, 416);
}

TEST_F(service_site, the_same_bytes_have_the_same_tag_and_others_another) {
  disk.write("copy.txt", "0123456789", 5);
  disk.write("other.txt", "0123456780", modified_s);
  EXPECT_EQ(tag("/copy.txt"), tag("/digits.txt"));
  EXPECT_NE(tag("/other.txt"), tag("/digits.txt"));
}

TEST_F(service_site, a_directory_is_its_index) {
  const answer a = get("/docs/");
  EXPECT_EQ(a.status, 200);
  EXPECT_EQ(a.text, "<p>docs");
  EXPECT_EQ(a["content-type"], "text/html; charset=utf-8");
  EXPECT_EQ(get("/docs/index.html").text, "<p>docs");
  EXPECT_EQ(get("/docs/./../docs/").text, "<p>docs");
  const answer to = get("/docs");
  EXPECT_EQ(to.status, 301);
  EXPECT_EQ(to["location"], "/docs/");
  EXPECT_EQ(to.text, "");
  for (const char* path : {"/bare", "/bare/", "/docs/index.html/", "/"}) EXPECT_EQ(get(path).status, 404) << path;
  EXPECT_EQ(handler->count().redirects.get(), 1u);
  EXPECT_EQ(handler->count().not_found.get(), 4u);
}

TEST_F(service_site, a_redirect_keeps_the_query_and_encodes_the_path) {
  disk.write("\xC3\xA4?/index.html", "");
  EXPECT_EQ(get("/%C3%A4%3F")["location"], "/%C3%A4%3F/");
  scripted_carrier x(*pool);
  x.query("a=1&b=%20");
  ASSERT_TRUE(ask(x, "GET", "/docs"));
  EXPECT_EQ(x.header("location"), "/docs/?a=1&b=%20");
  scripted_carrier y(*pool);
  y.query(std::string(4096, 'q'));  // no room for it
  ASSERT_TRUE(ask(y, "GET", "/docs"));
  EXPECT_EQ(y.header("location"), "/docs/");
}

TEST_F(service_site, several_directories_each_have_their_place) {
  test::folder other;
  other.write("index.html", "other");
  other.write("sub/file", "in sub");
  other.write("sub/index.html", "index of sub");
  disk.write("other/hidden_by_the_place", "");
  directories.push_back({"/other/place", other.path()});
  directories.push_back({"/other", other.path("sub")});
  EXPECT_EQ(get("/other/place/").text, "other");
  EXPECT_EQ(get("/other/place/sub/file").text, "in sub");
  EXPECT_EQ(get("/other/file").text, "in sub");
  EXPECT_EQ(get("/other/place")["location"], "/other/place/");
  EXPECT_EQ(get("/other/place/sub")["location"], "/other/place/sub/");
  EXPECT_EQ(get("/other")["location"], "/other/");
  EXPECT_EQ(get("/app.js").text, script);
  for (const char* path : {"/file", "/other/app.js", "/other/hidden_by_the_place", "/otherfile"})
    EXPECT_EQ(get(path).status, 404) << path;
}

TEST_F(service_site, the_form_that_is_liked_best_is_sent) {
  const std::pair<const char*, const char*> liked[] = {
      {"", "plain"},
      {"identity", "plain"},
      {"gzip", "by gzip"},
      {"gzip, br", "by brotli"},
      {"gzip, br;q=0.5", "by gzip"},
      {"br, zstd, gzip", "by zstd"},
      {"deflate", "plain"},
      {"*;q=0.1, identity;q=0.2", "plain"},
  };
  for (const auto& [accept, text] : liked) {
    const answer a = get("/many.css", {{"accept-encoding", accept}});
    EXPECT_EQ(a.status, 200);
    EXPECT_EQ(a.text, text) << accept;
    EXPECT_EQ(a["vary"], "accept-encoding");
    EXPECT_EQ(a["content-type"], "text/css; charset=utf-8");
  }
  EXPECT_EQ(get("/many.css").text, "plain");
  EXPECT_EQ(get("/many.css", {{"accept-encoding", "gzip"}})["content-encoding"], "gzip");
  EXPECT_EQ(get("/many.css", {{"accept-encoding", "zstd"}})["content-encoding"], "zstd");
  EXPECT_EQ(get("/many.css", {{"accept-encoding", "br"}})["last-modified"], "Tue, 14 Nov 2023 22:13:22 GMT");
  // Of several lines all count.
  EXPECT_EQ(get("/many.css", {{"accept-encoding", "identity;q=0.1"}, {"accept-encoding", "gzip"}}).text, "by gzip");
}

TEST_F(service_site, forms_have_tags_of_their_own_and_are_files_too) {
  const std::string plain = tag("/many.css");
  const answer zipped = get("/many.css", {{"accept-encoding", "gzip"}});
  EXPECT_NE(plain, zipped["etag"]);
  const answer by_name = get("/many.css.gz", {{"accept-encoding", "gzip"}});
  EXPECT_EQ(by_name.text, "by gzip");
  EXPECT_EQ(by_name["content-encoding"], "");
  EXPECT_EQ(by_name["content-type"], "application/octet-stream");
  EXPECT_EQ(by_name["etag"], zipped["etag"]);
}

TEST_F(service_site, who_likes_no_form_gets_none) {
  const answer a = get("/many.css", {{"accept-encoding", "identity;q=0, deflate"}});
  EXPECT_EQ(a.status, 406);
  EXPECT_EQ(a["vary"], "accept-encoding");
  EXPECT_EQ(get("/app.js", {{"accept-encoding", "gzip, identity;q=0"}}).status, 406);
  EXPECT_EQ(handler->count().not_acceptable.get(), 2u);
}

TEST_F(service_site, what_the_reader_has_already_is_not_sent_again) {
  const std::string mine = tag("/many.css");
  const fields same[] = {{{"if-none-match", mine}},
                         {{"if-none-match", "*"}},
                         {{"if-none-match", "\"x\""}, {"if-none-match", mine}},
                         {{"if-modified-since", modified}},
                         {{"if-modified-since", "Wed, 15 Nov 2023 00:00:00 GMT"}}};
  for (const fields& f : same) {
    const answer a = get("/many.css", f);
    EXPECT_EQ(a.status, 304) << f.front().name << ": " << f.front().value;
    EXPECT_EQ(a["etag"], mine);
    EXPECT_EQ(a["vary"], "accept-encoding");
    EXPECT_EQ(a["content-type"], "");
    EXPECT_EQ(a.text, "");
  }
  EXPECT_EQ(get("/many.css", {{"if-none-match", mine}}, "HEAD").status, 304);
  // The tag of one form is not that of another.
  EXPECT_EQ(get("/many.css", {{"if-none-match", mine}, {"accept-encoding", "gzip"}}).status, 200);
  EXPECT_EQ(get("/many.css", {{"if-none-match", "\"other\""}}).status, 200);
  EXPECT_EQ(get("/many.css", {{"if-modified-since", earlier}}).status, 200);
  // RFC 9110 13.1.3: the date does not count beside a tag.
  EXPECT_EQ(get("/many.css", {{"if-none-match", "\"other\""}, {"if-modified-since", modified}}).status, 200);
  EXPECT_EQ(handler->count().not_modified.get(), 6u);
}

TEST_F(service_site, a_weak_tag_of_the_same_bytes_is_not_sent_again_either) {
  const std::string weak = "W/" + tag("/app.js");
  EXPECT_EQ(get("/app.js", {{"if-none-match", weak}}).status, 304);
}

TEST_F(service_site, what_is_not_as_the_client_wants_it_is_not_sent) {
  const std::string mine = tag("/digits.txt");
  const std::string weak = "W/" + mine;
  EXPECT_EQ(get("/digits.txt", {{"if-match", mine}}).status, 200);
  EXPECT_EQ(get("/digits.txt", {{"if-match", "*"}}).status, 200);
  EXPECT_EQ(get("/digits.txt", {{"if-match", "\"a\""}, {"if-match", mine}}).status, 200);
  EXPECT_EQ(get("/digits.txt", {{"if-unmodified-since", modified}}).status, 200);
  for (const http::field& f :
       fields{{"if-match", "\"a\", \"b\""}, {"if-match", weak}, {"if-unmodified-since", earlier}}) {
    const answer a = get("/digits.txt", {f});
    EXPECT_EQ(a.status, 412) << f.name << ": " << f.value;
    EXPECT_EQ(a.text, "");
  }
  // RFC 9110 13.2.2: first what guards, then what spares.
  EXPECT_EQ(get("/digits.txt", {{"if-match", "\"a\""}, {"if-none-match", mine}}).status, 412);
  // 13.2.1: where there is nothing, there is nothing to judge.
  EXPECT_EQ(get("/nothing", {{"if-match", "*"}}).status, 404);
  EXPECT_EQ(handler->count().precondition_failed.get(), 4u);
}

TEST_F(service_site, lists_of_tags_beyond_the_room_match_less_and_never_more) {
  const std::string mine = tag("/digits.txt");
  const std::string many(1020, 'x');
  EXPECT_EQ(get("/digits.txt", {{"if-none-match", "\"" + many + "\""}, {"if-none-match", mine}}).status, 200);
  EXPECT_EQ(get("/digits.txt", {{"if-match", "\"" + many + "\""}, {"if-match", mine}}).status, 412);
}

TEST_F(service_site, a_part_is_sent_where_one_is_asked_for) {
  const std::tuple<const char*, const char*, const char*> parts[] = {
      {"bytes=0-0", "0", "bytes 0-0/10"},         {"bytes=2-4", "234", "bytes 2-4/10"},
      {"bytes=7-", "789", "bytes 7-9/10"},        {"bytes=-3", "789", "bytes 7-9/10"},
      {"bytes=8-100", "89", "bytes 8-9/10"},      {"bytes=-100", "0123456789", "bytes 0-9/10"},
      {"bytes=0-9", "0123456789", "bytes 0-9/10"}};
  for (const auto& [wanted, text, where] : parts) {
    const answer a = get("/digits.txt", {{"range", wanted}});
    EXPECT_EQ(a.status, 206) << wanted;
    EXPECT_EQ(a.text, text);
    EXPECT_EQ(a["content-range"], where);
    EXPECT_EQ(a["etag"], tag("/digits.txt"));
    EXPECT_EQ(a["content-type"], "text/plain; charset=utf-8");
  }
  EXPECT_EQ(handler->count().ranges.get(), 7u);
}

TEST_F(service_site, the_whole_is_sent_for_ranges_that_are_several_or_none) {
  for (const char* wanted : {"bytes=0-0,2-2", "bytes=4-2", "lines=0-0", "bytes=x", "bytes="}) {
    const answer a = get("/digits.txt", {{"range", wanted}});
    EXPECT_EQ(a.status, 200) << wanted;
    EXPECT_EQ(a.text, "0123456789");
    EXPECT_EQ(a["content-range"], "");
  }
  EXPECT_EQ(get("/digits.txt", {{"range", "bytes=0-0"}, {"range", "bytes=1-1"}}).status, 200);
}

TEST_F(service_site, where_nothing_lies_it_says_how_long_the_file_is) {
  for (const char* wanted : {"bytes=10-", "bytes=100-200", "bytes=-0"}) {
    const answer a = get("/digits.txt", {{"range", wanted}});
    EXPECT_EQ(a.status, 416) << wanted;
    EXPECT_EQ(a["content-range"], "bytes */10");
    EXPECT_EQ(a["accept-ranges"], "bytes");
    EXPECT_EQ(a.text, "");
  }
  EXPECT_EQ(handler->count().not_satisfiable.get(), 3u);
}

TEST_F(service_site, a_part_of_something_else_is_not_sent) {
  const std::string mine = tag("/digits.txt");
  const std::string weak = "W/" + mine;
  const auto status = [&](std::string_view if_range) {
    return get("/digits.txt", {{"range", "bytes=1-1"}, {"if-range", if_range}}).status;
  };
  EXPECT_EQ(status(mine), 206);
  EXPECT_EQ(status(modified), 206);
  EXPECT_EQ(status("\"other\""), 200);
  EXPECT_EQ(status(weak), 200);
  EXPECT_EQ(status(earlier), 200);
  // 304 goes before 206.
  EXPECT_EQ(get("/digits.txt", {{"range", "bytes=1-1"}, {"if-none-match", mine}}).status, 304);
}

TEST_F(service_site, a_part_is_of_the_form_that_is_sent) {
  const answer a = get("/many.css", {{"range", "bytes=3-"}, {"accept-encoding", "gzip"}});
  EXPECT_EQ(a.status, 206);
  EXPECT_EQ(a.text, "gzip");
  EXPECT_EQ(a["content-range"], "bytes 3-6/7");
  EXPECT_EQ(a["content-encoding"], "gzip");
}

TEST_F(service_site, nobody_leaves_the_directory) {
  test::folder secret;
  secret.write("secret", "secret");
  disk.write(".env", "secret");
  disk.write("docs/.htaccess", "secret");
  disk.link("out", secret.path("secret"));
  disk.link("up", "..");
  const std::string neighbour = "/../" + secret.path().substr(secret.path().rfind('/') + 1) + "/secret";
  for (const std::string& path :
       {neighbour, std::string("/%2e%2e") + neighbour, std::string("/docs/..%2f..%2fetc/passwd"),
        std::string("/..%5c..%5cetc/passwd"), std::string("/docs/%2e%2e/%2e%2e/etc/passwd"),
        std::string("/..;/etc/passwd"), std::string("//etc/passwd"), std::string("/%2fetc/passwd"),
        std::string("/.env"), std::string("/docs/.htaccess"), std::string("/docs/%2ehtaccess"), std::string("/out"),
        std::string("/up/") + disk.path().substr(disk.path().rfind('/') + 1) + "/app.js", std::string("/app.js%00"),
        std::string("/app.js/"), std::string("/./.env"), std::string("/docs/a%5cb")}) {
    const answer a = get(path);
    EXPECT_TRUE(a.status == 0 || a.status == 404) << path << ": " << a.status << " " << a.text;
  }
  // An escaped slash is a slash, and what does not leave is there.
  EXPECT_EQ(get("/docs%2Findex.html").status, 200);
  EXPECT_EQ(get("/docs/..%2fapp.js").text, script);
}

TEST_F(service_site, large_files_come_whole_from_several_blocks) {
  std::string large(300'000, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 31 >> 3);
  disk.write("a", "x");  // so that the next begins inside a block
  disk.write("large.bin", large);
  EXPECT_EQ(get("/large.bin").text, large);
  EXPECT_EQ(get("/large.bin", {{"range", "bytes=65000-200000"}}).text, large.substr(65000, 135001));
  EXPECT_EQ(get("/app.js").text, script);
  EXPECT_EQ(of->facts().blocks, 5u);
}

// What the scripted carrier writes down is on the heap: it is told nothing here.
class deaf_carrier final : public http::exchange {
  buf::mbuf_source blocks_;
  std::string path_;
  fields fields_;

 public:
  std::uint16_t status = 0;
  deaf_carrier(mem::packet_pool& pool, std::string path, fields with)
      : blocks_(pool), path_(std::move(path)), fields_(std::move(with)) {
    request_.method = http::wire::method::get;
    request_.path = path_;
    request_.fields = fields_;
  }
  std::uint64_t now_ns() const noexcept override { return 0; }
  base::byte_view front() const noexcept override { return {}; }
  void consume(std::size_t) noexcept override {}
  buf::slice take() noexcept override { return {}; }
  bool is_body_over() const noexcept override { return true; }
  void refuse_body() noexcept override {}
  const buf::mbuf_source& blocks() const noexcept override { return blocks_; }
  void inform(const http::response_head&) noexcept override {}
  buf::flow write(buf::chain&&) noexcept override { return buf::flow::closed; }
  void finish(std::span<const http::field>) noexcept override {}
  void wake() noexcept override {}
  void abort() noexcept override {}

 private:
  bool send(const http::response_head& head, http::body&&, bool) noexcept override {
    status = static_cast<std::uint16_t>(head.status);
    return true;
  }
};

TEST_F(service_site, an_answer_takes_no_memory) {
  const std::string mine = tag("/digits.txt");
  deaf_carrier all[] = {
      {*pool, "/digits.txt", {{"accept-encoding", "gzip, br"}, {"if-match", "\"x\""}, {"if-match", mine}}},
      {*pool, "/digits.txt", {{"range", "bytes=1-2"}}},
      {*pool, "/digits.txt", {{"range", "bytes=10-"}}},
      {*pool, "/digits.txt", {{"if-none-match", mine}}},
      {*pool, "/many.css", {{"accept-encoding", "zstd"}}},
      {*pool, "/docs", {}},
      {*pool, "/nothing", {}}};
  mem::heap_tally heap;
  for (deaf_carrier& x : all) {
    const mem::heap_watch watch(heap);
    handlers[0]->on_request(x);
    handlers[0]->on_end(x, http::exchange_end::complete);
  }
  const std::uint16_t wanted[] = {200, 206, 416, 304, 200, 301, 404};
  for (std::size_t i = 0; i < std::size(all); ++i) EXPECT_EQ(all[i].status, wanted[i]) << i;
  if (mem::heap_counter_present()) {
    EXPECT_EQ(heap.calls.get(), 0u);
  }
}

// --- reload ---

TEST_F(service_site, a_reload_changes_what_is_served) {
  const std::string old = tag("/digits.txt");
  disk.write("digits.txt", "abc", modified_s + 60);
  disk.write("new.txt", "new");
  std::filesystem::remove(disk.path("app.js"));
  EXPECT_EQ(get("/digits.txt").text, "0123456789") << "before a reload all is as it was";
  ASSERT_TRUE(of->reload());
  EXPECT_TRUE(of->reap());
  EXPECT_EQ(get("/digits.txt", {{"if-none-match", old}}).text, "abc");
  EXPECT_EQ(get("/new.txt").text, "new");
  EXPECT_EQ(get("/app.js").status, 404);
  EXPECT_EQ(of->reloads(), 1u);
  EXPECT_EQ(of->trees(), 1u);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(of->reload());
  EXPECT_EQ(of->trees(), 2u);  // what reap() frees next
}

TEST_F(service_site, an_answer_under_way_keeps_its_bytes) {
  const std::string before(200'000, 'a'), after(200'000, 'b');
  disk.write("large", before);
  scripted_carrier x(*pool);
  ASSERT_TRUE(ask(x, "GET", "/large"));
  x.pull(70'000);
  disk.write("large", after);
  ASSERT_TRUE(of->reload());
  EXPECT_FALSE(of->reap());
  EXPECT_EQ(of->trees(), 2u);
  EXPECT_EQ(get("/large").text, after);
  EXPECT_EQ(x.text(), before);
  EXPECT_FALSE(of->reap()) << "sent, but not acknowledged";
  x.end();
  EXPECT_TRUE(of->reap());
  EXPECT_EQ(of->trees(), 1u);
}

TEST_F(service_site, an_answer_that_breaks_off_lets_go_too) {
  scripted_carrier x(*pool);
  ASSERT_TRUE(ask(x, "GET", "/digits.txt"));
  ASSERT_TRUE(of->reload());
  EXPECT_FALSE(of->reap());
  x.end(http::exchange_end::connection_lost);
  EXPECT_TRUE(of->reap());
}

TEST_F(service_site, packets_that_name_the_bytes_keep_them) {
  if (!of) serve();
  buf::chain held;
  {
    const service::site::use used = of->take(0);
    const service::site_entry* const e = used.tree->find(0, "/digits.txt");
    ASSERT_NE(e, nullptr);
    held = buf::chain(used.tree->bytes().share(e->forms[0]->offset, 10));
    service::site::give(used.count);
  }
  ASSERT_EQ(held.size(), 10u);
  ASSERT_TRUE(of->reload());
  EXPECT_FALSE(of->reap());
  EXPECT_EQ(std::memcmp(held.front().data(), "0123456789", 10), 0);
  held.clear();
  EXPECT_TRUE(of->reap());
}

TEST_F(service_site, a_reload_that_fails_changes_nothing) {
  serve();
  const auto fails = [&](std::string_view why) {
    const auto done = of->reload();
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().what.find(why), std::string::npos) << done.error().what;
    EXPECT_EQ(get("/digits.txt").text, "0123456789");
    EXPECT_EQ(of->trees(), 1u);
  };
  std::filesystem::rename(disk.path(), disk.path() + ".away");
  fails("'" + disk.path() + "' cannot be served: ");
  std::filesystem::rename(disk.path() + ".away", disk.path());
  EXPECT_EQ(of->reload_failures(), 1u);
  EXPECT_EQ(of->reloads(), 0u);
  ASSERT_TRUE(of->reload());
}

TEST_F(service_site, more_former_trees_than_may_be_are_refused) {
  serve();
  std::deque<scripted_carrier> open;
  for (std::size_t i = 1; i < service::site::most_trees; ++i) {
    ASSERT_TRUE(ask(open.emplace_back(*pool), "GET", "/digits.txt"));
    ASSERT_TRUE(of->reload());
  }
  const auto late = of->reload();
  ASSERT_FALSE(late);
  EXPECT_NE(late.error().what.find("3 former states"), std::string::npos) << late.error().what;
  EXPECT_EQ(of->trees(), 4u);
  open.pop_front();
  EXPECT_TRUE(of->reload());
  open.clear();
}

TEST_F(service_site, limits_hold_at_a_reload_as_at_the_start) {
  limits.most_bytes = 64 << 10;
  serve();
  disk.write("large", std::string(70'000, 'x'));
  const auto done = of->reload();
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().what.find("'" + disk.path("large") + "' does not fit"), std::string::npos);
  EXPECT_EQ(get("/large").status, 404);
  limits.most_files = 3;
  EXPECT_FALSE(service::site::make(directories, limits, 1));
}

TEST_F(service_site, says_what_it_serves_and_what_not) {
  disk.write(".hidden", "");
  disk.link("out", "/etc/passwd");
  serve();
  const std::string text = of->describe();
  EXPECT_NE(text.find("/ from '" + disk.path() + "'; 9 files of 60 bytes in 1 block of 64 KiB\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("not served: hidden: 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("not served: symbolic links that lead out, to a directory or nowhere: 1, the first is '" +
                      disk.path("out") + "'"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("'" + disk.path("docs/a\\b") + "'"), std::string::npos) << text;
  EXPECT_EQ(of->files(), of->facts().files);
}

// Two lcores take and give as fast as they can while the control thread replaces what they take.
TEST_F(service_site, a_tree_is_never_freed_under_a_reader) {
  directories[0].root = disk.path("docs");
  serve();
  std::atomic<bool> stop{false};
  std::array<std::atomic<std::uint64_t>, 2> seen{};
  std::array<std::atomic<bool>, 2> wrong{};
  std::vector<std::thread> readers;
  for (std::size_t i = 0; i < 2; ++i)
    readers.emplace_back([&, i] {
      while (!stop.load(std::memory_order_relaxed)) {
        const service::site::use used = of->take(i);
        const service::site_entry* const e = used.tree->find(0, "/index.html");
        const base::byte_view at = e == nullptr ? base::byte_view{} : used.tree->bytes().view(e->forms[0]->offset, 7);
        if (at.size() != 7 || std::memcmp(at.data(), "<p>docs", 7) != 0) wrong[i] = true;
        service::site::give(used.count);
        seen[i].fetch_add(1);
      }
    });
  unsigned done = 0;
  for (unsigned i = 0; i < 300; ++i) {
    done += of->reload() ? 1 : 0;
    static_cast<void>(of->reap());
  }
  while (seen[0] < 1000 || seen[1] < 1000) std::this_thread::yield();
  stop = true;
  for (std::thread& t : readers) t.join();
  EXPECT_FALSE(wrong[0] || wrong[1]);
  EXPECT_GT(done, 0u);
  EXPECT_TRUE(of->reap());
}

}  // namespace
