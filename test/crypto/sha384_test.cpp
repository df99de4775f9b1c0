#include "crypto/sha384.hpp"

#include <gtest/gtest.h>

#include "support/bytes.hpp"
#include "support/libcrypto.hpp"
#include "support/seeded.hpp"

using namespace millrace;
using test::to_hex;

namespace {

std::string digest(base::byte_view message) {
  crypto::sha384_digest out{};
  crypto::sha384(message, out);
  return to_hex(out);
}

std::string mac(base::byte_view key, base::byte_view message) {
  crypto::hmac384_key prepared;
  crypto::set_hmac384_key(key, prepared);
  crypto::sha384_digest out{};
  crypto::hmac384(prepared, message, out);
  return to_hex(out);
}

}  // namespace

TEST(sha384, gives_the_digest_fips_180_publishes) {
  EXPECT_EQ(digest(base::as_bytes("abc")),
            "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7");
}

TEST(sha384, agrees_with_libcrypto_on_every_size_up_to_400) {
  test::seeded random(384);
  for (std::size_t size = 0; size <= 400; ++size) {
    const auto message = random.bytes(size);
    ASSERT_EQ(digest(message), to_hex(test::libcrypto::digest(EVP_sha384(), message))) << size;
  }
}

TEST(hmac384, gives_the_mac_of_rfc_4231_4_3) {
  EXPECT_EQ(mac(base::as_bytes("Jefe"), base::as_bytes("what do ya want for nothing?")),
            "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649");
}

TEST(hmac384, agrees_with_libcrypto_on_every_key_and_message_size_up_to_300) {
  test::seeded random(385);
  for (std::size_t size = 0; size <= 300; ++size) {
    const auto key = random.bytes(size);
    const auto message = random.bytes(300 - size);
    ASSERT_EQ(mac(key, message), to_hex(test::libcrypto::hmac(EVP_sha384(), key, message))) << size;
  }
}
