#include "quic/wire/stateless_reset.hpp"

#include <gtest/gtest.h>

#include "support/bytes.hpp"
#include "support/guard_page.hpp"

namespace millrace::quic::wire {
namespace {

using base::byte_view;
using test::byte_list;

stateless_reset_token_value token_of(std::uint8_t first) {
  stateless_reset_token_value out{};
  for (std::uint8_t& byte : out) byte = first++;
  return out;
}

byte_list reset(std::size_t size, const stateless_reset_token_value& token, std::uint8_t noise = 0xFF) {
  byte_list room(size);
  base::byte_writer out(room);
  EXPECT_TRUE(emit_stateless_reset(out, byte_list(size - token.size(), noise), token));
  EXPECT_EQ(out.room(), 0u);
  return room;
}

TEST(stateless_reset, answers_only_with_less_than_it_was_sent) {  // RFC 9000 10.3, 10.3.3
  for (std::size_t size = 0; size < 22; ++size) EXPECT_EQ(stateless_reset_size(size), 0u);
  EXPECT_EQ(stateless_reset_size(22), 21u);
  for (std::size_t size = 22; size < 1500; ++size) {
    EXPECT_LT(stateless_reset_size(size), size);
    EXPECT_GE(stateless_reset_size(size), min_stateless_reset_size);
    if (size <= 43) {
      EXPECT_EQ(stateless_reset_size(size), size - 1);
    }
  }
  // Two endpoints that have both forgotten stop after a few turns.
  std::size_t size = 1200;
  int turns = 0;
  for (; size != 0; ++turns) size = stateless_reset_size(size);
  EXPECT_LE(turns, 24);
}

TEST(stateless_reset, looks_like_a_short_header_and_ends_in_the_token) {  // RFC 9000 10.3
  for (const std::uint8_t noise : {std::uint8_t{0x00}, std::uint8_t{0x3F}, std::uint8_t{0xFF}}) {
    const byte_list packet = reset(43, token_of(1), noise);
    EXPECT_EQ(packet[0] & 0xC0, 0x40);
    EXPECT_EQ(packet[0] & 0x3F, noise & 0x3F);
    EXPECT_EQ(classify(packet), datagram_kind::short_form);
    EXPECT_EQ(test::to_hex(byte_view(packet).last(16)), test::to_hex(token_of(1)));
  }
}

TEST(stateless_reset, is_not_written_shorter_than_a_packet_or_into_less_room) {
  byte_list room(64);
  base::byte_writer out(room);
  EXPECT_FALSE(emit_stateless_reset(out, byte_list(4, 1), token_of(1)));
  EXPECT_TRUE(emit_stateless_reset(out, byte_list(5, 1), token_of(1)));
  base::byte_writer tight(base::byte_span(room).first(20));
  EXPECT_FALSE(emit_stateless_reset(tight, byte_list(5, 1), token_of(1)));
  EXPECT_EQ(tight.size(), 0u);
}

TEST(stateless_reset, is_found_by_any_of_the_tokens_of_a_peer) {  // RFC 9000 10.3.1
  const stateless_reset_token_value tokens[] = {token_of(1), token_of(2), token_of(3)};
  for (std::size_t i = 0; i < std::size(tokens); ++i) EXPECT_EQ(find_stateless_reset(reset(30, tokens[i]), tokens), i);
  EXPECT_EQ(find_stateless_reset(reset(30, token_of(4)), tokens), std::nullopt);
  EXPECT_EQ(find_stateless_reset(reset(30, token_of(1)), {}), std::nullopt);
}

TEST(stateless_reset, is_found_behind_a_long_header_too) {  // RFC 9000 10.3: other versions may use one
  byte_list packet = reset(30, token_of(1));
  packet[0] = 0xC0;
  const stateless_reset_token_value tokens[] = {token_of(1)};
  EXPECT_EQ(find_stateless_reset(packet, tokens), 0u);
}

TEST(stateless_reset, is_not_found_when_any_bit_of_the_token_differs) {
  const stateless_reset_token_value tokens[] = {token_of(0x80)};
  byte_list packet = reset(21, tokens[0]);
  for (std::size_t bit = 0; bit < 128; ++bit) {
    packet[5 + bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    EXPECT_EQ(find_stateless_reset(packet, tokens), std::nullopt) << bit;
    packet[5 + bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
  }
  EXPECT_EQ(find_stateless_reset(packet, tokens), 0u);
}

TEST(stateless_reset, is_not_looked_for_in_datagrams_too_small_for_one) {  // RFC 9000 10.3
  const stateless_reset_token_value tokens[] = {token_of(1)};
  const byte_list packet = reset(21, tokens[0]);
  test::guard_page guard;
  for (std::size_t size = 0; size < 21; ++size)
    EXPECT_EQ(find_stateless_reset(guard.place(byte_view(packet).last(size)), tokens), std::nullopt) << size;
  EXPECT_EQ(find_stateless_reset(guard.place(packet), tokens), 0u);
}

}  // namespace
}  // namespace millrace::quic::wire
