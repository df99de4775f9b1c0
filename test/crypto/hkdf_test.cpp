#include "crypto/hkdf.hpp"

#include <gtest/gtest.h>

#include "crypto/engines.hpp"
#include "support/libcrypto.hpp"
#include "support/seeded.hpp"

using namespace millrace;
using test::from_hex;
using test::to_hex;

namespace {

crypto::sha256_digest digest_of(base::byte_view bytes) {
  crypto::sha256_digest out{};
  std::copy(bytes.begin(), bytes.end(), out.begin());
  return out;
}

std::string expand(crypto::engine& engine, const crypto::sha256_digest& secret, std::string_view label,
                   std::size_t size) {
  std::vector<std::uint8_t> out(size);
  engine.hkdf_expand_label(secret, label, out);
  return to_hex(out);
}

}  // namespace

TEST(hkdf, extracts_as_rfc_5869_a_1_and_a_3_do) {
  test::on_every_engine([](crypto::engine& engine) {
    crypto::sha256_digest out{};
    engine.hkdf_extract(from_hex("000102030405060708090a0b0c"), std::vector<std::uint8_t>(22, 0x0b), out);
    EXPECT_EQ(to_hex(out), "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5");
    engine.hkdf_extract({}, std::vector<std::uint8_t>(22, 0x0b), out);
    EXPECT_EQ(to_hex(out), "19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293ccb04");
  });
}

TEST(hkdf, derives_the_initial_keys_of_rfc_9001_a_1) {
  test::on_every_engine([](crypto::engine& engine) {
    crypto::sha256_digest initial{};
    engine.hkdf_extract(from_hex("38762cf7f55934b34d179ae6a4c80cadccbb7f0a"), from_hex("8394c8f03e515708"), initial);
    EXPECT_EQ(to_hex(initial), "7db5df06e7a69e432496adedb00851923595221596ae2ae9fb8115c1e9ed0a44");
    const std::string client = expand(engine, initial, "client in", 32);
    EXPECT_EQ(client, "c00cf151ca5be075ed0ebfb5c80323c42d6b7db67881289af4008f1f6c357aea");
    const crypto::sha256_digest secret = digest_of(from_hex(client));
    EXPECT_EQ(expand(engine, secret, "quic key", 16), "1f369613dd76d5467730efcbe3b1a22d");
    EXPECT_EQ(expand(engine, secret, "quic iv", 12), "fa044b2f42a3fd3b46fb255c");
    EXPECT_EQ(expand(engine, secret, "quic hp", 16), "9f50449e04a0e810283a1e9933adedd2");
  });
}

TEST(hkdf, builds_the_labels_rfc_9001_a_1_prints) {
  static constexpr crypto::hkdf_label key = crypto::make_hkdf_label<16>("quic key");
  static constexpr crypto::hkdf_label client = crypto::make_hkdf_label<32>("client in");
  EXPECT_EQ(to_hex(key.view()),
            "00100e746c7331332071756963206b657900"
            "01");
  EXPECT_EQ(to_hex(client.view()),
            "00200f746c73313320636c69656e7420696e00"
            "01");
  EXPECT_EQ(key.output_size, 16);
}

TEST(hkdf, a_label_made_at_compile_time_expands_like_its_text) {
  static constexpr crypto::hkdf_label label = crypto::make_hkdf_label<32>("quicv2 key");
  test::on_every_engine([](crypto::engine& engine) {
    const crypto::sha256_digest secret = digest_of(test::seeded(1).bytes(32));
    crypto::hmac_key key;
    crypto::set_hmac_key(engine, secret, key);
    crypto::sha256_digest out{};
    crypto::hkdf_expand(engine, key, label, out);
    EXPECT_EQ(to_hex(out), expand(engine, secret, "quicv2 key", 32));
  });
}

TEST(hkdf, agrees_with_libcrypto_on_every_output_size_up_to_300_and_the_largest) {
  test::on_every_engine([](crypto::engine& engine) {
    test::seeded random(5869);
    std::vector<std::size_t> sizes = {crypto::hkdf_output_max - 1, crypto::hkdf_output_max};
    for (std::size_t size = 1; size <= 300; ++size) sizes.push_back(size);
    for (const std::size_t size : sizes) {
      const crypto::sha256_digest secret = digest_of(random.bytes(32));
      const std::string label(random.below(crypto::hkdf_label_max + 1), 'x');
      ASSERT_EQ(expand(engine, secret, label, size), to_hex(test::libcrypto::hkdf_expand_label(secret, label, size)))
          << size << ' ' << label.size();
    }
  });
}

TEST(hkdf, writes_nothing_when_nothing_is_asked) {
  std::optional<crypto::engine> engine = crypto::engine::make();
  ASSERT_TRUE(engine.has_value());
  std::uint8_t beyond = 0x5a;
  engine->hkdf_expand_label(crypto::sha256_digest{}, "x", base::byte_span(&beyond, std::size_t{0}));
  EXPECT_EQ(beyond, 0x5a);
}

TEST(hkdf, of_either_hash_agrees_with_libcrypto) {
  test::on_every_engine([](crypto::engine& engine) {
    test::seeded random(5870);
    for (const auto& [hash, theirs] : {std::pair{crypto::hash_algorithm::sha256, EVP_sha256()},
                                       std::pair{crypto::hash_algorithm::sha384, EVP_sha384()}}) {
      const std::size_t hash_size = crypto::hash_size(hash);
      for (std::size_t size = 1; size <= 300; ++size) {
        const auto secret = random.bytes(hash_size);
        const auto salt = random.bytes(random.below(200));
        std::vector<std::uint8_t> extracted(hash_size);
        crypto::hkdf_extract(engine, hash, salt, secret, extracted);
        ASSERT_EQ(to_hex(extracted), to_hex(test::libcrypto::hmac(theirs, salt, secret)));
        const std::string label(random.below(crypto::hkdf_label_max + 1), 'q');
        std::vector<std::uint8_t> expanded(size);
        crypto::hkdf_expand_label(engine, hash, secret, label, expanded);
        ASSERT_EQ(to_hex(expanded), to_hex(test::libcrypto::hkdf_expand_label(secret, label, size, theirs))) << size;
      }
    }
  });
}
