// All three AEADs against libcrypto, whole and in parts.
#include <gtest/gtest.h>

#include <algorithm>

#include "crypto/aead.hpp"
#include "crypto/engines.hpp"
#include "support/libcrypto.hpp"
#include "support/seeded.hpp"

using namespace millrace;
using crypto::aead_algorithm;
using test::from_hex;
using test::to_hex;
using bytes = std::vector<std::uint8_t>;

namespace {

struct algorithm_row {
  aead_algorithm ours;
  const EVP_CIPHER* theirs;
};
std::vector<algorithm_row> algorithms() {
  return {{aead_algorithm::aes_128_gcm, EVP_aes_128_gcm()},
          {aead_algorithm::aes_256_gcm, EVP_aes_256_gcm()},
          {aead_algorithm::chacha20_poly1305, EVP_chacha20_poly1305()}};
}

std::vector<std::size_t> text_sizes() {
  std::vector<std::size_t> sizes = {512, 1000, 1200, 1350, 1452, 4096, 8900, 16384, 65535};
  for (std::size_t size = 0; size <= 300; ++size) sizes.push_back(size);
  return sizes;
}

// Up to five pieces, some of them empty.
std::vector<std::size_t> cut(test::seeded& random, std::size_t size) {
  std::vector<std::size_t> out;
  for (int i = 0; i < 4; ++i) {
    out.push_back(random.below(3) == 0 ? 0 : random.below(size + 1));
    size -= out.back();
  }
  out.push_back(size);
  return out;
}

std::vector<crypto::text_part> parts_of(const bytes& from, bytes& to, const std::vector<std::size_t>& sizes) {
  std::vector<crypto::text_part> out;
  std::size_t at = 0;
  for (const std::size_t size : sizes) {
    out.push_back({from.data() + at, to.data() + at, size});
    at += size;
  }
  return out;
}

}  // namespace

TEST(aead_algorithms, seal_as_libcrypto_does_and_open_what_it_sealed) {
  test::on_every_engine([](crypto::engine& engine) {
    test::seeded random(130);
    for (const algorithm_row& row : algorithms()) {
      SCOPED_TRACE(static_cast<int>(row.ours));
      for (const std::size_t size : text_sizes()) {
        const bytes key_bytes = random.bytes(crypto::key_size(row.ours));
        const bytes nonce = random.bytes(12);
        const bytes associated = random.bytes(size <= 300 ? size : random.below(100));
        const bytes text = random.bytes(size);
        const bytes theirs = test::libcrypto::aead_seal(row.theirs, key_bytes, nonce, associated, text);
        crypto::aead_key key;
        crypto::set_aead_key(engine, row.ours, key_bytes, key);
        // In place, behind one byte, so that nothing is aligned.
        bytes place(1 + size + crypto::aead_tag_size);
        std::copy(text.begin(), text.end(), place.begin() + 1);
        crypto::seal(engine, key, nonce, associated, base::byte_view(place).subspan(1, size), place.data() + 1);
        const base::byte_view sealed = base::byte_view(place).subspan(1);
        ASSERT_EQ(to_hex(sealed), to_hex(theirs)) << size;
        ASSERT_TRUE(crypto::open(engine, key, nonce, associated, sealed, place.data() + 1)) << size;
        ASSERT_TRUE(std::equal(text.begin(), text.end(), place.begin() + 1)) << size;
      }
    }
  });
}

TEST(aead_algorithms, give_the_chacha20_poly1305_packet_of_rfc_8439_2_8_2) {
  test::on_every_engine([](crypto::engine& engine) {
    crypto::aead_key key;
    crypto::set_aead_key(engine, aead_algorithm::chacha20_poly1305,
                         from_hex("808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f"), key);
    const std::string_view text =
        "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would "
        "be it.";
    bytes out(text.size() + 16);
    crypto::seal(engine, key, from_hex("070000004041424344454647"), from_hex("50515253c0c1c2c3c4c5c6c7"),
                 base::as_bytes(text), out.data());
    EXPECT_EQ(to_hex(base::byte_view(out).first(16)), "d31a8d34648e60db7b86afbc53ef7ec2");
    EXPECT_EQ(to_hex(base::byte_view(out).last(16)), "1ae10b594f09e26a7e902ecbd0600691");
  });
}

