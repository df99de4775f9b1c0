#include "inspect/initial_frames.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace millrace::inspect {
namespace {

using bytes = std::vector<std::uint8_t>;
using base::parse_errc;

struct walked {
  base::parse_status status;
  std::vector<std::pair<std::uint64_t, bytes>> crypto;
};

walked walk(const bytes& payload, frame_numbering numbering = frame_numbering::ietf) {
  walked out;
  out.status = walk_initial_frames(payload, numbering, [&](const crypto_frame& f) {
    out.crypto.emplace_back(f.offset, bytes(f.data.begin(), f.data.end()));
  });
  return out;
}

TEST(initial_frames, hands_over_crypto_between_padding_ping_and_ack) {
  const bytes payload = {0x00, 0x00, 0x01, 0x06, 0x00, 0x02, 0xAA, 0xBB, 0x02, 0x05,
                         0x00, 0x00, 0x03, 0x06, 0x40, 0x41, 0x01, 0xCC, 0x00};
  const walked w = walk(payload);
  EXPECT_TRUE(w.status);
  ASSERT_EQ(w.crypto.size(), 2u);
  EXPECT_EQ(w.crypto[0], (std::pair<std::uint64_t, bytes>{0, {0xAA, 0xBB}}));
  EXPECT_EQ(w.crypto[1], (std::pair<std::uint64_t, bytes>{65, {0xCC}}));
}

TEST(initial_frames, skips_acks_with_ranges_and_ecn_counts) {
  const bytes payload = {0x03, 0x0A, 0x01, 0x02, 0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x06, 0x00, 0x00};
  const walked w = walk(payload);
  EXPECT_TRUE(w.status);
  ASSERT_EQ(w.crypto.size(), 1u);
  EXPECT_TRUE(w.crypto[0].second.empty());
}

TEST(initial_frames, skips_a_connection_close_of_the_transport) {
  const walked w = walk({0x1C, 0x0A, 0x06, 0x03, 'b', 'y', 'e', 0x00});
  EXPECT_TRUE(w.status);
}

TEST(initial_frames, refuses_frames_that_may_not_stand_in_an_initial) {
  for (std::uint8_t type = 0; type < 0x40; ++type) {
    const bool allowed = type <= 0x03 || type == 0x06 || type == 0x1C;
    const walked w = walk({type, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    EXPECT_EQ(static_cast<bool>(w.status), allowed) << int{type};
    if (!allowed) {
      EXPECT_EQ(w.status.code, parse_errc::bad_value) << int{type};
    }
  }
}

TEST(initial_frames, takes_a_type_in_a_longer_form_for_what_it_is) {
  EXPECT_TRUE(walk({0x40, 0x06, 0x00, 0x00}).status);
  EXPECT_EQ(walk({0x80, 0x01, 0x00, 0x06}).status.code, parse_errc::bad_value) << "0x10006 is not CRYPTO";
}

TEST(initial_frames, says_truncated_where_any_frame_ends_early) {
  const std::vector<bytes> frames = {{0x02, 0x05, 0x00, 0x01, 0x03, 0x01, 0x01},
                                     {0x03, 0x05, 0x00, 0x00, 0x03, 0x01, 0x02, 0x03},
                                     {0x06, 0x44, 0x00, 0x03, 0xAA, 0xBB, 0xCC},
                                     {0x1C, 0x01, 0x02, 0x01, 'x'}};
  for (const bytes& frame : frames) {
    ASSERT_TRUE(walk(frame).status);
    for (std::size_t cut = 1; cut < frame.size(); ++cut) {
      const walked w = walk(bytes(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(cut)));
      EXPECT_EQ(w.status.code, parse_errc::truncated) << int{frame[0]} << " cut at " << cut;
      EXPECT_TRUE(w.crypto.empty());
    }
  }
}

TEST(initial_frames, is_not_impressed_by_counts_and_lengths_that_lie) {
  EXPECT_EQ(walk({0x02, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0}).status.code,
            parse_errc::truncated);
  EXPECT_EQ(walk({0x06, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0}).status.code, parse_errc::truncated);
}

TEST(initial_frames, reads_googles_numbering_for_its_versions) {
  const bytes payload = {0x07, 0x40, 0x01, 0x00, 0x00, 0x01, 0x00, 0x08, 0x00, 0x02, 0xAA, 0xBB, 0x00, 0x00};
  const walked w = walk(payload, frame_numbering::gquic);
  EXPECT_TRUE(w.status);
  ASSERT_EQ(w.crypto.size(), 1u);
  EXPECT_EQ(w.crypto[0].second, (bytes{0xAA, 0xBB}));
  EXPECT_EQ(walk({0x06, 0, 0}, frame_numbering::gquic).status.code, parse_errc::bad_value);
  // An ACK with three more blocks and two time stamps.
  const bytes ack = {0x60, 0x09, 0x00, 0x00, 0x03, 0x01, 1, 1, 1, 1, 1, 1, 0x02, 0, 1, 2, 3, 4, 0, 1, 2};
  EXPECT_TRUE(walk(ack, frame_numbering::gquic).status);
  for (std::size_t cut = 1; cut < ack.size(); ++cut)
    EXPECT_FALSE(
        walk(bytes(ack.begin(), ack.begin() + static_cast<std::ptrdiff_t>(cut)), frame_numbering::gquic).status);
}

}  // namespace
}  // namespace millrace::inspect
