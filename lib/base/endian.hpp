// base/endian.hpp - loads and stores of wire integers at any alignment.
//
// Shape    load_be16(p) ... store_le64(p, v): compile to one move and, where needed, one byte swap.
// Owner    the caller guarantees that the bytes are there; parsers use byte_reader, which checks.
// Tests    test/base/bytes_test.cpp
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace millrace::base {

static_assert(std::endian::native == std::endian::little, "the loads below assume a little-endian CPU (x86-64)");

template <class Int>
[[nodiscard]] inline Int load_native(const std::uint8_t* p) noexcept {
  Int v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

[[nodiscard]] inline std::uint16_t load_be16(const std::uint8_t* p) noexcept {
  return __builtin_bswap16(load_native<std::uint16_t>(p));
}
[[nodiscard]] inline std::uint32_t load_be24(const std::uint8_t* p) noexcept {
  return (std::uint32_t{p[0]} << 16) | load_be16(p + 1);
}
[[nodiscard]] inline std::uint32_t load_be32(const std::uint8_t* p) noexcept {
  return __builtin_bswap32(load_native<std::uint32_t>(p));
}
[[nodiscard]] inline std::uint64_t load_be64(const std::uint8_t* p) noexcept {
  return __builtin_bswap64(load_native<std::uint64_t>(p));
}
[[nodiscard]] inline std::uint16_t load_le16(const std::uint8_t* p) noexcept { return load_native<std::uint16_t>(p); }
[[nodiscard]] inline std::uint32_t load_le32(const std::uint8_t* p) noexcept { return load_native<std::uint32_t>(p); }
[[nodiscard]] inline std::uint64_t load_le64(const std::uint8_t* p) noexcept { return load_native<std::uint64_t>(p); }

inline void store_be16(std::uint8_t* p, std::uint16_t v) noexcept {
  v = __builtin_bswap16(v);
  std::memcpy(p, &v, sizeof v);
}
inline void store_be24(std::uint8_t* p, std::uint32_t v) noexcept {
  p[0] = static_cast<std::uint8_t>(v >> 16);
  store_be16(p + 1, static_cast<std::uint16_t>(v));
}
inline void store_be32(std::uint8_t* p, std::uint32_t v) noexcept {
  v = __builtin_bswap32(v);
  std::memcpy(p, &v, sizeof v);
}
inline void store_be64(std::uint8_t* p, std::uint64_t v) noexcept {
  v = __builtin_bswap64(v);
  std::memcpy(p, &v, sizeof v);
}
inline void store_le16(std::uint8_t* p, std::uint16_t v) noexcept { std::memcpy(p, &v, sizeof v); }
inline void store_le32(std::uint8_t* p, std::uint32_t v) noexcept { std::memcpy(p, &v, sizeof v); }
inline void store_le64(std::uint8_t* p, std::uint64_t v) noexcept { std::memcpy(p, &v, sizeof v); }

}  // namespace millrace::base
