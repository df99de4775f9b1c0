#include "env/cpu_list.hpp"

#include <gtest/gtest.h>

namespace millrace::env {
namespace {

TEST(cpu_list, reads_numbers_and_ranges_in_any_order_once) {
  EXPECT_EQ(parse_cpu_list("0,2-4"), (cpu_list{0, 2, 3, 4}));
  EXPECT_EQ(parse_cpu_list(" 3,1,1-2\n"), (cpu_list{1, 2, 3}));
  EXPECT_EQ(parse_cpu_list(""), cpu_list{});
}

TEST(cpu_list, refuses_what_is_no_list) {
  for (const char* text : {"a", "1,", ",1", "1-", "-1", "3-1", "1--2", "0x3", "1 2", "(null)", "1;2",
                           "99999999999999999999", "4096", "0-4294967295"})
    EXPECT_FALSE(parse_cpu_list(text)) << text;
}

TEST(cpu_list, refuses_ranges_that_only_cost_time) {
  std::string text = "0-4095";
  for (int i = 0; i < 1000; ++i) text += ",0-4095";
  EXPECT_FALSE(parse_cpu_list(text));
}

TEST(cpu_list, reads_masks) {
  EXPECT_EQ(parse_cpu_mask("0x5"), (cpu_list{0, 2}));
  EXPECT_EQ(parse_cpu_mask("F0"), (cpu_list{4, 5, 6, 7}));
  EXPECT_EQ(parse_cpu_mask("0"), cpu_list{});
  for (const char* text : {"", "0x", "g", "0x-1", "1,2"}) EXPECT_FALSE(parse_cpu_mask(text)) << text;
  EXPECT_FALSE(parse_cpu_mask(std::string(1025, 'f')));
}

TEST(cpu_list, writes_what_it_reads) {
  for (const char* text : {"", "0", "0,1", "0-2", "0,2-5,7", "1,3,5"})
    EXPECT_EQ(format_cpu_list(*parse_cpu_list(text)), text);
}

TEST(lcore_map, places_groups_of_lcores_on_groups_of_cpus) {
  auto map = parse_lcore_map("0");
  ASSERT_TRUE(map);
  EXPECT_EQ(map->lcores, cpu_list{0});
  EXPECT_EQ(map->cpus, cpu_list{0});

  map = parse_lcore_map("0@8,(1-2)@(4,6-7),9");
  ASSERT_TRUE(map);
  EXPECT_EQ(map->lcores, (cpu_list{0, 1, 2, 9}));
  EXPECT_EQ(map->cpus, (cpu_list{4, 6, 7, 8, 9}));
}

TEST(lcore_map, refuses_what_is_no_map) {
  for (const char* text : {"", ",", "0@", "@1", "(0", "0)", "()", "0@()", "0@1@2", "0,,1", "(0-1)2", "0 1"})
    EXPECT_FALSE(parse_lcore_map(text)) << text;
}

}  // namespace
}  // namespace millrace::env
