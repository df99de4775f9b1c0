#include "env/eal_args.hpp"

#include <gtest/gtest.h>

namespace millrace::env {
namespace {

using words = std::vector<std::string>;

words normal(const words& args) {
  const auto vector = eal_vector::parse(args);
  EXPECT_TRUE(vector) << vector.error().what;
  return vector ? vector.value().args() : words{"FAILED"};
}

std::string refusal(const words& args) {
  const auto vector = eal_vector::parse(args);
  EXPECT_FALSE(vector);
  if (vector) return {};
  EXPECT_TRUE(vector.error().unusable);
  return vector.error().what;
}

std::string conflict(const words& args) {
  const auto vector = eal_vector::parse(args);
  EXPECT_TRUE(vector);
  const auto found = find_conflict(vector.value());
  EXPECT_TRUE(!found || found->unusable);
  return found ? found->what : std::string();
}

TEST(eal_args, reads_values_attached_and_apart) {
  const words expected = {"-l", "0,1", "--vdev=net_ring0", "--file-prefix=x"};
  EXPECT_EQ(normal({"-l", "0,1", "--vdev", "net_ring0", "--file-prefix=x"}), expected);
  EXPECT_EQ(normal({"-l0,1", "--vdev=net_ring0", "--file-prefix", "x"}), expected);
}

TEST(eal_args, gives_one_name_to_what_has_two) {
  EXPECT_EQ(normal({"--allow=0000:03:00.0", "--block", "0000:04:00.0"}),
            (words{"-a", "0000:03:00.0", "-b", "0000:04:00.0"}));
}

TEST(eal_args, takes_optional_values_only_attached) {
  EXPECT_EQ(normal({"--huge-unlink", "--no-pci"}), (words{"--huge-unlink", "--no-pci"}));
  EXPECT_EQ(normal({"--huge-unlink=never"}), (words{"--huge-unlink=never"}));
  EXPECT_NE(refusal({"--huge-unlink", "never"}).find("'never'"), std::string::npos);
}

TEST(eal_args, completes_unambiguous_beginnings_as_getopt_does) {
  EXPECT_EQ(normal({"--no-hu", "--in-m"}), (words{"--no-huge", "--in-memory"}));
  EXPECT_EQ(normal({"--trace=x"}), (words{"--trace=x"}));  // a whole name, though others begin with it
  const std::string two = refusal({"--huge-"});
  EXPECT_NE(two.find("ambiguous"), std::string::npos);
  EXPECT_NE(two.find("--huge-dir, --huge-unlink"), std::string::npos);
}

TEST(eal_args, names_the_word_it_refuses) {
  EXPECT_EQ(refusal({"--foo"}), "EAL has no option --foo");
  EXPECT_EQ(refusal({"--foo=bar"}), "EAL has no option --foo");
  EXPECT_EQ(refusal({"-x"}), "EAL has no option -x");
  EXPECT_EQ(refusal({"-l"}), "EAL option -l needs a value");
  EXPECT_EQ(refusal({"--vdev"}), "EAL option --vdev needs a value");
  EXPECT_EQ(refusal({"--vdev="}), "EAL option --vdev needs a value");
  EXPECT_EQ(refusal({"--no-pci=1"}), "EAL option --no-pci takes no value");
  EXPECT_EQ(refusal({"-l", "0", "veth0"}), "'veth0' is no EAL option");
  EXPECT_EQ(refusal({"-"}), "'-' is no EAL option");
  EXPECT_EQ(refusal({""}), "'' is no EAL option");
}

TEST(eal_args, lets_the_last_of_a_single_valued_option_count) {
  EXPECT_EQ(normal({"-n", "2", "--no-pci", "-n", "4"}), (words{"-n", "4", "--no-pci"}));
  EXPECT_EQ(normal({"--no-huge", "--no-huge"}), words{"--no-huge"});
}

TEST(eal_args, lets_the_last_of_options_on_one_subject_count) {
  EXPECT_EQ(normal({"-l", "0", "--lcores=1@2"}), words{"--lcores=1@2"});
  EXPECT_EQ(normal({"--lcores", "0", "-c", "0x3"}), (words{"-c", "0x3"}));
  EXPECT_EQ(normal({"-m", "64", "--socket-mem=128"}), words{"--socket-mem=128"});
  EXPECT_EQ(normal({"-s", "1", "-S", "2"}), (words{"-S", "2"}));
}

TEST(eal_args, replaces_a_device_given_again_in_its_place) {
  EXPECT_EQ(normal({"--vdev=net_null0,size=64", "--vdev=net_null1", "--vdev=net_null0,size=128"}),
            (words{"--vdev=net_null0,size=128", "--vdev=net_null1"}));
  EXPECT_EQ(normal({"-a", "03:00.0,x=1", "-a", "03:00.1", "-a", "03:00.0"}), (words{"-a", "03:00.0", "-a", "03:00.1"}));
}

TEST(eal_args, keeps_every_option_that_may_repeat) {
  EXPECT_EQ(normal({"--log-level=a:1", "--log-level=b:2", "-d", "x", "-d", "y"}),
            (words{"--log-level=a:1", "--log-level=b:2", "-d", "x", "-d", "y"}));
}

TEST(eal_args, tells_words_apart_for_whoever_splits_a_command_line) {
  const words args = {"-l", "0", "@loopback", "--", "fwd"};
  const auto option = scan_eal_word(args);
  ASSERT_TRUE(option);
  EXPECT_EQ(option.value().kind, eal_word_kind::option);
  EXPECT_EQ(option.value().words, 2u);
  const auto operand = scan_eal_word(std::span(args).subspan(2));
  ASSERT_TRUE(operand);
  EXPECT_EQ(operand.value().kind, eal_word_kind::operand);
  const auto separator = scan_eal_word(std::span(args).subspan(3));
  ASSERT_TRUE(separator);
  EXPECT_EQ(separator.value().kind, eal_word_kind::separator);
}

TEST(eal_conflict, refuses_what_excludes_each_other) {
  EXPECT_TRUE(conflict({"--no-huge", "--in-memory"}).starts_with("--no-huge and --in-memory exclude each other"));
  for (const words& pair : {words{"--in-memory", "--legacy-mem"}, words{"--no-huge", "--socket-mem=64"},
                            words{"--no-huge", "--huge-dir=/x"}, words{"-a", "03:00.0", "-b", "04:00.0"},
                            words{"--no-huge", "--huge-unlink"}, words{"--in-memory", "--huge-unlink=never"},
                            words{"--in-memory", "--proc-type=secondary"}, words{"--no-pci", "-a", "0000:03:00.0"},
                            words{"--no-pci", "-a", "pci:03:00.0"}, words{"--legacy-mem", "--match-allocations"}})
    EXPECT_FALSE(conflict(pair).empty()) << pair.front();
}

TEST(eal_conflict, allows_what_only_looks_like_one) {
  for (const words& pair :
       {words{"--no-huge", "-m", "64"}, words{"--in-memory", "--socket-mem=64"},
        words{"--no-huge", "--huge-unlink=existing"}, words{"--no-pci", "-a", "net_ring0"},
        words{"--in-memory", "--proc-type=primary"}, words{"--in-memory", "--single-file-segments"}})
    EXPECT_EQ(conflict(pair), "") << pair.front();
}

TEST(device, arguments_are_found_by_key) {
  constexpr std::string_view device = "net_pcap0,rx_pcap=a,rx_pcap=b,rx_pcapx=c,tx_iface=";
  EXPECT_EQ(device_name(device), "net_pcap0");
  EXPECT_EQ(device_arguments(device, "rx_pcap"), (std::vector<std::string_view>{"a", "b"}));
  EXPECT_EQ(device_arguments(device, "tx_iface"), std::vector<std::string_view>{""});
  EXPECT_TRUE(device_arguments(device, "net_pcap0").empty());
  EXPECT_TRUE(device_arguments("", "x").empty());
}

TEST(device, pci_addresses_are_completed) {
  EXPECT_EQ(full_pci_address("03:00.0"), "0000:03:00.0");
  EXPECT_EQ(full_pci_address("pci:0001:03:00.0"), "0001:03:00.0");
  for (const char* other : {"net_ring0", "auxiliary:mlx5_core.sf.2", "", "class=eth", "3:0.0", "03:00", "03:00.10",
                            "1:2:03:00.0", "00000:0g:00.0"})
    EXPECT_EQ(full_pci_address(other), "") << other;
}

TEST(shell_line, quotes_what_a_shell_would_read) {
  EXPECT_EQ(shell_line(words{"-l", "0,1", "--vdev=net_ring0", "--lcores=(0-1)@2", "a b", "", "it's"}),
            "-l 0,1 --vdev=net_ring0 '--lcores=(0-1)@2' 'a b' '' 'it'\\''s'");
}

TEST(asked_memory, sums_nodes) {
  EXPECT_EQ(asked_memory_bytes(eal_vector::parse(words{"-m", "64"}).value()), 64u << 20);
  EXPECT_EQ(asked_memory_bytes(eal_vector::parse(words{"--socket-mem=64,0,32"}).value()), 96u << 20);
  EXPECT_EQ(asked_memory_bytes(eal_vector::parse(words{"--no-pci"}).value()), 0u);
}

}  // namespace
}  // namespace millrace::env
