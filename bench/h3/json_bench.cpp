// A JSON API: GET /json and POST /json by the built-in endpoints, whose documents are read where they lie and written
// into the blocks that are sent, beside the same answers made as one makes them first: the body gathered into a
// std::string, a document of objects on the heap, its text made in a buffer and copied, a context newed a request.
// Handlers alone, and in whole HTTP/3 exchanges. Both take turns, and both must answer with the same text.
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "h3/h3_ends.hpp"
#include "http/dispatcher.hpp"
#include "mem/heap_counter.hpp"
#include "service/builtin.hpp"
#include "support/eal_bench.hpp"

namespace {

using namespace millrace;

// --- the naive handler ---

class naive_handler final : public http::exchange_handler {
  struct context {
    std::string body;
  };
  std::uint64_t answers_ = 0;

  static void answer(http::exchange& x, const rapidjson::Document& d) {
    rapidjson::StringBuffer text;
    rapidjson::Writer<rapidjson::StringBuffer> writer(text);
    d.Accept(writer);
    buf::chain out;
    static_cast<void>(
        out.append_copy({reinterpret_cast<const std::uint8_t*>(text.GetString()), text.GetSize()}, x.blocks()));
    const http::field type[] = {{"content-type", "application/json"}};
    static_cast<void>(x.respond({http::wire::status_code::ok, type}, std::move(out)));
  }
  struct census {
    std::uint64_t objects = 0, arrays = 0, members = 0, strings = 0, numbers = 0, literals = 0;
    void count(const rapidjson::Value& v) {
      if (v.IsObject()) {
        ++objects;
        for (const auto& m : v.GetObject()) {
          ++members;
          count(m.value);
        }
      } else if (v.IsArray()) {
        ++arrays;
        for (const auto& e : v.GetArray()) count(e);
      } else {
        ++(v.IsString() ? strings : v.IsNumber() ? numbers : literals);
      }
    }
  };

 public:
  void on_request(http::exchange& x) noexcept override {
    if (x.request().method == http::wire::method::post) {
      x.user = new context;
      return;
    }
    rapidjson::Document d(rapidjson::kObjectType);
    auto& a = d.GetAllocator();
    d.AddMember("message", "Hello, World!", a);
    d.AddMember("id", ++answers_, a);
    d.AddMember("ok", true, a);
    rapidjson::Value tags(rapidjson::kArrayType);
    tags.PushBack("quic", a).PushBack("http/3", a);
    d.AddMember("tags", tags, a);
    answer(x, d);
  }
  void on_body(http::exchange& x) noexcept override {
    for (base::byte_view v = x.front(); !v.empty(); v = x.front()) {
      static_cast<context*>(x.user)->body.append(reinterpret_cast<const char*>(v.data()), v.size());
      x.consume(v.size());
    }
  }
  void on_body_end(http::exchange& x, std::span<const http::field>) noexcept override {
    if (x.user == nullptr) return;
    const std::string& body = static_cast<context*>(x.user)->body;
    rapidjson::Document in;
    in.Parse(body.data(), body.size());
    if (in.HasParseError()) return x.abort();
    census seen;
    seen.count(in);
    rapidjson::Document d(rapidjson::kObjectType);
    auto& a = d.GetAllocator();
    d.AddMember("bytes", std::uint64_t{body.size()}, a);
    d.AddMember("objects", seen.objects, a);
    d.AddMember("arrays", seen.arrays, a);
    d.AddMember("members", seen.members, a);
    d.AddMember("strings", seen.strings, a);
    d.AddMember("numbers", seen.numbers, a);
    d.AddMember("literals", seen.literals, a);
    answer(x, d);
  }
  void on_end(http::exchange& x, http::exchange_end) noexcept override {
    delete static_cast<context*>(std::exchange(x.user, nullptr));
  }
};

// --- documents ---

// Orders of a shop, up to so many bytes: names, numbers, nested members, some escapes.
std::string document_of(std::size_t size) {
  std::string text =
      R"({"version":"0.1.0","customer":{"name":"J\u00fcrgen \"J\" M.","vip":true,"since":null},"orders":[)";
  for (unsigned i = 0; text.size() + 120 < size; ++i)
    text += (i == 0 ? "" : ",") +
            (R"({"id":)" + std::to_string(1'000'000 + i * 7919) + R"(,"item":"a thing of no great use","price":)" +
             std::to_string(i % 97) + R"(.25,"tags":["new","red"]})");
  return text + "]}";
}

// --- a carrier that does nothing but hand over ---

