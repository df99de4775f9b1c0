#include "quic/path/reset_tokens.hpp"

#include <gtest/gtest.h>

#include <set>

#include "quic/protect/initials.hpp"
#include "support/bytes.hpp"
#include "support/seeded.hpp"

namespace millrace::quic::path {
namespace {

using key_bytes = std::array<std::uint8_t, reset_key_size>;

TEST(reset_tokens, are_the_first_half_of_the_hmac) {  // RFC 9000 10.3.2
  crypto::engine engine = test::make_engine();
  test::seeded random(1);
  for (std::size_t size = 0; size <= 20; ++size) {
    key_bytes key;
    for (std::uint8_t& byte : key) byte = static_cast<std::uint8_t>(random.next());
    const std::vector<std::uint8_t> cid = random.bytes(size);
    const reset_tokens tokens(engine, key);
    crypto::sha256_digest whole;
    engine.hmac_sha256(key, cid, whole);
    EXPECT_EQ(test::to_hex(tokens.of(engine, cid)), test::to_hex(base::byte_view(whole).first(16)));
  }
}

TEST(reset_tokens, come_again_after_everything_was_forgotten) {  // RFC 9000 10.3.2
  const key_bytes key{1, 2, 3};
  const std::array<std::uint8_t, 8> cid{9, 8, 7, 6, 5, 4, 3, 2};
  crypto::engine before = test::make_engine();
  const wire::stateless_reset_token_value given = reset_tokens(before, key).of(before, cid);
  crypto::engine after = test::make_engine();
  EXPECT_EQ(reset_tokens(after, key).of(after, cid), given);
}

TEST(reset_tokens, differ_with_every_bit_of_key_and_id) {
  crypto::engine engine = test::make_engine();
  key_bytes key{};
  std::array<std::uint8_t, 8> cid{};
  std::set<wire::stateless_reset_token_value> seen;
  seen.insert(reset_tokens(engine, key).of(engine, cid));
  for (unsigned bit = 0; bit < 64; ++bit) {
    cid = {};
    cid[bit / 8] = static_cast<std::uint8_t>(1u << (bit % 8));
    EXPECT_TRUE(seen.insert(reset_tokens(engine, key).of(engine, cid)).second);
  }
  cid = {};
  for (unsigned bit = 0; bit < 256; ++bit) {
    key = {};
    key[bit / 8] = static_cast<std::uint8_t>(1u << (bit % 8));
    EXPECT_TRUE(seen.insert(reset_tokens(engine, key).of(engine, cid)).second);
  }
  key = {};
  for (std::size_t size = 0; size < 8; ++size)  // a shorter ID of zeros is another ID
    EXPECT_TRUE(seen.insert(reset_tokens(engine, key).of(engine, base::byte_view(cid).first(size))).second);
}

}  // namespace
}  // namespace millrace::quic::path
