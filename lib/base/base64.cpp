#include "base/base64.hpp"

namespace millrace::base {
namespace {

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint32_t foreign = 64;

constexpr std::uint32_t value_of(char c) noexcept {
  if (c >= 'A' && c <= 'Z') return static_cast<std::uint32_t>(c - 'A');
  if (c >= 'a' && c <= 'z') return static_cast<std::uint32_t>(c - 'a') + 26;
  if (c >= '0' && c <= '9') return static_cast<std::uint32_t>(c - '0') + 52;
  return c == '+' ? 62 : c == '/' ? 63 : foreign;
}

}  // namespace

std::size_t encode_base64(byte_view in, char* out) noexcept {
  char* at = out;
  for (std::size_t i = 0; i < in.size(); i += 3) {
    const std::size_t have = in.size() - i;
    const std::uint32_t three = std::uint32_t{in[i]} << 16 | (have > 1 ? std::uint32_t{in[i + 1]} << 8 : 0) |
                                (have > 2 ? std::uint32_t{in[i + 2]} : 0);
    *at++ = alphabet[three >> 18];
    *at++ = alphabet[three >> 12 & 63];
    *at++ = have > 1 ? alphabet[three >> 6 & 63] : '=';
    *at++ = have > 2 ? alphabet[three & 63] : '=';
  }
  return static_cast<std::size_t>(at - out);
}

bool decode_base64(std::string_view in, byte_span out, std::size_t& size) noexcept {
  size = 0;
  if (in.size() % 4 != 0) return false;
  for (std::size_t i = 0; i < in.size(); i += 4) {
    std::size_t characters = 4;
    if (i + 4 == in.size()) characters = in[i + 3] != '=' ? 4 : in[i + 2] != '=' ? 3 : 2;
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const std::uint32_t value = k < characters ? value_of(in[i + k]) : 0;
      if (value == foreign) return false;
      three = three << 6 | value;
    }
    // RFC 4648 3.5: what is left over of the last character must be zero.
    const std::size_t bytes = characters - 1;
    if ((three & (0xFF'FFFFu >> (8 * bytes))) != 0 || out.size() - size < bytes) return false;
    for (std::size_t k = 0; k < bytes; ++k) out[size++] = static_cast<std::uint8_t>(three >> (16 - 8 * k));
  }
  return true;
}

}  // namespace millrace::base
