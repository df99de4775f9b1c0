// A CHLO is a table: "CHLO", the number of entries (16 bits) and two bytes of padding, then for each entry its tag and
// the end of its value, counted from the end of the table; all little-endian; then the values. Ends must ascend.

#include "inspect/gquic_chlo.hpp"

#include <cstring>

#include "base/byte_reader.hpp"

namespace millrace::inspect {
namespace {

using base::byte_reader;
using base::byte_view;
namespace wire = quic::wire;

constexpr std::size_t table_begin = 8;
constexpr std::size_t entry_size = 8;
constexpr std::uint32_t max_chlo_bytes = 65'536;
constexpr std::size_t hash_size = 12;          // FNV-1a-128, cut: the null encryption of handshake packets
constexpr unsigned private_flags_before = 34;  // versions below have a byte of private flags behind the hash
constexpr unsigned big_endian_since = 39;      // lengths in frames

std::uint32_t entry_end(byte_view message, std::size_t i) noexcept {
  return base::load_le32(message.data() + table_begin + i * entry_size + 4);
}

// What a gQUIC ACK or STOP_WAITING in front of the CHLO looks like differs with each version: only PADDING is skipped.
bool skip_to_stream(byte_reader& at, std::uint8_t& type) noexcept {
  while (at.u8(type))
    if (type != 0) return (type & 0x80) != 0;
  return false;
}

}  // namespace

std::size_t chlo_size(byte_view stream, bool& is_chlo) noexcept {
  constexpr std::string_view magic = "CHLO";
  is_chlo = std::memcmp(stream.data(), magic.data(), std::min(stream.size(), magic.size())) == 0;
  if (!is_chlo || stream.size() < table_begin) return 0;
  const std::size_t entries = base::load_le16(stream.data() + 4);
  if (entries == 0 || entries > max_chlo_tags) {
    is_chlo = false;
    return 0;
  }
  const std::size_t values = table_begin + entries * entry_size;
  if (stream.size() < values) return 0;
  const std::uint32_t end = entry_end(stream, entries - 1);
  if (end > max_chlo_bytes) {
    is_chlo = false;
    return 0;
  }
  return values + end;
}

bool read_chlo(byte_view message, chlo& out) noexcept {
  bool is_chlo = false;
  if (const std::size_t size = chlo_size(message, is_chlo); size == 0 || size != message.size()) return false;
  const std::size_t entries = base::load_le16(message.data() + 4);
  const byte_view values = message.subspan(table_begin + entries * entry_size);
  chlo found;
  std::uint32_t begin = 0;
  for (std::size_t i = 0; i < entries; ++i) {
    const std::uint32_t end = entry_end(message, i);
    if (end < begin || end > values.size()) return false;
    if (std::memcmp(message.data() + table_begin + i * entry_size, "SNI\0", 4) == 0) {
      found.sni = base::as_text(values.subspan(begin, end - begin));
      found.has_sni = true;
    }
    begin = end;
  }
  out = found;
  return true;
}

byte_view find_plain_chlo(byte_view packet, const wire::gquic_header& header, wire::version_number version) noexcept {
  const unsigned number = wire::google_number(version);
  byte_reader at(packet);
  std::uint8_t type = 0;
  if (!at.skip(header.header_size) || !at.skip(header.pn_size + hash_size)) return {};
  if (number < private_flags_before && !at.skip(1)) return {};
  if (!skip_to_stream(at, type)) return {};
  // STREAM: 1 f d ooo ss - fin, length present, size of the offset (0, else one more than the number), size of the ID.
  const unsigned id_size = (type & 3) + 1u;
  const unsigned offset_bits = type >> 2 & 7;
  byte_view id;
  byte_view offset;
  // Any offset: a client that was refused sends its second CHLO further on. Each begins a frame of its own.
  if (!at.bytes(id_size, id) || !at.bytes(offset_bits == 0 ? 0 : offset_bits + 1u, offset)) return {};
  byte_view data = at.rest();
  if ((type & 0x20) != 0) {
    byte_view size;
    if (!at.bytes(2, size)) return {};
    const std::uint16_t count =
        number >= big_endian_since ? base::load_be16(size.data()) : base::load_le16(size.data());
    if (!at.bytes(count, data)) return {};
  }
  bool is_chlo = false;
  const std::size_t size = chlo_size(data, is_chlo);
  return is_chlo && size != 0 && size <= data.size() ? data.first(size) : byte_view{};
}

}  // namespace millrace::inspect
