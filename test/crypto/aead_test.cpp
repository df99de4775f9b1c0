#include "crypto/aead.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "crypto/engines.hpp"
#include "support/libcrypto.hpp"
#include "support/seeded.hpp"

using namespace millrace;
using test::from_hex;
using test::to_hex;
using bytes = std::vector<std::uint8_t>;

namespace {

bytes seal(crypto::engine& engine, base::byte_view key, base::byte_view nonce, base::byte_view associated,
           base::byte_view in) {
  crypto::aead_key schedule;
  crypto::set_aes128_gcm_key(engine, key, schedule);
  bytes out(in.size() + crypto::aead_tag_size);
  crypto::seal(engine, schedule, nonce, associated, in, out.data());
  return out;
}

bool open(crypto::engine& engine, base::byte_view key, base::byte_view nonce, base::byte_view associated,
          base::byte_view sealed, bytes& out) {
  crypto::aead_key schedule;
  crypto::set_aes128_gcm_key(engine, key, schedule);
  out.assign(sealed.size() < crypto::aead_tag_size ? 0 : sealed.size() - crypto::aead_tag_size, 0xee);
  return crypto::open(engine, schedule, nonce, associated, sealed, out.data());
}

std::vector<std::size_t> text_sizes() {
  std::vector<std::size_t> sizes = {512, 1000, 1200, 1350, 1452, 4096, 8900, 16384, 65535};
  for (std::size_t size = 0; size <= 300; ++size) sizes.push_back(size);
  return sizes;
}

}  // namespace

TEST(aead, gives_the_published_aes_128_gcm_cases_1_to_4) {  // McGrew, Viega: GCM specification, appendix B
  test::on_every_engine([](crypto::engine& engine) {
    EXPECT_EQ(to_hex(seal(engine, bytes(16), bytes(12), {}, {})), "58e2fccefa7e3061367f1d57a4e7455a");
    EXPECT_EQ(to_hex(seal(engine, bytes(16), bytes(12), {}, bytes(16))),
              "0388dace60b6a392f328c2b971b2fe78"
              "ab6e47d42cec13bdf53a67b21257bddf");
    const bytes key = from_hex("feffe9928665731c6d6a8f9467308308");
    const bytes nonce = from_hex("cafebabefacedbaddecaf888");
    const bytes text = from_hex(
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525"
        "b16aedf5aa0de657ba637b391aafd255");
    const std::string cipher =
        "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa05"
        "1ba30b396a0aac973d58e091473f5985";
    EXPECT_EQ(to_hex(seal(engine, key, nonce, {}, text)), cipher + "4d5c2af327cd64a62cf35abd2ba6fab4");
    const bytes associated = from_hex("feedfacedeadbeeffeedfacedeadbeefabaddad2");
    EXPECT_EQ(to_hex(seal(engine, key, nonce, associated, base::byte_view(text).first(60))),
              cipher.substr(0, 120) + "5bc94fbc3221a5db94fae95ae7121a47");
  });
}

TEST(aead, seals_as_libcrypto_does_and_opens_what_it_sealed) {
  test::on_every_engine([](crypto::engine& engine) {
    test::seeded random(128);
    for (const std::size_t size : text_sizes()) {
      const bytes key = random.bytes(16);
      const bytes nonce = random.bytes(12);
      const bytes associated = random.bytes(size <= 300 ? size : random.below(100));
      const bytes text = random.bytes(size);
      const bytes theirs = test::libcrypto::aes128_gcm_seal(key, nonce, associated, text);
      ASSERT_EQ(to_hex(seal(engine, key, nonce, associated, text)), to_hex(theirs)) << size;
      bytes opened;
      ASSERT_TRUE(open(engine, key, nonce, associated, theirs, opened)) << size;
      ASSERT_EQ(opened, text) << size;
    }
  });
}

