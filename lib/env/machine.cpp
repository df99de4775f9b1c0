#include "env/machine.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "env/machine_parts.hpp"
#include "env/runtime_dir.hpp"
#include "env/text_file.hpp"

namespace millrace::env {
namespace {

// The value behind "KEY:" in files of such lines; empty when absent.
std::string_view field(std::string_view text, std::string_view key) {
  for (std::string_view line : split(text, '\n'))
    if (line.starts_with(key)) {
      line.remove_prefix(key.size());
      line = trim(line);
      if (line.starts_with(':')) return trim(line.substr(1));
    }
  return {};
}

void read_process(const std::string& root, machine& host) {
  const std::string status = read_text(root + "/proc/self/status").value_or("");
  host.affinity = parse_cpu_list(field(status, "Cpus_allowed_list")).value_or(cpu_list{});
  host.capabilities = parse_number("0x" + std::string(field(status, "CapEff"))).value_or(0);
  // "Uid:  real  effective  saved  filesystem"
  const std::string_view uids = field(status, "Uid");
  const auto effective = trim(uids.substr(std::min(uids.find_first_of(" \t"), uids.size())));
  host.euid = static_cast<std::uint32_t>(parse_number(effective.substr(0, effective.find_first_of(" \t"))).value_or(0));

  // "Max locked memory   SOFT   HARD   bytes"
  constexpr std::string_view locked = "Max locked memory";
  const std::string limits = read_text(root + "/proc/self/limits").value_or("");
  const auto at = limits.find(locked);
  if (at == std::string::npos) return;
  const std::string_view rest = trim(std::string_view(limits).substr(at + locked.size()));
  const std::string_view soft = rest.substr(0, rest.find_first_of(" \t"));
  if (soft != "unlimited") host.memlock_bytes = parse_number(soft);
}

void read_cpus(const std::string& root, machine& host) {
  const std::string cpus = root + "/sys/devices/system/cpu/";
  host.online = parse_cpu_list(read_line(cpus + "online")).value_or(cpu_list{});
  host.isolated = parse_cpu_list(read_line(cpus + "isolated")).value_or(cpu_list{});
  host.nohz_full = parse_cpu_list(read_line(cpus + "nohz_full")).value_or(cpu_list{});  // "(null)" on some kernels
  for (const unsigned cpu : host.online) {
    const std::string governor = read_line(cpus + "cpu" + std::to_string(cpu) + "/cpufreq/scaling_governor");
    if (!governor.empty() && std::find(host.governors.begin(), host.governors.end(), governor) == host.governors.end())
      host.governors.push_back(governor);
  }
  const std::string nodes = root + "/sys/devices/system/node/";
  for (const std::string& name : list_dir(nodes)) {
    const auto number = name.starts_with("node") ? parse_number(name.substr(4)) : std::nullopt;
    if (number && *number < 1024)
      host.nodes.push_back(
          {static_cast<int>(*number), parse_cpu_list(read_line(nodes + name + "/cpulist")).value_or(cpu_list{})});
  }
  std::sort(host.nodes.begin(), host.nodes.end(), [](const cpu_node& a, const cpu_node& b) { return a.node < b.node; });
  const std::string info = read_text(root + "/proc/cpuinfo").value_or("");
  host.cpu_model = field(info, "model name");
  for (const std::string_view flag : split(field(info, "flags"), ' '))
    if (!flag.empty()) host.cpu_flags.emplace_back(flag);
}

void read_runtime(const std::string& root, machine& host) {
  host.runtime_dir = runtime_base();
  std::error_code unknown;
  host.program = std::filesystem::read_symlink("/proc/self/exe", unknown).string();
  host.runtime_writable = is_runtime_base_usable(root + host.runtime_dir);
}

void read_container(const std::string& root, machine& host) {
  host.container = read_line(root + "/run/systemd/container");
  if (!host.container.empty()) return;
  if (exists(root + "/.dockerenv")) host.container = "docker";
  if (exists(root + "/run/.containerenv")) host.container = "podman";
  if (!host.container.empty()) return;
  const std::string groups = read_text(root + "/proc/self/cgroup").value_or("");
  for (const char* hint : {"kubepods", "docker", "containerd", "lxc", "podman"})
    if (groups.find(hint) != std::string::npos) host.container = hint;
}

}  // namespace

usability access_of(const std::string& path) {
  if (!exists(path)) return usability::missing;
  return ::access(path.c_str(), R_OK | W_OK) == 0 ? usability::usable : usability::denied;
}

machine read_machine(const std::string& root) {
  machine host;
  read_process(root, host);
  read_cpus(root, host);
  read_memory(root, host);
  read_devices(root, host);
  read_container(root, host);
  read_runtime(root, host);
  return host;
}

int machine::node_of_cpu(unsigned cpu) const noexcept {
  for (const cpu_node& node : nodes)
    if (contains(node.cpus, cpu)) return node.node;
  return -1;
}

const pci_nic* machine::find_nic(std::string_view address) const noexcept {
  for (const pci_nic& nic : nics) {
    const std::string_view full = nic.address;
    if (full == address || (full.starts_with("0000:") && full.substr(5) == address)) return &nic;
  }
  return nullptr;
}

const network_interface* machine::find_interface(std::string_view name) const noexcept {
  for (const network_interface& interface : interfaces)
    if (interface.name == name) return &interface;
  return nullptr;
}

std::uint64_t machine::free_hugepage_bytes(int node) const noexcept {
  std::uint64_t bytes = 0;
  for (const hugepage_pool& pool : hugepages)
    if (node < 0 || pool.node < 0 || pool.node == node) bytes += pool.free * pool.page_bytes;
  return std::min(bytes, hugetlb_left_bytes.value_or(bytes));
}

cpu_list machine::usable_cpus() const {
  if (control_group.empty()) return online;
  cpu_list both;
  for (const unsigned cpu : control_group)
    if (online.empty() || contains(online, cpu)) both.push_back(cpu);
  return both;
}

std::uint64_t machine::hugepage_bytes() const noexcept {
  std::uint64_t size = 0;
  std::uint64_t most = 0;
  for (const hugepage_pool& pool : hugepages) {
    const std::uint64_t free = pool.free * pool.page_bytes;
    if (size == 0 || free > most || (free == most && pool.page_bytes < size)) {
      size = pool.page_bytes;
      most = free;
    }
  }
  return size;
}

std::string size_text(std::uint64_t bytes) {
  struct unit {
    unsigned shift;
    const char* name;
  };
  for (const unit u : {unit{30, " GiB"}, unit{20, " MiB"}, unit{10, " KiB"}}) {
    const std::uint64_t whole = bytes >> u.shift;
    const std::uint64_t rest = bytes & ((std::uint64_t{1} << u.shift) - 1);
    if (whole == 0) continue;
    if (rest == 0 || whole >= 100) return std::to_string(whole) + u.name;
    const std::string tenth = std::to_string(rest * 10 >> u.shift);
    return std::to_string(whole) + '.' + tenth + u.name;
  }
  return std::to_string(bytes) + " bytes";
}

}  // namespace millrace::env
