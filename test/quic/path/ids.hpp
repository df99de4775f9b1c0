// test/quic/path/ids.hpp - connection IDs, tokens and addresses made of a number.
#pragma once

#include "quic/path/connection_id.hpp"
#include "quic/wire/stateless_reset.hpp"

namespace millrace::test {

inline quic::path::connection_id cid_of(std::uint64_t number, std::uint8_t size = 8) {
  quic::path::connection_id out;
  out.size = size;
  for (std::size_t i = 0; i < size; ++i)
    out.octets[i] = static_cast<std::uint8_t>(i < 8 ? number >> (8 * i) : 0xC0 + i);
  return out;
}

inline quic::wire::stateless_reset_token_value reset_token_of(std::uint64_t number) {
  quic::wire::stateless_reset_token_value out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::uint8_t>((number >> (8 * (i % 8))) ^ 0xA5);
  return out;
}

inline base::endpoint endpoint_of(const char* address, std::uint16_t port) {
  return {base::ip_address::parse(address).value_or(base::ip_address{}), port};
}

}  // namespace millrace::test
