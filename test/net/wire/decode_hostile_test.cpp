// Every frame shape cut at every byte and changed in every byte, in front of a page nobody may touch.

#include "base/endian.hpp"
#include "net/wire/frames.hpp"
#include "support/guard_page.hpp"
#include "support/hostile.hpp"

namespace millrace::net::wire {
namespace {

using test::be16;
using test::byte_list;
using test::ethernet;
using test::from_hex;
using test::ipv4;
using test::ipv6;
using test::join;
using test::tcp;
using test::udp;
using test::vlan;

struct seed {
  link_type link;
  byte_list frame;
};

byte_list in_vxlan(const byte_list& frame) {
  return ethernet(0x0800, ipv4(17, udp(4789, join({from_hex("0800000000006400"), frame}))));
}

std::vector<seed> ethernet_seeds() {
  const byte_list payload = from_hex("c0ffee00");
  const byte_list in4 = ipv4(17, udp(443, payload));
  const byte_list in6 = ipv6(6, tcp(443, payload, from_hex("01010402")));
  const byte_list fragment = from_hex("1100000112345678");
  const byte_list extensions = join({from_hex("2b00010400000000 3c04000200000000"), byte_list(32, 0x20),
                                     from_hex("3300010400000000 2c040000000000010000000100000000 00000000 00000000"),
                                     fragment, udp(443, payload)});
  const byte_list geneve = join({from_hex("0200655800006400 0102800100000000"), ethernet(0x0800, in4)});
  const byte_list gtpu = join({from_hex("36ff"), be16(in4.size() + 8), from_hex("00000001 0001008501100000"), in4});
  const byte_list snap = join({from_hex("aaaa030000000800"), in4});
  const byte_list pppoe = join({from_hex("11001234"), be16(in4.size() + 2), from_hex("0021"), in4});
  std::vector<byte_list> frames = {
      join({ethernet(0x0800, in4), byte_list(14)}),
      ethernet(0x86DD, in6),
      ethernet(0x0800, ipv4(6, tcp(80, payload), from_hex("830704c000020101"))),
      ethernet(0x8100, vlan(5, 0x0800, in4)),
      ethernet(0x88A8, vlan(5, 0x8100, vlan(6, 0x86DD, in6))),
      ethernet(0x86DD, ipv6(0, extensions)),
      ethernet(0x8847, join({from_hex("0006404000064140"), in4})),
      ethernet(0x8864, pppoe),
      ethernet(static_cast<std::uint16_t>(snap.size()), snap),
      ethernet(0x0800, ipv4(47, join({from_hex("b0000800 abcd0000 00000007 00000001"), in4}))),
      ethernet(0x0800, ipv4(47, join({from_hex("00006558"), ethernet(0x86DD, in6)}))),
      in_vxlan(ethernet(0x8100, vlan(9, 0x86DD, in6))),
      ethernet(0x86DD, ipv6(17, udp(6081, geneve))),
      ethernet(0x0800, ipv4(17, udp(2152, gtpu))),
      ethernet(0x0800, ipv4(4, ipv4(41, in6))),
      ethernet(0x0800, ipv4(51, join({from_hex("11040000 00000001 00000001"), byte_list(12), udp(443, payload)}))),
      in_vxlan(ethernet(0x0800, ipv4(17, udp(6081, geneve)))),
      ethernet(0x0800, ipv4(1, from_hex("0800000000010001"))),
      ethernet(0x0806, from_hex("0001080006040001")),
  };
  std::vector<seed> out;
  for (byte_list& frame : frames) out.push_back({link_type::ethernet, std::move(frame)});
  return out;
}

std::vector<seed> other_seeds() {
  const byte_list in4 = ipv4(17, udp(443, from_hex("c0ffee00")));
  const byte_list in6 = ipv6(17, udp(443, from_hex("c0ffee00")));
  return {{link_type::linux_sll, join({from_hex("00000001000601234567 89ab0000 0800"), in4})},
          {link_type::linux_sll, join({from_hex("00000001000601234567 89ab0000 0004 aaaa030000000800"), in4})},
          {link_type::linux_sll2, join({from_hex("86dd0000000000020001000601234567 89ab0000"), in6})},
          {link_type::null_loopback, join({from_hex("02000000"), in4})},
          {link_type::loop, join({from_hex("0000001e"), in6})},
          {link_type::ppp, join({from_hex("ff030021"), in4})},
          {link_type::ppp, join({from_hex("57"), in6})},
          {link_type::raw_ip, in6},
          {link_type::ipv4, in4},
          {link_type::ipv6, in6}};
}

void read(link_type link, base::byte_view frame) {
  if (link == link_type::ethernet) {
    static_cast<void>(test::read_ethernet(frame));
    return;
  }
  decoded out = test::soiled();
  const bool answer = decode(frame, link, out);
  const char* const broken = test::broken_rule(frame, out, answer);
  if (broken != nullptr) ADD_FAILURE() << broken << ": " << test::facts(out) << '\n' << test::to_hex(frame);
}

std::vector<seed> all_seeds() {
  std::vector<seed> out = ethernet_seeds();
  for (seed& s : other_seeds()) out.push_back(std::move(s));
  return out;
}

TEST(decode_hostile, seeds_are_sound) {
  for (const seed& s : all_seeds()) {
    decoded out;
    static_cast<void>(decode(s.frame, s.link, out));
    EXPECT_EQ(out.why, defect::none) << test::to_text(out) << '\n' << test::to_hex(s.frame);
  }
}

TEST(decode_hostile, survives_every_cut) {
  for (const seed& s : all_seeds())
    millrace::test::for_every_truncation(s.frame, [&](base::byte_view frame) { read(s.link, frame); });
}

TEST(decode_hostile, survives_every_changed_byte) {
  for (const seed& s : all_seeds())
    millrace::test::for_every_byte_change(s.frame, [&](base::byte_view frame) { read(s.link, frame); });
}

TEST(decode_hostile, survives_every_changed_pair_of_length_bytes) {
  // Lying lengths: each 16-bit field in turn takes the values around every boundary.
  millrace::test::guard_page page(4096);
  for (const seed& s : all_seeds()) {
    const base::byte_span copy = page.place(s.frame);
    for (std::size_t at = 0; at + 1 < copy.size(); ++at) {
      const std::uint16_t was = base::load_be16(copy.data() + at);
      for (int value = 0; value < 160; ++value) {
        base::store_be16(copy.data() + at, static_cast<std::uint16_t>(value));
        read(s.link, copy);
        base::store_be16(copy.data() + at, static_cast<std::uint16_t>(0xFFFF - value));
        read(s.link, copy);
      }
      base::store_be16(copy.data() + at, was);
    }
  }
}

TEST(decode_hostile, survives_a_cut_and_a_changed_byte_at_once) {
  millrace::test::guard_page page(4096);
  for (const seed& s : ethernet_seeds()) {
    for (std::size_t size = 0; size < s.frame.size(); ++size) {
      const base::byte_span copy = page.place(base::byte_view(s.frame).first(size));
      for (std::size_t at = 0; at < size; ++at) {
        for (const int by : {0x01, 0x10, 0x40, 0x80, 0xFF}) {
          copy[at] ^= static_cast<std::uint8_t>(by);
          read(s.link, copy);
          copy[at] ^= static_cast<std::uint8_t>(by);
        }
      }
    }
  }
}

TEST(decode_hostile, takes_nothing_at_all_for_truncated) {
  for (const seed& s : all_seeds()) {
    decoded out = test::soiled();
    EXPECT_FALSE(decode({}, s.link, out));
    EXPECT_NE(out.why, defect::none);
    EXPECT_EQ(out.src.family, base::ip_family::none);
    EXPECT_TRUE(out.layers.empty());
  }
}

}  // namespace
}  // namespace millrace::net::wire
