#include "quic/wire/gquic_frame.hpp"

#include <gtest/gtest.h>

#include "support/bytes.hpp"
#include "support/hostile.hpp"

namespace millrace::quic::wire {
namespace {

using base::byte_view;
using base::parse_errc;
using test::byte_list;
using test::from_hex;

struct google_notes : google_frame_visitor {
  using google_frame_visitor::on;
  std::string notes;
  bool on(const padding_frame& f) { return note("padding " + std::to_string(f.count)); }
  bool on(const ping_frame&) { return note("ping"); }
  bool on(const google_ack_frame& f) {
    return note("ack " + std::to_string(f.largest) + "/" + std::to_string(f.blocks));
  }
  bool on(const crypto_frame& f) {
    return note("crypto " + std::to_string(f.offset) + "+" + std::to_string(f.data.size()));
  }
  bool on(const connection_close_frame& f) {
    return note("close " + std::to_string(f.error_code) + " " + std::string(base::as_text(f.reason)));
  }
  bool note(const std::string& what) {
    notes += notes.empty() ? what : ", " + what;
    return true;
  }
};

std::string notes_of(std::string_view hex) {
  google_notes visitor;
  const walk_result result = walk_google_frames(test::keep(from_hex(hex)), visitor);
  return result ? visitor.notes : "fault";
}

TEST(gquic_frame, reads_crypto_as_a_client_sends_it) {
  EXPECT_EQ(notes_of("08 00 02 0102 000000"), "crypto 0+2, padding 3");
  EXPECT_EQ(notes_of("08 4100 4001 aa 07"), "crypto 256+1, ping");
}

TEST(gquic_frame, reads_a_servers_ack_in_front_of_its_hello) {
  EXPECT_EQ(notes_of("40 01 0001 00 00 08 00 03 020000"), "ack 1/0, crypto 0+3");
}

TEST(gquic_frame, reads_acks_of_every_shape) {
  EXPECT_EQ(notes_of("4d 000000000102 0000 0001 00"), "ack 258/0");  // 6-byte largest, 2-byte block
  EXPECT_EQ(notes_of("6a 00000005 0000 02 00000001 01 00000001 02 00000001 00"), "ack 5/2");
  EXPECT_EQ(notes_of("40 09 0000 01 03 00 01020304 01 0102 02 0304 07"), "ack 9/0, ping");  // with receive times
}

TEST(gquic_frame, reads_a_close) { EXPECT_EQ(notes_of("02 00000019 0003 627965"), "close 25 bye"); }

TEST(gquic_frame, refuses_what_has_no_place_here) {
  for (const std::string_view bytes : {"01 00", "03 00", "06 00", "09", "1c 00 00 00", "80 00", "a0 00", "ff"}) {
    const walk_result result = walk_google_frames(test::keep(from_hex(bytes)), google_frame_visitor{});
    EXPECT_EQ(result.fault, frame_fault::unknown_type) << bytes;
    EXPECT_EQ(result.status.code, parse_errc::unsupported);
  }
  EXPECT_EQ(walk_google_frames({}, google_frame_visitor{}).fault, frame_fault::no_frames);
}

TEST(gquic_frame, serves_the_versions_that_frame_so) {
  EXPECT_TRUE(has_google_frames(family_of(0x54303531)));
  EXPECT_TRUE(has_google_frames(family_of(0x51303530)));
  EXPECT_FALSE(has_google_frames(family_of(version_1)));
}

TEST(gquic_frame, survives_every_truncation_and_every_change_of_one_byte) {
  const byte_list good = from_hex(
      "6a 00000005 0000 02 00000001 01 00000001 02 00000001 02 00 01020304 01 0102 08 4100 03 aabbcc 02 00000019 0003 "
      "627965 07 00");
  const auto check = [](byte_view in) {
    google_notes visitor;
    const walk_result result = walk_google_frames(in, visitor);
    EXPECT_LE(result.status.at, in.size());
    EXPECT_EQ(static_cast<bool>(result), result.fault == frame_fault::none);
  };
  test::for_every_truncation(good, check);
  test::for_every_byte_change(good, check);
}

}  // namespace
}  // namespace millrace::quic::wire
