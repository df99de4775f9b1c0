#include "net/wire/checksum.hpp"

#include <gtest/gtest.h>

#include <random>

#include "net/wire/frames.hpp"
#include "support/guard_page.hpp"

namespace millrace::net::wire {
namespace {

using test::byte_list;
using test::from_hex;
using test::join;

base::ip_address ip(std::string_view text) { return base::ip_address::parse(text).value(); }

// RFC 1071 4.1 written again, with its own loop: sum, fold, complement.
std::uint16_t reference(base::byte_view in) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < in.size(); ++i) sum += std::uint64_t{in[i]} << (i % 2 == 0 ? 8 : 0);
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

byte_list random_bytes(std::size_t size, std::mt19937& random) {
  byte_list out(size);
  for (std::uint8_t& b : out) b = static_cast<std::uint8_t>(random());
  return out;
}

TEST(internet_checksum, gives_the_example_of_rfc_1071) {
  // RFC 1071 3: the words 0001 f203 f4f5 f6f7 sum to ddf2.
  EXPECT_EQ(internet_checksum(from_hex("0001 f203 f4f5 f6f7")), static_cast<std::uint16_t>(~0xddf2));
}

TEST(internet_checksum, gives_that_of_a_real_ipv4_header) {
  // The header that textbooks work through: 192.168.0.1 to .199, UDP, checksum b861.
  EXPECT_EQ(internet_checksum(from_hex("4500 0073 0000 4000 4011 0000 c0a8 0001 c0a8 00c7")), 0xb861);
  EXPECT_EQ(internet_checksum(from_hex("4500 0073 0000 4000 4011 b861 c0a8 0001 c0a8 00c7")), 0);
}

TEST(internet_checksum, of_nothing_is_all_ones) {
  EXPECT_EQ(internet_checksum(base::byte_view{}), 0xFFFF);
  EXPECT_EQ(internet_checksum(base::segments{}), 0xFFFF);
}

TEST(internet_checksum, agrees_with_a_plain_loop_at_every_size_and_alignment) {
  std::mt19937 random(1);
  const byte_list in = random_bytes(400, random);
  for (std::size_t start = 0; start < 34; ++start) {
    for (std::size_t size = 0; start + size <= in.size(); ++size) {
      const base::byte_view part = base::byte_view(in).subspan(start, size);
      ASSERT_EQ(internet_checksum(part), reference(part)) << start << "+" << size;
      ASSERT_EQ(fold_sum(sum_words(part)) % 0xFFFF, fold_sum(sum_words_plain(part)) % 0xFFFF) << start << "+" << size;
    }
  }
}

TEST(internet_checksum, carries_all_ones_and_stays_apart_from_all_zeros) {
  for (const std::size_t size : {2u, 20u, 64u, 1500u, 65536u}) {
    EXPECT_EQ(internet_checksum(byte_list(size, 0xFF)), 0) << size;
    EXPECT_EQ(internet_checksum(byte_list(size, 0x00)), 0xFFFF) << size;
  }
}

TEST(internet_checksum, reads_nothing_behind_its_input) {
  millrace::test::guard_page room(256);
  std::mt19937 random(2);
  const byte_list in = random_bytes(256, random);
  for (std::size_t size = 0; size <= in.size(); ++size) {
    const base::byte_view part = base::byte_view(in).first(size);
    ASSERT_EQ(internet_checksum(room.place(part)), reference(part));
  }
}

TEST(internet_checksum, does_not_care_where_segments_are_cut) {
  std::mt19937 random(3);
  const byte_list in = random_bytes(97, random);
  const std::uint16_t whole = reference(in);
  for (std::size_t first = 0; first <= in.size(); ++first) {
    for (std::size_t second = first; second <= in.size(); ++second) {
      const base::byte_view all(in);
      const base::byte_view parts[] = {all.first(first), {}, all.subspan(first, second - first), all.subspan(second)};
      ASSERT_EQ(internet_checksum(base::segments(parts)), whole) << first << " " << second;
    }
  }
}

TEST(internet_checksum, folds_the_largest_sum) {
  EXPECT_EQ(fold_sum(~std::uint64_t{0}), 0xFFFF);
  EXPECT_EQ(fold_sum(0), 0);
  EXPECT_EQ(fold_sum(0xFFFF'0001), 1);
  EXPECT_EQ(fold_sum(0x1'FFFF'FFFF), 1);
}

TEST(internet_checksum, takes_words_wherever_bytes_have_ended) {
  const byte_list odd = from_hex("010203");
  const byte_list rest = from_hex("0405");
  internet_sum sum;
  sum.add(odd);
  sum.add_word(0xABCD);
  sum.add(rest);
  EXPECT_EQ(sum.checksum(), reference(from_hex("0102030405 00 abcd")));
}

TEST(update_checksum, gives_the_example_of_rfc_1624) {
  // RFC 1624 4: checksum dd2f, a word 5555 becomes 3285: the new checksum is 0000, not ffff.
  EXPECT_EQ(update_checksum(0xdd2f, std::uint16_t{0x5555}, std::uint16_t{0x3285}), 0x0000);
}

TEST(update_checksum, equals_summing_again) {
  std::mt19937 random(4);
  for (int round = 0; round < 2000; ++round) {
    byte_list packet = random_bytes(40, random);
    const std::uint16_t before = internet_checksum(packet);
    const std::size_t at = random() % 9 * 2;
    const std::size_t size = (random() % 10 + 1) * 2;
    const byte_list old_part(packet.begin() + static_cast<long>(at), packet.begin() + static_cast<long>(at + size));
    const byte_list new_part = random_bytes(size, random);
    std::copy(new_part.begin(), new_part.end(), packet.begin() + static_cast<long>(at));
    ASSERT_EQ(update_checksum(before, base::byte_view(old_part), base::byte_view(new_part)), internet_checksum(packet));
  }
}

TEST(udp_checksum, gives_that_of_a_captured_datagram) {
  // The corpus' pcap/encap/udp/ipv4_udp_valid_checksum_1.pcap, its checksum ff66 taken out.
  const byte_list packet = from_hex("d903 0035 000c 0000 1234 0100");
  const base::byte_view parts[] = {packet};
  EXPECT_EQ(udp_checksum(ip("10.0.0.1"), ip("10.0.0.2"), base::segments(parts)), 0xff66);
}

TEST(udp_checksum, covers_the_ipv6_pseudo_header) {
  const byte_list packet = from_hex("d903 0035 000d 0000 7465 737421");
  const base::byte_view parts[] = {packet};
  const byte_list whole =
      join({from_hex("20010db8000000000000000000000001 20010db8000000000000000000000002 0000000d 00000011"), packet});
  EXPECT_EQ(udp_checksum(ip("2001:db8::1"), ip("2001:db8::2"), base::segments(parts)), reference(whole));
}

TEST(udp_checksum, is_never_zero) {
  // The word that makes the sum all ones: the checksum would be 0, which says "none" (RFC 768).
  byte_list packet = from_hex("0000 0000 000a 0000 0000");
  const byte_list pseudo = from_hex("0a000001 0a000002 00 11 000a");
  const std::uint16_t missing = reference(join({pseudo, packet}));
  base::store_be16(packet.data() + 8, missing);
  const base::byte_view parts[] = {packet};
  EXPECT_EQ(reference(join({pseudo, packet})), 0);
  EXPECT_EQ(udp_checksum(ip("10.0.0.1"), ip("10.0.0.2"), base::segments(parts)), 0xFFFF);
  base::store_be16(packet.data() + 6, 0xFFFF);
  EXPECT_TRUE(is_udp_sound(ip("10.0.0.1"), ip("10.0.0.2"), base::segments(parts)));
}

TEST(is_udp_sound, takes_no_checksum_over_ipv4_alone) {
  const byte_list packet = from_hex("d903 0035 000c 0000 7465 7374");
  const base::byte_view parts[] = {packet};
  EXPECT_TRUE(is_udp_sound(ip("10.0.0.1"), ip("10.0.0.2"), base::segments(parts)));
  EXPECT_FALSE(is_udp_sound(ip("2001:db8::1"), ip("2001:db8::2"), base::segments(parts)));
}

TEST(is_udp_sound, notices_every_changed_bit) {
  byte_list packet = from_hex("d903 0035 000c 0000 7465 7374");
  const base::ip_address src = ip("10.0.0.1");
  const base::ip_address dst = ip("10.0.0.2");
  const base::byte_view parts[] = {packet};
  base::store_be16(packet.data() + 6, udp_checksum(src, dst, base::segments(parts)));
  ASSERT_TRUE(is_udp_sound(src, dst, base::segments(parts)));
  for (std::size_t bit = 0; bit < packet.size() * 8; ++bit) {
    packet[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
    EXPECT_FALSE(is_udp_sound(src, dst, base::segments(parts))) << bit;
    packet[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
  }
  EXPECT_FALSE(is_udp_sound(src, ip("10.0.0.3"), base::segments(parts)));
}

TEST(is_udp_sound, refuses_what_has_no_checksum_field) {
  const byte_list packet = from_hex("d903 0035 000c 00");
  const base::byte_view parts[] = {packet};
  EXPECT_FALSE(is_udp_sound(ip("10.0.0.1"), ip("10.0.0.2"), base::segments(parts)));
}

TEST(is_tcp_sound, agrees_with_the_checksum_that_was_filled_in) {
  byte_list packet = from_hex("c000 01bb 00000001 00000002 5018 0400 0000 0000 6f6464");
  const base::byte_view parts[] = {packet};
  for (const auto& [src, dst] : {std::pair{ip("10.0.0.1"), ip("10.0.0.2")}, {ip("2001:db8::1"), ip("2001:db8::2")}}) {
    base::store_be16(packet.data() + 16, 0);
    base::store_be16(packet.data() + 16, tcp_checksum(src, dst, base::segments(parts)));
    EXPECT_TRUE(is_tcp_sound(src, dst, base::segments(parts)));
    packet.back() ^= 1;
    EXPECT_FALSE(is_tcp_sound(src, dst, base::segments(parts)));
    packet.back() ^= 1;
  }
}

}  // namespace
}  // namespace millrace::net::wire
