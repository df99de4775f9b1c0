// h3/qpack/huffman.hpp - the static Huffman code of HPACK and QPACK: text to bits and back.
//
// Shape    encode and decode whole strings into room of the caller; huffman_reader decodes one that comes in pieces.
// Owner    nothing is kept and nothing allocated; tables are constants (17 KiB for decoding).
// Errors   decode: malformed when the text holds EOS, or the padding is longer than 7 bits or not all ones (RFC 7541
//          5.2); no_room when it does not fit. encode cannot fail once there is huffman_size() room.
// Source   RFC 7541 5.2, appendix B. Tests  test/h3/qpack/huffman_test.cpp, test/fuzz/qpack_huffman_fuzz.cpp
#pragma once

#include <string_view>

#include "base/bytes.hpp"

namespace millrace::h3::qpack {

enum class huffman_status : std::uint8_t { ok, malformed, no_room };

struct [[nodiscard]] huffman_result {
  huffman_status status = huffman_status::ok;
  std::size_t size = 0;  // characters written, when ok
};

// Bytes of `text` once encoded, padding included.
[[nodiscard]] std::size_t huffman_size(std::string_view text) noexcept;

// Writes huffman_size(text) bytes at `out`; answers the byte behind them.
std::uint8_t* huffman_encode(std::string_view text, std::uint8_t* out) noexcept;

// The most characters that `bytes` of code can hold: no code is shorter than five bits.
[[nodiscard]] constexpr std::size_t huffman_max_decoded(std::size_t bytes) noexcept { return bytes * 8 / 5; }

// What `in` says, into `out`. Reads nothing beyond `in`, writes nothing beyond `out`; `out` behind the decoded text may
// have been written to.
huffman_result huffman_decode(base::byte_view in, std::span<char> out) noexcept;

// The same for a string that arrives in pieces, one character at a time: what splits a string is rare and small.
class huffman_reader {
  std::uint64_t bits_ = 0;  // left aligned
  unsigned valid_ = 0;      // below 30 between calls

 public:
  // Appends what `in` completes to out[size..]; `size` grows by it. Answers ok, malformed or no_room.
  [[nodiscard]] huffman_status add(base::byte_view in, std::span<char> out, std::size_t& size) noexcept;
  // Whether what is left over is legal padding; call at the string's end.
  [[nodiscard]] bool is_padded() const noexcept {
    return valid_ == 0 || (valid_ < 8 && (~bits_ >> (64 - valid_)) == 0);
  }
};

}  // namespace millrace::h3::qpack
