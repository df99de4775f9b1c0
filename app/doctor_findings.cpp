#include <algorithm>

#include "app/doctor.hpp"
#include "env/text_file.hpp"

namespace millrace::app {
namespace {

// Less than this and not even the loopback profile's pools fit.
constexpr std::uint64_t least_memory_bytes = 128u << 20;

using findings = std::vector<finding>;

std::string counted(std::size_t n, const char* one) { return std::to_string(n) + ' ' + one + (n == 1 ? "" : "s"); }

bool has_flag(const env::machine& host, std::string_view flag) {
  return std::find(host.cpu_flags.begin(), host.cpu_flags.end(), flag) != host.cpu_flags.end();
}

void examine_cpu(const env::machine& host, findings& found) {
  std::string sets;
  for (const auto& [flag, name] : {std::pair{"aes", "AES-NI"}, std::pair{"avx2", "AVX2"}, std::pair{"vaes", "VAES"},
                                   std::pair{"avx512f", "AVX-512"}, std::pair{"sha_ni", "SHA-NI"}})
    if (has_flag(host, flag)) env::add_item(sets, name, " ");
  const std::string text =
      (host.cpu_model.empty() ? "unknown" : host.cpu_model) + ": " + (sets.empty() ? "none" : sets);
  if (has_flag(host, "aes") && !has_flag(host, "vaes"))
    found.push_back(
        {health::warn, "cpu", text + "; without VAES a packet's encryption takes about twice the time", ""});
  else
    found.push_back({health::ok, "cpu", text, ""});

  const env::cpu_list usable = host.usable_cpus();
  const std::string cpus =
      env::format_cpu_list(usable) + " usable, " + env::format_cpu_list(host.affinity) + " in this process's affinity";
  if (host.affinity.empty() || usable.empty())
    found.push_back({health::missing, "lcores", "no CPU is left for this process", "taskset -p -c 0 $$", true});
  else if (usable.size() == 1)
    found.push_back({health::warn, "lcores", cpus + ": one lcore does packets and control alike", ""});
  else
    found.push_back({health::ok, "lcores", cpus, ""});
}

void examine_versions(const doctor_facts& facts, findings& found) {
  found.push_back({health::ok, "dpdk", facts.dpdk, ""});
  if (facts.ipsec_mb_arch.empty())
    found.push_back({health::missing, "ipsec-mb", facts.ipsec_mb + " does not start on this CPU (it needs AES-NI)",
                     "grep -wo aes /proc/cpuinfo | head -1", true});
  else
    found.push_back({health::ok, "ipsec-mb", facts.ipsec_mb + ", " + facts.ipsec_mb_arch, ""});
}

// NICs that DPDK can have now, of one NUMA node: "0000:03:00.0, 0000:03:00.1".
std::string nics_for_dpdk(const env::machine& host, int node) {
  std::string names;
  for (const env::pci_nic& nic : host.nics)
    if (nic.node == node && (env::is_userspace_driver(nic.driver) || env::is_shared_driver(nic.driver)))
      env::add_item(names, nic.address);
  return names;
}

std::string pool_text(const env::machine& host, const env::hugepage_pool& pool) {
  const std::string nics = pool.node >= 0 ? nics_for_dpdk(host, pool.node) : "";
  return std::to_string(pool.free) + " of " + std::to_string(pool.total) + " pages of " +
         env::size_text(pool.page_bytes) + " free" +
         (host.nodes.size() > 1 && pool.node >= 0 ? " on node " + std::to_string(pool.node) : "") +
         (host.nodes.size() > 1 && !nics.empty() ? ", the node of " + nics : "");
}

void examine_hugepages(const env::machine& host, findings& found) {
  constexpr std::uint64_t page = 2u << 20;
  std::uint64_t total = 0;
  for (const env::hugepage_pool& pool : host.hugepages) total += pool.total;
  if (total == 0) {
    found.push_back({health::warn, "hugepages", "none: runs use plain memory (--no-huge), slower and not for NICs",
                     env::hugepage_command(host, page, -1, 512)});
    return;
  }
  for (const env::hugepage_pool& pool : host.hugepages) {
    const bool node_of_cpus = std::any_of(host.nodes.begin(), host.nodes.end(), [&](const env::cpu_node& n) {
      return n.node == pool.node && !n.cpus.empty();
    });
    if (pool.total == 0 && (pool.page_bytes != page || !node_of_cpus)) continue;  // nobody misses those
    if (pool.free == 0)
      found.push_back({health::warn, "hugepages", pool_text(host, pool),
                       env::hugepage_command(host, pool.page_bytes, pool.node, 256)});
    else
      found.push_back({health::ok, "hugepages", pool_text(host, pool), ""});
  }
  if (host.hugetlb_left_bytes && *host.hugetlb_left_bytes < 64 * page)
    found.push_back({health::warn, "hugepages",
                     "the control group allows " + env::size_text(*host.hugetlb_left_bytes) + " more of them",
                     "raise the container's limit of hugepages"});
}

void examine_memory(const env::machine& host, findings& found) {
  if (!host.memory_available_bytes) return;
  const std::string text = env::size_text(*host.memory_available_bytes) + " available";
  if (*host.memory_available_bytes < least_memory_bytes)
    found.push_back({health::missing, "memory",
                     text + ", the loopback profile needs " + env::size_text(least_memory_bytes), "free --mega", true});
  else
    found.push_back({health::ok, "memory", text, ""});
}

void examine_iommu(const env::machine& host, findings& found) {
  if (host.nics.empty()) {  // neither is of use
    found.push_back({health::ok, "nic", "none on PCI: vdevs only", ""});
    return;
  }
  if (host.iommu_groups != 0)
    found.push_back({health::ok, "iommu", std::to_string(host.iommu_groups) + " groups", ""});
  else if (host.vfio_noiommu)
    found.push_back({health::warn, "iommu", "none; VFIO runs without it, a device may write anywhere", ""});
  else
    found.push_back({health::warn, "iommu", "none in use: a NIC cannot be given to vfio-pci safely",
                     "kernel command line: intel_iommu=on iommu=pt  (AMD: amd_iommu=on iommu=pt)"});
  if (!host.vfio_loaded)
    found.push_back({health::warn, "vfio", "vfio-pci is not loaded", "modprobe vfio-pci"});
  else if (host.dev_vfio == env::usability::usable)
    found.push_back({health::ok, "vfio", "vfio-pci loaded, /dev/vfio/vfio usable", ""});
  else
    found.push_back({health::warn, "vfio", "/dev/vfio/vfio cannot be opened by user " + std::to_string(host.euid),
                     "chmod 666 /dev/vfio/vfio"});
}

// No command takes away an interface in use: whoever is logged in through it would type his last one.
bool is_up(const env::machine& host, const env::pci_nic& nic) {
  return std::any_of(nic.interfaces.begin(), nic.interfaces.end(), [&](const std::string& name) {
    const env::network_interface* interface = host.find_interface(name);
    return interface != nullptr && interface->up;
  });
}

void examine_nic(const env::machine& host, const env::pci_nic& nic, findings& found) {
  std::string text = nic.address + ' ' + nic.id + ' ' + (nic.driver.empty() ? "no driver" : nic.driver);
  for (const std::string& name : nic.interfaces) text += ' ' + name;
  if (nic.node >= 0 && host.nodes.size() > 1) text += ", NUMA node " + std::to_string(nic.node);
  if (env::is_shared_driver(nic.driver)) {
    found.push_back({health::ok, "nic", text + ": DPDK shares it with the kernel", ""});
  } else if (env::is_userspace_driver(nic.driver) && nic.driver != "vfio-pci" && host.iommu_groups != 0) {
    found.push_back({health::warn, "nic", text + ": this driver bypasses the IOMMU, the NIC may write anywhere",
                     "dpdk-devbind.py --bind=vfio-pci " + nic.address});
  } else if (nic.driver == "vfio-pci" && !nic.group_holders.empty()) {
    std::string holders;
    std::string addresses;
    bool up = false;
    for (const std::string& holder : nic.group_holders) {
      const std::string_view address = std::string_view(holder).substr(0, holder.find(' '));
      const env::pci_nic* other = host.find_nic(address);
      up = up || (other != nullptr && is_up(host, *other));
      env::add_item(holders, holder);
      env::add_item(addresses, address, " ");
    }
    found.push_back({health::warn, "nic",
                     text + ": VFIO gives out whole groups, and of group " + std::to_string(nic.iommu_group) +
                         " the kernel holds " + holders,
                     up ? "" : "dpdk-devbind.py --unbind " + addresses});
  } else if (env::is_userspace_driver(nic.driver)) {
    const bool denied = nic.driver == "vfio-pci" && nic.group_access == env::usability::denied;
    const std::string group = "/dev/vfio/" + std::to_string(nic.iommu_group);
    found.push_back({denied ? health::warn : health::ok, "nic",
                     text + (denied ? ": user " + std::to_string(host.euid) + " may not open " + group : ": for DPDK"),
                     denied ? "chown " + std::to_string(host.euid) + ' ' + group : ""});
  } else {
    if (is_up(host, nic))
      found.push_back({health::ok, "nic", text + ": in use by the kernel", ""});
    else
      found.push_back({health::ok, "nic", text + ": the kernel's; DPDK can have it",
                       "dpdk-devbind.py --bind=vfio-pci " + nic.address});
  }
}

// CPUs of `these` that `others` lack.
env::cpu_list without(const env::cpu_list& these, const env::cpu_list& others) {
  env::cpu_list rest;
  for (const unsigned cpu : these)
    if (!env::contains(others, cpu)) rest.push_back(cpu);
  return rest;
}

std::string isolation_command(const env::cpu_list& cpus) {
  const std::string list = env::format_cpu_list(cpus);
  return "kernel command line: isolcpus=" + list + " nohz_full=" + list + " rcu_nocbs=" + list;
}

void examine_isolation(const env::machine& host, findings& found) {
  if (host.online.size() < 2) return;  // nothing to set apart
  const env::cpu_list ticking = without(host.isolated, host.nohz_full);
  if (host.isolated.empty()) {
    found.push_back({health::warn, "isolation", "no CPU is isolated: the scheduler puts other work beside the lcores",
                     isolation_command({host.online.begin() + 1, host.online.end()})});
  } else if (!ticking.empty()) {
    const std::string same = env::format_cpu_list(host.isolated);
    found.push_back({health::warn, "isolation",
                     "CPUs " + same + " are isolated, but the timer tick still interrupts " +
                         (ticking == host.isolated ? "them" : env::format_cpu_list(ticking)),
                     "kernel command line: nohz_full=" + same + " rcu_nocbs=" + same});
  } else {
    found.push_back(
        {health::ok, "isolation",
         "isolated " + env::format_cpu_list(host.isolated) + ", without tick " + env::format_cpu_list(host.nohz_full),
         ""});
  }
}

void examine_clocks(const env::machine& host, const doctor_facts& facts, findings& found) {
  std::string names;
  for (const std::string& name : host.governors) env::add_item(names, name);
  if (names.empty())
    found.push_back(
        {health::ok, "governor", "the kernel scales no clock here (virtual machine, or firmware does)", ""});
  else if (names == "performance")
    found.push_back({health::ok, "governor", names, ""});
  else
    found.push_back({health::warn, "governor", names + ": cores change their clock under load, rates will wander",
                     "echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"});
  const bool steady = has_flag(host, "constant_tsc") && has_flag(host, "nonstop_tsc");
  if (steady)
    found.push_back({health::ok, "clock", "TSC constant and never stopping; kernel uses " + facts.clock_source, ""});
  else
    found.push_back({health::warn, "clock", "the TSC is not constant here: times and rates will wander", ""});
}

void examine_numa(const env::machine& host, findings& found) {
  std::string text = std::to_string(host.nodes.size()) + (host.nodes.size() == 1 ? " node" : " nodes");
  if (host.nodes.size() > 1)
    for (const env::cpu_node& node : host.nodes)
      text += "; " + std::to_string(node.node) + ": CPUs " + env::format_cpu_list(node.cpus);
  if (!host.nodes.empty()) found.push_back({health::ok, "numa", text, ""});
  if (host.nodes.size() < 2) return;
  // Packets of a NIC are cheapest for the CPUs of its own node.
  for (const env::cpu_node& node : host.nodes) {
    const std::string nics = nics_for_dpdk(host, node.node);
    const env::cpu_list usable = without(node.cpus, without(node.cpus, host.usable_cpus()));
    if (nics.empty() || node.cpus.empty()) continue;
    const std::string where =
        "node " + std::to_string(node.node) + ", where " + nics + (nics.size() > 12 ? " are" : " is");
    if (usable.empty())
      found.push_back({health::warn, "numa", "this process may not run on CPUs of " + where,
                       "cpuset of the control group: " + env::format_cpu_list(node.cpus)});
    else if (without(usable, host.affinity).size() == usable.size())
      found.push_back({health::warn, "numa", "lcores chosen by default are none of " + where,
                       "millrace ... -l " + env::format_cpu_list(usable)});
    if (!host.isolated.empty() && without(node.cpus, host.isolated).size() == node.cpus.size())
      found.push_back({health::warn, "isolation", "no isolated CPU is on " + where,
                       isolation_command({node.cpus.begin() + (node.cpus.size() > 1 ? 1 : 0), node.cpus.end()})});
  }
}

void examine_rights(const env::machine& host, findings& found) {
  std::string lacking;
  for (const auto& [bit, name] : {std::pair{env::cap_net_raw, "CAP_NET_RAW (af_packet, pcap interfaces)"},
                                  std::pair{env::cap_net_admin, "CAP_NET_ADMIN (tap, virtio-user)"},
                                  std::pair{env::cap_ipc_lock, "CAP_IPC_LOCK (vfio)"}})
    if (!host.has_capability(bit)) env::add_item(lacking, name);
  const std::string who = "user " + std::to_string(host.euid);
  if (lacking.empty())
    found.push_back({health::ok, "permissions", who + " has CAP_NET_RAW, CAP_NET_ADMIN, CAP_IPC_LOCK", ""});
  else
    found.push_back({health::warn, "permissions", who + " lacks " + lacking + "; loopback and captures need none",
                     "setcap cap_net_raw,cap_net_admin,cap_ipc_lock+ep " +
                         (host.program.empty() ? std::string("$(command -v millrace)") : host.program)});
  const bool locks_freely = !host.memlock_bytes || host.has_capability(env::cap_ipc_lock);
  const std::string limit = host.memlock_bytes ? env::size_text(*host.memlock_bytes) : "unlimited";
  if (locks_freely)
    found.push_back({health::ok, "memlock", limit, ""});
  else
    found.push_back(
        {health::warn, "memlock", limit + ": VFIO locks all memory a NIC may reach", "ulimit -l unlimited"});
  if (host.runtime_writable)
    found.push_back({health::ok, "runtime-dir", host.runtime_dir, ""});
  else
    found.push_back({health::missing, "runtime-dir",
                     host.runtime_dir + " cannot be written, and EAL keeps its sockets there", env::runtime_dir_command,
                     true});
  if (!host.container.empty())
    found.push_back(
        {health::ok, "container", host.container + ": hugepages, /dev/vfio and rights come from outside", ""});
}

void examine_leftovers(const env::machine& host, const doctor_facts& facts, findings& found) {
  const std::size_t before = found.size();
  std::size_t ours = 0;
  std::string others;
  std::size_t other_count = 0;
  for (const env::leftover& left : facts.leftovers) {
    ours += left.ours ? 1 : 0;
    if (left.ours) continue;
    env::add_item(others, left.path, " ");
    ++other_count;
  }
  if (ours != 0)
    found.push_back({health::ok, "leftovers",
                     counted(ours, "folder") + " of dead millrace processes; the next start removes them", ""});
  if (other_count != 0)
    found.push_back(
        {health::warn, "leftovers", counted(other_count, "folder") + " of no running DPDK process", "rm -r " + others});
  for (const env::hugetlbfs_mount& mount : host.hugetlbfs) {
    if (mount.files.empty()) continue;
    found.push_back({health::warn, "leftovers",
                     std::to_string(mount.files.size()) + " hugepage files in " + mount.dir + " (" +
                         mount.files.front() + " ...) hold memory, unless a DPDK process runs",
                     "fuser " + mount.dir + "/* || rm " + mount.dir + "/*map_*"});
  }
  if (found.size() == before) found.push_back({health::ok, "leftovers", "none", ""});
}

void examine_arguments(const doctor_facts& facts, findings& found) {
  if (!facts.asked) return;
  for (const base::failure& failure : facts.arguments.failures)
    found.push_back({health::missing, "arguments", failure.what, failure.hint});
  for (const std::string& note : facts.arguments.notes) found.push_back({health::warn, "arguments", note, ""});
  if (facts.arguments.failures.empty() && facts.arguments.notes.empty())
    found.push_back({health::ok, "arguments", "EAL has what these arguments need", ""});
}

}  // namespace

std::string_view to_string(health state) noexcept {
  switch (state) {
    case health::ok:
      return "ok";
    case health::warn:
      return "warn";
    case health::missing:
      return "missing";
  }
  return "";
}

std::vector<finding> examine(const env::machine& host, const doctor_facts& facts) {
  findings found;
  examine_cpu(host, found);
  examine_versions(facts, found);
  examine_hugepages(host, found);
  examine_memory(host, found);
  examine_iommu(host, found);
  for (const env::pci_nic& nic : host.nics) examine_nic(host, nic, found);
  examine_numa(host, found);
  examine_isolation(host, found);
  examine_clocks(host, facts, found);
  examine_rights(host, found);
  examine_leftovers(host, facts, found);
  examine_arguments(facts, found);
  return found;
}

bool loopback_works(const std::vector<finding>& findings) noexcept {
  return std::none_of(findings.begin(), findings.end(), [](const finding& f) { return f.stops_loopback; });
}

}  // namespace millrace::app
