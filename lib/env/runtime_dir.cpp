#include "env/runtime_dir.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "env/text_file.hpp"

namespace millrace::env {
namespace {

constexpr std::string_view our_prefix = "millrace-";

// EAL's telemetry thread goes on listening after EAL's end: to tell others, our own answers do not count.
enum class own_answers : bool { count, are_none };

// Whether some process listens there; both kinds are tried, because EAL's telemetry takes SOCK_SEQPACKET and its
// messages SOCK_DGRAM.
bool is_answered(const std::string& path, own_answers own) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return true;  // cannot be asked: leave it alone
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  for (const int type : {SOCK_SEQPACKET, SOCK_DGRAM}) {
    const int fd = ::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return true;
    const int refused = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ? 0 : errno;
    struct ucred peer{};
    socklen_t size = sizeof(peer);
    const bool is_ourselves = own == own_answers::are_none && refused == 0 && type == SOCK_SEQPACKET &&
                              ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid == ::getpid();
    ::close(fd);
    if (is_ourselves) return false;
    if (refused == 0 || refused == EAGAIN || refused == EACCES || refused == EPERM) return true;
  }
  return false;
}

bool has_live_socket(const std::string& dir, own_answers own = own_answers::count) {
  for (const std::string& name : list_dir(dir)) {
    const std::string path = dir + '/' + name;
    struct stat info{};
    if (::lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode) && is_answered(path, own)) return true;
  }
  return false;
}

}  // namespace

std::string runtime_base() {
  const char* dir = std::getenv("RUNTIME_DIRECTORY");
  if (dir == nullptr && ::getuid() == 0) dir = "/var/run";
  if (dir == nullptr) dir = std::getenv("XDG_RUNTIME_DIR");
  if (dir == nullptr) dir = "/tmp";
  return std::string(dir) + "/dpdk";
}

bool is_runtime_base_usable(const std::string& base) {
  const std::string writable = exists(base) ? base : base.substr(0, base.rfind('/'));
  return is_directory(writable) && ::access(writable.c_str(), W_OK | X_OK) == 0;
}

bool settle_runtime_base(const std::string& parent) {
  if (is_runtime_base_usable(runtime_base())) return true;
  if (::getuid() == 0 || std::getenv("RUNTIME_DIRECTORY") != nullptr) return false;
  const std::string own = parent + "/millrace-" + std::to_string(::getuid());
  if (::mkdir(own.c_str(), 0700) != 0 && errno != EEXIST) return false;
  struct stat info{};
  // Anybody can make a name in /tmp: what is there must be a folder of ours that nobody else writes to.
  if (::lstat(own.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != ::getuid() ||
      (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return false;
  ::setenv("RUNTIME_DIRECTORY", own.c_str(), 1);
  return is_runtime_base_usable(runtime_base());
}

std::optional<std::int64_t> pid_of_prefix(std::string_view prefix) noexcept {
  if (!prefix.starts_with(our_prefix)) return std::nullopt;
  prefix.remove_prefix(our_prefix.size());
  if (prefix.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  const auto pid = parse_number(prefix);
  if (!pid || *pid == 0 || *pid > 0x7fff'ffff) return std::nullopt;
  return static_cast<std::int64_t>(*pid);
}

bool is_process_alive(std::int64_t pid) noexcept { return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM; }

std::vector<leftover> find_leftovers(const std::string& base) {
  std::vector<leftover> found;
  for (const std::string& name : list_dir(base)) {
    const std::string path = base + '/' + name;
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) continue;
    const auto pid = pid_of_prefix(name);
    if ((pid && is_process_alive(*pid)) || has_live_socket(path)) continue;
    found.push_back({path, pid.has_value()});
  }
  return found;
}

std::size_t remove_leftovers(const std::string& base) {
  std::size_t removed = 0;
  for (const leftover& left : find_leftovers(base))
    if (left.ours && remove_tree(left.path)) ++removed;
  return removed;
}

std::size_t remove_hugepage_files(const std::string& dir) {
  std::size_t removed = 0;
  for (const std::string& name : list_dir(dir)) {
    const auto pid = pid_of_prefix(std::string_view(name).substr(0, name.rfind("map_")));
    if (!pid || name.rfind("map_") == std::string::npos || is_process_alive(*pid)) continue;
    const std::string path = dir + '/' + name;
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) continue;
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0 && ::unlink(path.c_str()) == 0) ++removed;
    ::close(fd);
  }
  return removed;
}

bool is_folder_of(const std::string& dir, std::int64_t pid) noexcept {
  return pid_of_prefix(std::string_view(dir).substr(dir.rfind('/') + 1)) == pid;
}

bool remove_eal_files(const std::string& dir) {
  if (has_live_socket(dir, own_answers::are_none)) return false;
  for (const std::string& name : list_dir(dir)) {
    const std::string_view n = name;
    const bool made_by_eal = n == "config" || n == "hugepage_info" || n == "hugepage_data" ||
                             n.starts_with("fbarray_") || n.starts_with("mp_socket") ||
                             n.starts_with("dpdk_telemetry.");
    if (made_by_eal) ::unlink((dir + '/' + name).c_str());
  }
  return ::rmdir(dir.c_str()) == 0;
}

bool remove_tree(const std::string& path) {
  std::error_code trouble;
  std::filesystem::remove_all(path, trouble);  // does not follow symbolic links
  return !trouble;
}

}  // namespace millrace::env
