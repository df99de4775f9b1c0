// Two rounds an instruction: sha256rnds2 keeps the eight working words in two registers, ordered ABEF and CDGH, so the
// state is shuffled on the way in and back on the way out. The message schedule runs four words at a time beside the
// rounds: w[i & 3] holds words 4i..4i+3 of the 64, and each quarter is replaced by the one sixteen words later as soon
// as its own rounds have used it. What could go wrong is the byte order (the message is big-endian) and the order of
// the quarters; the test holds every length against libcrypto.
#include "crypto/sha256.hpp"

#include <immintrin.h>

namespace millrace::crypto {

__attribute__((target("sha,sse4.1"))) void sha256_blocks_sha_ni(sha256_words& state, const std::uint8_t* blocks,
                                                                std::size_t count) noexcept {
  const __m128i big_endian = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
  __m128i* words = reinterpret_cast<__m128i*>(state.data());
  const __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128(words), 0xB1);
  const __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128(words + 1), 0x1B);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xF0);

  for (; count != 0; --count, blocks += sha256_block_size) {
    const __m128i abef_before = abef;
    const __m128i cdgh_before = cdgh;
    __m128i w[4];
    for (int i = 0; i < 4; ++i) {
      w[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(blocks + 16 * i)), big_endian);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      const __m128i* constants = reinterpret_cast<const __m128i*>(sha256_constants.data());
      const __m128i round_input = _mm_add_epi32(w[i & 3], _mm_load_si128(constants + i));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, round_input);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(round_input, 0x0E));
      if (i < 12) {
        const __m128i w_minus_7 = _mm_alignr_epi8(w[(i + 3) & 3], w[(i + 2) & 3], 4);
        const __m128i partial = _mm_add_epi32(_mm_sha256msg1_epu32(w[i & 3], w[(i + 1) & 3]), w_minus_7);
        w[i & 3] = _mm_sha256msg2_epu32(partial, w[(i + 3) & 3]);
      }
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }

  const __m128i feba = _mm_shuffle_epi32(abef, 0x1B);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  _mm_storeu_si128(words, _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128(words + 1, _mm_alignr_epi8(dchg, feba, 8));
}

}  // namespace millrace::crypto
