// The WebSocket row of S1's section 4.4, masking, and UTF-8.
//
// Args     bytes of payload. Headers differ from one to the next in flags, opcode, key and the lowest bits of the
// length;
//          _mixed draws masked and unmasked, short and long at random.
// Limits   __limit_load reads the same headers and turns their bytes round; __limit_memcpy copies the payload within
//          cache, __limit_xor combines it with eight bytes at a time; __limit_read sums the text's words up.
#include <benchmark/benchmark.h>

#include <random>
#include <utility>
#include <vector>

#include "ws/wire/mask.hpp"
#include "ws/wire/receiver.hpp"

namespace {

using namespace millrace;
namespace wire = ws::wire;

constexpr std::size_t count = 8192;  // more than a predictor remembers
constexpr std::size_t stride = 16;

struct headers {
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(count * stride);
  std::vector<wire::frame_header> expected = std::vector<wire::frame_header>(count);
  [[nodiscard]] base::byte_view at(std::size_t i) const { return base::byte_view(bytes).subspan(i * stride, stride); }
};

enum class masks { none, all, some };

headers make_headers(std::uint64_t size, masks how, bool any_size) {
  headers out;
  std::mt19937 random(static_cast<unsigned>(size));
  for (std::size_t i = 0; i < count; ++i) {
    wire::frame_header& h = out.expected[i];
    constexpr std::uint64_t sizes[] = {64, 4096, 65536};
    h.payload_size = (any_size ? sizes[random() % 3] : size) + random() % 16;
    h.op = random() % 2 == 0 ? wire::opcode::text : wire::opcode::binary;
    h.fin = random() % 2 == 0;
    h.is_masked = how == masks::all || (how == masks::some && random() % 2 == 0);
    h.mask_key = h.is_masked ? static_cast<std::uint32_t>(random()) : 0;
    h.header_size = static_cast<std::uint8_t>(wire::emit_header(out.bytes.data() + i * stride, h));
  }
  return out;
}

void run_parse(benchmark::State& state, const headers& in, const wire::read_rules& rules) {
  for (std::size_t i = 0; i < count; ++i) {
    wire::frame_header got;
    if (wire::parse_header(in.at(i), rules, got).outcome != base::progress::done || got != in.expected[i]) {
      state.SkipWithError("a header reads wrong");
      return;
    }
  }
  std::size_t i = 0;
  for (auto _ : state) {
    wire::frame_header header;
    auto got = wire::parse_header(in.at(i), rules, header);
    benchmark::DoNotOptimize(got);
    benchmark::DoNotOptimize(header);
    i = (i + 1) % count;
  }
}

void run_load(benchmark::State& state, const headers& in) {
  std::size_t i = 0;
  for (auto _ : state) {
    const std::uint8_t* p = in.at(i).data();
    auto first = base::load_le16(p);
    auto extended = base::load_be64(p + 2);
    auto key = base::load_le32(p + 10);
    benchmark::DoNotOptimize(first);
    benchmark::DoNotOptimize(extended);
    benchmark::DoNotOptimize(key);
    i = (i + 1) % count;
  }
}

// Unmasked, as the published row.
void s1_4_4_ws_try_parse(benchmark::State& state) {
  run_parse(state, make_headers(static_cast<std::uint64_t>(state.range(0)), masks::none, false),
            wire::read_rules(wire::role::client, wire::masking::strict, wire::default_ceiling));
}
BENCHMARK(s1_4_4_ws_try_parse)->Arg(64)->Arg(4096)->Arg(65536);

void s1_4_4_ws_try_parse__limit_load(benchmark::State& state) {
  run_load(state, make_headers(static_cast<std::uint64_t>(state.range(0)), masks::none, false));
}
BENCHMARK(s1_4_4_ws_try_parse__limit_load)->Arg(64)->Arg(4096)->Arg(65536);

// What a server reads.
void ws_try_parse_masked(benchmark::State& state) {
  run_parse(state, make_headers(static_cast<std::uint64_t>(state.range(0)), masks::all, false), wire::read_rules());
}
BENCHMARK(ws_try_parse_masked)->Arg(64)->Arg(4096)->Arg(65536);

void ws_try_parse_masked__limit_load(benchmark::State& state) {
  run_load(state, make_headers(static_cast<std::uint64_t>(state.range(0)), masks::all, false));
}
BENCHMARK(ws_try_parse_masked__limit_load)->Arg(64)->Arg(4096)->Arg(65536);

void ws_try_parse_mixed(benchmark::State& state) {
  run_parse(state, make_headers(1, masks::some, true),
            wire::read_rules(wire::role::server, wire::masking::accept_unmasked, wire::default_ceiling));
}
BENCHMARK(ws_try_parse_mixed);

void ws_try_parse_mixed__limit_load(benchmark::State& state) { run_load(state, make_headers(1, masks::some, true)); }
BENCHMARK(ws_try_parse_mixed__limit_load);

void ws_build_header(benchmark::State& state) {
  const headers in = make_headers(static_cast<std::uint64_t>(state.range(0)), masks::none, false);
  std::uint8_t room[stride];
  std::size_t i = 0;
  for (auto _ : state) {
    auto used = wire::emit_header(room, in.expected[i]);
    benchmark::DoNotOptimize(used);
    benchmark::DoNotOptimize(room);
    i = (i + 1) % count;
  }
}
BENCHMARK(ws_build_header)->Arg(64)->Arg(4096)->Arg(65536);

void ws_build_header__limit_store(benchmark::State& state) {
  const headers in = make_headers(static_cast<std::uint64_t>(state.range(0)), masks::none, false);
  std::uint8_t room[stride];
  std::size_t i = 0;
  for (auto _ : state) {
    base::store_be64(room, in.expected[i].payload_size);
    base::store_le32(room + 8, in.expected[i].mask_key);
    benchmark::DoNotOptimize(room);
    i = (i + 1) % count;
  }
}
BENCHMARK(ws_build_header__limit_store)->Arg(64)->Arg(4096)->Arg(65536);

std::vector<std::uint8_t> random_bytes(std::size_t size) {
  std::vector<std::uint8_t> out(size);
  std::mt19937 random(9);
  for (std::uint8_t& byte : out) byte = static_cast<std::uint8_t>(random());
  return out;
}

void ws_unmask(benchmark::State& state) {
  auto bytes = random_bytes(static_cast<std::size_t>(state.range(0)));
  const auto before = bytes;
  unsigned phase = wire::mask(bytes, 0x44332211, 1);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != static_cast<std::uint8_t>(before[i] ^ 0x44332211u >> (8 * ((i + 1) & 3)))) {
      state.SkipWithError("masked wrong");
      return;
    }
  }
  std::uint32_t key = 0x44332211;
  for (auto _ : state) {
    phase = wire::mask(bytes, key, phase);
    ++key;
    benchmark::ClobberMemory();
  }
  benchmark::DoNotOptimize(phase);
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(ws_unmask)->Arg(64)->Arg(1000)->Arg(4096)->Arg(16384)->Arg(65536)->Arg(262144);

