#include "net/wire/icmp.hpp"

#include "net/wire/checksum.hpp"
#include "net/wire/numbers.hpp"

namespace millrace::net::wire {
namespace {

[[nodiscard]] internet_sum start(const base::ip_address& src, const base::ip_address& dst, std::size_t size) noexcept {
  internet_sum sum;
  if (src.family == base::ip_family::v6)
    sum.add_pseudo_header(src, dst, ip_protocol::icmpv6, static_cast<std::uint32_t>(size));
  return sum;
}

}  // namespace

base::parse_status parse(base::byte_view in, icmp_header& out) noexcept {
  if (in.size() < icmp_header::encoded_size)
    return {base::parse_errc::truncated, static_cast<std::uint32_t>(in.size())};
  out = {.type = in[0], .code = in[1], .word = base::load_be32(in.data() + 4)};
  return {};
}

bool is_icmp_sound(const base::ip_address& src, const base::ip_address& dst, base::byte_view message) noexcept {
  internet_sum sum = start(src, dst, message.size());
  sum.add(message);
  return sum.checksum() == 0;
}

bool emit(const icmp_header& header, const base::ip_address& src, const base::ip_address& dst,
          const base::segments& body, base::byte_writer& out) noexcept {
  base::byte_span room;
  if (!out.reserve(icmp_header::encoded_size, room)) return false;
  internet_sum sum = start(src, dst, icmp_header::encoded_size + body.size());
  sum.add_word(static_cast<std::uint16_t>(header.type << 8 | header.code));
  sum.add_word(static_cast<std::uint16_t>(header.word >> 16));
  sum.add_word(static_cast<std::uint16_t>(header.word));
  sum.add(body);
  room[0] = header.type;
  room[1] = header.code;
  base::store_be16(room.data() + 2, sum.checksum());
  base::store_be32(room.data() + 4, header.word);
  return true;
}

}  // namespace millrace::net::wire