TEST(aead_parts, are_sealed_and_opened_as_one_run) {
  test::on_every_engine([](crypto::engine& engine) {
    test::seeded random(131);
    for (const algorithm_row& row : algorithms()) {
      SCOPED_TRACE(static_cast<int>(row.ours));
      for (const std::size_t size : text_sizes()) {
        const bytes key_bytes = random.bytes(crypto::key_size(row.ours));
        const bytes nonce = random.bytes(12);
        const bytes associated = random.bytes(random.below(60));
        const bytes text = random.bytes(size);
        crypto::aead_key key;
        crypto::set_aead_key(engine, row.ours, key_bytes, key);
        bytes sealed(size);
        bytes tag(16);
        crypto::seal_parts(engine, key, nonce, associated, parts_of(text, sealed, cut(random, size)), tag.data());
        const bytes theirs = test::libcrypto::aead_seal(row.theirs, key_bytes, nonce, associated, text);
        ASSERT_EQ(to_hex(sealed) + to_hex(tag), to_hex(theirs)) << size;

        bytes opened(size);
        const auto elsewhere = parts_of(sealed, opened, cut(random, size));
        ASSERT_TRUE(crypto::open_parts(engine, key, nonce, associated, elsewhere, tag)) << size;
        ASSERT_EQ(opened, text) << size;
        const auto in_place = parts_of(sealed, sealed, cut(random, size));
        ASSERT_TRUE(crypto::open_parts(engine, key, nonce, associated, in_place, tag)) << size;
        ASSERT_EQ(sealed, text) << size;
      }
    }
  });
}

TEST(aead_parts, are_all_cleared_when_the_tag_is_wrong) {
  std::optional<crypto::engine> engine = crypto::engine::make();
  ASSERT_TRUE(engine.has_value());
  test::seeded random(132);
  for (const algorithm_row& row : algorithms()) {
    for (std::size_t size = 0; size <= 200; ++size) {
      crypto::aead_key key;
      crypto::set_aead_key(*engine, row.ours, random.bytes(crypto::key_size(row.ours)), key);
      const bytes nonce = random.bytes(12);
      bytes sealed = random.bytes(size);
      bytes tag(16);
      crypto::seal_parts(*engine, key, nonce, {}, parts_of(sealed, sealed, {size}), tag.data());
      tag[random.below(16)] ^= static_cast<std::uint8_t>(1 + random.below(255));
      bytes out(size, 0xee);
      ASSERT_FALSE(crypto::open_parts(*engine, key, nonce, {}, parts_of(sealed, out, cut(random, size)), tag));
      ASSERT_TRUE(std::all_of(out.begin(), out.end(), [](std::uint8_t b) { return b == 0; })) << size;
    }
  }
}

TEST(aead_algorithms, refuse_every_one_bit_change_and_truncation) {
  std::optional<crypto::engine> engine = crypto::engine::make();
  ASSERT_TRUE(engine.has_value());
  test::seeded random(133);
  for (const algorithm_row& row : algorithms()) {
    crypto::aead_key key;
    crypto::set_aead_key(*engine, row.ours, random.bytes(crypto::key_size(row.ours)), key);
    const bytes nonce = random.bytes(12);
    const bytes associated = random.bytes(21);
    const bytes text = random.bytes(50);
    bytes sealed(text.size() + 16);
    crypto::seal(*engine, key, nonce, associated, text, sealed.data());
    bytes out(sealed.size());
    for (std::size_t bit = 0; bit < 8 * sealed.size(); ++bit) {
      bytes changed = sealed;
      changed[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
      EXPECT_FALSE(crypto::open(*engine, key, nonce, associated, changed, out.data())) << bit;
    }
    for (std::size_t size = 0; size < sealed.size(); ++size) {
      EXPECT_FALSE(crypto::open(*engine, key, nonce, associated, base::byte_view(sealed).first(size), out.data()));
    }
    EXPECT_TRUE(crypto::open(*engine, key, nonce, associated, sealed, out.data()));
  }
}
