// Initial packets from both sides: any bytes are opened with the keys anybody can derive, and any frames are sealed,
// opened and compared; one changed byte must then be found out. IPsec-MB is not instrumented, so packets and the room
// for frames end at pages that nobody may touch.
//
// Input    first byte with its high bit set: a packet as it is. Else: byte 0 version, 1 size of the connection ID,
//          2 bytes of packet number, 3..10 packet number, 11..12 the byte to change, 13 how; then ID and frames.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "base/byte_writer.hpp"
#include "quic/protect/initial.hpp"

namespace {

using namespace millrace;
using quic::protect::open_errc;
using quic::protect::side;

void require(bool holds) {
  if (!holds) std::abort();
}

// The last `size` bytes before a page without access.
class guarded {
  static constexpr std::size_t capacity_ = 1 << 17;
  std::uint8_t* begin_;

 public:
  guarded() {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* room = mmap(nullptr, capacity_ + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(room != MAP_FAILED);
    begin_ = static_cast<std::uint8_t*>(room);
    require(mprotect(begin_ + capacity_, page, PROT_NONE) == 0);
  }
  base::byte_span room(std::size_t size) { return {begin_ + capacity_ - size, size}; }
};

crypto::engine& engine() {
  static std::optional<crypto::engine> made = crypto::engine::make();
  require(made.has_value());
  return *made;
}

guarded packet_memory;
guarded frames_memory;

open_errc open(const quic::protect::packet_keys& keys, base::byte_view packet, const quic::wire::packet_header& header,
               std::uint64_t largest, quic::protect::opened& opened) {
  const base::byte_span room = frames_memory.room(packet.size());
  const open_errc code = quic::protect::open_initial(engine(), keys, packet, header, largest, room, opened);
  require(code != open_errc::no_room);
  if (code == open_errc::ok) {
    require(opened.payload.data() >= room.data() && opened.payload.data() + opened.payload.size() <= &*room.end());
  }
  return code;
}

void take_packet(base::byte_view in) {
  const base::byte_span packet = packet_memory.room(in.size());
  std::copy(in.begin(), in.end(), packet.begin());
  quic::wire::packet_header header;
  if (!quic::wire::parse_packet(packet, header) || !header.is_long()) return;
  if (header.type == quic::wire::packet_type::retry) {
    const bool ok = quic::protect::verify_retry(engine(), header.version, header.scid, packet);
    require(!ok || quic::protect::has_retry_key(header.version));
    return;
  }
  for (const side sender : {side::client, side::server}) {
    quic::protect::packet_keys keys;
    const bool known = quic::protect::derive_initial_keys(engine(), header.version, header.dcid, sender, keys);
    require(known == quic::protect::has_initial_salt(header.version));
    quic::protect::opened opened;
    if (known) (void)open(keys, packet, header, ~std::uint64_t{0}, opened);
  }
}

constexpr std::array<std::pair<quic::wire::version_number, std::uint8_t>, 8> versions = {{{0x00000001, 0xc0},
                                                                                          {0x6b3343cf, 0xd0},
                                                                                          {0xff00001d, 0xc0},
                                                                                          {0xff000017, 0xc0},
                                                                                          {0xff000016, 0xc0},
                                                                                          {0x54303530, 0xc0},
                                                                                          {0x54303531, 0xc0},
                                                                                          {0xfaceb002, 0xc0}}};

void make_packet(base::byte_view in) {
  constexpr std::size_t fixed = 14;
  if (in.size() < fixed) return;
  const auto [version, first_byte] = versions[in[0] % versions.size()];
  const std::size_t dcid_size = std::min<std::size_t>(in[1] % 21, in.size() - fixed);
  const unsigned pn_size = in[2] % 4 + 1u;
  const std::uint64_t number = base::load_be64(in.data() + 3) >> 2;
  const base::byte_view dcid = in.subspan(fixed, dcid_size);
  const base::byte_view frames = in.subspan(fixed + dcid_size);
  const std::size_t length = pn_size + frames.size() + crypto::aead_tag_size;
  if (length >= 1 << 14) return;

  const std::size_t pn_offset = 1 + 4 + 1 + dcid_size + 1 + 1 + 2;
  const base::byte_span packet = packet_memory.room(pn_offset + length);
  base::byte_writer out(packet);
  const bool written = out.u8(static_cast<std::uint8_t>(first_byte | (pn_size - 1))) && out.u32(version) &&
                       out.u8(static_cast<std::uint8_t>(dcid_size)) && out.bytes(dcid) && out.u8(0) && out.u8(0) &&
                       out.u16(static_cast<std::uint16_t>(0x4000 | length));
  require(written && out.size() == pn_offset);
  for (unsigned i = pn_size; i-- > 0;) require(out.u8(static_cast<std::uint8_t>(number >> (8 * i))));
  require(out.bytes(frames));

  quic::protect::packet_keys keys;
  require(quic::protect::derive_initial_keys(engine(), version, dcid, side::client, keys));
  const bool can_be_sampled = pn_size + frames.size() >= 4;
  const auto offset = static_cast<std::uint32_t>(pn_offset);
  require(quic::protect::seal_initial(engine(), keys, packet, offset, pn_size, number) == can_be_sampled);
  if (!can_be_sampled) return;

  quic::wire::packet_header header;
  require(static_cast<bool>(quic::wire::parse_packet(packet, header)));
  require(header.type == quic::wire::packet_type::initial && header.pn_offset == offset);
  quic::protect::opened opened;
  require(open(keys, packet, header, number - 1, opened) == open_errc::ok);  // number 0: as if none was seen
  require(opened.packet_number == number && std::ranges::equal(opened.payload, frames));

  const std::uint8_t change = in[13];
  std::uint8_t& changed = packet[base::load_be16(in.data() + 11) % packet.size()];
  changed = static_cast<std::uint8_t>(changed ^ change);
  require((open(keys, packet, header, number - 1, opened) == open_errc::ok) == (change == 0));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > 65535) return 0;
  const base::byte_view in(data, size);
  if ((data[0] & 0x80) != 0) {
    take_packet(in);
  } else {
    make_packet(in);
  }
  return 0;
}
