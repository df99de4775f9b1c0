// One AES block waits for itself ten or fourteen times and leaves the CPU's AES units idle in between; eight blocks
// side by side fill them. Lanes have their own keys, so packets of several connections share a group. A group runs
// under one algorithm: jobs of another end it, and what does not fill a group goes one by one.
//
// ChaCha20 blocks run eight side by side in the same way, one state a lane of a vector.
#include "crypto/header_protection.hpp"

#include <immintrin.h>

#include <cstring>

#include "base/assert.hpp"
#include "base/endian.hpp"
#include "crypto/chacha20_block.hpp"
#include "crypto/ipsec_mb.hpp"

namespace millrace::crypto {
namespace {

constexpr std::size_t lanes = 8;

constexpr int rounds_of(aead_algorithm algorithm) noexcept {  // FIPS 197 5
  return algorithm == aead_algorithm::aes_128_gcm ? 10 : 14;
}

__attribute__((target("aes"))) inline __m128i aes_block(const header_key& key, const std::uint8_t* sample) noexcept {
  const auto* const round_keys = reinterpret_cast<const __m128i*>(key.schedule.data());
  const int rounds = rounds_of(key.algorithm);
  __m128i block = _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(sample)), round_keys[0]);
#pragma GCC unroll 9
  for (int i = 1; i < 10; ++i) block = _mm_aesenc_si128(block, round_keys[i]);
  for (int i = 10; i < rounds; ++i) block = _mm_aesenc_si128(block, round_keys[i]);
  return _mm_aesenclast_si128(block, round_keys[rounds]);
}

__attribute__((target("aes"))) void aes_ni_mask(const header_key& key, const std::uint8_t* sample,
                                                std::uint8_t* mask5) noexcept {
  const auto mask = static_cast<std::uint64_t>(_mm_cvtsi128_si64(aes_block(key, sample)));
  std::memcpy(mask5, &mask, header_mask_size);
}

template <int Rounds>
__attribute__((target("aes"))) void aes_ni_group(header_mask_job* jobs) noexcept {
  __m128i block[lanes];
  const __m128i* keys[lanes];
#pragma GCC unroll 8
  for (std::size_t i = 0; i < lanes; ++i) {
    keys[i] = reinterpret_cast<const __m128i*>(jobs[i].key->schedule.data());
    block[i] = _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(jobs[i].sample)), keys[i][0]);
  }
#pragma GCC unroll 14
  for (int round = 1; round < Rounds; ++round) {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < lanes; ++i) block[i] = _mm_aesenc_si128(block[i], keys[i][round]);
  }
#pragma GCC unroll 8
  for (std::size_t i = 0; i < lanes; ++i) {
    block[i] = _mm_aesenclast_si128(block[i], keys[i][Rounds]);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(jobs[i].mask.data()), block[i]);
  }
}

using word_lanes = std::uint32_t __attribute__((vector_size(4 * lanes)));

// RFC 8439 2.3: "expand 32-byte k"; RFC 9001 5.4.4: the sample is the block counter and the nonce, little-endian.
constexpr std::array<std::uint32_t, 4> chacha20_constants = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};

void chacha20_mask(const header_key& key, const std::uint8_t* sample, std::uint8_t* mask5) noexcept {
  chacha20_state<std::uint32_t> state;
  for (std::size_t i = 0; i < 4; ++i) {
    state.words[i] = chacha20_constants[i];
    state.words[4 + i] = base::load_le32(key.schedule.data() + 4 * i);
    state.words[8 + i] = base::load_le32(key.schedule.data() + 16 + 4 * i);
    state.words[12 + i] = base::load_le32(sample + 4 * i);
  }
  std::uint32_t first;
  std::uint32_t second;
  chacha20_first_two(state, first, second);
  const std::uint64_t mask = std::uint64_t{second} << 32 | first;
  std::memcpy(mask5, &mask, header_mask_size);
}

void chacha20_group(header_mask_job* jobs) noexcept {
  chacha20_state<word_lanes> state;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    for (std::size_t i = 0; i < 4; ++i) {
      state.words[i][lane] = chacha20_constants[i];
      state.words[4 + i][lane] = base::load_le32(jobs[lane].key->schedule.data() + 4 * i);
      state.words[8 + i][lane] = base::load_le32(jobs[lane].key->schedule.data() + 16 + 4 * i);
      state.words[12 + i][lane] = base::load_le32(jobs[lane].sample + 4 * i);
    }
  }
  word_lanes first;
  word_lanes second;
  chacha20_first_two(state, first, second);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const std::uint64_t mask = std::uint64_t{second[lane]} << 32 | first[lane];
    std::memcpy(jobs[lane].mask.data(), &mask, sizeof(mask));
  }
}

inline void one_mask(const header_key& key, const std::uint8_t* sample, std::uint8_t* mask5) noexcept {
  if (key.algorithm == aead_algorithm::chacha20_poly1305) return chacha20_mask(key, sample, mask5);
  aes_ni_mask(key, sample, mask5);
}

bool is_group(std::span<const header_mask_job> jobs) noexcept {
  for (const header_mask_job& job : jobs) {
    if (job.key->algorithm != jobs[0].key->algorithm) return false;
  }
  return true;
}

}  // namespace

void set_header_key(engine& e, aead_algorithm algorithm, base::byte_view key, header_key& out) noexcept {
  MILLRACE_ASSERT(key.size() == key_size(algorithm));
  header_key decryption;  // IPsec-MB expands both directions in one call; header protection only ever encrypts
  switch (algorithm) {
    case aead_algorithm::aes_128_gcm:
      IMB_AES_KEYEXP_128(e.cipher_manager(), key.data(), out.schedule.data(), decryption.schedule.data());
      break;
    case aead_algorithm::aes_256_gcm:
      IMB_AES_KEYEXP_256(e.cipher_manager(), key.data(), out.schedule.data(), decryption.schedule.data());
      break;
    case aead_algorithm::chacha20_poly1305:
      std::memcpy(out.schedule.data(), key.data(), aead_key_size_max);
      break;
  }
  out.algorithm = algorithm;
}

void set_aes128_header_key(engine& e, base::byte_view key16, header_key& out) noexcept {
  set_header_key(e, aead_algorithm::aes_128_gcm, key16, out);
}

void header_mask(const header_key& key, base::byte_view sample, header_mask_bytes& mask) noexcept {
  MILLRACE_ASSERT(sample.size() == header_sample_size);
  one_mask(key, sample.data(), mask.data());
}

void header_masks(std::span<header_mask_job> jobs) noexcept {
  while (jobs.size() >= lanes && is_group(jobs.first(lanes))) {
    const aead_algorithm algorithm = jobs[0].key->algorithm;
    if (algorithm == aead_algorithm::chacha20_poly1305) {
      chacha20_group(jobs.data());
    } else if (algorithm == aead_algorithm::aes_128_gcm) {
      aes_ni_group<rounds_of(aead_algorithm::aes_128_gcm)>(jobs.data());
    } else {
      aes_ni_group<rounds_of(aead_algorithm::aes_256_gcm)>(jobs.data());
    }
    jobs = jobs.subspan(lanes);
  }
  for (header_mask_job& job : jobs) one_mask(*job.key, job.sample, job.mask.data());
}

}  // namespace millrace::crypto
