#include "crypto/sha384.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/endian.hpp"

namespace millrace::crypto {
namespace {

// FIPS 180-4 5.3.4.
constexpr sha512_words sha384_initial = {0xcbbb9d5dc1059ed8, 0x629a292a367cd507, 0x9159015a3070dd17,
                                         0x152fecd8f70e5939, 0x67332667ffc00b31, 0x8eb44a8768581511,
                                         0xdb0c2e0d64f98fa7, 0x47b5481dbefa4fa4};

// FIPS 180-4 4.2.3.
constexpr std::array<std::uint64_t, 80> constants = {
    0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc, 0x3956c25bf348b538,
    0x59f111f1b605d019, 0x923f82a4af194f9b, 0xab1c5ed5da6d8118, 0xd807aa98a3030242, 0x12835b0145706fbe,
    0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2, 0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235,
    0xc19bf174cf692694, 0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65,
    0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5, 0x983e5152ee66dfab,
    0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4, 0xc6e00bf33da88fc2, 0xd5a79147930aa725,
    0x06ca6351e003826f, 0x142929670a0e6e70, 0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed,
    0x53380d139d95b3df, 0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b,
    0xa2bfe8a14cf10364, 0xa81a664bbc423001, 0xc24b8b70d0f89791, 0xc76c51a30654be30, 0xd192e819d6ef5218,
    0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8, 0x19a4c116b8d2d0c8, 0x1e376c085141ab53,
    0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8, 0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373,
    0x682e6ff3d6b2b8a3, 0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
    0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b, 0xca273eceea26619c,
    0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178, 0x06f067aa72176fba, 0x0a637dc5a2c898a6,
    0x113f9804bef90dae, 0x1b710b35131c471b, 0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc,
    0x431d67c49c100d4c, 0x4cc5d4becb3e42b6, 0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817};

void mix_blocks(sha512_words& state, const std::uint8_t* blocks, std::size_t count) noexcept {
  for (; count != 0; --count, blocks += sha512_block_size) {
    std::array<std::uint64_t, 80> w;
    for (std::size_t i = 0; i < 16; ++i) w[i] = base::load_be64(blocks + 8 * i);
    for (std::size_t i = 16; i < 80; ++i) {
      const std::uint64_t s0 = std::rotr(w[i - 15], 1) ^ std::rotr(w[i - 15], 8) ^ (w[i - 15] >> 7);
      const std::uint64_t s1 = std::rotr(w[i - 2], 19) ^ std::rotr(w[i - 2], 61) ^ (w[i - 2] >> 6);
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (std::size_t i = 0; i < 80; ++i) {
      const std::uint64_t s1 = std::rotr(e, 14) ^ std::rotr(e, 18) ^ std::rotr(e, 41);
      const std::uint64_t t1 = h + s1 + ((e & f) ^ (~e & g)) + constants[i] + w[i];
      const std::uint64_t s0 = std::rotr(a, 28) ^ std::rotr(a, 34) ^ std::rotr(a, 39);
      const std::uint64_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
      h = g;
      g = f;
      f = e;
      e = d + t1;
      d = c;
      c = b;
      b = a;
      a = t1 + t2;
    }
    const sha512_words mixed = {a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < state.size(); ++i) state[i] += mixed[i];
  }
}

// `done_bytes`, a multiple of 128, are in `state` already.
void finish(sha512_words& state, std::uint64_t done_bytes, base::byte_view rest, sha384_digest& out) noexcept {
  const std::uint64_t bits = (done_bytes + rest.size()) * 8;
  const std::size_t whole = rest.size() / sha512_block_size;
  mix_blocks(state, rest.data(), whole);
  const base::byte_view tail = rest.subspan(whole * sha512_block_size);

  // FIPS 180-4 5.1.2: a one bit, zeros, and the length in bits as 16 bytes, of which ours never needs the upper 8.
  std::array<std::uint8_t, 2 * sha512_block_size> padded{};
  if (!tail.empty()) std::memcpy(padded.data(), tail.data(), tail.size());
  padded[tail.size()] = 0x80;
  const std::size_t blocks = tail.size() < sha512_block_size - 16 ? 1 : 2;
  base::store_be64(padded.data() + blocks * sha512_block_size - 8, bits);
  mix_blocks(state, padded.data(), blocks);
  for (std::size_t i = 0; i < sha384_size / 8; ++i) base::store_be64(out.data() + 8 * i, state[i]);
}

}  // namespace

void sha384(base::byte_view message, sha384_digest& out) noexcept {
  sha512_words state = sha384_initial;
  finish(state, 0, message, out);
}

void set_hmac384_key(base::byte_view key, hmac384_key& out) noexcept {
  sha384_digest hashed;
  if (key.size() > sha512_block_size) {
    sha384(key, hashed);
    key = hashed;
  }
  std::array<std::uint8_t, sha512_block_size> inner_pad;
  std::array<std::uint8_t, sha512_block_size> outer_pad;
  inner_pad.fill(0x36);
  outer_pad.fill(0x5c);
  for (std::size_t i = 0; i < key.size(); ++i) {
    inner_pad[i] = static_cast<std::uint8_t>(inner_pad[i] ^ key[i]);
    outer_pad[i] = static_cast<std::uint8_t>(outer_pad[i] ^ key[i]);
  }
  out.inner = sha384_initial;
  out.outer = sha384_initial;
  mix_blocks(out.inner, inner_pad.data(), 1);
  mix_blocks(out.outer, outer_pad.data(), 1);
}

void hmac384(const hmac384_key& key, base::byte_view message, sha384_digest& out) noexcept {
  sha512_words state = key.inner;
  sha384_digest inner;
  finish(state, sha512_block_size, message, inner);
  state = key.outer;
  finish(state, sha512_block_size, inner, out);
}

}  // namespace millrace::crypto
