// What a message costs a server, from the bytes of its datagram to the bytes of the reply: parse, dispatch, build.
//
// Args     messages in one datagram; time is per message (an iteration). 32 datagrams of one caller make a burst, whose
//          replies share datagrams.
// Rows     srmp_echo: 28-byte payloads. rpc_echo: Echo of {"id":7,"text":"hello"}. rpc_json: a method that reads
//          such an object and writes one. rpc_unknown: 404.
// Limit    __limit_memcpy copies the datagrams of replies and does nothing else.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <vector>

#include "rpc/builtin.hpp"
#include "rpc/service.hpp"

namespace {

using namespace millrace;
using bytes = std::vector<std::uint8_t>;

constexpr std::size_t datagram_bytes = 1472;
constexpr std::string_view json_arguments = R"({"id":7,"text":"hello"})";

// A datagram's room, used again and again, as a NIC's would be.
struct one_buffer {
  alignas(64) std::array<std::uint8_t, datagram_bytes> room;
  std::size_t bytes = 0;
  std::size_t datagrams = 0;
  base::byte_span open() noexcept { return room; }
  void aim(const srmp::conversation&) noexcept {}
  void close(std::size_t size) noexcept {
    bytes += size;
    ++datagrams;
    benchmark::DoNotOptimize(room.data());
    benchmark::ClobberMemory();
  }
};

void append_frame(bytes& to, std::uint8_t seq, base::byte_view payload) {
  const std::size_t at = to.size();
  to.resize(at + 4 + payload.size());
  (void)srmp::wire::emit_frame(base::byte_span(to).subspan(at), 1, seq, payload);
}

bytes datagram_of(std::size_t messages, base::byte_view payload) {
  bytes out;
  for (std::size_t i = 0; i < messages; ++i) append_frame(out, static_cast<std::uint8_t>(i), payload);
  return out;
}

bytes call_of(std::string_view name, std::string_view arguments) {
  bytes out(256);
  out.resize(rpc::wire::emit(out, name, base::as_bytes(arguments)));
  return out;
}

constexpr std::size_t burst = 32;  // datagrams of one caller between two flushes

template <class Handler>
void run(benchmark::State& state, Handler& handler, const bytes& datagram, std::uint64_t expected_errors) {
  one_buffer sink;
  srmp::datagram_service<one_buffer, Handler> server(sink, handler, {.batch_bytes = datagram_bytes});
  const srmp::conversation between{.remote = {base::ip_address::parse("198.18.0.9").value(), 40'000},
                                   .local = {base::ip_address::parse("198.18.0.1").value(), 5500}};
  const auto messages = static_cast<std::uint64_t>(state.range(0));
  server.on_datagram(between, datagram);
  server.flush();
  const srmp::server_counters& count = server.counters();
  if (count.replies.get() + count.error_replies.get() != messages || count.error_replies.get() != expected_errors)
    return state.SkipWithError("not every message was answered");
  std::uint64_t left = 0;
  std::uint64_t datagrams = 0;
  for (auto _ : state) {
    if (left == 0) {
      server.on_datagram(between, datagram);
      if (++datagrams % burst == 0) server.flush();
      left = messages;
    }
    --left;
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["messages/datagram"] = static_cast<double>(state.iterations()) / static_cast<double>(sink.datagrams);
}

const bytes echo_payload(28, 'e');

void srmp_echo(benchmark::State& state) {
  srmp::echo_handler handler;
  run(state, handler, datagram_of(static_cast<std::size_t>(state.range(0)), echo_payload), 0);
}
BENCHMARK(srmp_echo)->Arg(1)->Arg(8)->Arg(46);

void srmp_echo_limit(benchmark::State& state) {
  const bytes in = datagram_of(static_cast<std::size_t>(state.range(0)), echo_payload);
  one_buffer sink;
  std::int64_t left = 0;
  for (auto _ : state) {
    if (left == 0) {
      std::copy(in.begin(), in.end(), sink.room.begin());
      sink.close(in.size());
      left = state.range(0);
    }
    --left;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(srmp_echo_limit)->Name("srmp_echo__limit_memcpy")->Arg(1)->Arg(8)->Arg(46);

class request_reader final : public json::handler {
  bool is_id_ = false;

 public:
  std::int64_t id = 0;
  std::array<char, 64> text;
  std::size_t text_size = 0;

  bool on_key(std::string_view name) noexcept override {
    is_id_ = name == "id";
    return true;
  }
  bool on_integer(std::int64_t v) noexcept override {
    if (is_id_) id = v;
    return true;
  }
  bool on_string(std::string_view v) noexcept override {
    text_size = std::min(v.size(), text.size());
    std::copy_n(v.data(), text_size, text.data());
    return true;
  }
};

void json_method(void*, rpc::call& c) noexcept {
  request_reader asked;
  if (!c.read(asked)) return c.fail(rpc::code::failed, "not JSON");
  c.json([&](json::writer& out) {
    out.begin_object();
    out.member("id", asked.id);
    out.member("text", std::string_view(asked.text.data(), asked.text_size));
    out.end_object();
  });
}

struct server {
  std::unique_ptr<rpc::method_table> table = rpc::method_table::make();
  rpc::server_facts about;
  std::unique_ptr<rpc::service> service;

  server() {
    (void)rpc::add_builtins(*table, about);
    (void)table->add("Bench/Json", json_method, nullptr, {.max_result = 100});
    for (int i = 0; i < 50; ++i) (void)table->add("Bench/Method" + std::to_string(i), rpc::echo, nullptr);
    service = rpc::service::make(*table);
  }
};

void rpc_row(benchmark::State& state, std::string_view name, std::string_view arguments, bool fails = false) {
  server s;
  if (s.service == nullptr) return state.SkipWithError("no memory");
  const auto messages = static_cast<std::size_t>(state.range(0));
  run(state, *s.service, datagram_of(messages, call_of(name, arguments)), fails ? messages : 0);
}

void rpc_echo(benchmark::State& state) { rpc_row(state, "Echo", json_arguments); }
BENCHMARK(rpc_echo)->Arg(1)->Arg(8)->Arg(36);

void rpc_json(benchmark::State& state) { rpc_row(state, "Bench/Json", json_arguments); }
BENCHMARK(rpc_json)->Arg(1)->Arg(8)->Arg(30);

void rpc_info(benchmark::State& state) { rpc_row(state, "Api/Info", R"({"state":"abcd"})"); }
BENCHMARK(rpc_info)->Arg(1)->Arg(8);

void rpc_unknown(benchmark::State& state) { rpc_row(state, "No/Such", {}, true); }
BENCHMARK(rpc_unknown)->Arg(1)->Arg(8);

void method_lookup(benchmark::State& state) {
  const server s;
  constexpr std::array<std::string_view, 4> names = {"Echo", "api/info", "bench/METHOD37", "Bench/Json"};
  std::size_t i = 0;
  for (auto _ : state) {
    const rpc::method* found = s.table->find(names[i++ & 3]);
    benchmark::DoNotOptimize(found);
  }
}
BENCHMARK(method_lookup);

}  // namespace

BENCHMARK_MAIN();
