#include "ws/wire/message.hpp"

#include <gtest/gtest.h>

namespace millrace::ws::wire {
namespace {

frame_header frame(opcode op, bool fin, std::uint64_t size = 1) {
  frame_header out;
  out.op = op;
  out.fin = fin;
  out.payload_size = size;
  return out;
}

bool ends(message_rules& rules) {
  bool ended = false;
  EXPECT_EQ(rules.on_frame_end(ended), message_errc::ok);
  return ended;
}

TEST(ws_message, one_frame_is_a_message) {
  message_rules rules;
  EXPECT_EQ(rules.on_header(frame(opcode::binary, true, 5)), message_errc::ok);
  EXPECT_EQ(rules.size(), 5u);
  EXPECT_TRUE(ends(rules));
  EXPECT_FALSE(rules.is_open());
}

TEST(ws_message, fragments_end_with_the_one_that_says_so) {
  message_rules rules;
  EXPECT_EQ(rules.on_header(frame(opcode::text, false, 3)), message_errc::ok);
  EXPECT_FALSE(ends(rules));
  EXPECT_EQ(rules.on_header(frame(opcode::ping, true)), message_errc::ok) << "control frames may come between";
  EXPECT_EQ(rules.on_header(frame(opcode::continuation, false, 2)), message_errc::ok);
  EXPECT_TRUE(rules.is_text()) << "the first fragment says what the message is";
  EXPECT_FALSE(ends(rules));
  EXPECT_EQ(rules.on_header(frame(opcode::continuation, true, 2)), message_errc::ok);
  EXPECT_EQ(rules.size(), 7u);
  EXPECT_TRUE(ends(rules));
}

TEST(ws_message, refuses_a_continuation_of_nothing) {
  message_rules rules;
  EXPECT_EQ(rules.on_header(frame(opcode::continuation, true)), message_errc::orphan_continuation);
  message_rules after;
  EXPECT_EQ(after.on_header(frame(opcode::binary, true)), message_errc::ok);
  EXPECT_TRUE(ends(after));
  EXPECT_EQ(after.on_header(frame(opcode::continuation, true)), message_errc::orphan_continuation);
  EXPECT_EQ(static_cast<int>(close_code_of(message_errc::orphan_continuation)), 1002);
}

TEST(ws_message, refuses_a_message_inside_another) {
  message_rules rules;
  EXPECT_EQ(rules.on_header(frame(opcode::text, false)), message_errc::ok);
  EXPECT_FALSE(ends(rules));
  EXPECT_EQ(rules.on_header(frame(opcode::binary, true)), message_errc::interleaved_message);
  EXPECT_EQ(static_cast<int>(close_code_of(message_errc::interleaved_message)), 1002);
}

TEST(ws_message, refuses_the_header_that_makes_it_too_large) {
  message_rules rules(10);
  EXPECT_EQ(rules.on_header(frame(opcode::binary, false, 6)), message_errc::ok);
  EXPECT_FALSE(ends(rules));
  EXPECT_EQ(rules.on_header(frame(opcode::continuation, false, 4)), message_errc::ok);
  EXPECT_FALSE(ends(rules));
  EXPECT_EQ(rules.on_header(frame(opcode::continuation, true, 1)), message_errc::message_too_large);
  EXPECT_EQ(static_cast<int>(close_code_of(message_errc::message_too_large)), 1009);
  message_rules huge(10);
  EXPECT_EQ(huge.on_header(frame(opcode::binary, false, max_frame_payload)), message_errc::message_too_large);
}

TEST(ws_message, a_character_may_be_cut_between_fragments_but_not_at_the_end) {
  const std::uint8_t euro[] = {0xE2, 0x82, 0xAC};
  message_rules rules;
  EXPECT_EQ(rules.on_header(frame(opcode::text, false, 2)), message_errc::ok);
  EXPECT_EQ(rules.on_text(base::byte_view(euro).first(2)), message_errc::ok);
  EXPECT_FALSE(ends(rules));
  EXPECT_EQ(rules.on_header(frame(opcode::continuation, true, 1)), message_errc::ok);
  EXPECT_EQ(rules.on_text(base::byte_view(euro).last(1)), message_errc::ok);
  EXPECT_TRUE(ends(rules));
  EXPECT_EQ(rules.on_header(frame(opcode::text, true, 2)), message_errc::ok);
  EXPECT_EQ(rules.on_text(base::byte_view(euro).first(2)), message_errc::ok);
  bool ended = false;
  EXPECT_EQ(rules.on_frame_end(ended), message_errc::text_not_utf8);
  EXPECT_EQ(static_cast<int>(close_code_of(message_errc::text_not_utf8)), 1007);
}

}  // namespace
}  // namespace millrace::ws::wire
