// The baseline's QPACK rows (9 fields encoded, 5 decoded), and the header lists of real sites through tables of 4096
// bytes, acknowledged at once; beside nghttp3 on the same fields in the same run.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>

#include "h3/qpack/support.hpp"
#ifdef MILLRACE_HAS_NGHTTP3
#include "h3/qpack/nghttp3_peer.hpp"
#endif

namespace {

using namespace millrace;
using namespace millrace::test;

const field_list nine_fields = {{":method", "GET"},
                                {":scheme", "https"},
                                {":authority", "example.com"},
                                {":path", "/api/v1/users?page=1&limit=20"},
                                {"accept", "application/json"},
                                {"accept-encoding", "gzip, deflate, br"},
                                {"cache-control", "no-cache"},
                                {"content-type", "application/json"},
                                {"user-agent", "quicX/1.0"}};
const bytes five_fields = {0x00, 0x00, 0xd1, 0xd7, 0x50, 0x88, 0x2f, 0x91,
                           0xd3, 0x5d, 0x05, 0x5c, 0x87, 0xa7, 0xc1, 0xdd};
constexpr std::uint64_t capacity = 4096;

class counting_sink : public qpack::field_sink {
 public:
  std::size_t size = 0;
  qpack::sink_answer on_field(const qpack::field& f) noexcept override {
    size += f.name.size() + f.value.size();
    return qpack::sink_answer::go_on;
  }
};

void qpack_encode_nine(benchmark::State& state) {
  encoder_box box;
  const auto fields = views(nine_fields);
  bytes out(qpack::encoder::max_section_size(fields));
  for (auto _ : state) {
    benchmark::DoNotOptimize(box.e.encode(0, fields, out, {}).section);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(qpack_encode_nine);

void qpack_decode_five(benchmark::State& state) {
  decoder_box box;
  counting_sink sink;
  for (auto _ : state) {
    benchmark::DoNotOptimize(box.d.decode(0, five_fields, sink).outcome);
    benchmark::ClobberMemory();
  }
  benchmark::DoNotOptimize(sink.size);
}
BENCHMARK(qpack_decode_five);

// Where the lists are: $MILLRACE_CORPUS, else beside the project. Without them, their benches are not there.
std::filesystem::path qifs() {
  const char* const given = std::getenv("MILLRACE_CORPUS");
  const auto folder = std::filesystem::path(given != nullptr ? given : MILLRACE_CORPUS_DIR) / "qpack/qifs";
  return std::filesystem::is_directory(folder) ? folder : std::filesystem::path();
}

const char* const lists[] = {"netbsd", "fb-req", "fb-resp"};

std::vector<field_list> qif(benchmark::State& state) {
  const char* const name = lists[state.range(0)];
  state.SetLabel(name);
  return read_qif(qifs() / (std::string(name) + ".qif"));
}

void count(benchmark::State& state, const std::vector<field_list>& all) {
  std::int64_t fields = 0;
  for (const field_list& l : all) fields += static_cast<std::int64_t>(l.size());
  state.SetItemsProcessed(fields * state.iterations());
}

// One connection's life: every list once, each acknowledged.
void qpack_encode_qif(benchmark::State& state) {
  const auto all = qif(state);
  std::vector<std::vector<qpack::field>> fields;
  std::size_t most = 0;
  for (const field_list& l : all) {
    fields.push_back(views(l));
    most = std::max(most, qpack::encoder::max_section_size(fields.back()));
  }
  bytes section(most);
  bytes instructions(most);
  bytes answers(1024);
  // What a decoder says to the whole, so that the loop holds the encoder alone.
  encoder_box first;
  decoder_box peer({.max_table_capacity = capacity, .max_blocked_streams = 100});
  (void)first.e.set_peer_settings(capacity, 100);
  std::vector<bytes> said;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const encoded_section c = first.encode(i * 4, all[i], most);
    (void)peer.d.on_encoder_stream(c.instructions);
    counting_sink sink;
    (void)peer.d.decode(i * 4, c.section, sink);
    said.push_back(peer.poll());
    (void)first.e.on_decoder_stream(said.back());
  }
  std::size_t size = 0;
  for (auto _ : state) {
    encoder_box box;
    (void)box.e.set_peer_settings(capacity, 100);
    size = 0;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const qpack::encoded r = box.e.encode(i * 4, fields[i], section, instructions);
      size += r.section + r.instructions;
      if (box.e.on_decoder_stream(said[i]) != qpack::error::none) std::abort();
    }
    benchmark::DoNotOptimize(size);
  }
  state.counters["bytes"] = static_cast<double>(size);
  count(state, all);
}
std::vector<encoded_section> encodings(const std::vector<field_list>& all) {
  encoder_box from;
  decoder_box to({.max_table_capacity = capacity, .max_blocked_streams = 100});
  (void)from.e.set_peer_settings(capacity, 100);
  std::vector<encoded_section> out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    out.push_back(from.encode(i * 4, all[i]));
    (void)to.d.on_encoder_stream(out.back().instructions);
    counting_sink sink;
    (void)to.d.decode(i * 4, out.back().section, sink);
    (void)from.e.on_decoder_stream(to.poll());
  }
  return out;
}

