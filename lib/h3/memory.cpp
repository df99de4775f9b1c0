// What pools of an HTTP/3 endpoint take, before they are made.
#include "h3/client.hpp"
#include "h3/server_exchange.hpp"

namespace millrace::h3 {

std::size_t memory_bytes(const settings& s) noexcept {
  constexpr std::size_t a_slot = 128;  // an object's place in its pool, rounding
  constexpr std::size_t pools = 64u << 10;
  const std::size_t messages = s.exchanges, links = s.connections;
  return messages * (std::max(sizeof(server_exchange), sizeof(asked)) + a_slot) +
         links * (sizeof(link) + link::table_bytes(s) + 2 * a_slot) +
         field_memory::memory_bytes(s.exchanges, s.field_section_bytes) + pools;
}

}  // namespace millrace::h3