void ws_unmask__limit_memcpy(benchmark::State& state) {
  const auto from = random_bytes(static_cast<std::size_t>(state.range(0)));
  auto to = from;
  auto size = from.size();
  benchmark::DoNotOptimize(size);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), size);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(ws_unmask__limit_memcpy)->Arg(64)->Arg(1000)->Arg(4096)->Arg(16384)->Arg(65536)->Arg(262144);

// Whatever the compiler makes of a plain loop over words.
void ws_unmask__limit_xor(benchmark::State& state) {
  std::vector<std::uint64_t> words(static_cast<std::size_t>(state.range(0)) / 8);
  std::uint64_t key = 0x4433'2211'4433'2211;
  for (auto _ : state) {
    for (std::uint64_t& word : words) word ^= key;
    key += 2;
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(ws_unmask__limit_xor)->Arg(64)->Arg(1000)->Arg(4096)->Arg(16384)->Arg(65536)->Arg(262144);

std::vector<std::uint8_t> make_text(std::size_t size, bool is_ascii) {
  constexpr std::string_view words[] = {"plain ", "text ", "\xC3\xA9t\xC3\xA9 ", "\xE4\xBD\xA0\xE5\xA5\xBD ",
                                        "\xF0\x9F\x98\x80 "};
  std::vector<std::uint8_t> out;
  std::mt19937 random(13);
  while (out.size() < size) {
    const std::string_view word = words[random() % (is_ascii ? 2 : 5)];
    if (out.size() + word.size() > size) break;
    out.insert(out.end(), word.begin(), word.end());
  }
  out.resize(size, 'x');
  return out;
}

void run_utf8(benchmark::State& state, bool is_ascii) {
  auto text = make_text(static_cast<std::size_t>(state.range(0)), is_ascii);
  const std::uint8_t last = std::exchange(text[text.size() / 2], std::uint8_t{0xFF});
  const bool refuses = !wire::is_utf8(text);
  text[text.size() / 2] = last;
  if (!refuses || !wire::is_utf8(text)) {
    state.SkipWithError("judged wrong");
    return;
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(text.data());
    auto valid = wire::is_utf8(text);
    benchmark::DoNotOptimize(valid);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void run_read(benchmark::State& state, bool is_ascii) {
  const auto text = make_text(static_cast<std::size_t>(state.range(0)), is_ascii);
  for (auto _ : state) {
    benchmark::DoNotOptimize(text.data());
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i + 8 <= text.size(); i += 8) sum |= base::load_le64(text.data() + i);
    benchmark::DoNotOptimize(sum);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void ws_utf8(benchmark::State& state) { run_utf8(state, true); }
BENCHMARK(ws_utf8)->Arg(64)->Arg(4096)->Arg(65536);
void ws_utf8__limit_read(benchmark::State& state) { run_read(state, true); }
BENCHMARK(ws_utf8__limit_read)->Arg(64)->Arg(4096)->Arg(65536);
void ws_utf8_mixed(benchmark::State& state) { run_utf8(state, false); }
BENCHMARK(ws_utf8_mixed)->Arg(64)->Arg(4096)->Arg(65536);
void ws_utf8_mixed__limit_read(benchmark::State& state) { run_read(state, false); }
BENCHMARK(ws_utf8_mixed__limit_read)->Arg(64)->Arg(4096)->Arg(65536);

// A masked binary message of that size from bytes to events, as a server takes it: header, rules, unmasking.
void ws_receive_message(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  wire::frame_header h;
  h.payload_size = size;
  h.op = wire::opcode::binary;
  h.fin = h.is_masked = true;
  h.mask_key = 0x44332211;
  std::vector<std::uint8_t> frame(wire::header_size_for(size, true) + size);
  wire::emit_header(frame.data(), h);
  wire::receiver from({wire::read_rules(), wire::default_max_message});
  for (auto _ : state) {
    base::byte_span in(frame);
    const wire::event e = from.next(in);
    if (e.kind != wire::event_kind::data || !e.ends || e.bytes.size() != size) {
      state.SkipWithError("not one message");
      break;
    }
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(ws_receive_message)->Arg(64)->Arg(4096)->Arg(65536);

void ws_receive_message__limit_memcpy(benchmark::State& state) {
  const auto from = random_bytes(static_cast<std::size_t>(state.range(0)));
  auto to = from;
  auto size = from.size();
  benchmark::DoNotOptimize(size);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), size);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(ws_receive_message__limit_memcpy)->Arg(64)->Arg(4096)->Arg(65536);

}  // namespace

BENCHMARK_MAIN();
