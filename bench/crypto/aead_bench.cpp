// AES-128-GCM by packet size through crypto/aead.hpp, and beside it IPsec-MB called directly with everything at hand:
// the difference is what our layer costs. Header masks the same way.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "crypto/header_protection.hpp"
#include "crypto/ipsec_mb.hpp"

namespace {

using namespace millrace;

struct setting {
  std::optional<crypto::engine> engine = crypto::engine::make();
  crypto::aead_key key;
  crypto::header_key header;
  std::array<std::uint8_t, 16> key_bytes{1, 2, 3};
  std::array<std::uint8_t, 12> nonce{4, 5, 6};
  std::array<std::uint8_t, 20> associated{7, 8};
  std::vector<std::uint8_t> text;
  std::vector<std::uint8_t> sealed;

  explicit setting(std::size_t size = 0) : text(size, 0x5a), sealed(size + crypto::aead_tag_size) {
    if (!engine.has_value()) std::abort();
    crypto::set_aes128_gcm_key(*engine, key_bytes, key);
    crypto::set_aes128_header_key(*engine, key_bytes, header);
    crypto::seal(*engine, key, nonce, associated, text, sealed.data());
  }
  [[nodiscard]] const gcm_key_data* schedule() const {
    return reinterpret_cast<const gcm_key_data*>(key.schedule.data());
  }
};

void sizes(benchmark::internal::Benchmark* b) { b->ArgName("bytes")->Arg(64)->Arg(256)->Arg(1200)->Arg(1452); }

void count_bytes(benchmark::State& state) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
}

void crypto_seal(benchmark::State& state) {
  setting s(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    crypto::seal(*s.engine, s.key, s.nonce, s.associated, s.text, s.sealed.data());
    benchmark::ClobberMemory();
  }
  count_bytes(state);
}
BENCHMARK(crypto_seal)->Apply(sizes);

void crypto_seal__limit_ipsec_mb(benchmark::State& state) {
  setting s(static_cast<std::size_t>(state.range(0)));
  IMB_MGR* const manager = s.engine->cipher_manager();
  gcm_context_data context;
  for (auto _ : state) {
    IMB_AES128_GCM_ENC(manager, s.schedule(), &context, s.sealed.data(), s.text.data(), s.text.size(), s.nonce.data(),
                       s.associated.data(), s.associated.size(), s.sealed.data() + s.text.size(), 16);
    benchmark::ClobberMemory();
  }
  count_bytes(state);
}
BENCHMARK(crypto_seal__limit_ipsec_mb)->Apply(sizes);

void crypto_open(benchmark::State& state) {
  setting s(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    if (!crypto::open(*s.engine, s.key, s.nonce, s.associated, s.sealed, s.text.data())) state.SkipWithError("tag");
    benchmark::ClobberMemory();
  }
  count_bytes(state);
}
BENCHMARK(crypto_open)->Apply(sizes);

// Without the comparison of tags, which the library leaves to its caller.
void crypto_open__limit_ipsec_mb(benchmark::State& state) {
  setting s(static_cast<std::size_t>(state.range(0)));
  IMB_MGR* const manager = s.engine->cipher_manager();
  gcm_context_data context;
  std::array<std::uint8_t, 16> tag;
  for (auto _ : state) {
    IMB_AES128_GCM_DEC(manager, s.schedule(), &context, s.text.data(), s.sealed.data(), s.text.size(), s.nonce.data(),
                       s.associated.data(), s.associated.size(), tag.data(), tag.size());
    benchmark::DoNotOptimize(tag);
    benchmark::ClobberMemory();
  }
  count_bytes(state);
}
BENCHMARK(crypto_open__limit_ipsec_mb)->Apply(sizes);

void crypto_set_gcm_key(benchmark::State& state) {
  setting s;
  for (auto _ : state) {
    crypto::set_aes128_gcm_key(*s.engine, s.key_bytes, s.key);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(crypto_set_gcm_key);

void crypto_set_gcm_key__limit_ipsec_mb(benchmark::State& state) {
  setting s;
  gcm_key_data schedule;
  for (auto _ : state) {
    IMB_AES128_GCM_PRE(s.engine->cipher_manager(), s.key_bytes.data(), &schedule);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(crypto_set_gcm_key__limit_ipsec_mb);

void crypto_set_header_key(benchmark::State& state) {
  setting s;
  for (auto _ : state) {
    crypto::set_aes128_header_key(*s.engine, s.key_bytes, s.header);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(crypto_set_header_key);

void crypto_set_header_key__limit_ipsec_mb(benchmark::State& state) {
  setting s;
  alignas(16) std::array<std::uint8_t, 11 * 16> encryption;
  alignas(16) std::array<std::uint8_t, 11 * 16> decryption;
  for (auto _ : state) {
    IMB_AES_KEYEXP_128(s.engine->cipher_manager(), s.key_bytes.data(), encryption.data(), decryption.data());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(crypto_set_header_key__limit_ipsec_mb);

void crypto_header_mask(benchmark::State& state) {
  setting s;
  std::array<std::uint8_t, 16> sample{9};
  std::array<std::uint8_t, crypto::header_mask_size> mask;
  for (auto _ : state) {
    crypto::header_mask(s.header, sample, mask);
    benchmark::DoNotOptimize(mask);
    sample[0] = mask[0];  // the next sample waits for this mask, as nothing in a burst does: the longest it takes
  }
}
BENCHMARK(crypto_header_mask);

void crypto_header_mask__limit_ipsec_mb(benchmark::State& state) {
  setting s;
  std::array<std::uint8_t, 16> sample{9};
  const std::array<std::uint8_t, 16> zeros{};
  std::array<std::uint8_t, 16> mask;
  for (auto _ : state) {
    IMB_AES128_CFB_ONE(s.engine->cipher_manager(), mask.data(), zeros.data(), sample.data(), s.header.schedule.data(),
                       16);
    benchmark::DoNotOptimize(mask);
    sample[0] = mask[0];
  }
}
BENCHMARK(crypto_header_mask__limit_ipsec_mb);

}  // namespace

BENCHMARK_MAIN();
