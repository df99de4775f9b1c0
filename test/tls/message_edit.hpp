// test/tls/message_edit.hpp - TLS handshake messages made wrong in one respect, with their lengths put right.
#pragma once

#include <algorithm>
#include <vector>

#include "base/bytes.hpp"
#include "base/endian.hpp"

namespace millrace::test {

// Where extensions begin (their 2-byte length) in a ClientHello or EncryptedExtensions, 0 when it is neither.
inline std::size_t extensions_of(base::byte_view message) {
  if (message.size() < 6) return 0;
  if (message[0] == 8) return 4;
  if (message[0] != 1 || message.size() < 44) return 0;
  std::size_t at = 4 + 2 + 32;
  at += std::size_t{1} + message[at];
  at += std::size_t{2} + base::load_be16(message.data() + at);
  return at + 1 + message[at];
}

inline void set_message_size(std::vector<std::uint8_t>& message) {
  const std::size_t body = message.size() - 4;
  message[1] = static_cast<std::uint8_t>(body >> 16);
  base::store_be16(message.data() + 2, static_cast<std::uint16_t>(body));
}

// Offset of the extension's type; message.size() when it is not there.
inline std::size_t find_extension(base::byte_view message, std::uint16_t type) {
  const std::size_t start = extensions_of(message);
  if (start == 0) return message.size();
  const std::size_t end = start + 2 + base::load_be16(message.data() + start);
  for (std::size_t at = start + 2; at + 4 <= end; at += std::size_t{4} + base::load_be16(message.data() + at + 2))
    if (base::load_be16(message.data() + at) == type) return at;
  return message.size();
}

// The messages of a flight, one by one.
template <class Each>
void for_each_message(std::vector<std::uint8_t>& flight, Each each) {
  std::vector<std::uint8_t> out;
  for (std::size_t at = 0; at + 4 <= flight.size();) {
    const std::size_t size = std::size_t{4} + base::load_be24(flight.data() + at + 1);
    std::vector<std::uint8_t> message(flight.begin() + static_cast<std::ptrdiff_t>(at),
                                      flight.begin() + static_cast<std::ptrdiff_t>(std::min(at + size, flight.size())));
    each(message);
    out.insert(out.end(), message.begin(), message.end());
    at += size;
  }
  flight = out;
}

// Replaces the bytes from `from` to `to` and mends the extensions' and the message's length.
inline void splice(std::vector<std::uint8_t>& message, std::size_t from, std::size_t to,
                   const std::vector<std::uint8_t>& by) {
  const std::size_t start = extensions_of(message);
  const auto at = [&](std::size_t i) { return message.begin() + static_cast<std::ptrdiff_t>(i); };
  message.erase(at(from), at(to));
  message.insert(at(from), by.begin(), by.end());
  if (from > start) base::store_be16(message.data() + start, static_cast<std::uint16_t>(message.size() - start - 2));
  set_message_size(message);
}

inline void drop_extension(std::vector<std::uint8_t>& message, std::uint16_t type) {
  const std::size_t at = find_extension(message, type);
  if (at == message.size()) return;
  splice(message, at, at + 4 + base::load_be16(message.data() + at + 2), {});
}

inline void set_extension(std::vector<std::uint8_t>& message, std::uint16_t type,
                          const std::vector<std::uint8_t>& body) {
  std::vector<std::uint8_t> whole = {static_cast<std::uint8_t>(type >> 8), static_cast<std::uint8_t>(type),
                                     static_cast<std::uint8_t>(body.size() >> 8),
                                     static_cast<std::uint8_t>(body.size())};
  whole.insert(whole.end(), body.begin(), body.end());
  const std::size_t at = find_extension(message, type);
  const std::size_t end = at == message.size() ? at : at + 4 + base::load_be16(message.data() + at + 2);
  splice(message, at, end, whole);
}

}  // namespace millrace::test
