// env/runtime_dir.hpp - the folders EAL leaves behind (BASE/PREFIX with sockets and maps), found and removed.
//
// Shape    EAL makes BASE/PREFIX and never removes it; a killed process cannot. Ours are called millrace-PID; when one
//          starts, those whose process is gone go. Others' are only ever listed.
// Safety   a folder is somebody's while its pid lives, or while anything answers on a socket in it: the pid may be one
//          of another container that shares BASE. Symbolic links are removed, never followed.
// Errors   what cannot be removed stays. Threads  control code.
// Source   DPDK 22.11 lib/eal/unix/eal_filesystem (BASE). Tests  test/env/runtime_dir_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::env {

// Where EAL of this user puts its folders: $RUNTIME_DIRECTORY, /var/run for root, $XDG_RUNTIME_DIR, /tmp; then "/dpdk".
[[nodiscard]] std::string runtime_base();

// Whether EAL can make its folders there: it makes BASE when BASE's parent is there, and no more than that.
[[nodiscard]] bool is_runtime_base_usable(const std::string& base);

// Where BASE is another user's (/tmp/dpdk belongs to whoever ran DPDK first without root): takes PARENT/millrace-UID
// instead, by $RUNTIME_DIRECTORY, for this process. True when BASE is usable now. Never for root, nor when
// $RUNTIME_DIRECTORY was set by hand.
bool settle_runtime_base(const std::string& parent = "/tmp");

// The process that "millrace-PID" names; nullopt for any other name.
[[nodiscard]] std::optional<std::int64_t> pid_of_prefix(std::string_view prefix) noexcept;
[[nodiscard]] bool is_process_alive(std::int64_t pid) noexcept;

struct leftover {
  std::string path;
  bool ours = false;  // of a dead millrace: removed by the next start
};
// Folders below `base` that no process uses.
[[nodiscard]] std::vector<leftover> find_leftovers(const std::string& base);
// Removes those that are ours; answers how many.
std::size_t remove_leftovers(const std::string& base);

// Removes hugepage files ("millrace-PIDmap_3") of dead processes of ours in a hugetlbfs folder; answers how many. EAL
// holds a lock on a file it maps: locked ones stay, whatever their name says.
std::size_t remove_hugepage_files(const std::string& dir);

// Whether `dir` is the one that EAL made for process `pid` under our prefix.
[[nodiscard]] bool is_folder_of(const std::string& dir, std::int64_t pid) noexcept;

// Removes what EAL itself puts into such a folder, and the folder when it is empty then. Nothing while any process
// answers on a socket in it. True when the folder is gone.
bool remove_eal_files(const std::string& dir);

// The folder and what is in it, sub-folders included; true when it is gone. An absent one is gone.
bool remove_tree(const std::string& path);

}  // namespace millrace::env
