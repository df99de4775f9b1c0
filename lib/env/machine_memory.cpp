#include <unistd.h>

#include <algorithm>

#include "env/machine_parts.hpp"
#include "env/text_file.hpp"

namespace millrace::env {
namespace {

// "hugepages-2048kB" is 2 MiB; 0 when the name is of another kind.
std::uint64_t page_bytes_of(std::string_view name) {
  constexpr std::string_view prefix = "hugepages-";
  if (!name.starts_with(prefix) || !name.ends_with("kB")) return 0;
  name = name.substr(prefix.size(), name.size() - prefix.size() - 2);
  return parse_number(name).value_or(0) * 1024;
}

void read_pools(const std::string& dir, int node, machine& host) {
  for (const std::string& name : list_dir(dir)) {
    const std::uint64_t bytes = page_bytes_of(name);
    if (bytes == 0) continue;
    host.hugepages.push_back({bytes, node, read_number(dir + '/' + name + "/nr_hugepages").value_or(0),
                              read_number(dir + '/' + name + "/free_hugepages").value_or(0)});
  }
}

// Pages promised to a mapping but not yet touched still count as free, and only the whole machine's number is known:
// take them off wherever there are free ones.
void subtract_reserved(const std::string& dir, machine& host) {
  for (const std::string& name : list_dir(dir)) {
    std::uint64_t reserved = read_number(dir + '/' + name + "/resv_hugepages").value_or(0);
    for (hugepage_pool& pool : host.hugepages) {
      if (pool.page_bytes != page_bytes_of(name)) continue;
      const std::uint64_t taken = std::min(reserved, pool.free);
      pool.free -= taken;
      reserved -= taken;
    }
  }
}

// The kernel writes blanks in mount points as \040.
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view code = text.substr(i + 1, 3);
    if (text[i] == '\\' && code.size() == 3 && code.find_first_not_of("01234567") == std::string_view::npos) {
      plain += static_cast<char>((code[0] - '0') * 64 + (code[1] - '0') * 8 + (code[2] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// "2M", "1024M", "1G"
std::uint64_t parse_page_size(std::string_view text) {
  if (text.empty()) return 0;
  const char unit = text.back();
  const unsigned shift = unit == 'G' ? 30 : unit == 'M' ? 20 : unit == 'K' || unit == 'k' ? 10 : 0;
  if (shift != 0) text.remove_suffix(1);
  return parse_number(text).value_or(0) << shift;
}

// EAL names its files PREFIXmap_NUMBER.
bool is_eal_file(std::string_view name) {
  const auto at = name.rfind("map_");
  return at != std::string_view::npos && at != 0 && at + 4 < name.size() &&
         name.find_first_not_of("0123456789", at + 4) == std::string_view::npos;
}

void read_mounts(const std::string& root, machine& host) {
  const std::string mounts = read_text(root + "/proc/mounts").value_or("");
  for (const std::string_view line : split(mounts, '\n')) {
    const auto words = split(line, ' ');
    if (words.size() < 4 || words[2] != "hugetlbfs") continue;
    hugetlbfs_mount mount;
    mount.dir = unescape(words[1]);
    bool read_write = false;
    for (const std::string_view option : split(words[3], ',')) {
      read_write = read_write || option == "rw";
      if (option.starts_with("pagesize=")) mount.page_bytes = parse_page_size(option.substr(9));
    }
    const std::string here = root + mount.dir;
    mount.writable = read_write && ::access(here.c_str(), W_OK | X_OK) == 0;
    for (const std::string& name : list_dir(here))
      if (is_eal_file(name)) mount.files.push_back(name);
    host.hugetlbfs.push_back(std::move(mount));
  }
}

// The folders of this process's control group and of all above it, nearest first: the one tree of version 2, or the
// controller's own of version 1.
std::vector<std::string> group_dirs(const std::string& root, std::string_view groups, std::string_view controller) {
  std::string tree = root + "/sys/fs/cgroup";
  std::string group;
  for (const std::string_view line : split(groups, '\n')) {
    const auto parts = split(line, ':');  // "NUMBER:CONTROLLERS:PATH"; a path may hold colons itself
    if (parts.size() < 3) continue;
    const auto path = line.substr(parts[0].size() + parts[1].size() + 2);
    if (parts[1].empty() && group.empty()) group = path;
    for (const std::string_view name : split(parts[1], ','))
      if (name == controller) {
        tree = root + "/sys/fs/cgroup/" + std::string(controller);
        group = path;
      }
  }
  std::vector<std::string> dirs;
  while (!group.empty() && group != "/" && dirs.size() < 64) {
    dirs.push_back(tree + group);
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
  dirs.push_back(tree);
  return dirs;
}

// The least that any of the groups leaves; nullopt when none sets a limit.
std::optional<std::uint64_t> least_left(const std::vector<std::string>& dirs, const std::string& limit,
                                        const std::string& used) {
  constexpr std::uint64_t no_limit = std::uint64_t{1} << 62;  // version 1 says "none" by a number near 2^63
  std::optional<std::uint64_t> least;
  for (const std::string& dir : dirs) {
    const auto most = read_number(dir + '/' + limit);  // "max" is no number
    if (!most || *most >= no_limit) continue;
    const std::uint64_t now = read_number(dir + '/' + used).value_or(0);
    const std::uint64_t left = now < *most ? *most - now : 0;
    least = std::min(least.value_or(left), left);
  }
  return least;
}

void read_limits(const std::string& root, machine& host) {
  const std::string groups = read_text(root + "/proc/self/cgroup").value_or("");
  const auto memory = group_dirs(root, groups, "memory");
  for (const auto& [limit, used] :
       {std::pair{"memory.max", "memory.current"}, std::pair{"memory.limit_in_bytes", "memory.usage_in_bytes"}})
    if (const auto left = least_left(memory, limit, used))
      host.memory_available_bytes = std::min(host.memory_available_bytes.value_or(*left), *left);

  const auto hugetlb = group_dirs(root, groups, "hugetlb");
  host.hugetlb_left_bytes = least_left(hugetlb, "hugetlb.2MB.max", "hugetlb.2MB.current");
  if (!host.hugetlb_left_bytes)
    host.hugetlb_left_bytes = least_left(hugetlb, "hugetlb.2MB.limit_in_bytes", "hugetlb.2MB.usage_in_bytes");

  for (const std::string& dir : group_dirs(root, groups, "cpuset"))
    for (const char* name : {"/cpuset.cpus.effective", "/cpuset.effective_cpus"})
      if (host.control_group.empty()) host.control_group = parse_cpu_list(read_line(dir + name)).value_or(cpu_list{});
}

}  // namespace

void read_memory(const std::string& root, machine& host) {
  const std::string nodes = root + "/sys/devices/system/node/";
  const std::string whole = root + "/sys/kernel/mm/hugepages";
  for (const cpu_node& node : host.nodes)
    read_pools(nodes + "node" + std::to_string(node.node) + "/hugepages", node.node, host);
  if (host.hugepages.empty()) read_pools(whole, -1, host);
  subtract_reserved(whole, host);
  read_mounts(root, host);

  const std::string info = read_text(root + "/proc/meminfo").value_or("");
  for (std::string_view line : split(info, '\n')) {
    constexpr std::string_view key = "MemAvailable:";
    if (!line.starts_with(key)) continue;
    line = trim(line.substr(key.size()));
    if (const auto kibibytes = parse_number(line.substr(0, line.find(' '))))
      host.memory_available_bytes = *kibibytes * 1024;
  }
  read_limits(root, host);
}

}  // namespace millrace::env
