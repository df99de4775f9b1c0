#include "inspect/parameter_facts.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace millrace::inspect {
namespace {

namespace wire = quic::wire;

TEST(parameter_facts, have_a_name_each) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < parameter_count; ++i)
    EXPECT_TRUE(names.insert(to_string(static_cast<parameter>(i))).second);
  EXPECT_EQ(to_string(parameter::count_), "unknown");
}

TEST(parameter_facts, keep_what_was_announced_and_no_defaults) {
  const std::vector<std::uint8_t> body = {0x01, 0x04, 0x80, 0x00, 0x75, 0x30,   // max_idle_timeout 30000
                                          0x6A, 0xB2, 0x00,                     // grease_quic_bit
                                          0x71, 0x28, 0x03, 0xAA, 0xBB, 0xCC};  // unknown
  wire::transport_parameters announced;
  ASSERT_TRUE(wire::parse(body, wire::sender::client, wire::parameter_encoding::varints, announced));
  parameter_facts facts;
  facts.assign(announced);
  EXPECT_EQ(facts.value(parameter::max_idle_timeout), 30'000u);
  EXPECT_TRUE(facts.has(parameter::grease_quic_bit));
  EXPECT_EQ(facts.value(parameter::grease_quic_bit), 1u);
  EXPECT_FALSE(facts.has(parameter::ack_delay_exponent)) << "a default is nothing that was said";
  EXPECT_FALSE(facts.has(parameter::disable_active_migration));
}

TEST(parameter_facts, take_each_value_from_its_own_parameter) {
  wire::transport_parameters announced;
  std::vector<std::uint8_t> body;
  const auto add = [&](std::uint8_t id, std::uint8_t value) { body.insert(body.end(), {id, 2, 0x44, value}); };
  add(0x01, 1);
  add(0x03, 0xFF);  // at least 1200: 0x44ff is 1279
  for (std::uint8_t id = 0x04; id <= 0x09; ++id) add(id, id);
  body.insert(body.end(), {0x0A, 1, 7, 0x0B, 1, 9, 0x0E, 1, 4, 0x20, 1, 11, 0x0C, 0});
  ASSERT_TRUE(wire::parse(body, wire::sender::client, wire::parameter_encoding::varints, announced));
  parameter_facts facts;
  facts.assign(announced);
  const std::uint64_t expected[] = {0x401, 0x4FF, 0x404, 0x405, 0x406, 0x407, 0x408, 0x409, 7, 9, 4, 11, 1};
  for (std::size_t i = 0; i < std::size(expected); ++i) EXPECT_EQ(facts.values[i], expected[i]) << i;
  EXPECT_EQ(facts.present, 0x1FFFu);
}

}  // namespace
}  // namespace millrace::inspect
