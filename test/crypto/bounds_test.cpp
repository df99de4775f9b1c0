// IPsec-MB is assembly that no sanitizer sees into: here every input and output stands between two pages that nobody
// may touch, first against the one behind, then against the one before. One byte too far is a crash.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "crypto/aead.hpp"
#include "crypto/engines.hpp"
#include "crypto/header_protection.hpp"
#include "crypto/hmac.hpp"
#include "support/libcrypto.hpp"
#include "support/seeded.hpp"

using namespace millrace;
using bytes = test::byte_list;

namespace {

enum class side { end, begin };

class fenced {
  std::size_t page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::size_t room_ = 4 * page_;
  std::uint8_t* map_ = nullptr;

 public:
  fenced() {
    void* map = mmap(nullptr, room_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) throw std::bad_alloc();
    map_ = static_cast<std::uint8_t*>(map);
    if (mprotect(map_ + page_, room_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  }
  ~fenced() { munmap(map_, room_ + 2 * page_); }
  fenced(const fenced&) = delete;
  fenced& operator=(const fenced&) = delete;

  base::byte_span room(std::size_t size, side at) {
    EXPECT_LE(size, room_);
    return {map_ + page_ + (at == side::end ? room_ - size : 0), size};
  }
  base::byte_span place(base::byte_view in, side at) {
    const base::byte_span out = room(in.size(), at);
    std::copy(in.begin(), in.end(), out.begin());
    return out;
  }
};

std::vector<std::size_t> sizes() {
  std::vector<std::size_t> out = {1200, 1452, 4096};
  for (std::size_t size = 0; size <= 300; ++size) out.push_back(size);
  return out;
}

}  // namespace

TEST(bounds, hashes_read_their_message_and_no_more) {
  test::on_every_engine([](crypto::engine& engine) {
    test::seeded random(1);
    fenced message;
    fenced digest;
    fenced key;
    for (const std::size_t size : sizes()) {
      for (const side at : {side::end, side::begin}) {
        const base::byte_view m = message.place(random.bytes(size), at);
        const base::byte_view k = key.place(random.bytes(1 + random.below(80)), at);
        auto& out = *reinterpret_cast<crypto::sha256_digest*>(digest.room(crypto::sha256_size, at).data());
        engine.hmac_sha256(k, m, out);
        ASSERT_EQ(test::to_hex(out), test::to_hex(test::libcrypto::hmac_sha256(k, m))) << size;
        engine.sha256(m, out);
        ASSERT_EQ(test::to_hex(out), test::to_hex(test::libcrypto::sha256(m))) << size;
      }
    }
  });
}

TEST(bounds, ciphers_read_and_write_their_bytes_and_no_more) {
  test::on_every_engine([](crypto::engine& engine) {
    test::seeded random(2);
    fenced text_memory;
    fenced sealed_memory;
    fenced associated_memory;
    fenced nonce_memory;
    fenced key_memory;
    for (const std::size_t size : sizes()) {
      for (const side at : {side::end, side::begin}) {
        const bytes plain = random.bytes(size);
        const base::byte_span text = text_memory.place(plain, at);
        const base::byte_span sealed = sealed_memory.room(size + crypto::aead_tag_size, at);
        const base::byte_view associated = associated_memory.place(random.bytes(random.below(100)), at);
        const base::byte_view nonce = nonce_memory.place(random.bytes(crypto::aead_nonce_size), at);
        const base::byte_view key = key_memory.place(random.bytes(crypto::aes128_key_size), at);
        crypto::aead_key schedule;
        crypto::set_aes128_gcm_key(engine, key, schedule);
        crypto::seal(engine, schedule, nonce, associated, text, sealed.data());
        ASSERT_EQ(test::to_hex(sealed), test::to_hex(test::libcrypto::aes128_gcm_seal(key, nonce, associated, plain)));
        std::fill(text.begin(), text.end(), std::uint8_t{0});
        ASSERT_TRUE(crypto::open(engine, schedule, nonce, associated, sealed, text.data())) << size;
        ASSERT_TRUE(std::equal(text.begin(), text.end(), plain.begin(), plain.end())) << size;
        const std::array<base::byte_view, 2> parts = {associated, text};
        auto& tag = *reinterpret_cast<crypto::aead_tag*>(sealed_memory.room(crypto::aead_tag_size, at).data());
        crypto::authenticate(engine, schedule, nonce, parts, tag);
      }
    }
  });
}

TEST(bounds, header_masks_read_a_sample_and_write_five_bytes) {
  test::on_every_engine([](crypto::engine& engine) {
    test::seeded random(3);
    fenced sample_memory;
    fenced mask_memory;
    fenced key_memory;
    for (const side at : {side::end, side::begin}) {
      const base::byte_view key = key_memory.place(random.bytes(crypto::aes128_key_size), at);
      const base::byte_view sample = sample_memory.place(random.bytes(crypto::header_sample_size), at);
      using mask_bytes = std::array<std::uint8_t, crypto::header_mask_size>;
      auto& mask = *reinterpret_cast<mask_bytes*>(mask_memory.room(crypto::header_mask_size, at).data());
      crypto::header_key schedule;
      crypto::set_aes128_header_key(engine, key, schedule);
      crypto::header_mask(schedule, sample, mask);
      const bytes block = test::libcrypto::aes128_ecb_block(key, sample);
      EXPECT_TRUE(std::equal(mask.begin(), mask.end(), block.begin()));
    }
  });
}
