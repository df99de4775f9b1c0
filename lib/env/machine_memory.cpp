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

// What a limit file of a control group still leaves; nullopt when it sets none.
std::optional<std::uint64_t> left_of(const std::string& limit, const std::string& used) {
  const auto most = read_number(limit);  // "max" is no number
  if (!most) return std::nullopt;
  const std::uint64_t now = read_number(used).value_or(0);
  return now < *most ? *most - now : 0;
}

std::optional<std::uint64_t> smaller(std::optional<std::uint64_t> a, std::optional<std::uint64_t> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// Version 2 of control groups: every group on the way up may set a limit.
void read_limits(const std::string& root, machine& host) {
  const std::string text = read_text(root + "/proc/self/cgroup").value_or("");
  std::string group;
  for (const std::string_view line : split(text, '\n'))
    if (line.starts_with("0::")) group = line.substr(3);
  std::optional<std::uint64_t> memory;
  for (int depth = 0; depth < 64; ++depth) {
    const std::string dir = root + "/sys/fs/cgroup" + (group == "/" ? "" : group);
    memory = smaller(memory, left_of(dir + "/memory.max", dir + "/memory.current"));
    host.hugetlb_left_bytes =
        smaller(host.hugetlb_left_bytes, left_of(dir + "/hugetlb.2MB.max", dir + "/hugetlb.2MB.current"));
    if (group.empty()) break;
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
  if (memory) host.memory_available_bytes = std::min(host.memory_available_bytes, *memory);
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
    host.memory_available_bytes = parse_number(line.substr(0, line.find(' '))).value_or(0) * 1024;
  }
  read_limits(root, host);
}

}  // namespace millrace::env
