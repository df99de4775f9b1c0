// env/machine.hpp - what this machine and this process have, as the kernel's files tell: hugepages, CPUs, NICs, rights.
//
// Shape    read_machine() is one pass over /proc, /sys and /dev under a root, so that tests lay out a tree of their
// own;
//          the answer is plain data that preflight and doctor judge. Nothing is opened that has side effects.
// Units    bytes; node -1 is "the kernel names none".
// Errors   none: what cannot be read stays at its resting value.
// Threads  control code.
// Source   kernel documentation: admin-guide/mm/hugetlbpage, ABI/testing/sysfs-*, proc(5). Tests
// test/env/machine_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "env/cpu_list.hpp"

namespace millrace::env {

struct hugepage_pool {
  std::uint64_t page_bytes = 0;
  int node = -1;
  std::uint64_t total = 0;  // pages
  std::uint64_t free = 0;   // pages nobody has mapped or reserved
};

struct hugetlbfs_mount {
  std::string dir;
  std::uint64_t page_bytes = 0;  // 0: the default size
  bool writable = false;
  std::vector<std::string> files;  // EAL's map files in it, of running and of dead processes
};

enum class usability : std::uint8_t { missing, denied, usable };

struct pci_nic {
  std::string address;  // "0000:03:00.0"
  std::string id;       // "8086:1572"
  std::string driver;   // empty: bound to none
  int node = -1;
  int iommu_group = -1;                         // -1: none
  usability group_access = usability::missing;  // of /dev/vfio/GROUP
  std::vector<std::string> interfaces;          // the kernel's names for it
  // Devices of the same group that a driver of the kernel's holds, "0000:03:00.1 (i40e)": VFIO gives out whole groups.
  std::vector<std::string> group_holders = {};
};

struct network_interface {
  std::string name;
  std::string driver;       // empty: virtual
  std::string pci_address;  // empty: not on PCI
  int node = -1;
  bool up = false;
  unsigned mtu = 0;
};

struct cpu_node {
  int node = -1;
  cpu_list cpus;
};

struct machine {
  std::vector<hugepage_pool> hugepages;  // a pool per page size and node
  std::vector<hugetlbfs_mount> hugetlbfs;
  std::optional<std::uint64_t> hugetlb_left_bytes;  // what the control group still allows of the 2 MiB size
  // The smaller of what the kernel and the control group leave; nullopt: unknown.
  std::optional<std::uint64_t> memory_available_bytes;

  cpu_list online;
  cpu_list affinity;       // where this process runs now; isolated CPUs are usually not among them
  cpu_list control_group;  // where its control group lets it run at all; empty: unknown
  cpu_list isolated;
  cpu_list nohz_full;
  std::vector<cpu_node> nodes;
  std::vector<std::string> governors;  // those in use, each once; empty when the kernel scales nothing
  std::string cpu_model;
  std::vector<std::string> cpu_flags;

  std::size_t iommu_groups = 0;
  bool vfio_loaded = false;      // vfio_pci
  bool vfio_noiommu = false;     // enable_unsafe_noiommu_mode
  std::vector<std::string> uio;  // uio_pci_generic, igb_uio: those loaded
  usability dev_vfio = usability::missing;
  usability dev_tun = usability::missing;
  usability dev_vhost_net = usability::missing;

  std::vector<std::string> pci_addresses;  // of every device, NIC or not
  std::vector<pci_nic> nics;
  std::vector<network_interface> interfaces;

  std::uint32_t euid = 0;
  std::uint64_t capabilities = 0;              // effective; bit n is capability n
  std::optional<std::uint64_t> memlock_bytes;  // nullopt: unlimited
  std::string container;                       // "docker", "lxc", ...; empty when nothing hints at one

  std::string program;           // path of the running executable; empty when unknown
  std::string runtime_dir;       // where EAL puts the folders of this user's processes
  bool runtime_writable = true;  // whether it can make one there

  [[nodiscard]] bool has_capability(unsigned number) const noexcept { return (capabilities >> number & 1) != 0; }
  [[nodiscard]] int node_of_cpu(unsigned cpu) const noexcept;                      // -1: unknown
  [[nodiscard]] const pci_nic* find_nic(std::string_view address) const noexcept;  // "03:00.0" is domain 0000
  [[nodiscard]] const network_interface* find_interface(std::string_view name) const noexcept;
  // Bytes in free hugepages, of one node or (-1) of all; never more than the control group allows.
  [[nodiscard]] std::uint64_t free_hugepage_bytes(int node = -1) const noexcept;
  // CPUs an lcore can be pinned to: online, and allowed by the control group.
  [[nodiscard]] cpu_list usable_cpus() const;
  // The size of most free pages, the smaller when equal; 0 when the kernel has none.
  [[nodiscard]] std::uint64_t hugepage_bytes() const noexcept;
};

// linux/capability.h
inline constexpr unsigned cap_net_admin = 12;
inline constexpr unsigned cap_net_raw = 13;
inline constexpr unsigned cap_ipc_lock = 14;
inline constexpr unsigned cap_sys_rawio = 17;
inline constexpr unsigned cap_sys_admin = 21;

// `root` stands before "/proc", "/sys" and "/dev".
[[nodiscard]] machine read_machine(const std::string& root = {});

// "2 MiB", "1.5 GiB", "512 KiB": down to a tenth, which is cut, not rounded.
[[nodiscard]] std::string size_text(std::uint64_t bytes);

}  // namespace millrace::env
