#include "env/eal_complete.hpp"

#include <gtest/gtest.h>

namespace millrace::env {
namespace {

using words = std::vector<std::string>;
constexpr std::uint64_t mebibyte = 1u << 20;

machine two_cpus(std::uint64_t free_pages) {
  machine host;
  host.online = {0, 1};
  host.affinity = {0, 1};
  host.nodes = {{0, {0, 1}}};
  host.hugepages = {{2 * mebibyte, 0, free_pages, free_pages}};
  host.memory_available_bytes = 4096 * mebibyte;
  return host;
}

words completed(const words& given, const machine& host, std::uint64_t need_bytes = 64 * mebibyte) {
  const auto vector = eal_vector::parse(given);
  EXPECT_TRUE(vector);
  const auto done = complete_eal_args(vector.value(), host, {need_bytes, 77});
  EXPECT_TRUE(done) << done.error().what;
  return done ? done.value().args() : words{"FAILED"};
}

bool has(const words& args, const std::string& word) { return std::find(args.begin(), args.end(), word) != args.end(); }

TEST(complete_eal_args, adds_everything_to_an_empty_vector) {
  // 64 MiB of need, twice for objects that do not cross pages, and EAL's own 32.
  EXPECT_EQ(completed({}, two_cpus(0)),
            (words{"-l", "0,1", "--no-huge", "-m", "160", "--file-prefix=millrace-77", "--log-level=warning"}));
}

TEST(complete_eal_args, closes_the_pci_bus_when_a_vdev_is_all_there_is) {
  EXPECT_TRUE(has(completed({"--vdev=net_ring0"}, two_cpus(0)), "--no-pci"));
  EXPECT_FALSE(has(completed({"--vdev=net_ring0", "-a", "03:00.0"}, two_cpus(0)), "--no-pci"));
  EXPECT_FALSE(has(completed({}, two_cpus(0)), "--no-pci"));
}

TEST(complete_eal_args, takes_hugepages_exactly_when_enough_are_free) {
  // 64 MiB, an eighth more, 32 of EAL: 104 MiB are 52 pages.
  EXPECT_EQ(hugepage_need_bytes({}, {64 * mebibyte, 1}, 2 * mebibyte), 104 * mebibyte);
  EXPECT_TRUE(has(completed({}, two_cpus(52)), "--in-memory"));
  EXPECT_FALSE(has(completed({}, two_cpus(52)), "-m"));
  EXPECT_TRUE(has(completed({}, two_cpus(51)), "--no-huge"));
}

TEST(complete_eal_args, counts_what_the_control_group_still_allows) {
  machine host = two_cpus(100);
  host.hugetlb_left_bytes = 10 * mebibyte;
  EXPECT_TRUE(has(completed({}, host), "--no-huge"));
}

TEST(complete_eal_args, counts_an_asked_amount_as_need) {
  EXPECT_TRUE(has(completed({"-m", "100"}, two_cpus(52)), "--in-memory"));
  EXPECT_TRUE(has(completed({"-m", "200"}, two_cpus(52)), "--no-huge"));
  EXPECT_TRUE(has(completed({"-m", "200"}, two_cpus(52)), "200"));
}

TEST(complete_eal_args, never_overrules_the_caller) {
  const words own = {"-l", "1", "--no-huge", "-m", "500", "--file-prefix=mine", "--log-level=debug", "--no-pci"};
  EXPECT_EQ(completed(own, two_cpus(1000)), own);
  EXPECT_EQ(completed({"--lcores=0@1", "--in-memory"}, two_cpus(0)),
            (words{"--lcores=0@1", "--in-memory", "--file-prefix=millrace-77", "--log-level=warning"}));
}

TEST(complete_eal_args, gives_no_huge_what_it_needs_to_no_huge_alone) {
  EXPECT_TRUE(has(completed({"--no-huge"}, two_cpus(1000)), "160"));
}

TEST(complete_eal_args, unlinks_hugepage_files_so_that_a_killed_run_leaves_none) {
  const words args = completed({"--huge-dir=/dev/hugepages"}, two_cpus(1000));
  EXPECT_TRUE(has(args, "--huge-unlink=always"));
  EXPECT_FALSE(has(args, "--in-memory"));
  EXPECT_FALSE(has(args, "--no-huge"));
  EXPECT_FALSE(has(completed({"--huge-dir=/x", "--huge-unlink=never"}, two_cpus(1000)), "--huge-unlink=always"));
}

TEST(complete_eal_args, leaves_processes_that_share_their_names_and_files) {
  for (const char* type : {"--proc-type=primary", "--proc-type=secondary", "--proc-type=auto"}) {
    const words args = completed({type}, two_cpus(1000));
    EXPECT_EQ(args, (words{type, "-l", "0,1", "--log-level=warning"})) << type;
  }
}

TEST(complete_eal_args, takes_a_word_about_hugepages_for_the_choice_of_them) {
  for (const char* word : {"--socket-mem=64", "--single-file-segments", "--match-allocations"}) {
    EXPECT_TRUE(has(completed({word}, two_cpus(0)), "--in-memory")) << word;
    EXPECT_FALSE(has(completed({word}, two_cpus(0)), "--no-huge")) << word;
  }
}

TEST(complete_eal_args, never_sets_both_no_huge_and_in_memory) {
  for (const words& given : {words{}, words{"--no-huge"}, words{"--in-memory"}, words{"-m", "64"},
                             words{"--legacy-mem"}, words{"--socket-mem=1"}, words{"--huge-unlink"}})
    for (const std::uint64_t pages : {0u, 10u, 10000u}) {
      const words args = completed(given, two_cpus(pages));
      EXPECT_FALSE(has(args, "--no-huge") && has(args, "--in-memory"));
    }
}

TEST(complete_eal_args, explains_choices_that_exclude_each_other) {
  const auto refused = complete_eal_args(eal_vector::parse(words{"--no-huge", "--in-memory"}).value(), two_cpus(0), {});
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().unusable);
  EXPECT_NE(refused.error().what.find("--no-huge and --in-memory"), std::string::npos);
}

TEST(complete_eal_args, uses_only_cpus_that_are_online_and_that_eal_can_number) {
  machine host = two_cpus(0);
  host.affinity = {1, 5, 127, 128, 200};
  host.online = {0, 1, 127, 128, 200};
  EXPECT_EQ(completed({}, host)[1], "1,127");
}

TEST(complete_eal_args, leaves_lcores_to_eal_when_the_kernel_tells_nothing) {
  EXPECT_FALSE(has(completed({}, machine{}), "-l"));
}

TEST(chosen_lcores, are_read_from_any_of_the_three_options) {
  EXPECT_EQ(chosen_lcores(eal_vector::parse(words{"-l", "0,2"}).value())->cpus, (cpu_list{0, 2}));
  EXPECT_EQ(chosen_lcores(eal_vector::parse(words{"-c", "5"}).value())->cpus, (cpu_list{0, 2}));
  EXPECT_EQ(chosen_lcores(eal_vector::parse(words{"--lcores=0@7"}).value())->cpus, cpu_list{7});
  EXPECT_FALSE(chosen_lcores(eal_vector::parse(words{"-l", "x"}).value()));
  EXPECT_FALSE(chosen_lcores({}));
}

}  // namespace
}  // namespace millrace::env
