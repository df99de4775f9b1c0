// What a client's first datagram costs before its frames can be read: the keys of its direction, then header protection
// and decryption. Connection IDs and packets vary, as they do in a stream of new connections.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>
#include <vector>

#include "base/endian.hpp"
#include "quic/protect/initial.hpp"

namespace {

using namespace millrace;
using quic::protect::side;

constexpr std::size_t many = 256;  // packets to go round; all fit in the second-level cache
constexpr std::size_t datagram_size = 1200;

crypto::engine make_engine(bool sha_ni = true) {
  std::optional<crypto::engine> made = crypto::engine::make({.sha_ni = sha_ni});
  if (!made.has_value()) std::abort();
  return std::move(*made);
}

using cid = std::array<std::uint8_t, 8>;

std::vector<cid> random_cids() {
  std::mt19937_64 random(1);
  std::vector<cid> out(many);
  for (cid& c : out) base::store_be64(c.data(), random());
  return out;
}

// Version 1, an 8-byte destination, no source, no token, 4 bytes of packet number, and PADDING.
std::vector<std::uint8_t> client_initial(crypto::engine& engine, const cid& dcid) {
  std::vector<std::uint8_t> packet(datagram_size);
  packet[0] = 0xc3;
  base::store_be32(packet.data() + 1, quic::wire::version_1);
  packet[5] = 8;
  std::copy(dcid.begin(), dcid.end(), packet.begin() + 6);
  base::store_be16(packet.data() + 16, 0x4000 | (datagram_size - 18));
  quic::protect::packet_keys keys;
  if (!quic::protect::derive_initial_keys(engine, 1, dcid, side::client, keys) ||
      !quic::protect::seal_initial(engine, keys, packet, 18, 4, 0)) {
    std::abort();
  }
  return packet;
}

void quic_derive_initial_keys(benchmark::State& state) {
  crypto::engine engine = make_engine(state.range(0) != 0);
  const std::vector<cid> cids = random_cids();
  quic::protect::packet_keys keys;
  std::size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        quic::protect::derive_initial_keys(engine, quic::wire::version_1, cids[i++ % many], side::client, keys));
    benchmark::ClobberMemory();
  }
}
BENCHMARK(quic_derive_initial_keys)->ArgName("sha_ni")->Arg(1)->Arg(0);

// The compressions that RFC 9001 5.2 asks for, one after another: extract 2, the client's secret 4, key, iv and hp 2
// + 6.
void quic_derive_initial_keys__limit_blocks(benchmark::State& state) {
  const crypto::engine engine = make_engine(state.range(0) != 0);
  alignas(64) std::array<std::uint8_t, 64> block{1};
  crypto::sha256_words words = crypto::sha256_initial;
  for (auto _ : state) {
    for (int i = 0; i < 14; ++i) engine.sha256_blocks(words, block.data(), 1);
    benchmark::DoNotOptimize(words);
  }
}
BENCHMARK(quic_derive_initial_keys__limit_blocks)->ArgName("sha_ni")->Arg(1)->Arg(0);

// `keys` 0: already there; 1: derived for every packet, as for the first packet of each connection.
void quic_open_initial_1200(benchmark::State& state) {
  crypto::engine engine = make_engine();
  const std::vector<cid> cids = random_cids();
  std::vector<std::vector<std::uint8_t>> packets;
  for (const cid& c : cids) packets.push_back(client_initial(engine, c));
  std::vector<quic::protect::packet_keys> keys(many);
  for (std::size_t i = 0; i < many; ++i) {
    if (!quic::protect::derive_initial_keys(engine, 1, cids[i], side::client, keys[i])) std::abort();
  }
  std::array<std::uint8_t, datagram_size> room;
  std::size_t i = 0;
  for (auto _ : state) {
    const std::size_t n = i++ % many;
    quic::wire::packet_header header;
    quic::protect::opened opened;
    bool ok = static_cast<bool>(quic::wire::parse_packet(packets[n], header));
    if (state.range(0) != 0) {
      ok = ok && quic::protect::derive_initial_keys(engine, header.version, header.dcid, side::client, keys[n]);
    }
    ok = ok && quic::protect::open_initial(engine, keys[n], packets[n], header, ~std::uint64_t{0}, room, opened) ==
                   quic::protect::open_errc::ok;
    if (!ok) state.SkipWithError("a packet did not open");
    benchmark::DoNotOptimize(opened);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(quic_open_initial_1200)->ArgName("keys")->Arg(0)->Arg(1);

// Decryption alone, of as many bytes.
void quic_open_initial_1200__limit_gcm(benchmark::State& state) {
  crypto::engine engine = make_engine();
  const std::vector<std::uint8_t> packet = client_initial(engine, random_cids()[0]);
  crypto::aead_key key;
  crypto::set_aes128_gcm_key(engine, std::array<std::uint8_t, 16>{1}, key);
  const std::array<std::uint8_t, 12> nonce{2};
  const base::byte_view whole(packet);
  std::array<std::uint8_t, datagram_size> room;
  for (auto _ : state) {
    // The tag is another key's: what it costs to say so is what it costs to accept.
    benchmark::DoNotOptimize(crypto::open(engine, key, nonce, whole.first(22), whole.subspan(22), room.data()));
    benchmark::ClobberMemory();
  }
}
BENCHMARK(quic_open_initial_1200__limit_gcm)->ArgName("keys")->Arg(0)->Arg(1);

void quic_verify_retry(benchmark::State& state) {
  crypto::engine engine = make_engine();
  const cid dcid{1, 2, 3};
  std::vector<std::uint8_t> retry(100, 0x42);
  if (!quic::protect::seal_retry(engine, 1, dcid, retry)) std::abort();
  for (auto _ : state) {
    if (!quic::protect::verify_retry(engine, 1, dcid, retry)) state.SkipWithError("tag");
  }
}
BENCHMARK(quic_verify_retry);

}  // namespace
