#include "crypto/hmac.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "crypto/engines.hpp"
#include "support/libcrypto.hpp"
#include "support/seeded.hpp"

using namespace millrace;
using test::from_hex;
using test::to_hex;

namespace {

std::string mac(crypto::engine& engine, base::byte_view key, base::byte_view message) {
  crypto::sha256_digest out{};
  engine.hmac_sha256(key, message, out);
  return to_hex(out);
}

}  // namespace

TEST(hmac, gives_the_macs_of_rfc_4231) {
  test::on_every_engine([](crypto::engine& engine) {
    EXPECT_EQ(mac(engine, std::vector<std::uint8_t>(20, 0x0b), base::as_bytes("Hi There")),
              "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    EXPECT_EQ(mac(engine, base::as_bytes("Jefe"), base::as_bytes("what do ya want for nothing?")),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    EXPECT_EQ(mac(engine, std::vector<std::uint8_t>(20, 0xaa), std::vector<std::uint8_t>(50, 0xdd)),
              "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    // A key longer than a block.
    EXPECT_EQ(mac(engine, std::vector<std::uint8_t>(131, 0xaa),
                  base::as_bytes("Test Using Larger Than Block-Size Key - Hash Key First")),
              "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  });
}

TEST(hmac, agrees_with_libcrypto_on_every_message_size_up_to_300_and_large_ones) {
  test::on_every_engine([](crypto::engine& engine) {
    test::seeded random(2104);
    // Around the largest message IPsec-MB's jobs take, ours go on block by block.
    std::vector<std::size_t> sizes = {4096, 65533, 65534, 65535, 65536, 200'000};
    for (std::size_t size = 0; size <= 300; ++size) sizes.push_back(size);
    for (const std::size_t size : sizes) {
      const auto key = random.bytes(size % 7 == 0 ? 32 : 1 + random.below(64));
      const auto message = random.bytes(size);
      ASSERT_EQ(mac(engine, key, message), to_hex(test::libcrypto::hmac_sha256(key, message))) << size;
    }
  });
}

TEST(hmac, agrees_with_libcrypto_on_every_key_size_up_to_200) {
  test::on_every_engine([](crypto::engine& engine) {
    test::seeded random(4231);
    for (std::size_t size = 0; size <= 200; ++size) {
      const auto key = random.bytes(size);
      const auto message = random.bytes(33);
      ASSERT_EQ(mac(engine, key, message), to_hex(test::libcrypto::hmac_sha256(key, message))) << size;
    }
  });
}

TEST(hmac, still_answers_right_after_an_empty_message) {
  // An empty message must not reach IPsec-MB: it would spoil the manager for all that follow.
  test::on_every_engine([](crypto::engine& engine) {
    const std::vector<std::uint8_t> key(32, 7);
    const std::vector<std::uint8_t> message(40, 9);
    const std::string right = to_hex(test::libcrypto::hmac_sha256(key, message));
    EXPECT_EQ(mac(engine, key, {}), to_hex(test::libcrypto::hmac_sha256(key, {})));
    EXPECT_EQ(mac(engine, key, message), right);
    EXPECT_EQ(mac(engine, key, message), right);
  });
}

TEST(hmac, many_messages_at_once_are_the_same_as_one_by_one) {
  test::on_every_engine([](crypto::engine& engine) {
    test::seeded random(4);
    crypto::hmac_key key;
    const auto key_bytes = random.bytes(32);
    crypto::set_hmac_key(engine, key_bytes, key);
    for (std::size_t count = 0; count <= 11; ++count) {
      std::vector<std::vector<std::uint8_t>> messages;
      std::vector<crypto::sha256_digest> digests(count);
      std::vector<crypto::hmac_request> requests;
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t size = i % 5 == 3 ? 0 : i == 6 ? 70'000 : random.below(200);
        messages.push_back(random.bytes(size));
      }
      for (std::size_t i = 0; i < count; ++i) requests.push_back({messages[i], &digests[i]});
      crypto::hmac_each(engine, key, requests);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(to_hex(digests[i]), to_hex(test::libcrypto::hmac_sha256(key_bytes, messages[i])))
            << i << '/' << count;
      }
    }
  });
}

TEST(hmac, a_key_made_at_compile_time_is_the_key_made_at_run_time) {
  static constexpr std::array<std::uint8_t, 5> bytes = {1, 2, 3, 4, 255};
  static constexpr crypto::hmac_key constant = crypto::constant_hmac_key(bytes);
  test::on_every_engine([](crypto::engine& engine) {
    crypto::hmac_key made;
    crypto::set_hmac_key(engine, bytes, made);
    EXPECT_EQ(constant.inner, made.inner);
    EXPECT_EQ(constant.outer, made.outer);
  });
}
