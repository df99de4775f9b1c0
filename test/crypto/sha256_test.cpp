#include "crypto/sha256.hpp"

#include <gtest/gtest.h>

#include "crypto/engines.hpp"
#include "support/libcrypto.hpp"
#include "support/seeded.hpp"

using namespace millrace;
using test::from_hex;
using test::to_hex;

namespace {

std::string hash(crypto::engine& engine, base::byte_view message) {
  crypto::sha256_digest out{};
  engine.sha256(message, out);
  return to_hex(out);
}

}  // namespace

TEST(sha256, gives_the_digests_fips_180_4_publishes) {
  test::on_every_engine([](crypto::engine& engine) {
    EXPECT_EQ(hash(engine, {}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(hash(engine, base::as_bytes("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(hash(engine, base::as_bytes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(hash(engine, std::vector<std::uint8_t>(1'000'000, 'a')),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  });
}

TEST(sha256, agrees_with_libcrypto_on_every_size_up_to_300_and_some_large_ones) {
  test::on_every_engine([](crypto::engine& engine) {
    test::seeded random(256);
    std::vector<std::size_t> sizes = {4095, 4096, 65535, 65536, 300'000};
    for (std::size_t size = 0; size <= 300; ++size) sizes.push_back(size);
    for (const std::size_t size : sizes) {
      const auto message = random.bytes(size);
      ASSERT_EQ(hash(engine, message), to_hex(test::libcrypto::sha256(message))) << size;
    }
  });
}

TEST(sha256, portable_blocks_and_sha_instructions_mix_the_same_state) {
  test::seeded random(64);
  const std::optional<crypto::engine> engine = crypto::engine::make();
  ASSERT_TRUE(engine.has_value());
  for (const std::size_t count : {0u, 1u, 2u, 7u}) {
    const auto blocks = random.bytes(count * crypto::sha256_block_size);
    crypto::sha256_words portable = crypto::sha256_initial;
    portable[3] = static_cast<std::uint32_t>(random.next());
    crypto::sha256_words chosen = portable;
    crypto::sha256_blocks_portable(portable, blocks.data(), count);
    engine->sha256_blocks(chosen, blocks.data(), count);
    EXPECT_EQ(portable, chosen) << count;
  }
}
