// What a 1-RTT packet costs whose secrets are known, from the Ethernet frame: decoding, tables, both protections, its
// STREAM frame, HTTP/3. Beside it IPsec-MB alone on as many bytes, called directly with everything at hand; and the
// same packet where the key log has other secrets, which must cost what it does without any.
#include <benchmark/benchmark.h>

#include <optional>
#include <vector>

#include "crypto/ipsec_mb.hpp"
#include "inspect/analyzer.hpp"
#include "inspect/secret_conversation.hpp"
#include "mem/region.hpp"
#include "net/wire/headers.hpp"

namespace {

using namespace millrace;
using inspect::test::conversation;
using inspect::test::must;
using test::byte_list;

constexpr std::size_t packets_a_round = 1024;

crypto::engine& engine() {
  static std::optional<crypto::engine> made = crypto::engine::make();
  must(made.has_value());
  return *made;
}

struct nobody final : inspect::observer {
  void on_connection(const inspect::connection&) override {}
  void on_flow(const inspect::flow&) override {}
};

byte_list udp_frame(bool from_client, base::byte_view payload) {
  net::wire::frame_spec spec;
  const std::array<std::uint8_t, 4> client = {10, 0, 0, 1};
  const std::array<std::uint8_t, 4> server = {192, 0, 2, 1};
  spec.src = base::ip_address::v4(from_client ? client : server);
  spec.dst = base::ip_address::v4(from_client ? server : client);
  spec.src_port = from_client ? 50'000 : 443;
  spec.dst_port = from_client ? 443 : 50'000;
  byte_list out(net::wire::frame_headers_size(spec) + payload.size());
  base::byte_writer writer(out);
  must(net::wire::emit_frame(spec, payload, writer));
  return out;
}

// A connection that downloads: its handshake, and packets of `size` bytes with the next piece of a response each.
struct download {
  std::string key_log;
  std::vector<byte_list> handshake;
  std::vector<byte_list> packets;

  explicit download(std::size_t size) {
    conversation talk(engine());
    key_log = talk.key_log();
    talk.handshake_with([&](bool from_client, const byte_list& d) { handshake.push_back(udp_frame(from_client, d)); });
    constexpr std::size_t frame_overhead = 1 + 1 + 8 + 2;  // type, stream, offset (in 8 bytes), length (in 2)
    const std::size_t data = size - (1 + talk.spec.client_cid.size() + 4 + 16) - frame_overhead;
    std::uint64_t offset = 0;
    for (std::size_t n = 0; n < packets_a_round; ++n) {
      byte_list frame = {0x0e, 0x00};
      for (int shift = 56; shift >= 0; shift -= 8)
        frame.push_back(static_cast<std::uint8_t>((offset | std::uint64_t{3} << 62) >> shift));
      inspect::test::append_u16(frame, 0x4000 | data);
      const std::size_t head = frame.size();
      frame.resize(head + data, 0x2A);
      if (n == 0) {  // one DATA frame of all there is
        const byte_list h3 = {0x00, 0xbf, 0xff, 0xff, 0xff};
        std::copy(h3.begin(), h3.end(), frame.begin() + static_cast<std::ptrdiff_t>(head));
      }
      offset += data;
      packets.push_back(udp_frame(false, talk.one_rtt(false, frame)));
    }
    must(packets[0].size() == 42 + size);
  }
};

struct bed {
  inspect::analyzer_options options;
  mem::region memory;
  nobody told;
  inspect::analyzer analyzer;
  std::uint64_t now = 1'700'000'000'000'000'000;

  bed()
      : options([] {
          inspect::analyzer_options o;
          o.caps.max_flows = 1024;
          o.caps.max_decrypted = 16;
          o.seed = 42;
          return o;
        }()),
        memory(mem::region::make("bench", inspect::analyzer::bytes_needed(options.caps))),
        analyzer({memory.data(), memory.size_bytes()}, options, engine(), told) {}
  void give(const byte_list& frame) {
    analyzer.on_packet(frame, net::wire::link_type::ethernet, now += 100, static_cast<std::uint32_t>(frame.size()));
  }
  void begin(const download& d) {
    analyzer.finish();
    for (const byte_list& frame : d.handshake) give(frame);
  }
};

void run(benchmark::State& state, bool with_its_secrets) {
  const download d(static_cast<std::size_t>(state.range(0)));
  bed b;
  std::string log = d.key_log;
  if (!with_its_secrets) {  // one line, of another handshake
    log.replace(log.find(" 0001"), 5, " ff01");
    log.resize(log.find('\n') + 1);
  }
  b.analyzer.add_key_log(log);
  b.analyzer.end_key_log();
  b.begin(d);
  std::size_t n = 0;
  for (auto _ : state) {
    b.give(d.packets[n]);
    if (++n != packets_a_round) continue;
    n = 0;
    state.PauseTiming();
    b.begin(d);
    state.ResumeTiming();
  }
  b.analyzer.finish();  // what connections counted is added up at their end
  const inspect::counters& c = b.analyzer.count();
  must(!with_its_secrets || c.packets_opened.get() >= static_cast<std::uint64_t>(state.iterations()));
  must(with_its_secrets || c.sessions.get() == 0);
  must(c.packets_unopened.get() == 0);
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
}

void sizes(benchmark::internal::Benchmark* b) { b->ArgName("bytes")->Arg(64)->Arg(256)->Arg(1200)->Arg(1452); }

void inspect_one_rtt_with_keys(benchmark::State& state) { run(state, true); }
BENCHMARK(inspect_one_rtt_with_keys)->Apply(sizes);

void inspect_one_rtt_with_keys__limit_ipsec_mb(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  crypto::aead_key key;
  const std::array<std::uint8_t, 16> key_bytes{1, 2, 3};
  const std::array<std::uint8_t, 12> nonce{4, 5, 6};
  crypto::set_aes128_gcm_key(engine(), key_bytes, key);
  const auto* schedule = reinterpret_cast<const gcm_key_data*>(key.schedule.data());
  constexpr std::size_t header = 8;
  const byte_list sealed(size, 0x5A);
  byte_list plain(size);
  std::array<std::uint8_t, 16> tag{};
  IMB_MGR* const manager = engine().cipher_manager();
  gcm_context_data context;
  for (auto _ : state) {
    IMB_AES128_GCM_DEC(manager, schedule, &context, plain.data(), sealed.data() + header, size - header - tag.size(),
                       nonce.data(), sealed.data(), header, tag.data(), tag.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
}
BENCHMARK(inspect_one_rtt_with_keys__limit_ipsec_mb)->Apply(sizes);

void inspect_one_rtt_with_keys_of_others(benchmark::State& state) { run(state, false); }
BENCHMARK(inspect_one_rtt_with_keys_of_others)->ArgName("bytes")->Arg(1200);

}  // namespace
