// Any ClientHello has a fingerprint of 36 printable characters, the same each time.
#include <array>
#include <cstdlib>

#include "tls/ja4.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  static std::optional<crypto::engine> engine = crypto::engine::make();
  if (!engine.has_value()) std::abort();
  tls::wire::client_hello hello;
  if (!tls::wire::parse_client_hello({data, size}, hello)) return 0;
  std::array<char, tls::ja4_size> one{};
  std::array<char, tls::ja4_size> other{};
  tls::ja4(*engine, hello, tls::ja4_transport::quic, one);
  tls::ja4(*engine, hello, tls::ja4_transport::quic, other);
  if (one != other || one[0] != 'q' || one[10] != '_' || one[23] != '_') std::abort();
  for (const char c : one) {
    const bool expected = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!expected) std::abort();
  }
  return 0;
}
