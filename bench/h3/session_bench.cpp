// Whole HTTP/3 exchanges between our client and our server in one thread, without a loop, a port or a wire: what a
// small GET costs both ends, QUIC and its cryptography included, and the server alone; what a streamed body does.
#include "h3/h3_ends.hpp"
#include "support/eal_bench.hpp"

namespace {

using namespace millrace;

buf::large_block_pool& blocks() {
  static auto made = buf::large_block_pool::make({.name = "bench_h3_body"});
  return made.value();
}

// Answers "/" with 1 KiB and everything else with a body without end, in blocks of 64 KiB that are sent as they are.
class answering final : public http::exchange_handler {
  std::array<std::uint8_t, 1000> text_{};

  static buf::pull_status pull(void*, std::uint32_t most, buf::packet& out) noexcept {
    buf::large_block block = blocks().alloc();
    if (!block) return buf::pull_status::no_memory;
    buf::packet made = blocks().send(std::move(block), most);
    if (!made) return buf::pull_status::no_memory;
    out = std::move(made);
    return buf::pull_status::block;
  }

 public:
  void on_request(http::exchange& x) noexcept override {
    static constexpr std::array<http::field, 3> fields{
        {{"content-type", "application/json"}, {"server", "millrace"}, {"cache-control", "no-cache"}}};
    if (x.request().path != "/") {
      static_cast<void>(x.respond({http::wire::status_code::ok, fields}, http::pulled_body{{nullptr, pull}, {}}));
      return;
    }
    buf::chain body;
    static_cast<void>(body.append_copy(text_, x.blocks()));
    static_cast<void>(x.respond({http::wire::status_code::ok, fields}, std::move(body)));
  }
};

// Requests a second of both ends together; range: connections. server_ns: what one costs the server.
void h3_get_1k(benchmark::State& state) {
  answering handler;
  bench::h3_ends e({.handler = &handler});
  e.measures_server = true;
  for (int i = 0; i < state.range(0); ++i) e.connect(static_cast<std::uint16_t>(40'000 + i));
  e.step_until(5'000);
  const std::uint64_t before = e.asker.done;
  const double server = e.server_s;
  for (auto _ : state) e.step_until(e.asker.done + 100);
  const auto done = static_cast<double>(e.asker.done - before);
  state.SetItemsProcessed(static_cast<std::int64_t>(done));
  state.counters["server_ns"] = (e.server_s - server) * 1e9 / done;
  state.counters["failed"] = static_cast<double>(e.asker.failed);
}
BENCHMARK(h3_get_1k)->Arg(1)->Arg(16)->Unit(benchmark::kMicrosecond);

// A body pulled without end; beside bench_quic_endpoint's quic_transfer/1452, which is the same bytes without HTTP.
void h3_stream(benchmark::State& state) {
  answering handler;
  bench::h3_ends e({.handler = &handler, .path = "/endless", .streams = 1});
  e.connect(40'000);
  while (e.asker.bytes < 50'000'000) e.turn();
  const std::uint64_t before = e.asker.bytes;
  for (auto _ : state) {
    const std::uint64_t goal = e.asker.bytes + 64 * 1024;
    while (e.asker.bytes < goal) e.turn();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(e.asker.bytes - before));
}
BENCHMARK(h3_stream)->Unit(benchmark::kMicrosecond);

}  // namespace

MILLRACE_EAL_BENCH_MAIN("-m", "1024")
