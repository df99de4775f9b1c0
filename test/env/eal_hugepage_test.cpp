#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "env/eal.hpp"
#include "env/eal_complete.hpp"
#include "env/preflight.hpp"
#include "env/runtime_dir.hpp"

namespace millrace::env {
namespace {

constexpr std::uint64_t mebibyte = 1u << 20;

// What completion chooses on a machine with hugepages is what EAL then runs on; no file tells of it afterwards.
TEST(eal_on_hugepages, runs_in_memory_and_leaves_no_file) {
  const machine before = read_machine();
  const eal_need need{4 * mebibyte, ::getpid()};
  if (before.free_hugepage_bytes() < 2 * hugepage_need_bytes({}, need, before.hugepage_bytes()))
    GTEST_SKIP() << "fewer than 80 MiB of hugepages are free: echo 64 > /proc/sys/vm/nr_hugepages";
  const std::vector<std::string> given = {"--vdev=net_null0"};
  const auto complete = complete_eal_args(eal_vector::parse(given).value(), before, need);
  ASSERT_TRUE(complete);
  EXPECT_TRUE(complete.value().has("--in-memory"));
  EXPECT_TRUE(preflight(complete.value(), before, need).failures.empty());
  {
    const auto running = eal::start(complete.value().args());
    ASSERT_TRUE(running) << running.error().what;
    EXPECT_TRUE(running.value().hugepages());
    EXPECT_TRUE(running.value().messages().empty()) << running.value().messages().front();
  }
  EXPECT_FALSE(std::filesystem::exists(runtime_base() + '/' + own_file_prefix(::getpid())));
  const machine after = read_machine();
  const std::string mine = own_file_prefix(::getpid()) + "map_";
  for (const hugetlbfs_mount& mount : after.hugetlbfs)
    for (const std::string& file : mount.files) EXPECT_FALSE(file.starts_with(mine)) << mount.dir << '/' << file;
}

}  // namespace
}  // namespace millrace::env
