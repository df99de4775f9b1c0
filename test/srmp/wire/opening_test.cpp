#include "srmp/wire/opening.hpp"

#include <gtest/gtest.h>

#include "support/bytes.hpp"
#include "support/seeded.hpp"

namespace millrace::srmp::wire {
namespace {

opening_kind classify(base::byte_view in) {
  opening whole;
  const opening_kind answer = whole.on_bytes(in);
  opening bytewise;
  for (std::size_t i = 0; i < in.size(); ++i) bytewise.on_bytes(in.subspan(i, 1));
  EXPECT_EQ(bytewise.kind(), answer) << base::as_text(in);
  return answer;
}
opening_kind classify(std::string_view text) { return classify(base::as_bytes(text)); }
opening_kind classify_hex(std::string_view hex) { return classify(test::from_hex(hex)); }

std::string upgrade(std::string_view fields) {
  return "GET /chat HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n";
}

TEST(opening, knows_http_by_its_method) {
  EXPECT_EQ(classify_hex("47 45 54 20 2F 20 48 54 54 50 2F 31 2E 31 0D 0A 0D 0A"), opening_kind::http);  // S22, ended
  for (const char* text : {"HEAD /", "POST /", "PUT /", "DELETE /", "CONNECT a:1", "OPTIONS *", "TRACE /", "PATCH /",
                           "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"})
    EXPECT_EQ(classify(text), opening_kind::http) << text;
}

TEST(opening, a_get_is_not_srmp_from_its_fourth_byte_on) {  // S22
  opening first;
  const auto s22 = test::from_hex("47 45 54 20 2F 20 48 54 54 50 2F 31 2E 31 0D 0A");
  EXPECT_EQ(first.on_bytes(s22), opening_kind::undecided) << "HTTP or WebSocket: the head says";
  EXPECT_EQ(first.on_end(), opening_kind::http);
}

TEST(opening, knows_srmp_by_the_first_byte_no_method_has) {
  EXPECT_EQ(classify_hex("01"), opening_kind::srmp);
  EXPECT_EQ(classify_hex("01 01 08 00 07 61 70 69 2F 61 6C 6C"), opening_kind::srmp);  // R1
  EXPECT_EQ(classify_hex("43 2A 02 00 7B 7D"), opening_kind::srmp);  // S3, which begins as CONNECT does
  EXPECT_EQ(classify("GETX"), opening_kind::srmp);
  EXPECT_EQ(classify("get / HTTP/1.1\r\n"), opening_kind::srmp) << "methods know their case";
}

TEST(opening, does_not_look_again_when_a_later_frame_carries_http) {  // R18
  opening o;
  EXPECT_EQ(o.on_bytes(test::from_hex("01 01 23 00 03 41 2F 42 1B 00 00 00")), opening_kind::srmp);
  EXPECT_EQ(o.on_bytes(base::as_bytes("GET / HTTP/1.1\r\nHost: a\r\n\r\n")), opening_kind::srmp);
}

TEST(opening, waits_while_a_method_may_still_come) {
  EXPECT_EQ(classify(""), opening_kind::undecided);
  EXPECT_EQ(classify("G"), opening_kind::undecided);
  EXPECT_EQ(classify("OPTIONS"), opening_kind::undecided);
  opening o;
  o.on_bytes(base::as_bytes("CONN"));
  EXPECT_EQ(o.on_end(), opening_kind::srmp) << "no method was read";
  EXPECT_EQ(o.on_bytes(base::as_bytes("ECT ")), opening_kind::srmp) << "decided once";
}

TEST(opening, knows_an_upgrade_to_websocket) {
  EXPECT_EQ(
      classify(upgrade("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n")),
      opening_kind::websocket);
  EXPECT_EQ(classify(upgrade("sec-websocket-key:x\r\nUPGRADE:WebSocket\r\n")), opening_kind::websocket);
  EXPECT_EQ(classify(upgrade("Upgrade: h2c, websocket/13 \r\nSec-WebSocket-Key: x\r\n")), opening_kind::websocket);
  EXPECT_EQ(classify("GET / HTTP/1.1\nUpgrade: websocket\nSec-WebSocket-Key: x\n\n"), opening_kind::websocket);
}

TEST(opening, takes_a_get_that_does_not_upgrade_for_http) {
  for (const char* fields :
       {"", "Upgrade: websocket\r\n", "Sec-WebSocket-Key: x\r\n", "Upgrade: websockets\r\nSec-WebSocket-Key: x\r\n",
        "Upgrade: xwebsocket\r\nSec-WebSocket-Key: x\r\n", "Upgrade: h2c\r\nSec-WebSocket-Key: x\r\n",
        "Upgrades: websocket\r\nSec-WebSocket-Key: x\r\n", "X-Upgrade: websocket\r\nSec-WebSocket-Key: x\r\n",
        "Upgrade: websocket\r\nSec-WebSocket-Key: \r\n", "Upgrade: x websocket\r\nSec-WebSocket-Key: x\r\n",
        "Upgrade: h2c/websocket\r\nSec-WebSocket-Key: x\r\n"})
    EXPECT_EQ(classify(upgrade(fields)), opening_kind::http) << fields;
}

TEST(opening, gives_a_long_head_to_http) {
  const std::string padding(max_opening_head, 'x');
  EXPECT_EQ(classify(upgrade("X: " + padding + "\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n")),
            opening_kind::http);
}

TEST(opening, any_bytes_get_an_answer_that_stays) {
  test::seeded random(41);
  const std::string base_text = upgrade("Upgrade: websocket\r\nSec-WebSocket-Key: x\r\n");
  for (int i = 0; i < 3000; ++i) {
    test::byte_list bytes = test::from_text(base_text);
    for (std::size_t n = random.below(3); n > 0; --n)
      bytes[random.below(bytes.size())] = static_cast<std::uint8_t>(random.next());
    opening o;
    const std::size_t cut = random.below(bytes.size());
    const opening_kind before = o.on_bytes(base::byte_view(bytes).first(cut));
    const opening_kind after = o.on_bytes(base::byte_view(bytes).subspan(cut));
    if (before != opening_kind::undecided) {
      EXPECT_EQ(before, after);
    }
    EXPECT_EQ(after, classify(bytes));
    EXPECT_NE(o.on_end(), opening_kind::undecided) << to_string(o.kind());
  }
}

}  // namespace
}  // namespace millrace::srmp::wire
