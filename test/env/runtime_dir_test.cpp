#include "env/runtime_dir.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "support/file_tree.hpp"

namespace millrace::env {
namespace {

// A pid that was a process of ours and is none any more.
std::int64_t dead_pid() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

int listen_on(const std::string& path, int type) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  EXPECT_LT(path.size(), sizeof(address.sun_path));
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int fd = ::socket(AF_UNIX, type, 0);
  EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  if (type == SOCK_SEQPACKET) {
    EXPECT_EQ(::listen(fd, 1), 0);
  }
  return fd;
}

TEST(prefix, names_a_process) {
  EXPECT_EQ(pid_of_prefix("millrace-1"), 1);
  EXPECT_EQ(pid_of_prefix("millrace-4194304"), 4194304);
  for (const char* other : {"millrace-", "millrace-0", "millrace-1a", "millrace--1", "rte", "", "millrace",
                            "xmillrace-1", "millrace-99999999999999999999"})
    EXPECT_FALSE(pid_of_prefix(other)) << other;
}

TEST(process, is_alive_until_it_ends) {
  EXPECT_TRUE(is_process_alive(::getpid()));
  EXPECT_TRUE(is_process_alive(1));
  EXPECT_FALSE(is_process_alive(dead_pid()));
}

class runtime : public testing::Test {
 protected:
  test::file_tree tree_;

  std::string make(const std::string& prefix) {
    tree_.put("/dpdk/" + prefix + "/config", "x");
    return tree_.path("/dpdk/" + prefix);
  }
  [[nodiscard]] std::string base() const { return tree_.path("/dpdk"); }
};

TEST_F(runtime, folders_of_dead_processes_are_removed_and_no_others) {
  const std::string dead = make("millrace-" + std::to_string(dead_pid()));
  const std::string alive = make("millrace-" + std::to_string(::getpid()));
  const std::string others = make("rte");
  const std::string odd = make("millrace-1x");
  EXPECT_EQ(remove_leftovers(base()), 1u);
  EXPECT_FALSE(std::filesystem::exists(dead));
  EXPECT_TRUE(std::filesystem::exists(alive));
  EXPECT_TRUE(std::filesystem::exists(others));
  EXPECT_TRUE(std::filesystem::exists(odd));
  EXPECT_EQ(remove_leftovers(base()), 0u);
}

TEST_F(runtime, folders_are_listed_unless_somebody_uses_them) {
  make("rte");
  make("millrace-" + std::to_string(::getpid()));
  const auto left = find_leftovers(base());
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].path, base() + "/rte");
  EXPECT_FALSE(left[0].ours);
}

// The pid may be one of another container that shares the folder.
TEST_F(runtime, folders_whose_sockets_answer_are_left_alone) {
  for (const int type : {SOCK_SEQPACKET, SOCK_DGRAM}) {
    const std::string dir = make("millrace-" + std::to_string(dead_pid()));
    const int fd = listen_on(dir + "/socket", type);
    EXPECT_EQ(remove_leftovers(base()), 0u);
    ::close(fd);
    EXPECT_EQ(remove_leftovers(base()), 1u);
    EXPECT_FALSE(std::filesystem::exists(dir));
  }
}

TEST_F(runtime, links_are_never_followed) {
  tree_.put("/precious/file", "x");
  const std::string dir = make("millrace-" + std::to_string(dead_pid()));
  std::filesystem::create_directory_symlink(tree_.path("/precious"), dir + "/link");
  const std::string whole = base() + "/millrace-" + std::to_string(dead_pid());
  std::filesystem::create_directory_symlink(tree_.path("/precious"), whole);
  EXPECT_EQ(remove_leftovers(base()), 1u);
  EXPECT_FALSE(std::filesystem::exists(dir));
  EXPECT_TRUE(std::filesystem::is_symlink(whole));
  EXPECT_TRUE(std::filesystem::exists(tree_.path("/precious/file")));
}