void qpack_decode_qif(benchmark::State& state) {
  const auto all = qif(state);
  const auto coded = encodings(all);
  bytes answer(64);
  for (auto _ : state) {
    decoder_box box({.max_table_capacity = capacity, .max_blocked_streams = 100});
    counting_sink sink;
    for (std::size_t i = 0; i < coded.size(); ++i) {
      if (box.d.on_encoder_stream(coded[i].instructions) != qpack::error::none) std::abort();
      if (box.d.decode(i * 4, coded[i].section, sink).outcome != qpack::section_outcome::done) std::abort();
      benchmark::DoNotOptimize(box.d.poll_decoder_stream(answer));
    }
    benchmark::DoNotOptimize(sink.size);
  }
  count(state, all);
}
#ifdef MILLRACE_HAS_NGHTTP3

void qpack_encode_nine__limit_nghttp3(benchmark::State& state) {
  nghttp3_encoder e(0, 0);
  const auto pairs = nghttp3_encoder::pairs(nine_fields);
  for (auto _ : state) benchmark::DoNotOptimize(e.encode_only(0, pairs));
}
BENCHMARK(qpack_encode_nine__limit_nghttp3);

void qpack_decode_five__limit_nghttp3(benchmark::State& state) {
  nghttp3_decoder d(0, 0);
  std::size_t size = 0;
  for (auto _ : state) {
    (void)d.decode(0, five_fields, [&](std::string_view n, std::string_view v, bool) { size += n.size() + v.size(); });
    benchmark::DoNotOptimize(size);
  }
}
BENCHMARK(qpack_decode_five__limit_nghttp3);

void qpack_encode_qif__limit_nghttp3(benchmark::State& state) {
  const auto all = qif(state);
  std::vector<std::vector<nghttp3_nv>> pairs;
  for (const field_list& l : all) pairs.push_back(nghttp3_encoder::pairs(l));
  nghttp3_encoder first(capacity, 100);
  nghttp3_decoder peer(capacity, 100);
  std::vector<bytes> said;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const encoded_section c = first.encode(i * 4, all[i]);
    (void)peer.on_encoder_stream(c.instructions);
    (void)peer.decode(i * 4, c.section, [](auto, auto, bool) {});
    said.push_back(peer.poll());
    (void)first.on_decoder_stream(said.back());
  }
  std::size_t size = 0;
  for (auto _ : state) {
    nghttp3_encoder e(capacity, 100);
    size = 0;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      size += e.encode_only(i * 4, pairs[i]);
      if (!e.on_decoder_stream(said[i])) std::abort();
    }
    benchmark::DoNotOptimize(size);
  }
  state.counters["bytes"] = static_cast<double>(size);
  count(state, all);
}
// The very bytes that ours decodes.
void qpack_decode_qif__limit_nghttp3(benchmark::State& state) {
  const auto all = qif(state);
  const auto coded = encodings(all);
  for (auto _ : state) {
    nghttp3_decoder d(capacity, 100);
    std::size_t size = 0;
    for (std::size_t i = 0; i < coded.size(); ++i) {
      if (!d.on_encoder_stream(coded[i].instructions)) std::abort();
      const auto to = [&](std::string_view n, std::string_view v, bool) { size += n.size() + v.size(); };
      if (d.decode(i * 4, coded[i].section, to) != nghttp3_decoder::answer::done) std::abort();
      benchmark::DoNotOptimize(d.poll());
    }
    benchmark::DoNotOptimize(size);
  }
  count(state, all);
}
#endif

const bool are_registered = [] {
  if (qifs().empty()) return false;
  benchmark::RegisterBenchmark("qpack_encode_qif", qpack_encode_qif)->DenseRange(0, 2);
  benchmark::RegisterBenchmark("qpack_decode_qif", qpack_decode_qif)->DenseRange(0, 2);
#ifdef MILLRACE_HAS_NGHTTP3
  benchmark::RegisterBenchmark("qpack_encode_qif__limit_nghttp3", qpack_encode_qif__limit_nghttp3)->DenseRange(0, 2);
  benchmark::RegisterBenchmark("qpack_decode_qif__limit_nghttp3", qpack_decode_qif__limit_nghttp3)->DenseRange(0, 2);
#endif
  return true;
}();

}  // namespace