class bare_exchange final : public http::exchange {
  buf::mbuf_source blocks_{bench::h3_pool(true)};
  buf::chain in_;

 public:
  std::string* keeps = nullptr;
  std::uint64_t answered_bytes = 0;

  bare_exchange(http::exchange_handler& root, std::string_view method, base::byte_view content) {
    handler = &root;
    request_.method = http::wire::parse_method(method);
    request_.method_name = method;
    request_.target = request_.path = "/json";
    request_.has_body = !content.empty();
    // As packets bring it.
    for (; !content.empty(); content = content.subspan(std::min<std::size_t>(content.size(), 1'400))) {
      buf::packet p = buf::packet::alloc(bench::h3_pool(false));
      static_cast<void>(p.append_copy(content.first(std::min<std::size_t>(content.size(), 1'400))));
      static_cast<void>(in_.append(std::move(p)));
    }
  }
  void run() noexcept {
    handler->on_request(*this);
    while (!in_.empty()) handler->on_body(*this);
    handler->on_body_end(*this, {});
    handler->on_end(*this, http::exchange_end::complete);
  }
  std::uint64_t now_ns() const noexcept override { return 0; }
  base::byte_view front() const noexcept override { return in_.front(); }
  void consume(std::size_t bytes) noexcept override { in_.consume(bytes); }
  buf::slice take() noexcept override {
    const std::size_t n = front().size();
    buf::slice out = in_.share_slice(0, n);
    in_.consume(n);
    return out;
  }
  bool is_body_over() const noexcept override { return in_.empty(); }
  void refuse_body() noexcept override { in_.clear(); }
  const buf::mbuf_source& blocks() const noexcept override { return blocks_; }
  void inform(const http::response_head&) noexcept override {}
  buf::flow write(buf::chain&&) noexcept override { return buf::flow::open; }
  void finish(std::span<const http::field>) noexcept override {}
  void wake() noexcept override {}
  void abort() noexcept override {}

 private:
  bool send(const http::response_head&, http::body&& what, bool) noexcept override {
    if (const auto* const chain = std::get_if<buf::chain>(&what)) {
      answered_bytes += chain->size();
      if (keeps != nullptr) {
        keeps->resize(chain->size());
        static_cast<void>(chain->copy_out(0, {reinterpret_cast<std::uint8_t*>(keeps->data()), keeps->size()}));
      }
    }
    return true;
  }
};

// --- the two sides ---

const buf::content& pattern() {
  static auto blocks = buf::large_block_pool::make({.name = "bench_json", .blocks_per_mempool = 7});
  static auto made = service::make_pattern(blocks.value());
  return made.value();
}

struct served {
  std::unique_ptr<service::builtin> builtin;
  naive_handler naive;
  http::router routes;
  std::vector<http::exchange_handler*> handlers;
  std::unique_ptr<http::dispatcher> root;

  explicit served(bool is_naive) : builtin(std::move(service::builtin::make({}, pattern(), nullptr).value())) {
    http::router_builder b;
    for (const service::route& r : builtin->routes()) {
      static_cast<void>(b.add(r.method, r.pattern, static_cast<std::uint32_t>(handlers.size())));
      handlers.push_back(is_naive && r.pattern == "/json" ? &naive : r.handler);
    }
    routes = std::move(b.build().value());
    root = std::make_unique<http::dispatcher>(http::dispatcher::parts{.routes = &routes, .handlers = handlers});
  }
};

struct side {
  served of;
  stats::latency_histogram ns;
  mem::heap_tally heap;
  double seconds = 0;
  std::uint64_t requests = 0;

  explicit side(bool is_naive) : of(is_naive) {}
};

void tell(benchmark::State& state, const side& ours, const side& naive, std::uint64_t ours_heap,
          std::uint64_t naive_heap) {
  const auto n = static_cast<double>(ours.requests), m = static_cast<double>(naive.requests);
  state.SetItemsProcessed(static_cast<std::int64_t>(ours.requests));
  state.counters["ours_per_s"] = n / ours.seconds;
  state.counters["naive_per_s"] = m / naive.seconds;
  state.counters["times"] = (n / ours.seconds) / (m / naive.seconds);
  state.counters["ours_p50"] = static_cast<double>(ours.ns.percentile(50));
  state.counters["ours_p99"] = static_cast<double>(ours.ns.percentile(99));
  state.counters["naive_p50"] = static_cast<double>(naive.ns.percentile(50));
  state.counters["naive_p99"] = static_cast<double>(naive.ns.percentile(99));
  if (!mem::heap_counter_present()) return;
  state.counters["ours_heap"] = static_cast<double>(ours_heap) / n;
  state.counters["naive_heap"] = static_cast<double>(naive_heap) / m;
}

// An iteration is 64 requests. Range: bytes of the document that is posted; 0: a GET. *_heap: heap calls a request, a
// release is one too.
void http_json_handler(benchmark::State& state) {
  const std::string text = state.range(0) == 0 ? "" : document_of(static_cast<std::size_t>(state.range(0)));
  const std::string_view method = text.empty() ? "GET" : "POST";
  side ours(false), naive(true);
  std::string ours_text, naive_text;
  for (auto [s, kept] : {std::pair{&ours, &ours_text}, {&naive, &naive_text}}) {
    bare_exchange x(*s->of.root, method, base::as_bytes(std::string_view(text)));
    x.keeps = kept;
    x.run();
  }
  if (ours_text != naive_text || ours_text.size() < 20) return state.SkipWithError("the two answer differently");
  const auto turn = [&](side& s) {
    const double before = s.seconds;
    for (int i = 0; i < 64; ++i) {
      bare_exchange x(*s.of.root, method, base::as_bytes(std::string_view(text)));
      const mem::heap_watch watch(s.heap);
      const std::uint64_t began = rte_rdtsc();
      x.run();
      const std::uint64_t ns = bench::tsc_to_ns(rte_rdtsc() - began);
      s.ns.record(ns);
      s.seconds += static_cast<double>(ns) * 1e-9;
    }
    s.requests += 64;
    return s.seconds - before;
  };
  for (auto _ : state) {
    state.SetIterationTime(turn(ours));
    turn(naive);
  }
  tell(state, ours, naive, ours.heap.calls.get(), naive.heap.calls.get());
}
BENCHMARK(http_json_handler)->ArgName("post")->Arg(0)->Arg(1'000)->Arg(10'000)->UseManualTime();

// The same, 256 an iteration, in HTTP/3 between two endpoints, 32 requests at a time on one connection: both ends and
// their cryptography.
void h3_json(benchmark::State& state) {
  const std::string text = state.range(0) == 0 ? "" : document_of(static_cast<std::size_t>(state.range(0)));
  side ours(false), naive(true);
  bench::h3_ends of_ours({.handler = ours.of.root.get(), .path = "/json"});
  bench::h3_ends of_naive({.handler = naive.of.root.get(), .path = "/json"});
  for (auto [s, e] : {std::pair{&ours, &of_ours}, {&naive, &of_naive}}) {
    e->asker.method = text.empty() ? "GET" : "POST";
    e->asker.content = text;
    e->asker.keeps = true;
    e->connect(40'000);
    e->step_until(5'000);
    e->asker.keeps = false;
  }
  const auto is_same = [&] {
    return text.empty() ? of_ours.asker.text.starts_with(R"({"message":"Hello, World!","id":)") &&
                              of_naive.asker.text.starts_with(R"({"message":"Hello, World!","id":)")
                        : of_ours.asker.text == of_naive.asker.text && of_ours.asker.text.size() > 20;
  };
  if (!is_same()) return state.SkipWithError("the two answer differently");
  const auto turn = [&](side& s, bench::h3_ends& e) {
    e.asker.whole_ns = &s.ns;
    const mem::heap_watch watch(s.heap);
    const std::uint64_t before = e.asker.done;
    const double began = bench::cpu_seconds();
    e.step_until(before + 256);
    const double took = bench::cpu_seconds() - began;
    s.seconds += took;
    s.requests += e.asker.done - before;
    return took;
  };
  for (auto _ : state) {
    // The first of the requests were asked before the other side's turn: they are made up for, and not timed.
    of_ours.step_until(of_ours.asker.done + 64);
    state.SetIterationTime(turn(ours, of_ours));
    of_ours.asker.whole_ns = nullptr;
    of_naive.step_until(of_naive.asker.done + 64);
    turn(naive, of_naive);
    of_naive.asker.whole_ns = nullptr;
  }
  if (of_ours.asker.failed + of_naive.asker.failed != 0) state.SkipWithError("a request failed");
  tell(state, ours, naive, ours.heap.calls.get(), naive.heap.calls.get());
}
BENCHMARK(h3_json)->ArgName("post")->Arg(0)->Arg(1'000)->Arg(10'000)->UseManualTime();

}  // namespace

MILLRACE_EAL_BENCH_MAIN("-m", "1024")
