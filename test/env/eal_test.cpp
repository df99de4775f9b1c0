#include "env/eal.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "env/clock.hpp"
#include "env/control_thread.hpp"
#include "env/eal_complete.hpp"
#include "env/machine.hpp"
#include "env/runtime_dir.hpp"
#include "env/text_file.hpp"

namespace millrace::env {
namespace {

std::string own_dir() { return runtime_base() + '/' + own_file_prefix(::getpid()); }

// EAL starts once a process, so one test walks through its life.
TEST(eal, starts_without_hugepages_once_and_takes_its_folder_along) {
  const std::uint64_t hz_before = tsc_hz();
  EXPECT_GT(hz_before, 100'000'000u);
  EXPECT_LT(hz_before, 10'000'000'000u);
  const std::vector<std::string> given = {"--no-huge", "-m", "64", "--vdev=net_null0"};
  auto vector = eal_vector::parse(given);
  ASSERT_TRUE(vector);
  const machine host = read_machine();
  auto complete = complete_eal_args(vector.value(), host, {.memory_bytes = 1 << 20, .pid = ::getpid()});
  ASSERT_TRUE(complete);
  {
    auto started = eal::start(complete.value().args());
    ASSERT_TRUE(started) << started.error().what;
    EXPECT_TRUE(is_directory(own_dir()));
    EXPECT_FALSE(started.value().hugepages());
    EXPECT_TRUE(started.value().messages().empty()) << started.value().messages().front();
    EXPECT_EQ(started.value().main_lcore(), host.affinity.front());
    EXPECT_EQ(started.value().worker_lcores().size() + 1, host.affinity.size());

    // A clock measured over 20 ms and EAL's agree to a per cent.
    EXPECT_NEAR(static_cast<double>(tsc_hz()), static_cast<double>(hz_before), static_cast<double>(hz_before) / 100);

    const auto again = eal::start(complete.value().args());
    ASSERT_FALSE(again);
    EXPECT_NE(again.error().what.find("once a process"), std::string::npos);

    std::atomic<unsigned> turns{0};
    {
      control_thread thread;
      ASSERT_TRUE(thread.start("test", 1'000'000, [](void* n) { ++*static_cast<std::atomic<unsigned>*>(n); }, &turns));
      while (turns.load() < 3) ::usleep(1'000);
      thread.stop();
      const unsigned at_stop = turns.load();
      ::usleep(5'000);
      EXPECT_EQ(turns.load(), at_stop) << "it has ended";
    }

    eal moved = std::move(started.value());
    EXPECT_TRUE(is_directory(own_dir()));
  }
  EXPECT_FALSE(exists(own_dir()));
}

}  // namespace
}  // namespace millrace::env
