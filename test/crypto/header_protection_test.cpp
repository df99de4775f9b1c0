#include "crypto/header_protection.hpp"

#include <gtest/gtest.h>

#include "crypto/engines.hpp"
#include "support/libcrypto.hpp"
#include "support/seeded.hpp"

using namespace millrace;
using crypto::aead_algorithm;
using test::from_hex;
using test::to_hex;
using bytes = std::vector<std::uint8_t>;

namespace {

constexpr aead_algorithm algorithms[] = {aead_algorithm::aes_128_gcm, aead_algorithm::aes_256_gcm,
                                         aead_algorithm::chacha20_poly1305};

std::string their_mask(aead_algorithm algorithm, const bytes& key, const bytes& sample) {
  switch (algorithm) {
    case aead_algorithm::aes_128_gcm:
      return to_hex(test::libcrypto::ecb_block(EVP_aes_128_ecb(), key, sample)).substr(0, 10);
    case aead_algorithm::aes_256_gcm:
      return to_hex(test::libcrypto::ecb_block(EVP_aes_256_ecb(), key, sample)).substr(0, 10);
    case aead_algorithm::chacha20_poly1305:
      return to_hex(test::libcrypto::chacha20_keystream(key, sample, 5));
  }
  return "";
}

std::string our_mask(crypto::engine& engine, aead_algorithm algorithm, const bytes& key, const bytes& sample) {
  crypto::header_key schedule;
  crypto::set_header_key(engine, algorithm, key, schedule);
  crypto::header_mask_bytes mask{};
  crypto::header_mask(schedule, sample, mask);
  return to_hex(mask);
}

}  // namespace

TEST(header_mask, is_the_start_of_the_encrypted_sample) {
  test::on_every_engine([](crypto::engine& engine) {
    test::seeded random(54);
    for (const aead_algorithm algorithm : algorithms) {
      for (int round = 0; round < 200; ++round) {
        const bytes key = random.bytes(crypto::key_size(algorithm));
        const bytes sample = random.bytes(16);
        ASSERT_EQ(our_mask(engine, algorithm, key, sample), their_mask(algorithm, key, sample));
      }
    }
  });
}

TEST(header_mask, is_the_one_rfc_9001_a_2_prints) {
  test::on_every_engine([](crypto::engine& engine) {
    EXPECT_EQ(our_mask(engine, aead_algorithm::aes_128_gcm, from_hex("9f50449e04a0e810283a1e9933adedd2"),
                       from_hex("d1b1c98dd7689fb8ec11d242b123dc9b")),
              "437b9aec36");
  });
}

TEST(header_mask, is_the_one_rfc_9001_a_5_prints_for_chacha20) {
  test::on_every_engine([](crypto::engine& engine) {
    EXPECT_EQ(our_mask(engine, aead_algorithm::chacha20_poly1305,
                       from_hex("25a282b9e82f06f21f488917a4fc8f1b73573685608597d0efcb076b0ab7a7a4"),
                       from_hex("5e5cd55c41f69080575d7999c25a5bfb")),
              "aefefe7d03");
  });
}

TEST(header_masks, of_a_burst_are_those_of_its_packets) {
  test::on_every_engine([](crypto::engine& engine) {
    test::seeded random(55);
    for (std::size_t count = 0; count <= 40; ++count) {
      std::vector<crypto::header_key> keys(count);
      std::vector<bytes> samples;
      std::vector<std::string> expected;
      std::vector<crypto::header_mask_job> jobs(count);
      // Runs of one algorithm, so that groups of eight are met, broken and begun again.
      aead_algorithm algorithm = algorithms[count % 3];
      for (std::size_t i = 0; i < count; ++i) {
        if (random.below(16) == 0) algorithm = algorithms[random.below(3)];
        const bytes key = random.bytes(crypto::key_size(algorithm));
        crypto::set_header_key(engine, algorithm, key, keys[i]);
        samples.push_back(random.bytes(16));
        expected.push_back(their_mask(algorithm, key, samples[i]));
      }
      for (std::size_t i = 0; i < count; ++i) {
        jobs[i].key = &keys[i];
        jobs[i].sample = samples[i].data();
      }
      crypto::header_masks(jobs);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(to_hex(base::byte_view(jobs[i].mask).first(5)), expected[i]) << i << " of " << count;
      }
    }
  });
}
