#include "crypto/siphash.hpp"

#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>

#include <memory>

#include "base/endian.hpp"
#include "support/seeded.hpp"

using namespace millrace;

namespace {

// The key 00 01 .. 0f and messages 00 01 02 .. are those of the authors' own table.
constexpr crypto::siphash_key counting_key = {0x0706'0504'0302'0100, 0x0f0e'0d0c'0b0a'0908};

std::uint64_t by_libcrypto(const crypto::siphash_key& key, base::byte_view message) {
  const std::unique_ptr<EVP_MAC, decltype(&EVP_MAC_free)> mac(EVP_MAC_fetch(nullptr, "SIPHASH", nullptr), EVP_MAC_free);
  const std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)> context(EVP_MAC_CTX_new(mac.get()), EVP_MAC_CTX_free);
  std::size_t size = 8;
  const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_size_t(OSSL_MAC_PARAM_SIZE, &size), OSSL_PARAM_construct_end()};
  std::uint8_t key_bytes[16];
  base::store_le64(key_bytes, key.k0);
  base::store_le64(key_bytes + 8, key.k1);
  std::uint8_t out[8] = {};
  EXPECT_EQ(EVP_MAC_init(context.get(), key_bytes, sizeof key_bytes, parameters), 1);
  EXPECT_EQ(EVP_MAC_update(context.get(), message.data(), message.size()), 1);
  EXPECT_EQ(EVP_MAC_final(context.get(), out, &size, sizeof out), 1);
  return base::load_le64(out);
}

}  // namespace

TEST(siphash, gives_the_values_its_authors_publish) {
  std::uint8_t message[64];
  for (std::size_t i = 0; i < sizeof message; ++i) message[i] = static_cast<std::uint8_t>(i);
  EXPECT_EQ(crypto::siphash_2_4(counting_key, {message, 0}), 0x726f'db47'dd0e'0e31);
  EXPECT_EQ(crypto::siphash_2_4(counting_key, {message, 1}), 0x74f8'39c5'93dc'67fd);
  EXPECT_EQ(crypto::siphash_2_4(counting_key, {message, 15}), 0xa129'ca61'49be'45e5);
}

TEST(siphash, agrees_with_libcrypto_on_every_size_up_to_300) {
  test::seeded random(24);
  for (std::size_t size = 0; size <= 300; ++size) {
    const crypto::siphash_key key{random.next(), random.next()};
    const auto message = random.bytes(size);
    ASSERT_EQ(crypto::siphash_2_4(key, message), by_libcrypto(key, message)) << size;
  }
}
