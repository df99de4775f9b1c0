#include "ws/wire/receiver.hpp"

#include <gtest/gtest.h>

#include "support/bytes.hpp"
#include "support/seeded.hpp"
#include "ws/wire/mask.hpp"
#include "ws/wire/received.hpp"

namespace millrace::ws::wire {
namespace {

using test::byte_list;
using test::from_hex;
using lines = std::vector<std::string>;

const receive_limits strict = {read_rules(role::server, masking::strict, 1 << 20), 1 << 20};
const receive_limits lenient = {read_rules(role::server, masking::accept_unmasked, 1 << 20), 1 << 20};
const receive_limits client = {read_rules(role::client, masking::strict, 1 << 20), 1 << 20};

lines receive(byte_list bytes, const receive_limits& limits) {
  receiver r(limits);
  test_support::received out;
  out.take(r, bytes);
  return out.lines;
}
lines receive(std::string_view hex, const receive_limits& limits) { return receive(from_hex(hex), limits); }

TEST(ws_receiver, reads_the_reference_vectors) {
  const std::string open("\x01\x01\x04\0Open", 8);
  EXPECT_EQ(receive("82 88 11 22 33 44 10 23 37 44 5E 52 56 2A", strict), lines{"binary " + open});  // W2
  EXPECT_EQ(receive("82 08 01 01 04 00 4F 70 65 6E", strict), lines{"failed 1002"});                 // W3
  EXPECT_EQ(receive("82 08 01 01 04 00 4F 70 65 6E", lenient), lines{"binary " + open});             // W3
  EXPECT_EQ(receive("81 82 11 22 33 44 79 4B", strict), lines{"text hi"});                           // W4
  EXPECT_EQ(receive("89 83 11 22 33 44 70 40 50", strict), lines{"ping abc"});  // W5; "a" is 61: 61^11 is 70
  EXPECT_EQ(receive("88 82 11 22 33 44 12 CA", strict), lines{"close 1000 "});  // W6
  EXPECT_EQ(receive("88 80 11 22 33 44", strict), lines{"close 0 "});           // W7
  EXPECT_EQ(receive("88 81 11 22 33 44 12", strict), lines{"failed 1002"});     // W8
  EXPECT_EQ(receive("01 83 11 22 33 44 59 47 5F 80 82 11 22 33 44 7D 4D", strict), lines{"text Hello"});  // W9
  EXPECT_EQ(receive("82 7E 00 01 41", client), lines{"failed 1002"});                                     // W10
  EXPECT_EQ(receive("82 7F 80 00 00 00 00 00 00 00", client), lines{"failed 1002"});                      // W11
  EXPECT_EQ(receive("C2 81 11 22 33 44 50", strict), lines{"failed 1002"});                               // W12
  EXPECT_EQ(receive("83 81 11 22 33 44 50", strict), lines{"failed 1002"});                               // W12
  EXPECT_EQ(receive("89 FE 00 7E 11 22 33 44", strict), lines{"failed 1002"});                            // W13
  const byte_list w15 = test::join({from_hex("89 18"), base::as_bytes("Ping 2026-08-02 01:01:05")});
  EXPECT_EQ(receive(w15, lenient), lines{"ping Ping 2026-08-02 01:01:05"});  // W15
  EXPECT_EQ(receive(w15, strict), lines{"failed 1002"});
}

TEST(ws_receiver, reads_the_examples_of_the_rfc) {  // RFC 6455 5.7
  EXPECT_EQ(receive("81 05 48 65 6c 6c 6f", client), lines{"text Hello"});
  EXPECT_EQ(receive("81 85 37 fa 21 3d 7f 9f 4d 51 58", strict), lines{"text Hello"});
  EXPECT_EQ(receive("01 03 48 65 6c 80 02 6c 6f", client), lines{"text Hello"});
  EXPECT_EQ(receive("89 05 48 65 6c 6c 6f", client), lines{"ping Hello"});
  EXPECT_EQ(receive("8a 85 37 fa 21 3d 7f 9f 4d 51 58", strict), lines{"pong Hello"});
  EXPECT_EQ(receive(test::join({from_hex("82 7E 01 00"), byte_list(256, 'x')}), client),
            lines{"binary " + std::string(256, 'x')});
  EXPECT_EQ(receive(test::join({from_hex("82 7F 00 00 00 00 00 01 00 00"), byte_list(65536, 'y')}), client),
            lines{"binary " + std::string(65536, 'y')});
}

TEST(ws_receiver, gives_control_frames_between_the_fragments_of_a_message) {
  EXPECT_EQ(receive("01 03 48 65 6c 89 01 21 8A 00 80 02 6c 6f", client), (lines{"ping !", "pong ", "text Hello"}));
}

TEST(ws_receiver, a_message_may_be_empty_or_have_empty_fragments) {
  EXPECT_EQ(receive("81 00 82 00", client), (lines{"text ", "binary "}));
  EXPECT_EQ(receive("01 00 00 00 00 01 61 00 00 80 00", client), lines{"text a"});
  EXPECT_EQ(receive("01 00 80 00", client), lines{"text "});
}

TEST(ws_receiver, refuses_orphans_and_messages_inside_messages) {
  EXPECT_EQ(receive("80 01 61", client), lines{"failed 1002"});
  EXPECT_EQ(receive("01 01 61 81 01 62", client), lines{"failed 1002"});
}

TEST(ws_receiver, judges_text_as_it_comes_and_at_the_end) {
  EXPECT_EQ(receive("81 03 E2 82 AC", client), lines{"text \xE2\x82\xAC"});
  EXPECT_EQ(receive("01 02 E2 82 80 01 AC", client), lines{"text \xE2\x82\xAC"});
  EXPECT_EQ(receive("81 02 E2 82", client), lines{"failed 1007"});
  EXPECT_EQ(receive("01 02 E2 28", client), lines{"failed 1007"});
  EXPECT_EQ(receive("82 02 E2 28", client), lines{"binary \xE2\x28"});
}

TEST(ws_receiver, refuses_what_is_too_large_before_its_payload_comes) {
  receive_limits small = client;
  small.max_message = 4;
  EXPECT_EQ(receive("82 05", small), lines{"failed 1009"});
  EXPECT_EQ(receive("02 03 61 62 63 80 02", small), lines{"failed 1009"});
  EXPECT_EQ(receive("02 03 61 62 63 80 01 64", small), lines{"binary abcd"});
  EXPECT_EQ(receive("82 7F 00 00 00 00 00 10 00 01", client), lines{"failed 1009"});
}

TEST(ws_receiver, hears_nothing_after_a_close) {
  receiver r(client);
  byte_list bytes = from_hex("88 02 03 E8 81 01 61");
  base::byte_span in(bytes);
  EXPECT_EQ(r.next(in).kind, event_kind::close);
  EXPECT_EQ(r.next(in).kind, event_kind::need_more);
  EXPECT_TRUE(in.empty());
  EXPECT_TRUE(r.is_closed());
}

TEST(ws_receiver, a_failure_is_final) {
  receiver r(client);
  byte_list bytes = from_hex("83 00 81 01 61");
  base::byte_span in(bytes);
  EXPECT_EQ(r.next(in).kind, event_kind::failed);
  EXPECT_EQ(r.next(in).kind, event_kind::failed);
}

TEST(ws_receiver, knows_whether_an_end_would_cut_something) {
  receiver r(client);
  const auto feed = [&](std::string_view hex) {
    byte_list bytes = from_hex(hex);
    base::byte_span in(bytes);
    while (r.next(in).kind != event_kind::need_more) {
    }
  };
  EXPECT_TRUE(r.is_idle());
  feed("81");
  EXPECT_FALSE(r.is_idle());
  feed("01");
  EXPECT_FALSE(r.is_idle());
  feed("61");
  EXPECT_TRUE(r.is_idle());
  feed("01 01 61");
  EXPECT_FALSE(r.is_idle()) << "a message is open";
}

// Frames of all kinds, mostly in order, masked, now and then spoilt.
byte_list random_stream(test::seeded& random) {
  byte_list out;
  const std::size_t frames = 1 + random.below(8);
  for (std::size_t i = 0; i < frames; ++i) {
    frame_header h;
    h.op = static_cast<opcode>(std::array<int, 6>{0, 1, 2, 8, 9, 10}[random.below(random.below(4) == 0 ? 6 : 3)]);
    h.fin = is_control(h.op) || random.below(2) == 0;
    h.payload_size = random.below(3) == 0 ? random.below(400) : random.below(12);
    if (is_control(h.op)) h.payload_size %= 126;
    h.is_masked = true;
    h.mask_key = static_cast<std::uint32_t>(random.next());
    std::uint8_t head[max_header_size];
    const std::size_t size = emit_header(head, h);
    out.insert(out.end(), head, head + size);
    byte_list payload(h.payload_size, 'a');
    if (random.below(6) == 0) payload = random.bytes(h.payload_size);
    if (h.op == opcode::close && payload.size() >= 2) base::store_be16(payload.data(), 1000);
    mask(payload, h.mask_key);
    out.insert(out.end(), payload.begin(), payload.end());
  }
  if (random.below(5) == 0) out[random.below(out.size())] = static_cast<std::uint8_t>(random.next());
  return out;
}

TEST(ws_receiver, gives_the_same_however_the_bytes_are_cut) {
  test::seeded random(81);
  for (int round = 0; round < 2000; ++round) {
    const byte_list stream = random_stream(random);
    const lines whole = receive(stream, strict);
    for (const std::size_t longest : {std::size_t{1}, std::size_t{7}, std::size_t{300}}) {
      byte_list bytes = stream;
      receiver r(strict);
      test_support::received out;
      for (base::byte_span left(bytes); !left.empty() && !out.finished;) {
        const std::size_t take = 1 + random.below(std::min(left.size(), longest));
        out.take(r, left.first(take));
        left = left.subspan(take);
      }
      ASSERT_EQ(out.lines, whole) << "seed 81 round " << round << " pieces of " << longest;
    }
  }
}

}  // namespace
}  // namespace millrace::ws::wire
