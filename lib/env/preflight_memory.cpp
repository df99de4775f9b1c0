#include <algorithm>
#include <set>

#include "env/preflight.hpp"
#include "env/text_file.hpp"

namespace millrace::env {
namespace {

constexpr std::uint64_t mebibyte = 1u << 20;

std::uint64_t pages_total(const machine& host, std::uint64_t page_bytes, int node) {
  std::uint64_t total = 0;
  for (const hugepage_pool& pool : host.hugepages)
    if (pool.page_bytes == page_bytes && (node < 0 || pool.node == node)) total += pool.total;
  return total;
}

std::string pages_text(const machine& host, int node) {
  std::string text;
  for (const hugepage_pool& pool : host.hugepages) {
    if (pool.total == 0 || (node >= 0 && pool.node != node)) continue;
    add_item(text, std::to_string(pool.free));
    text += " of " + std::to_string(pool.total) + " pages of " + size_text(pool.page_bytes) + " free" +
            (pool.node >= 0 && host.nodes.size() > 1 ? " on node " + std::to_string(pool.node) : "");
  }
  return text.empty() ? "none set aside" : text;
}

// Short of hugepages, on one node or (-1) anywhere.
base::failure shortage(const std::string& asked, const machine& host, int node, std::uint64_t needed) {
  const std::uint64_t page = host.hugepage_bytes() == 0 ? 2 * mebibyte : host.hugepage_bytes();
  const std::uint64_t free = host.free_hugepage_bytes(node);
  base::failure why;
  why.what = asked + " needs " + size_text(needed) + " of hugepages, there are: " + pages_text(host, node);
  if (host.hugetlb_left_bytes && *host.hugetlb_left_bytes < needed) {
    why.what += "; the control group allows " + size_text(*host.hugetlb_left_bytes) + " more";
    why.hint = "raise the container's limit of hugepages, or run with --no-huge";
    return why;
  }
  why.hint = hugepage_command(host, page, node, (needed - std::min(needed, free) + page - 1) / page) +
             "  (or run with --no-huge)";
  return why;
}

// --socket-mem gives an amount a node: "512,0,512".
bool check_socket_mem(const eal_vector& args, const machine& host, preflight_report& report) {
  const auto amounts = args.value("--socket-mem");
  if (!amounts) return false;
  int node = 0;
  for (const std::string_view amount : split(*amounts, ',')) {
    const std::uint64_t bytes = std::min<std::uint64_t>(parse_number(amount).value_or(0), mebibyte) * mebibyte;
    if (bytes > host.free_hugepage_bytes(node))
      report.failures.push_back(shortage("--socket-mem=" + std::string(*amounts), host, node, bytes));
    ++node;
  }
  return true;
}

void check_hugepages(const eal_vector& args, const machine& host, const eal_need& need, preflight_report& report) {
  std::string asked = "this run";
  for (const char* word : {"--in-memory", "--huge-dir", "--legacy-mem", "--huge-unlink", "--proc-type"})
    if (args.has(word)) asked = word;
  const std::uint64_t needed = hugepage_need_bytes(args, need, host.hugepage_bytes());
  if (host.free_hugepage_bytes() < needed) {
    report.failures.push_back(shortage(asked, host, -1, needed));
    return;
  }
  if (check_socket_mem(args, host, report)) return;
  // EAL takes a pool's memory from the node its lcore is on: a node without a free page fails late.
  const auto chosen = chosen_lcores(args);
  std::set<int> nodes;
  if (chosen)
    for (const unsigned cpu : chosen->cpus) nodes.insert(host.node_of_cpu(cpu));
  for (const int node : nodes)
    if (node >= 0 && host.free_hugepage_bytes(node) == 0)
      report.failures.push_back(shortage("an lcore on NUMA node " + std::to_string(node), host, node,
                                         std::max(needed / nodes.size(), host.hugepage_bytes())));
}

const hugetlbfs_mount* mount_at(const machine& host, std::string_view dir) {
  while (dir.size() > 1 && dir.ends_with('/')) dir.remove_suffix(1);
  for (const hugetlbfs_mount& mount : host.hugetlbfs)
    if (dir == mount.dir || (dir.starts_with(mount.dir) && dir[mount.dir.size()] == '/')) return &mount;
  return nullptr;
}

void check_hugetlbfs(const eal_vector& args, const machine& host, preflight_report& report) {
  constexpr const char* mount_command = "mkdir -p /dev/hugepages && mount -t hugetlbfs nodev /dev/hugepages";
  if (host.hugetlbfs.empty()) {
    report.failures.push_back({"hugepages in files need a hugetlbfs mount, and there is none", mount_command, false});
    return;
  }
  std::string mounts;
  for (const hugetlbfs_mount& mount : host.hugetlbfs) add_item(mounts, mount.dir);
  const auto asked = args.value("--huge-dir");
  const hugetlbfs_mount* mount = asked ? mount_at(host, *asked) : &host.hugetlbfs.front();
  if (mount == nullptr) {
    report.failures.push_back({"--huge-dir=" + std::string(*asked) + " is in no hugetlbfs mount; there are: " + mounts,
                               "--huge-dir=" + host.hugetlbfs.front().dir, true});
    return;
  }
  if (!mount->writable)
    report.failures.push_back({"hugetlbfs " + mount->dir + " is not writable by user " + std::to_string(host.euid),
                               "chown " + std::to_string(host.euid) + ' ' + mount->dir + "  (or run with --in-memory)",
                               false});
}

void check_plain_memory(const eal_vector& args, const machine& host, const eal_need& need, preflight_report& report) {
  const std::uint64_t wanted = need.memory_bytes + eal_overhead_bytes;
  const std::uint64_t asked = asked_memory_bytes(args);
  if (asked < wanted && args.has("-m"))
    report.failures.push_back({"-m " + std::string(*args.value("-m")) + " is less than the " + size_text(wanted) +
                                   " this run needs, and without hugepages memory cannot grow",
                               "leave -m out, or -m " + std::to_string(no_huge_megabytes(need)), true});
  // What we add ourselves when -m is left out has reserves, and plain memory is only taken when it is touched.
  if (host.memory_available_bytes && asked > *host.memory_available_bytes &&
      asked > no_huge_megabytes(need) * mebibyte) {
    report.failures.push_back({"-m " + std::string(*args.value("-m")) + " is more than the " +
                                   size_text(*host.memory_available_bytes) + " of memory available",
                               "leave -m out, or -m " + std::to_string(no_huge_megabytes(need)), true});
    return;
  }
  if (host.memory_available_bytes && wanted > *host.memory_available_bytes)
    report.failures.push_back({"this run needs " + size_text(wanted) + " of memory, " +
                                   size_text(*host.memory_available_bytes) + " are available",
                               "ask for less: fewer flows, shorter rings, smaller pools", false});
}

}  // namespace

std::string hugepage_command(const machine& host, std::uint64_t page_bytes, int node, std::uint64_t more_pages) {
  const std::string count = std::to_string(pages_total(host, page_bytes, node) + more_pages);
  const std::string size = "hugepages-" + std::to_string(page_bytes / 1024) + "kB/nr_hugepages";
  if (node >= 0 && host.nodes.size() > 1)
    return "echo " + count + " > /sys/devices/system/node/node" + std::to_string(node) + "/hugepages/" + size;
  if (page_bytes == 2 * mebibyte) return "echo " + count + " > /proc/sys/vm/nr_hugepages";
  return "echo " + count + " > /sys/kernel/mm/hugepages/" + size;
}

void check_memory(const eal_vector& complete, const machine& host, const eal_need& need, preflight_report& report) {
  if (complete.value("--proc-type") == "secondary") return;  // it maps what its primary has
  const auto amount = complete.value("-m");
  if (amount && parse_number(*amount).value_or(0) == 0) {
    report.failures.push_back({"-m " + std::string(*amount) + " is no number of megabytes", "-m 512", true});
    return;
  }
  switch (memory_kind_of(complete)) {
    case memory_kind::huge_files:
      check_hugetlbfs(complete, host, report);
      [[fallthrough]];
    case memory_kind::in_memory:
      check_hugepages(complete, host, need, report);
      break;
    case memory_kind::no_huge:
      check_plain_memory(complete, host, need, report);
      break;
    case memory_kind::undecided:
      break;
  }
}

}  // namespace millrace::env
