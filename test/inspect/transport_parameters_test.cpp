#include "inspect/transport_parameters.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace millrace::inspect {
namespace {

using bytes = std::vector<std::uint8_t>;
using base::parse_errc;

TEST(transport_parameters, have_a_name_each) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < parameter_count; ++i)
    EXPECT_TRUE(names.insert(to_string(static_cast<parameter>(i))).second);
  EXPECT_EQ(to_string(parameter::count_), "unknown");
}

TEST(transport_parameters, reads_integers_flags_and_skips_the_unknown) {
  const bytes in = {0x01, 0x04, 0x80, 0x00, 0x75, 0x30,   // max_idle_timeout 30000
                    0x6A, 0xB2, 0x00,                     // grease_quic_bit
                    0x71, 0x28, 0x03, 0xAA, 0xBB, 0xCC,   // unknown
                    0x0C, 0x00,                           // disable_active_migration
                    0x0F, 0x03, 0x01, 0x02, 0x03,         // initial_source_connection_id
                    0x20, 0x04, 0x80, 0x01, 0x00, 0x00};  // max_datagram_frame_size 65536
  transport_parameters p;
  ASSERT_TRUE(parse_transport_parameters(in, parameter_encoding::varint, p));
  EXPECT_EQ(p.value(parameter::max_idle_timeout), 30'000u);
  EXPECT_EQ(p.value(parameter::max_datagram_frame_size), 65'536u);
  EXPECT_TRUE(p.has(parameter::grease_quic_bit));
  EXPECT_TRUE(p.has(parameter::disable_active_migration));
  EXPECT_FALSE(p.has(parameter::initial_max_data));
}

TEST(transport_parameters, reads_the_encoding_before_draft_27) {
  const bytes in = {0x00, 0x0D, 0x00, 0x01, 0x00, 0x04, 0x80, 0x00, 0x75, 0x30, 0x12, 0x34, 0x00, 0x01, 0xFF};
  transport_parameters p;
  ASSERT_TRUE(parse_transport_parameters(in, parameter_encoding::sixteen, p));
  EXPECT_EQ(p.value(parameter::max_idle_timeout), 30'000u);
  EXPECT_FALSE(parse_transport_parameters(bytes(in.begin(), in.end() - 1), parameter_encoding::sixteen, p));
  EXPECT_FALSE(parse_transport_parameters(bytes{0x00}, parameter_encoding::sixteen, p));
}

TEST(transport_parameters, accepts_none_at_all) {
  transport_parameters p;
  EXPECT_TRUE(parse_transport_parameters({}, parameter_encoding::varint, p));
  EXPECT_EQ(p.present, 0u);
}

TEST(transport_parameters, refuses_what_cannot_be_and_leaves_the_output_alone) {
  transport_parameters p;
  p.present = 77;
  const auto code = [&](const bytes& in) { return parse_transport_parameters(in, parameter_encoding::varint, p).code; };
  EXPECT_EQ(code({0x04, 0x01, 0x05, 0x04, 0x01, 0x05}), parse_errc::duplicate);
  EXPECT_EQ(code({0x04, 0x02, 0x05, 0x05}), parse_errc::bad_length);
  EXPECT_EQ(code({0x04, 0x00}), parse_errc::bad_length);
  EXPECT_EQ(code({0x0C, 0x01, 0x00}), parse_errc::bad_length);
  EXPECT_EQ(code({0x04, 0x05, 0x01}), parse_errc::truncated);
  EXPECT_EQ(code({0x04}), parse_errc::truncated);
  EXPECT_EQ(p.present, 77u);
}

}  // namespace
}  // namespace millrace::inspect
