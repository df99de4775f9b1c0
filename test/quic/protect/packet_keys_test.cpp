#include "quic/protect/packet_keys.hpp"

#include <gtest/gtest.h>

#include "crypto/wiped.hpp"
#include "quic/protect/protected_packets.hpp"

using namespace millrace;
using quic::protect::cipher_suite;
using bytes = test::byte_list;
using test::from_hex;
using test::to_hex;

namespace {

const bytes rfc_secret = from_hex("9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b");  // RFC 9001 A.5

std::string their_schedule(crypto::engine& engine, crypto::aead_algorithm algorithm, const bytes& key) {
  // Padding between a schedule's end and its storage is nobody's: both begin as zeros.
  crypto::aead_key out{};
  crypto::set_aead_key(engine, algorithm, key, out);
  return to_hex(out.schedule);
}

}  // namespace

TEST(packet_keys, are_those_rfc_9001_a_5_and_rfc_9369_a_5_print) {
  crypto::engine engine = test::make_engine();
  struct row {
    quic::wire::version_number version;
    const char *key, *iv, *next;
  };
  for (const row& r :
       {row{quic::wire::version_1, "c6d98ff3441c3fe1b2182094f69caa2ed4b716b65488960a7a984979fb23e1c8",
            "e0459b3474bdd0e44a41c144", "1223504755036d556342ee9361d253421a826c9ecdf3c7148684b36b714881f9"},
        row{quic::wire::version_2, "3bfcddd72bcf02541d7fa0dd1f5f9eeea817e09a6963a0e6c7df0f9a1bab90f2",
            "a6b5bc6ab7dafce30ffff5dd", "c69374c49e3d2a9466fa689e49d476db5d0dfbc87d32ceeaa6343fd0ae4c7d88"}}) {
    const quic::protect::key_context context{r.version, cipher_suite::chacha20_poly1305_sha256};
    const auto secret = test::secret_of(context.suite, rfc_secret);
    quic::protect::packet_keys keys;
    ASSERT_TRUE(quic::protect::derive_packet_keys(engine, context, secret, keys));
    EXPECT_EQ(to_hex(base::byte_view(keys.aead.schedule).first(32)), r.key);
    EXPECT_EQ(to_hex(keys.iv), r.iv);
    quic::protect::traffic_secret next;
    ASSERT_TRUE(quic::protect::next_secret(engine, context, secret, next));
    EXPECT_EQ(to_hex(next.view()), r.next);
  }
}

TEST(packet_keys, agree_with_libcrypto_for_every_suite_and_version) {
  crypto::engine engine = test::make_engine();
  test::seeded random(51);
  for (const test::suite_row& suite : test::suites) {
    for (const test::label_row& label : test::label_rows) {
      const quic::protect::key_context context{label.version, suite.ours};
      const bytes secret_bytes = random.bytes(suite.secret_size);
      const auto secret = test::secret_of(suite.ours, secret_bytes);
      const test::reference_keys theirs = test::reference_keys_of(suite.theirs, secret_bytes, label.prefix);
      quic::protect::packet_keys keys{};
      ASSERT_TRUE(quic::protect::derive_packet_keys(engine, context, secret, keys));
      EXPECT_EQ(to_hex(keys.iv), to_hex(theirs.iv));
      EXPECT_EQ(to_hex(keys.aead.schedule), their_schedule(engine, quic::protect::aead_of(suite.ours), theirs.key));
      quic::protect::payload_keys payload{};
      ASSERT_TRUE(quic::protect::derive_payload_keys(engine, context, secret, payload));
      EXPECT_EQ(to_hex(payload.iv), to_hex(theirs.iv));
      EXPECT_EQ(to_hex(payload.aead.schedule), to_hex(keys.aead.schedule));
      quic::protect::traffic_secret next;
      ASSERT_TRUE(quic::protect::next_secret(engine, context, secret, next));
      EXPECT_EQ(to_hex(next.view()),
                to_hex(test::libcrypto::hkdf_expand_label(secret_bytes, std::string(label.prefix) + "ku",
                                                          suite.secret_size, test::reference_hash(suite.theirs))));
    }
  }
}

TEST(packet_keys, need_a_secret_of_the_suites_size_and_a_version_with_labels) {
  crypto::engine engine = test::make_engine();
  for (const test::suite_row& suite : test::suites) {
    for (std::size_t size = 0; size <= 64; ++size) {
      quic::protect::traffic_secret out;
      EXPECT_EQ(quic::protect::set_secret(suite.ours, bytes(size), out), size == suite.secret_size) << size;
    }
  }
  quic::protect::packet_keys keys;
  const auto secret = test::secret_of(cipher_suite::aes_128_gcm_sha256, bytes(32));
  EXPECT_FALSE(derive_packet_keys(engine, {0x1a2a3a4a, cipher_suite::aes_128_gcm_sha256}, secret, keys));
  EXPECT_FALSE(derive_packet_keys(engine, {1, cipher_suite::aes_256_gcm_sha384}, secret, keys));
  quic::protect::traffic_secret next;
  EXPECT_FALSE(next_secret(engine, {1, cipher_suite::aes_256_gcm_sha384}, secret, next));
}

TEST(packet_keys, know_the_three_suites_and_their_limits) {
  EXPECT_EQ(quic::protect::find_cipher_suite(0x1300), std::nullopt);
  EXPECT_EQ(quic::protect::find_cipher_suite(0x1301), cipher_suite::aes_128_gcm_sha256);
  EXPECT_EQ(quic::protect::find_cipher_suite(0x1303), cipher_suite::chacha20_poly1305_sha256);
  EXPECT_EQ(quic::protect::find_cipher_suite(0x1304), std::nullopt);
  EXPECT_EQ(quic::protect::find_cipher_suite(0x1305), std::nullopt) << "RFC 9001 5.3: must not be used";
  EXPECT_EQ(quic::protect::limits_of(crypto::aead_algorithm::aes_256_gcm).confidentiality_pkts, 1u << 23);
  EXPECT_EQ(quic::protect::limits_of(crypto::aead_algorithm::chacha20_poly1305).integrity_pkts, std::uint64_t{1} << 36);
}
