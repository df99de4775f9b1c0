#include "crypto/siphash.hpp"

#include <bit>

#include "base/endian.hpp"

namespace millrace::crypto {
namespace {

struct sip_state {
  std::uint64_t v0, v1, v2, v3;

  void round() noexcept {
    v0 += v1;
    v2 += v3;
    v1 = std::rotl(v1, 13) ^ v0;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 = std::rotl(v0, 32);
    v2 += v1;
    v0 += v3;
    v1 = std::rotl(v1, 17) ^ v2;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 = std::rotl(v2, 32);
  }
  void mix(std::uint64_t word) noexcept {
    v3 ^= word;
    round();
    round();
    v0 ^= word;
  }
};

}  // namespace

std::uint64_t siphash_2_4(const siphash_key& key, base::byte_view message) noexcept {
  // The constants spell "somepseudorandomlygeneratedbytes".
  sip_state state{key.k0 ^ 0x736f'6d65'7073'6575, key.k1 ^ 0x646f'7261'6e64'6f6d, key.k0 ^ 0x6c79'6765'6e65'7261,
                  key.k1 ^ 0x7465'6462'7974'6573};
  const std::uint8_t* at = message.data();
  std::size_t left = message.size();
  for (; left >= 8; left -= 8, at += 8) state.mix(base::load_le64(at));
  std::uint64_t last = static_cast<std::uint64_t>(message.size()) << 56;
  for (std::size_t i = 0; i < left; ++i) last |= std::uint64_t{at[i]} << (8 * i);
  state.mix(last);
  state.v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) state.round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

}  // namespace millrace::crypto
