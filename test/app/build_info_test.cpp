#include "app/build_info.hpp"

#include <gtest/gtest.h>

#include <regex>

#include "app/version.hpp"
#include "env/dpdk_version.hpp"

namespace millrace::app {
namespace {

TEST(build_info, names_compiler_dpdk_and_crypto) {
  const build_facts facts = build_info(true);
#if defined(__clang__)
  EXPECT_TRUE(facts.compiler.starts_with("clang ")) << facts.compiler;
#else
  EXPECT_TRUE(facts.compiler.starts_with("gcc ")) << facts.compiler;
#endif
  EXPECT_EQ(facts.dpdk, env::dpdk_version());
  EXPECT_TRUE(std::regex_search(facts.ipsec_mb_arch, std::regex("^(sse|avx|avx2|avx512)$"))) << facts.ipsec_mb_arch;
  EXPECT_TRUE(facts.hugepages);
  EXPECT_FALSE(build_info(false).hugepages);
  EXPECT_EQ(facts.cpu.find_first_of("\t\n"), std::string::npos);
  EXPECT_TRUE(facts.cpu.empty() || (facts.cpu.front() != ' ' && facts.cpu.back() != ' '));
}

TEST(dpdk_version, is_a_number_that_we_support) {
  std::smatch parts;
  const std::string version = env::dpdk_version();
  ASSERT_TRUE(std::regex_match(version, parts, std::regex(R"((\d+)\.(\d+)(\.\d+)?(-.*)?)"))) << version;
  EXPECT_GE(std::stoi(parts[1]), 22);
}

TEST(version, is_three_numbers) {
  const std::string text(version());
  EXPECT_TRUE(std::regex_match(text, std::regex(R"(\d+\.\d+\.\d+)"))) << text;
}

}  // namespace
}  // namespace millrace::app
