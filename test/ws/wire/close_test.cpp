#include <gtest/gtest.h>

#include "support/bytes.hpp"
#include "support/guard_page.hpp"
#include "ws/wire/control.hpp"

namespace millrace::ws::wire {
namespace {

using test::from_hex;

close_errc parse(std::string_view hex, close_body& out) {
  const base::byte_view kept = test::keep(from_hex(hex));
  return parse_close(kept, out);
}
close_errc parse(std::string_view hex) {
  close_body out;
  return parse(hex, out);
}

TEST(ws_close, reads_a_code_and_its_reason) {
  close_body out;
  EXPECT_EQ(parse("03 E8", out), close_errc::ok);  // W6
  EXPECT_EQ(out.code, 1000);
  EXPECT_TRUE(out.reason.empty());
  EXPECT_EQ(parse("03 E8 46 69 6E 69 73 68 65 64", out), close_errc::ok);
  EXPECT_EQ(base::as_text(out.reason), "Finished");
  EXPECT_EQ(parse("", out), close_errc::ok);  // W7
  EXPECT_EQ(out.code, 0);
}

TEST(ws_close, refuses_half_a_code) {  // W8
  EXPECT_EQ(parse("03"), close_errc::one_byte);
  EXPECT_EQ(static_cast<int>(close_code_of(close_errc::one_byte)), 1002);
}

TEST(ws_close, knows_which_codes_may_be_on_the_wire) {
  for (std::uint32_t code = 0; code <= 0xFFFF; ++code) {
    const bool defined = code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006;
    const bool may = defined || (code >= 3000 && code <= 4999);
    ASSERT_EQ(may_be_sent(static_cast<std::uint16_t>(code)), may) << code;
  }
  EXPECT_EQ(parse("03 ED"), close_errc::code_not_on_wire);  // 1005
  EXPECT_EQ(parse("03 EE"), close_errc::code_not_on_wire);  // 1006
  EXPECT_EQ(parse("03 F7"), close_errc::code_not_on_wire);  // 1015
  EXPECT_EQ(parse("00 00"), close_errc::code_not_on_wire);
  EXPECT_EQ(parse("0B B8"), close_errc::ok);  // 3000
}

TEST(ws_close, a_reason_is_text) {
  EXPECT_EQ(parse("03 E8 C3 A9"), close_errc::ok);
  EXPECT_EQ(parse("03 E8 C3"), close_errc::reason_not_utf8);
  EXPECT_EQ(static_cast<int>(close_code_of(close_errc::reason_not_utf8)), 1007);
}

std::string closed(std::uint16_t code, std::string_view reason, control_mask mask = {}) {
  std::uint8_t room[max_control_frame];
  return test::to_hex(base::byte_view(room, emit_close(room, code, base::as_bytes(reason), mask)));
}

TEST(ws_close, writes_the_answers_of_the_vectors) {
  EXPECT_EQ(closed(1000, ""), "880203e8");  // W6
  EXPECT_EQ(closed(0, ""), "8800");         // W7
  EXPECT_EQ(closed(1002, "x", {true, 0x44332211}),
            "888311223344"
            "12c84b");
}

TEST(ws_close, never_writes_what_may_not_be_on_the_wire) {
  for (const std::uint16_t code : {std::uint16_t{1005}, std::uint16_t{1006}, std::uint16_t{1015}, std::uint16_t{999},
                                   std::uint16_t{1004}, std::uint16_t{2000}, std::uint16_t{5000}})
    EXPECT_EQ(closed(code, ""), "") << code;
  EXPECT_EQ(closed(0, "why"), "") << "a reason needs a code";
  EXPECT_EQ(closed(1000, std::string(max_close_reason + 1, 'a')), "");
  EXPECT_EQ(closed(1000, std::string(max_close_reason, 'a')).size(), 2 * (2 + max_control_payload));
  EXPECT_EQ(closed(1000, "\xC3"), "") << "not UTF-8";
}

TEST(ws_control, answers_a_ping_with_its_payload) {  // W5
  std::uint8_t room[max_control_frame];
  const std::size_t size = emit_control(room, opcode::pong, base::as_bytes("abc"));
  EXPECT_EQ(test::to_hex(base::byte_view(room, size)), "8a03616263");
  const std::size_t masked = emit_control(room, opcode::pong, base::as_bytes("Hello"), {true, 0x3d21fa37});
  EXPECT_EQ(test::to_hex(base::byte_view(room, masked)), "8a8537fa213d7f9f4d5158");  // RFC 6455 5.7
}

TEST(ws_control, writes_no_frame_that_breaks_a_rule) {
  std::uint8_t room[200];
  EXPECT_EQ(emit_control(room, opcode::ping, test::byte_list(126, 0)), 0u);
  EXPECT_EQ(emit_control(room, opcode::text, base::as_bytes("abc")), 0u);
  EXPECT_EQ(emit_control(base::byte_span(room).first(4), opcode::ping, base::as_bytes("abc")), 0u);
  test::guard_page guard(8);
  const base::byte_span exact = guard.room(5);
  EXPECT_EQ(emit_control(exact, opcode::ping, base::as_bytes("abc")), 5u);
}

}  // namespace
}  // namespace millrace::ws::wire
