#include "quic/wire/frame_type.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace millrace::quic::wire {
namespace {

// RFC 9000 table 3, by hand: I initial, H handshake, 0 0-RTT, 1 1-RTT. CONNECTION_CLOSE of the application: 12.5.
struct legality {
  frame_type type;
  std::string_view where;
};
const legality table[] = {{0x00, "IH01"}, {0x01, "IH01"}, {0x02, "IH1"}, {0x03, "IH1"}, {0x04, "01"},   {0x05, "01"},
                          {0x06, "IH1"},  {0x07, "1"},    {0x08, "01"},  {0x0f, "01"},  {0x10, "01"},   {0x11, "01"},
                          {0x12, "01"},   {0x13, "01"},   {0x14, "01"},  {0x15, "01"},  {0x16, "01"},   {0x17, "01"},
                          {0x18, "01"},   {0x19, "1"},    {0x1a, "01"},  {0x1b, "1"},   {0x1c, "IH01"}, {0x1d, "01"},
                          {0x1e, "1"},    {0x30, "01"},   {0x31, "01"}};

TEST(frame_type, is_allowed_where_the_table_of_the_rfc_says) {
  const auto in = [](std::string_view where, char c) { return where.find(c) != std::string_view::npos; };
  for (const legality& row : table) {
    EXPECT_EQ(is_allowed(row.type, packet_type::initial), in(row.where, 'I')) << row.type;
    EXPECT_EQ(is_allowed(row.type, packet_type::handshake), in(row.where, 'H')) << row.type;
    EXPECT_EQ(is_allowed(row.type, packet_type::zero_rtt), in(row.where, '0')) << row.type;
    EXPECT_EQ(is_allowed(row.type, packet_type::one_rtt), in(row.where, '1')) << row.type;
    for (const packet_type none : {packet_type::retry, packet_type::version_negotiation, packet_type::unknown_long})
      EXPECT_FALSE(is_allowed(row.type, none));
  }
}

TEST(frame_type, is_unknown_between_and_beyond_the_registered_ones) {
  for (const frame_type type : {frame_type{0x1f}, frame_type{0x2f}, frame_type{0x32}, frame_type{0x10001},
                                frame_type{0x1'0000'0006}, frame_type{0x3fff'ffff'ffff'ffff}}) {
    EXPECT_FALSE(is_known_frame(type)) << type;
    EXPECT_FALSE(is_allowed(type, packet_type::one_rtt)) << type;
  }
}

TEST(frame_type, asks_for_an_acknowledgement_unless_it_is_ack_padding_or_close) {  // RFC 9002 2
  for (const frame_type type : {0x00u, 0x02u, 0x03u, 0x1cu, 0x1du}) EXPECT_FALSE(is_ack_eliciting(type));
  for (const frame_type type : {0x01u, 0x06u, 0x08u, 0x1eu, 0x30u}) EXPECT_TRUE(is_ack_eliciting(type));
}

}  // namespace
}  // namespace millrace::quic::wire
