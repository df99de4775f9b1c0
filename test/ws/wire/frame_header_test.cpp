#include "ws/wire/frame_header.hpp"

#include <gtest/gtest.h>

#include "support/bytes.hpp"
#include "support/guard_page.hpp"
#include "support/hostile.hpp"
#include "support/seeded.hpp"

namespace millrace::ws::wire {
namespace {

using base::progress;
using test::from_hex;

constexpr read_rules strict_server(role::server, masking::strict, default_ceiling);
constexpr read_rules lenient_server(role::server, masking::accept_unmasked, default_ceiling);
constexpr read_rules client(role::client, masking::strict, default_ceiling);

// In one buffer as it is, and with bytes behind it so that the fast path is taken; both must say the same.
header_result parse_both(base::byte_view in, const read_rules& rules, frame_header& out) {
  frame_header fast;
  const header_result got = parse_header(in, rules, out);
  if (got.outcome != progress::need_more) {
    const header_result again = parse_header(test::join({in, test::byte_list(16, 0xA5)}), rules, fast);
    EXPECT_EQ(again.outcome, got.outcome);
    EXPECT_EQ(again.why, got.why);
    EXPECT_TRUE(got.outcome == progress::malformed || fast == out);
  }
  return got;
}

frame_header expect_header(std::string_view text, const read_rules& rules) {
  frame_header out;
  EXPECT_EQ(parse_both(from_hex(text), rules, out).outcome, progress::done) << text;
  return out;
}

header_errc reason(std::string_view text, const read_rules& rules) {
  frame_header out;
  const header_result got = parse_both(from_hex(text), rules, out);
  EXPECT_EQ(got.outcome, progress::malformed) << text;
  EXPECT_EQ(out, frame_header{}) << text;
  return got.why;
}

unsigned needed(std::string_view text, const read_rules& rules) {
  frame_header out;
  const header_result got = parse_header(from_hex(text), rules, out);
  EXPECT_EQ(got.outcome, progress::need_more) << text;
  return got.need;
}

TEST(ws_frame_header, reads_the_reference_vectors) {
  const frame_header w2 = expect_header("82 88 11 22 33 44 10 23 37 44 5E 52 56 2A", strict_server);
  EXPECT_EQ(w2, (frame_header{8, 0x44332211, opcode::binary, 6, true, true}));
  EXPECT_EQ(expect_header("81 82 11 22 33 44 79 4B", strict_server).op, opcode::text);          // W4
  EXPECT_EQ(expect_header("89 83 11 22 33 44 70 40 50", strict_server).op, opcode::ping);       // W5
  EXPECT_EQ(expect_header("88 82 11 22 33 44 12 CA", strict_server).op, opcode::close);         // W6
  EXPECT_EQ(expect_header("88 80 11 22 33 44", strict_server).payload_size, 0u);                // W7
  EXPECT_FALSE(expect_header("01 83 11 22 33 44 59 47 5F", strict_server).fin);                 // W9
  EXPECT_EQ(expect_header("80 82 11 22 33 44 7D 4D", strict_server).op, opcode::continuation);  // W9
}

TEST(ws_frame_header, a_server_takes_unmasked_frames_only_when_told_to) {
  EXPECT_EQ(reason("82 08 01 01 04 00 4F 70 65 6E", strict_server), header_errc::not_masked);  // W3
  EXPECT_EQ(expect_header("82 08 01 01 04 00 4F 70 65 6E", lenient_server),
            (frame_header{8, 0, opcode::binary, 2, true, false}));
  EXPECT_TRUE(expect_header("82 88 11 22 33 44", lenient_server).is_masked);
  EXPECT_EQ(reason("89 18 50 69", strict_server), header_errc::not_masked);  // W15
  EXPECT_EQ(expect_header("89 18 50 69", lenient_server), (frame_header{24, 0, opcode::ping, 2, true, false}));
}

TEST(ws_frame_header, a_client_takes_no_masked_frame) {
  EXPECT_EQ(reason("82 88 11 22 33 44", client), header_errc::masked);
  EXPECT_EQ(reason("82 88 11 22 33 44", read_rules(role::client, masking::accept_unmasked, default_ceiling)),
            header_errc::masked);
  EXPECT_EQ(expect_header("82 08", client).payload_size, 8u);
}

TEST(ws_frame_header, refuses_what_the_rfc_forbids) {
  EXPECT_EQ(reason("82 7E 00 01 41", client), header_errc::length_not_minimal);  // W10
  EXPECT_EQ(reason("82 7E 00 7D", client), header_errc::length_not_minimal);
  EXPECT_EQ(reason("82 7F 00 00 00 00 00 00 FF FF", client), header_errc::length_not_minimal);
  EXPECT_EQ(reason("82 7F 80 00 00 00 00 00 00 00", client), header_errc::length_top_bit);  // W11
  EXPECT_EQ(reason("C2 81 11 22 33 44 50", strict_server), header_errc::rsv_set);           // W12
  EXPECT_EQ(reason("A2 81 11 22 33 44 50", strict_server), header_errc::rsv_set);
  EXPECT_EQ(reason("92 81 11 22 33 44 50", strict_server), header_errc::rsv_set);
  EXPECT_EQ(reason("83 81 11 22 33 44 50", strict_server), header_errc::reserved_opcode);  // W12
  for (const char* text : {"84 00", "85 00", "86 00", "87 00", "8B 00", "8C 00", "8D 00", "8E 00", "8F 00"})
    EXPECT_EQ(reason(text, client), header_errc::reserved_opcode) << text;
  EXPECT_EQ(reason("89 FE 00 7E 11 22 33 44", strict_server), header_errc::control_too_long);  // W13
  EXPECT_EQ(reason("8A 7F 00 00 00 00 00 01 00 00", client), header_errc::control_too_long);
  EXPECT_EQ(reason("09 00", client), header_errc::fragmented_control);
  EXPECT_EQ(reason("08 80 11 22 33 44", strict_server), header_errc::fragmented_control);
}

TEST(ws_frame_header, reports_protocol_errors_as_1002_and_size_as_1009) {
  EXPECT_EQ(static_cast<int>(close_code_of(header_errc::length_not_minimal)), 1002);
  EXPECT_EQ(static_cast<int>(close_code_of(header_errc::too_large)), 1009);
  EXPECT_EQ(reason("82 7F 00 00 00 00 01 00 00 01", client), header_errc::too_large);
  EXPECT_EQ(expect_header("82 7F 00 00 00 00 01 00 00 00", client).payload_size, default_ceiling);
  const read_rules any_size(role::client, masking::strict, UINT64_MAX);
  EXPECT_EQ(expect_header("82 7F 7F FF FF FF FF FF FF FF", any_size).payload_size, max_frame_payload);
  EXPECT_EQ(reason("82 7F 80 00 00 00 00 00 00 00", any_size), header_errc::length_top_bit);
}

TEST(ws_frame_header, asks_for_the_bytes_it_needs) {
  EXPECT_EQ(needed("", client), 2u);
  EXPECT_EQ(needed("82", client), 2u);
  EXPECT_EQ(needed("82 7E", client), 4u);
  EXPECT_EQ(needed("82 7E 01", client), 4u);
  EXPECT_EQ(needed("82 7F 00 00", client), 10u);
  EXPECT_EQ(needed("82 88", strict_server), 6u);
  EXPECT_EQ(needed("82 88 11 22 33", strict_server), 6u);
  EXPECT_EQ(needed("82 FE 01 00", strict_server), 8u);
  EXPECT_EQ(needed("82 FF 00 00 00 00 00 01 00 00 11", strict_server), 14u);
}

TEST(ws_frame_header, writes_the_shortest_form) {  // W14
  const auto emitted = [](std::uint64_t size, bool is_masked) {
    test::guard_page guard(max_header_size);
    const base::byte_span room = guard.room(header_size_for(size, is_masked));
    EXPECT_EQ(emit_header(room.data(), {size, 0x44332211, opcode::binary, 0, true, is_masked}), room.size());
    return test::to_hex(room);
  };
  EXPECT_EQ(emitted(0, false), "8200");
  EXPECT_EQ(emitted(125, false), "827d");
  EXPECT_EQ(emitted(126, false), "827e007e");
  EXPECT_EQ(emitted(65535, false), "827effff");
  EXPECT_EQ(emitted(65536, false), "827f0000000000010000");
  EXPECT_EQ(emitted(8, true), "828811223344");
  EXPECT_EQ(emitted(65536, true), "82ff000000000001000011223344");
}

TEST(ws_frame_header, reads_the_examples_of_the_rfc) {  // RFC 6455 5.7
  EXPECT_EQ(expect_header("81 05 48 65 6c 6c 6f", client), (frame_header{5, 0, opcode::text, 2, true, false}));
  EXPECT_EQ(expect_header("81 85 37 fa 21 3d 7f 9f 4d 51 58", strict_server),
            (frame_header{5, 0x3d21fa37, opcode::text, 6, true, true}));
  EXPECT_EQ(expect_header("01 03 48 65 6c", client), (frame_header{3, 0, opcode::text, 2, false, false}));
  EXPECT_EQ(expect_header("80 02 6c 6f", client), (frame_header{2, 0, opcode::continuation, 2, true, false}));
  EXPECT_EQ(expect_header("89 05 48 65 6c 6c 6f", client), (frame_header{5, 0, opcode::ping, 2, true, false}));
  EXPECT_EQ(expect_header("8a 85 37 fa 21 3d 7f 9f 4d 51 58", strict_server),
            (frame_header{5, 0x3d21fa37, opcode::pong, 6, true, true}));
  EXPECT_EQ(expect_header("82 7E 01 00", client), (frame_header{256, 0, opcode::binary, 4, true, false}));
  EXPECT_EQ(expect_header("82 7F 00 00 00 00 00 01 00 00", client),
            (frame_header{65536, 0, opcode::binary, 10, true, false}));
}

TEST(ws_frame_header, reads_back_whatever_it_writes) {
  test::seeded random(51);
  for (int round = 0; round < 5000; ++round) {
    frame_header want;
    want.payload_size = random.next() >> (40 + random.below(24));
    want.op = static_cast<opcode>(std::array<int, 6>{0, 1, 2, 8, 9, 10}[random.below(6)]);
    if (is_control(want.op)) want.payload_size %= 126;
    want.fin = is_control(want.op) || random.below(2) == 0;
    want.is_masked = random.below(2) == 0;
    want.mask_key = want.is_masked ? static_cast<std::uint32_t>(random.next()) : 0;
    std::uint8_t room[max_header_size];
    want.header_size = static_cast<std::uint8_t>(emit_header(room, want));
    ASSERT_EQ(want.header_size, header_size_for(want.payload_size, want.is_masked));
    frame_header got;
    const read_rules rules(want.is_masked ? role::server : role::client, masking::strict, UINT64_MAX);
    ASSERT_EQ(parse_both(base::byte_view(room).first(want.header_size), rules, got).outcome, progress::done);
    ASSERT_EQ(got, want) << "seed 51 round " << round;
  }
}

TEST(ws_frame_header, the_fast_path_and_the_stepwise_one_agree_on_any_bytes) {
  test::seeded random(52);
  for (int round = 0; round < 100'000; ++round) {
    auto bytes = random.bytes(max_header_size + random.below(4));
    if (random.below(2) == 0) bytes[0] &= 0x8F;
    if (random.below(2) == 0) std::fill(bytes.begin() + 2, bytes.begin() + 2 + static_cast<int>(random.below(7)), 0);
    for (const read_rules& rules : {strict_server, lenient_server, client}) {
      frame_header fast;
      frame_header slow;
      const header_result a = parse_header(bytes, rules, fast);
      const header_result b = parse_header_stepwise(bytes, rules, slow);
      ASSERT_EQ(a.outcome, b.outcome) << test::to_hex(bytes);
      ASSERT_EQ(a.why, b.why) << test::to_hex(bytes);
      ASSERT_EQ(fast, slow) << test::to_hex(bytes);
    }
  }
}

TEST(ws_frame_header, answers_the_same_however_the_bytes_are_cut) {
  for (const char* text : {"82 88 11 22 33 44 10 23 37 44", "82 FF 00 00 00 00 00 01 00 00 11 22 33 44 AA BB",
                           "82 FE 00 01 11 22 33 44", "C2 88", "82 FE 01", ""}) {
    const test::byte_list all = from_hex(text);
    frame_header expected;
    const header_result whole = parse_header(all, strict_server, expected);
    for (std::size_t a = 0; a <= all.size(); ++a) {
      for (std::size_t b = a; b <= all.size(); ++b) {
        const base::byte_view view(all);
        const std::array<base::byte_view, 4> parts = {view.first(a), {}, view.subspan(a, b - a), view.subspan(b)};
        frame_header got;
        const header_result cut = parse_header(base::segments(parts), 0, strict_server, got);
        EXPECT_EQ(cut.outcome, whole.outcome) << text;
        EXPECT_EQ(cut.why, whole.why) << text;
        EXPECT_EQ(cut.need, whole.need) << text;
        EXPECT_EQ(got, expected) << text;
      }
    }
  }
}

TEST(ws_frame_header, needs_all_of_every_header_and_survives_every_changed_byte) {
  for (const char* text :
       {"82 88 11 22 33 44", "82 FE 01 00 11 22 33 44", "82 FF 00 00 00 00 00 01 00 00 11 22 33 44"}) {
    const auto good = from_hex(text);
    test::for_every_truncation(good, [&](base::byte_view less) {
      frame_header out;
      const header_result got = parse_header(less, strict_server, out);
      EXPECT_EQ(got.outcome, progress::need_more) << text;
      EXPECT_GT(got.need, less.size());
      EXPECT_LE(got.need, good.size());
    });
    test::for_every_byte_change(good, [&](base::byte_view changed) {
      for (const read_rules& rules : {strict_server, lenient_server, client}) {
        frame_header out;
        const header_result got = parse_header(changed, rules, out);
        EXPECT_EQ(got.outcome == progress::malformed, got.why != header_errc::ok) << to_string(got.why);
        if (got.outcome == progress::done) {
          EXPECT_LE(out.header_size, changed.size());
        }
      }
    });
  }
}

}  // namespace
}  // namespace millrace::ws::wire