TEST_F(runtime, hugepage_files_of_dead_processes_are_removed_unless_locked) {
  const std::string dead = "/huge/millrace-" + std::to_string(dead_pid());
  const std::string alive = "/huge/millrace-" + std::to_string(::getpid()) + "map_0";
  for (const std::string& name : {dead + "map_0", dead + "map_1", dead + "note", alive, std::string("/huge/rtemap_0")})
    tree_.put(name, "x");
  const int mapped = ::open(tree_.path(dead + "map_1").c_str(), O_RDONLY);
  ASSERT_EQ(::flock(mapped, LOCK_SH), 0);  // as EAL holds it
  EXPECT_EQ(remove_hugepage_files(tree_.path("/huge")), 1u);
  EXPECT_FALSE(std::filesystem::exists(tree_.path(dead + "map_0")));
  for (const std::string& name : {dead + "map_1", dead + "note", alive, std::string("/huge/rtemap_0")})
    EXPECT_TRUE(std::filesystem::exists(tree_.path(name))) << name;
  ::close(mapped);
  EXPECT_EQ(remove_hugepage_files(tree_.path("/huge")), 1u);
  EXPECT_EQ(remove_hugepage_files(tree_.path("/nowhere")), 0u);
}

TEST_F(runtime, folder_of_a_chosen_prefix_loses_only_what_eal_put_there) {
  for (const char* name : {"config", "fbarray_memzone", "mp_socket_1_2", "dpdk_telemetry.v2", "precious"})
    tree_.put(std::string("/run/mine/") + name, "x");
  EXPECT_FALSE(remove_eal_files(tree_.path("/run/mine")));
  EXPECT_TRUE(std::filesystem::exists(tree_.path("/run/mine/precious")));
  EXPECT_FALSE(std::filesystem::exists(tree_.path("/run/mine/config")));
  std::filesystem::remove(tree_.path("/run/mine/precious"));
  EXPECT_TRUE(remove_eal_files(tree_.path("/run/mine")));
  EXPECT_TRUE(is_folder_of("/run/dpdk/millrace-12", 12));
  EXPECT_FALSE(is_folder_of("/run/dpdk/millrace-12", 13));
  EXPECT_FALSE(is_folder_of("/run/dpdk/mine", 12));
}

TEST_F(runtime, base_that_is_absent_has_no_leftovers) {
  EXPECT_TRUE(find_leftovers(tree_.path("/nowhere")).empty());
  EXPECT_TRUE(remove_tree(tree_.path("/nowhere")));
}

TEST_F(runtime, base_of_another_user_gives_way_to_one_of_our_own) {
  if (::getuid() == 0) {
    // Root is refused nothing, so a child without rights tries.
    ::chmod(tree_.root().c_str(), 0777);
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(10);
      ::unsetenv("RUNTIME_DIRECTORY");
      ::setenv("XDG_RUNTIME_DIR", "/proc/none", 1);  // cannot be written by anybody
      if (!settle_runtime_base(tree_.root())) ::_exit(11);
      if (runtime_base() != tree_.path("/millrace-65534/dpdk")) ::_exit(12);
      // A name somebody else made first, here a link, is not trusted.
      ::unsetenv("RUNTIME_DIRECTORY");
      std::filesystem::remove_all(tree_.path("/millrace-65534"));
      std::filesystem::create_directory_symlink("/tmp", tree_.path("/millrace-65534"));
      ::_exit(settle_runtime_base(tree_.root()) ? 13 : 0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    return;
  }
  ::unsetenv("RUNTIME_DIRECTORY");
  ::setenv("XDG_RUNTIME_DIR", "/proc/none", 1);
  EXPECT_TRUE(settle_runtime_base(tree_.root()));
  EXPECT_EQ(runtime_base(), tree_.path("/millrace-" + std::to_string(::getuid()) + "/dpdk"));
  ::unsetenv("RUNTIME_DIRECTORY");
  ::unsetenv("XDG_RUNTIME_DIR");
}

TEST(runtime_base, follows_eals_order) {
  ::setenv("RUNTIME_DIRECTORY", "/run/unit", 1);
  EXPECT_EQ(runtime_base(), "/run/unit/dpdk");
  ::unsetenv("RUNTIME_DIRECTORY");
  if (::getuid() == 0) {
    EXPECT_EQ(runtime_base(), "/var/run/dpdk");
  }
}

}  // namespace
}  // namespace millrace::env
