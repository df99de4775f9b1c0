// quic/path/connection_id.hpp - a connection ID kept beyond the packet that carried it, and where a path leads.
//
// Shape    up to 20 bytes by value; bytes behind the size are zero, so that equality is a comparison of all of it.
// Errors   of(): what is longer than 20 bytes gives an empty ID (and asserts: parsers refuse those before).
// Source   RFC 9000 5.1, 17.2. Tests  test/quic/path/cid_codec_test.cpp
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "base/assert.hpp"
#include "base/bytes.hpp"
#include "base/ip_address.hpp"
#include "quic/wire/header.hpp"

namespace millrace::quic::path {

struct connection_id {
  std::array<std::uint8_t, wire::max_cid_size> octets{};
  std::uint8_t size = 0;  // 0: an ID of no bytes

  [[nodiscard]] static constexpr connection_id of(base::byte_view bytes) noexcept {
    connection_id out;
    MILLRACE_ASSERT(bytes.size() <= out.octets.size());
    if (bytes.size() > out.octets.size()) return out;
    std::copy(bytes.begin(), bytes.end(), out.octets.begin());
    out.size = static_cast<std::uint8_t>(bytes.size());
    return out;
  }
  // Lives as long as this object stands where it is.
  [[nodiscard]] constexpr base::byte_view view() const noexcept { return {octets.data(), size}; }
  [[nodiscard]] constexpr bool empty() const noexcept { return size == 0; }
  [[nodiscard]] constexpr bool is(base::byte_view bytes) const noexcept {
    return bytes.size() == size && std::equal(bytes.begin(), bytes.end(), octets.begin());
  }
  friend constexpr bool operator==(const connection_id&, const connection_id&) noexcept = default;
};
static_assert(sizeof(connection_id) == 21);

// Both ends of a path; a connection has one path a pair.
struct path_address {
  base::endpoint local;
  base::endpoint remote;
  friend constexpr bool operator==(const path_address&, const path_address&) noexcept = default;
};

}  // namespace millrace::quic::path
