#include "crypto/sha1.hpp"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include "crypto/engines.hpp"
#include "support/seeded.hpp"

using namespace millrace;
using test::to_hex;

namespace {

std::string hash(crypto::engine& engine, base::byte_view message) {
  crypto::sha1_digest out{};
  crypto::sha1(engine, message, out);
  return to_hex(out);
}

std::string libcrypto_hash(base::byte_view message) {
  crypto::sha1_digest out{};
  unsigned size = 0;
  EXPECT_EQ(EVP_Digest(message.data(), message.size(), out.data(), &size, EVP_sha1(), nullptr), 1);
  EXPECT_EQ(size, out.size());
  return to_hex(out);
}

}  // namespace

TEST(sha1, gives_the_digests_fips_180_publishes) {
  test::on_every_engine([](crypto::engine& engine) {
    EXPECT_EQ(hash(engine, {}), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    EXPECT_EQ(hash(engine, base::as_bytes("abc")), "a9993e364706816aba3e25717850c26c9cd0d89d");
    EXPECT_EQ(hash(engine, base::as_bytes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
              "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  });
}

TEST(sha1, agrees_with_libcrypto_on_every_size_up_to_300) {
  test::on_every_engine([](crypto::engine& engine) {
    test::seeded random(160);
    for (std::size_t size = 0; size <= 300; ++size) {
      const auto message = random.bytes(size);
      ASSERT_EQ(hash(engine, message), libcrypto_hash(message)) << size;
    }
  });
}
