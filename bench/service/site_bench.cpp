// What a static file costs before its bytes are sent: finding it among a thousand, and answering from it whole, in
// part, and not at all. Beside each the least that any server could do for the same request: a hash map's look-up, and
// for answers also the comparison of the tag and the fields laid out.
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unordered_map>

#include "service/site_handler.hpp"
#include "support/eal_bench.hpp"

namespace {

using namespace millrace;

class folder {
  std::string path_ = (std::filesystem::temp_directory_path() / "millrace-bench-XXXXXX").string();

 public:
  std::vector<std::string> names;  // as requests have them

  folder() {
    if (::mkdtemp(path_.data()) == nullptr) std::abort();
    for (int i = 0; i < 1000; ++i) {
      names.push_back("/static/part" + std::to_string(i % 10) + "/module-" + std::to_string(i) + ".js");
      const std::filesystem::path at = path_ + names.back();
      std::filesystem::create_directories(at.parent_path());
      std::ofstream(at) << std::string(1000, static_cast<char>('a' + i % 26));
    }
  }
  ~folder() {
    std::error_code none;
    std::filesystem::remove_all(path_, none);
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
};

struct ground {
  folder disk;
  std::unique_ptr<service::site> site;
  std::unique_ptr<service::site_handler> handler;
  http::exchange_handler* answers = nullptr;
  std::unordered_map<std::string_view, const service::site_entry*> map;

  ground() {
    auto made = service::site::make({{"/", disk.path()}}, {}, 1);
    if (!made) std::abort();
    site = std::move(made.value());
    handler = std::make_unique<service::site_handler>(*site, 0, 1'800'000'000ll * 1'000'000'000);
    answers = handler->routes().front().handler;
    const service::site::use used = site->take(0);
    for (const std::string& name : disk.names) map.emplace(name, used.tree->find(0, name));
    service::site::give(used.count);
  }
};
ground& made() {
  static ground one;
  return one;
}

// Takes heads and bodies, and does nothing with them.
class null_carrier final : public http::exchange {
 public:
  std::array<http::field, 3> fields;
  std::size_t size = 0;

  explicit null_carrier(std::string_view path) {
    request_.method = http::wire::method::get;
    request_.path = path;
  }
  void add(std::string_view name, std::string_view value) {
    fields[size++] = {name, value};
    request_.fields = {fields.data(), size};
  }
  std::uint64_t now_ns() const noexcept override { return 0; }
  base::byte_view front() const noexcept override { return {}; }
  void consume(std::size_t) noexcept override {}
  buf::slice take() noexcept override { return {}; }
  bool is_body_over() const noexcept override { return true; }
  void refuse_body() noexcept override {}
  const buf::mbuf_source& blocks() const noexcept override { std::abort(); }
  void inform(const http::response_head&) noexcept override {}
  buf::flow write(buf::chain&&) noexcept override { return buf::flow::closed; }
  void finish(std::span<const http::field>) noexcept override {}
  void wake() noexcept override {}
  void abort() noexcept override {}

 private:
  bool send(const http::response_head& head, http::body&& what, bool) noexcept override {
    benchmark::DoNotOptimize(head.fields.data());
    benchmark::DoNotOptimize(what);
    return true;
  }
};

void site_find(benchmark::State& state) {
  ground& g = made();
  const service::site::use used = g.site->take(0);
  std::size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(used.tree->find(0, g.disk.names[i]));
    i = i + 1 == g.disk.names.size() ? 0 : i + 1;
  }
  service::site::give(used.count);
}
BENCHMARK(site_find);

void site_find__limit_hash_map(benchmark::State& state) {
  ground& g = made();
  std::size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(g.map.find(g.disk.names[i]));
    i = i + 1 == g.disk.names.size() ? 0 : i + 1;
  }
}
BENCHMARK(site_find__limit_hash_map);

void site_take_and_give(benchmark::State& state) {
  ground& g = made();
  for (auto _ : state) {
    const service::site::use used = g.site->take(0);
    benchmark::DoNotOptimize(used.tree);
    service::site::give(used.count);
  }
}
BENCHMARK(site_take_and_give);

enum class kind { whole, part, same };

void answer(benchmark::State& state, kind wanted) {
  ground& g = made();
  std::size_t i = 0;
  for (auto _ : state) {
    const std::string& name = g.disk.names[i];
    null_carrier x(name);
    x.add("accept-encoding", "gzip, deflate, br, zstd");
    if (wanted == kind::part) x.add("range", "bytes=100-199");
    if (wanted == kind::same) x.add("if-none-match", g.map.find(name)->second->forms[0]->tag_text());
    g.answers->on_request(x);
    g.answers->on_end(x, http::exchange_end::complete);
    i = i + 1 == g.disk.names.size() ? 0 : i + 1;
  }
}
BENCHMARK_CAPTURE(answer, whole, kind::whole)->Name("site_answer/200");
BENCHMARK_CAPTURE(answer, part, kind::part)->Name("site_answer/206");
BENCHMARK_CAPTURE(answer, same, kind::same)->Name("site_answer/304");

// The same request, of which only the path and the one tag are looked at.
void site_answer__limit_map_and_compare(benchmark::State& state) {
  ground& g = made();
  std::size_t i = 0;
  for (auto _ : state) {
    const std::string& name = g.disk.names[i];
    null_carrier x(name);
    x.add("accept-encoding", "gzip, deflate, br, zstd");
    const service::site_form& form = *g.map.find(name)->second->forms[0];
    x.add("if-none-match", form.tag_text());
    const service::site_form& found = *g.map.find(x.request().path)->second->forms[0];
    const bool same = find(x.request().fields, "if-none-match") == found.tag_text();
    const http::field fields[] = {{"etag", found.tag_text()}, {"last-modified", found.modified_text()}};
    benchmark::DoNotOptimize(same);
    static_cast<void>(x.respond({http::wire::status_code::ok, fields}, {}));
    i = i + 1 == g.disk.names.size() ? 0 : i + 1;
  }
}
BENCHMARK(site_answer__limit_map_and_compare)->Name("site_answer__limit_map_and_compare/304");

// Reading, hashing and publishing a thousand files of a kilobyte: what a reload costs the control thread.
void site_reload(benchmark::State& state) {
  // Not the one whose entries the other cases remember.
  service::site_settings apart;
  apart.name = "again";
  auto own = service::site::make({{"/", made().disk.path()}}, apart, 1);
  if (!own) return state.SkipWithError("no memory");
  for (auto _ : state) {
    if (!own.value()->reload()) std::abort();
    static_cast<void>(own.value()->reap());
  }
}
BENCHMARK(site_reload)->Unit(benchmark::kMillisecond);

}  // namespace

MILLRACE_EAL_BENCH_MAIN("-m", "256")
