#include <gtest/gtest.h>

#include "quic/protect/initial.hpp"
#include "quic/protect/initials.hpp"
#include "support/hostile.hpp"
#include "support/libcrypto.hpp"
#include "support/seeded.hpp"

using namespace millrace;
using bytes = test::byte_list;
using test::from_hex;

namespace {

const bytes rfc_dcid = from_hex("8394c8f03e515708");

struct retry_row {
  quic::wire::version_number version;
  const char* key;
  const char* nonce;
};

const retry_row rows[] = {
    {0x00000001, "be0c690b9f66575a1d766b54e368c84e", "461599d35d632bf2239825bb"},
    {0xff000022, "be0c690b9f66575a1d766b54e368c84e", "461599d35d632bf2239825bb"},
    {0x6b3343cf, "8fb4b01b56ac48e260fbcbcead7ccc92", "d86969bc2d7c6d9990efb04a"},
    {0x709a50c4, "ba858dc7b43de5dbf87617ff4ab253db", "141b99c239b03e785d6a2e9f"},
    {0xff000020, "ccce187ed09a09d05728155a6cb96be1", "e54930f97f2136f0530a8c1c"},
    {0xff00001d, "ccce187ed09a09d05728155a6cb96be1", "e54930f97f2136f0530a8c1c"},
    {0xff00001c, "4d32ecdb2a2133c841e4043df27d4430", "4d1611d05513a552c587d575"},
    {0xff000019, "4d32ecdb2a2133c841e4043df27d4430", "4d1611d05513a552c587d575"},
    {0x54303530, "c92d323d9ce30da088b9b7bbdccd50c8", "26e4d62383d5c760ea02b41f"},
    {0x54303531, "2eb961a67956f8795314dafb2ebc83d7", "b50e4e534cfc0bbb85f2f9ca"},
};

}  // namespace

TEST(retry, verifies_the_packets_of_rfc_9001_a_4_and_rfc_9369_a_4) {
  crypto::engine engine = test::make_engine();
  EXPECT_TRUE(quic::protect::verify_retry(
      engine, 1, rfc_dcid, from_hex("ff000000010008f067a5502a4262b5746f6b656e04a265ba2eff4d829058fb3f0f2496ba")));
  EXPECT_TRUE(quic::protect::verify_retry(
      engine, 0x6b3343cf, rfc_dcid,
      from_hex("cf6b3343cf0008f067a5502a4262b5746f6b656ec8646ce8bfe33952d955543665dcc7b6")));
}

TEST(retry, agrees_with_libcrypto_for_every_version_and_token_size) {
  crypto::engine engine = test::make_engine();
  test::seeded random(58);
  for (const retry_row& row : rows) {
    SCOPED_TRACE(testing::Message() << std::hex << row.version);
    ASSERT_TRUE(quic::protect::has_retry_key(row.version));
    for (std::size_t size = 7; size < 300; size += 1 + random.below(7)) {
      const bytes dcid = random.bytes(random.below(21));
      const bytes body = random.bytes(size);
      const bytes dcid_size = {static_cast<std::uint8_t>(dcid.size())};
      const bytes tag = test::libcrypto::aes128_gcm_seal(from_hex(row.key), from_hex(row.nonce),
                                                         test::join({dcid_size, dcid, body}), {});
      const bytes retry = test::join({body, tag});
      ASSERT_TRUE(quic::protect::verify_retry(engine, row.version, dcid, retry)) << size;
      bytes ours = test::join({body, bytes(16)});
      ASSERT_TRUE(quic::protect::seal_retry(engine, row.version, dcid, ours));
      ASSERT_EQ(ours, retry);
    }
  }
}

TEST(retry, refuses_every_one_byte_change_and_truncation) {
  crypto::engine engine = test::make_engine();
  const bytes good = from_hex("ff000000010008f067a5502a4262b5746f6b656e04a265ba2eff4d829058fb3f0f2496ba");
  test::for_every_byte_change(
      good, [&](base::byte_view r) { EXPECT_FALSE(quic::protect::verify_retry(engine, 1, rfc_dcid, r)); });
  test::for_every_truncation(
      good, [&](base::byte_view r) { EXPECT_FALSE(quic::protect::verify_retry(engine, 1, rfc_dcid, r)); });
  test::for_every_byte_change(
      rfc_dcid, [&](base::byte_view dcid) { EXPECT_FALSE(quic::protect::verify_retry(engine, 1, dcid, good)); });
  EXPECT_FALSE(quic::protect::verify_retry(engine, 1, {}, good));
  EXPECT_FALSE(quic::protect::verify_retry(engine, 1, bytes(256), good)) << "no length byte can say 256";
}

TEST(retry, has_no_key_for_drafts_before_25_and_unknown_versions) {
  crypto::engine engine = test::make_engine();
  for (const quic::wire::version_number version : {0xff000018u, 0xff000016u, 0xfaceb001u, 0u, 0x51303530u, 2u}) {
    EXPECT_FALSE(quic::protect::has_retry_key(version)) << std::hex << version;
    bytes retry(40);
    EXPECT_FALSE(quic::protect::verify_retry(engine, version, rfc_dcid, retry));
    EXPECT_FALSE(quic::protect::seal_retry(engine, version, rfc_dcid, retry));
    EXPECT_EQ(retry, bytes(40));
  }
}