TEST(aead, works_where_the_bytes_are) {
  test::on_every_engine([](crypto::engine& engine) {
    test::seeded random(7);
    crypto::aead_key key;
    const bytes key_bytes = random.bytes(16);
    crypto::set_aes128_gcm_key(engine, key_bytes, key);
    for (const std::size_t size : text_sizes()) {
      const bytes nonce = random.bytes(12);
      const bytes text = random.bytes(size);
      // Behind one byte, so that nothing is aligned.
      bytes place(1 + size + crypto::aead_tag_size);
      std::copy(text.begin(), text.end(), place.begin() + 1);
      crypto::seal(engine, key, nonce, {}, base::byte_view(place).subspan(1, size), place.data() + 1);
      const base::byte_view sealed = base::byte_view(place).subspan(1);
      ASSERT_EQ(to_hex(sealed), to_hex(test::libcrypto::aes128_gcm_seal(key_bytes, nonce, {}, text))) << size;
      ASSERT_TRUE(crypto::open(engine, key, nonce, {}, sealed, place.data() + 1)) << size;
      ASSERT_EQ(to_hex(base::byte_view(place).subspan(1, size)), to_hex(text)) << size;
    }
  });
}

TEST(aead, refuses_every_one_byte_change_and_leaves_no_plaintext) {
  std::optional<crypto::engine> engine = crypto::engine::make();
  ASSERT_TRUE(engine.has_value());
  test::seeded random(5116);
  const bytes key = random.bytes(16);
  const bytes nonce = random.bytes(12);
  const bytes associated = random.bytes(23);
  const bytes text = random.bytes(75);
  const bytes sealed = seal(*engine, key, nonce, associated, text);
  const auto refused = [&](base::byte_view n, base::byte_view a, base::byte_view s) {
    bytes out;
    const bool opened = open(*engine, key, n, a, s, out);
    return !opened && std::all_of(out.begin(), out.end(), [](std::uint8_t b) { return b == 0; });
  };
  for (int bit = 0; bit < 8; ++bit) {
    const auto flip = [bit](bytes b, std::size_t at) {
      b[at] = static_cast<std::uint8_t>(b[at] ^ (1u << bit));
      return b;
    };
    for (std::size_t i = 0; i < sealed.size(); ++i) EXPECT_TRUE(refused(nonce, associated, flip(sealed, i))) << i;
    for (std::size_t i = 0; i < associated.size(); ++i) EXPECT_TRUE(refused(nonce, flip(associated, i), sealed)) << i;
    for (std::size_t i = 0; i < nonce.size(); ++i) EXPECT_TRUE(refused(flip(nonce, i), associated, sealed)) << i;
  }
}

TEST(aead, refuses_every_truncation) {
  std::optional<crypto::engine> engine = crypto::engine::make();
  ASSERT_TRUE(engine.has_value());
  test::seeded random(11);
  const bytes key = random.bytes(16);
  const bytes nonce = random.bytes(12);
  const bytes sealed = seal(*engine, key, nonce, {}, random.bytes(40));
  for (std::size_t size = 0; size < sealed.size(); ++size) {
    bytes out;
    EXPECT_FALSE(open(*engine, key, nonce, {}, base::byte_view(sealed).first(size), out)) << size;
  }
}

TEST(aead, authenticates_parts_as_one_run) {
  test::on_every_engine([](crypto::engine& engine) {
    test::seeded random(58);
    for (std::size_t size = 0; size <= 300; ++size) {
      const bytes key = random.bytes(16);
      const bytes nonce = random.bytes(12);
      const bytes associated = random.bytes(size);
      const base::byte_view all(associated);
      const std::size_t first = random.below(size + 1);
      const std::size_t second = random.below(size - first + 1);
      const std::array<base::byte_view, 3> parts = {all.first(first), all.subspan(first, second),
                                                    all.subspan(first + second)};
      crypto::aead_key schedule;
      crypto::set_aes128_gcm_key(engine, key, schedule);
      crypto::aead_tag tag{};
      crypto::authenticate(engine, schedule, nonce, parts, tag);
      ASSERT_EQ(to_hex(tag), to_hex(test::libcrypto::aes128_gcm_seal(key, nonce, associated, {})))
          << first << ' ' << second << ' ' << size;
    }
  });
}
