// Bodies of 1 and 8 MB over HTTP/3, whole and streamed, beside the same bytes on a QUIC stream without HTTP. All of a
// case's opponents take turns, body by body, and what is told is the ratio of their times.
#include "h3/h3_ends.hpp"
#include "pipeline/hq_server.hpp"
#include "support/eal_bench.hpp"

namespace {

using namespace millrace;

constexpr std::uint64_t most_body = 8'000'000;

buf::large_block_pool& blocks() {
  static auto made = buf::large_block_pool::make({.name = "bench_h3_body", .blocks_per_mempool = 511});
  return made.value();
}

std::vector<std::uint8_t> random_bytes(std::size_t size) {
  std::vector<std::uint8_t> out(size);
  std::uint32_t state = 42;
  for (std::uint8_t& b : out) b = static_cast<std::uint8_t>((state = state * 1'664'525 + 1'013'904'223) >> 24);
  return out;
}

// How a body is answered.
enum class manner {
  content,   // a range of loaded content
  pulled,    // the same content, pulled block by block and sent from where it lies
  gathered,  // copied into blocks, all of it before the answer begins
  filled,    // copied block by block as the peer takes them: what a body costs that comes from elsewhere
};

class answering final : public http::exchange_handler {
  const buf::content& from_;
  std::uint64_t size_;
  manner how_;
  std::uint64_t at_ = 0;  // of the body that is on its way

  static buf::pull_status pull(void* self, std::uint32_t most, buf::packet& out) noexcept {
    answering& a = *static_cast<answering*>(self);
    if (a.at_ == a.size_) return buf::pull_status::end;
    const auto want = static_cast<std::uint32_t>(std::min<std::uint64_t>(most, a.size_ - a.at_));
    out = a.how_ == manner::pulled ? a.from_.share(a.at_, want) : a.copied(want);
    if (!out) return buf::pull_status::no_memory;
    a.at_ += out.length();
    return buf::pull_status::block;
  }
  buf::packet copied(std::uint32_t size) const noexcept {
    buf::large_block block = blocks().alloc();
    if (!block) return {};
    for (std::uint32_t done = 0; done < size;) {
      const base::byte_view v = from_.view(at_ + done, size - done);
      std::memcpy(block.bytes().data() + done, v.data(), v.size());
      done += static_cast<std::uint32_t>(v.size());
    }
    return blocks().send(std::move(block), size);
  }

 public:
  answering(const buf::content& from, std::uint64_t size, manner how) : from_(from), size_(size), how_(how) {}
  void on_request(http::exchange& x) noexcept override {
    const http::response_head head{http::wire::status_code::ok, {}};
    at_ = 0;
    if (how_ == manner::content) {
      static_cast<void>(x.respond(head, http::content_range{&from_, 0, size_}));
    } else if (how_ == manner::gathered) {
      buf::chain all;
      for (buf::packet block; pull(this, buf::large_block_bytes, block) == buf::pull_status::block;)
        static_cast<void>(all.append(std::move(block)));
      static_cast<void>(x.respond(head, std::move(all)));
    } else {
      static_cast<void>(x.respond(head, http::pulled_body{{this, pull}, size_}));
    }
  }
};

// Asks for one file after the other over hq-interop.
class raw_asking final : public quic::conn::application {
  class line final : public quic::conn::send_source {
    std::string text_ = "GET /body\r\n";

   public:
    [[nodiscard]] std::size_t size() const noexcept { return text_.size(); }
    unsigned borrow(std::uint64_t offset, std::size_t size,
                    std::span<base::byte_view, quic::conn::most_source_parts> parts) noexcept override {
      parts[0] = base::as_bytes(std::string_view(text_)).subspan(static_cast<std::size_t>(offset), size);
      return 1;
    }
    void released(std::uint64_t) noexcept override {}
  };
  line request_;
  quic::conn::live_stream* current_ = nullptr;

  void ask(quic::conn::connection& c) noexcept {
    current_ = c.open(quic::stream::direction::bidirectional, now_ns);
    if (current_ == nullptr) return;
    current_->source = &request_;
    c.write(*current_, request_.size());
    c.finish(*current_);
  }

 public:
  std::uint64_t bytes = 0, done = 0, now_ns = 0;

  void on_established(quic::conn::connection& c) noexcept override { ask(c); }
  void on_readable(quic::conn::connection& c, quic::conn::live_stream& s) noexcept override {
    for (base::byte_view v = s.recv.front(); !v.empty(); v = s.recv.front()) {
      bytes += v.size();
      c.consume(s, v.size());
    }
  }
  void on_stream_closed(quic::conn::connection& c, quic::conn::live_stream& s) noexcept override {
    if (&s != current_) return;
    current_ = nullptr;
    ++done;
    if (!c.is_closing()) ask(c);
  }
  void on_streams_available(quic::conn::connection& c) noexcept override {
    if (current_ == nullptr) ask(c);
  }
};

struct raw_ends : bench::quic_ends {
  pipeline::hq_files files;
  std::unique_ptr<pipeline::hq_server> hq;
  raw_asking asker;

  static bench::quic_wish wish() {
    bench::quic_wish w = bench::h3_ends::quic_of();
    w.alpn = pipeline::hq_protocol;
    return w;
  }
  explicit raw_ends(buf::content body) : quic_ends(wish()) {
    files.add("/body", std::move(body));
    hq = std::move(pipeline::hq_server::make(1024, &files).value());
    static_cast<void>(server->add_application(pipeline::hq_protocol, *hq));
    protocol = &asker;
    connect(40'000);
  }
  ~raw_ends() { end(); }
  void step_until(std::uint64_t done) {
    while (asker.done < done) {
      asker.now_ns = now_ns;
      step_1us();
    }
  }
};

struct opponent {
  answering handler;
  bench::h3_ends ends;
  stats::latency_histogram first;
  double seconds = 0;
  std::uint32_t most_blocks = 0;

  opponent(const buf::content& from, std::uint64_t size, manner how, std::uint32_t pull_bytes)
      : handler(from, size, how), ends({.handler = &handler, .streams = 1, .pull_bytes = pull_bytes}) {
    ends.connect(40'000);
    ends.asker.goes_on = false;
    ends.step_until(1);
  }
  void once() {
    const double began = bench::cpu_seconds();
    ends.once();
    seconds += bench::cpu_seconds() - began;
  }
  // Looks into the pool at every turn, which takes its time. What the others hold is loaded content.
  void once_counted(std::uint32_t loaded) {
    ends.asker.ask(*ends.asker.last);
    ends.client->touch(*ends.asker.last);
    for (const std::uint64_t goal = ends.asker.done + 1; ends.asker.done < goal;) {
      ends.turn();
      most_blocks = std::max(most_blocks, blocks().in_use() - loaded);
    }
  }
};

// The last acknowledgments come, and blocks go back.
void settle(opponent& o) {
  for (int i = 0; i < 64; ++i) {
    o.ends.now_ns += 1'000'000;
    o.ends.run_timers();
    o.ends.pass_both();
  }
}

// Range: bytes of the body, of a block. Time: of the pulled body. raw_x: its goodput in that of the raw stream;
// whole_x: in that of a whole body; filled_x: a filled body's in that of one gathered before. first_*: ns to the first
// byte. *_kb: blocks a body holds at most.
void h3_body(benchmark::State& state) {
  const auto size = static_cast<std::uint64_t>(state.range(0));
  const auto block = static_cast<std::uint32_t>(state.range(1));
  static const std::vector<std::uint8_t> bytes = random_bytes(most_body);
  raw_ends raw(
      std::move(buf::content::load(blocks(), base::byte_view(bytes).first(static_cast<std::size_t>(size))).value()));
  const std::uint32_t loaded = blocks().in_use();
  const buf::content& from = raw.files.find("/body")->content;
  opponent whole(from, size, manner::content, block), pulled(from, size, manner::pulled, block),
      gathered(from, size, manner::gathered, block), filled(from, size, manner::filled, block);
  opponent* const all[] = {&whole, &pulled, &gathered, &filled};
  const std::uint64_t warm = 1 + 30'000'000 / size;
  raw.step_until(warm);
  for (opponent* o : all) {
    for (std::uint64_t i = 0; i < warm; ++i) o->once();
    settle(*o);
    o->once_counted(loaded);
    settle(*o);
    o->ends.asker.first_ns = &o->first;
    o->seconds = 0;
  }
  double raw_s = 0;
  for (auto _ : state) {
    const double before = pulled.seconds;
    for (opponent* o : all) o->once();
    const double began = bench::cpu_seconds();
    raw.step_until(raw.asker.done + 1);
    raw_s += bench::cpu_seconds() - began;
    state.SetIterationTime(pulled.seconds - before);
  }
  std::uint64_t failed = 0;
  for (opponent* o : all) failed += o->ends.asker.failed;
  if (failed != 0) state.SkipWithError("a body failed");
  state.counters["raw_x"] = raw_s / pulled.seconds;
  state.counters["whole_x"] = whole.seconds / pulled.seconds;
  state.counters["whole_raw_x"] = raw_s / whole.seconds;
  state.counters["filled_x"] = gathered.seconds / filled.seconds;
  state.counters["first_whole"] = static_cast<double>(whole.first.percentile(50));
  state.counters["first_pulled"] = static_cast<double>(pulled.first.percentile(50));
  state.counters["first_gathered"] = static_cast<double>(gathered.first.percentile(50));
  state.counters["first_filled"] = static_cast<double>(filled.first.percentile(50));
  state.counters["gathered_kb"] = gathered.most_blocks * 64.0;
  state.counters["filled_kb"] = filled.most_blocks * 64.0;
}
BENCHMARK(h3_body)
    ->ArgNames({"bytes", "block"})
    ->ArgsProduct({{1'000'000, 8'000'000}, {16 << 10, 64 << 10}})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace

MILLRACE_EAL_BENCH_MAIN("-m", "1536")
