// SHA-256, HMAC and HKDF steps as key derivation uses them: short messages, prepared keys. IPsec-MB's own calls stand
// beside ours where it has one; `sha_ni` 0 is the engine of a CPU without SHA instructions.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "crypto/hkdf.hpp"
#include "crypto/ipsec_mb.hpp"
#include "crypto/siphash.hpp"

namespace {

using namespace millrace;

crypto::engine make_engine(bool sha_ni) {
  std::optional<crypto::engine> made = crypto::engine::make({.sha_ni = sha_ni});
  if (!made.has_value()) std::abort();
  return std::move(*made);
}

void paths(benchmark::internal::Benchmark* b) { b->ArgName("sha_ni")->Arg(1)->Arg(0); }

void crypto_sha256_block(benchmark::State& state) {
  const crypto::engine engine = make_engine(state.range(0) != 0);
  alignas(64) std::array<std::uint8_t, 64> block{1};
  crypto::sha256_words words = crypto::sha256_initial;
  for (auto _ : state) {
    engine.sha256_blocks(words, block.data(), 1);
    benchmark::DoNotOptimize(words);
  }
}
BENCHMARK(crypto_sha256_block)->Apply(paths);

void crypto_sha256_block__limit_ipsec_mb(benchmark::State& state) {
  const crypto::engine engine = make_engine(state.range(0) != 0);
  alignas(64) std::array<std::uint8_t, 64> block{1};
  crypto::sha256_words words;
  for (auto _ : state) {
    IMB_SHA256_ONE_BLOCK(engine.hash_manager(), block.data(), words.data());
    benchmark::DoNotOptimize(words);
  }
}
BENCHMARK(crypto_sha256_block__limit_ipsec_mb)->Apply(paths);

// What hashing that many blocks one after another takes: the raw limit of all that is made of them.
void blocks(benchmark::State& state, std::size_t count, bool sha_ni) {
  const crypto::engine engine = make_engine(sha_ni);
  alignas(64) std::array<std::uint8_t, 64> block{1};
  crypto::sha256_words words = crypto::sha256_initial;
  for (auto _ : state) {
    for (std::size_t i = 0; i < count; ++i) engine.sha256_blocks(words, block.data(), 1);
    benchmark::DoNotOptimize(words);
  }
}

// The message, a bit and its length.
void crypto_sha256_message__limit_blocks(benchmark::State& state) {
  blocks(state, (static_cast<std::size_t>(state.range(0)) + 1 + 8 + 63) / 64, true);
}
BENCHMARK(crypto_sha256_message__limit_blocks)->ArgName("bytes")->Arg(20)->Arg(120)->Arg(1200);

// Two pads.
void crypto_set_hmac_key__limit_blocks(benchmark::State& state) { blocks(state, 2, state.range(0) != 0); }
BENCHMARK(crypto_set_hmac_key__limit_blocks)->Apply(paths);

// The message behind one pad, its digest behind the other.
void crypto_hmac_of_20_bytes__limit_blocks(benchmark::State& state) { blocks(state, 2, state.range(0) != 0); }
BENCHMARK(crypto_hmac_of_20_bytes__limit_blocks)->Apply(paths);

// Two pads, and the two of an HMAC.
void crypto_expand_label__limit_blocks(benchmark::State& state) { blocks(state, 4, state.range(0) != 0); }
BENCHMARK(crypto_expand_label__limit_blocks)->Apply(paths);

void crypto_sha256_message(benchmark::State& state) {
  crypto::engine engine = make_engine(true);
  const std::vector<std::uint8_t> message(static_cast<std::size_t>(state.range(0)), 7);
  crypto::sha256_digest out;
  for (auto _ : state) {
    engine.sha256(message, out);
    benchmark::DoNotOptimize(out);
  }
}
BENCHMARK(crypto_sha256_message)->ArgName("bytes")->Arg(20)->Arg(120)->Arg(1200);

void crypto_set_hmac_key(benchmark::State& state) {
  crypto::engine engine = make_engine(state.range(0) != 0);
  const std::array<std::uint8_t, 32> secret{3};
  crypto::hmac_key key;
  for (auto _ : state) {
    crypto::set_hmac_key(engine, secret, key);
    benchmark::DoNotOptimize(key);
  }
}
BENCHMARK(crypto_set_hmac_key)->Apply(paths);

void crypto_hmac_of_20_bytes(benchmark::State& state) {
  crypto::engine engine = make_engine(state.range(0) != 0);
  crypto::hmac_key key;
  crypto::set_hmac_key(engine, std::array<std::uint8_t, 32>{3}, key);
  const std::array<std::uint8_t, 20> message{4};
  crypto::sha256_digest out;
  for (auto _ : state) {
    crypto::hmac(engine, key, message, out);
    benchmark::DoNotOptimize(out);
  }
}
BENCHMARK(crypto_hmac_of_20_bytes)->Apply(paths);

void crypto_hmac_of_20_bytes_three_at_once(benchmark::State& state) {
  crypto::engine engine = make_engine(state.range(0) != 0);
  crypto::hmac_key key;
  crypto::set_hmac_key(engine, std::array<std::uint8_t, 32>{3}, key);
  const std::array<std::uint8_t, 20> message{4};
  std::array<crypto::sha256_digest, 3> out;
  const std::array<crypto::hmac_request, 3> requests = {
      crypto::hmac_request{message, &out[0]}, {message, &out[1]}, {message, &out[2]}};
  for (auto _ : state) {
    crypto::hmac_each(engine, key, requests);
    benchmark::DoNotOptimize(out);
  }
}
BENCHMARK(crypto_hmac_of_20_bytes_three_at_once)->Apply(paths);

// From a secret as bytes: two blocks of pads, then the label.
void crypto_expand_label(benchmark::State& state) {
  crypto::engine engine = make_engine(state.range(0) != 0);
  const crypto::sha256_digest secret{5};
  std::array<std::uint8_t, 16> out;
  for (auto _ : state) {
    engine.hkdf_expand_label(secret, "quic key", out);
    benchmark::DoNotOptimize(out);
  }
}
BENCHMARK(crypto_expand_label)->Apply(paths);

void crypto_siphash(benchmark::State& state) {
  const std::vector<std::uint8_t> message(static_cast<std::size_t>(state.range(0)), 7);
  crypto::siphash_key key{1, 2};
  for (auto _ : state) {
    key.k0 = crypto::siphash_2_4(key, message);
    benchmark::DoNotOptimize(key);
  }
}
BENCHMARK(crypto_siphash)->ArgName("bytes")->Arg(8)->Arg(20)->Arg(36);

}  // namespace
