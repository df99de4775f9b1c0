#include "env/machine.hpp"

#include <gtest/gtest.h>

#include "support/file_tree.hpp"

namespace millrace::env {
namespace {

constexpr std::uint64_t mebibyte = 1u << 20;

void put_pool(const test::file_tree& tree, const std::string& dir, const char* total, const char* free,
              const char* reserved = nullptr) {
  tree.put(dir + "/nr_hugepages", total);
  tree.put(dir + "/free_hugepages", free);
  if (reserved != nullptr) tree.put(dir + "/resv_hugepages", reserved);
}

// Two NUMA nodes, a NIC of the kernel's, one on vfio-pci and a virtio one, in a container's control group.
class server : public testing::Test {
 protected:
  test::file_tree tree_;
  machine host_;

  void SetUp() override {
    put_cpus();
    put_memory();
    put_nics();
    host_ = read_machine(tree_.root());
  }

  void put_cpus() {
    tree_.put("/proc/self/status",
              "Name:\tmillrace\nUid:\t1000\t1001\t1001\t1001\nCapEff:\t0000000000003000\nCpus_allowed:\tf\n"
              "Cpus_allowed_list:\t0-3\n");
    tree_.put("/proc/self/limits",
              "Limit                     Soft Limit           Hard Limit           Units\n"
              "Max locked memory         8388608              unlimited            bytes\n");
    tree_.put("/proc/cpuinfo",
              "processor\t: 0\nmodel name\t: Fast CPU 9000\nflags\t\t: fpu avx2 vaes\n\nprocessor\t: 1\n");
    const std::string cpu = "/sys/devices/system/cpu/";
    tree_.put(cpu + "online", "0-7\n");
    tree_.put(cpu + "isolated", "4-7\n");
    tree_.put(cpu + "nohz_full", "(null)\n");
    tree_.put(cpu + "cpu0/cpufreq/scaling_governor", "powersave\n");
    tree_.put(cpu + "cpu1/cpufreq/scaling_governor", "performance\n");
    tree_.put(cpu + "cpu2/cpufreq/scaling_governor", "powersave\n");
    tree_.put("/sys/devices/system/node/node0/cpulist", "0-3\n");
    tree_.put("/sys/devices/system/node/node1/cpulist", "4-7\n");
    tree_.put("/sys/devices/system/node/possible", "0-1\n");
  }

  void put_memory() {
    put_pool(tree_, "/sys/devices/system/node/node0/hugepages/hugepages-2048kB", "512\n", "100\n");
    put_pool(tree_, "/sys/devices/system/node/node1/hugepages/hugepages-2048kB", "512\n", "300\n");
    put_pool(tree_, "/sys/devices/system/node/node0/hugepages/hugepages-1048576kB", "0\n", "0\n");
    put_pool(tree_, "/sys/kernel/mm/hugepages/hugepages-2048kB", "1024\n", "400\n", "120\n");
    tree_.put("/proc/meminfo", "MemTotal:       16384000 kB\nMemFree:         1000 kB\nMemAvailable:    4096000 kB\n");
    tree_.put("/proc/mounts",
              "proc /proc proc rw 0 0\nhugetlbfs /dev/huge\\040pages hugetlbfs rw,relatime,pagesize=2M 0 0\n"
              "none /dev/hugepages-1G hugetlbfs ro,pagesize=1G 0 0\nbad line\n");
    tree_.put("/dev/huge pages/rtemap_0", "");
    tree_.put("/dev/huge pages/millrace-99map_12", "");
    tree_.put("/dev/huge pages/readme", "");
    tree_.put("/dev/huge pages/map_1", "");
    tree_.folder("/dev/hugepages-1G");
    tree_.put("/proc/self/cgroup", "0::/kubepods/pod1/c1\n");
    tree_.put("/sys/fs/cgroup/kubepods/pod1/c1/memory.max", "max\n");
    tree_.put("/sys/fs/cgroup/kubepods/pod1/memory.max", "2147483648\n");
    tree_.put("/sys/fs/cgroup/kubepods/pod1/memory.current", "1073741824\n");
    tree_.put("/sys/fs/cgroup/kubepods/pod1/c1/hugetlb.2MB.max", "209715200\n");
    tree_.put("/sys/fs/cgroup/kubepods/pod1/c1/hugetlb.2MB.current", "104857600\n");
    tree_.put("/sys/fs/cgroup/kubepods/pod1/c1/cpuset.cpus.effective", "0-5\n");
    tree_.put("/sys/fs/cgroup/cpuset.cpus.effective", "0-7\n");
  }

  void put_device(const std::string& address, const char* pci_class, const char* vendor, const char* id,
                  const char* node) {
    const std::string dir = "/sys/devices/pci0000:00/" + address;
    tree_.put(dir + "/class", pci_class);
    tree_.put(dir + "/vendor", vendor);
    tree_.put(dir + "/device", id);
    tree_.put(dir + "/numa_node", node);
    tree_.link("/sys/bus/pci/devices/" + address, dir);
  }

  void put_nics() {
    put_device("0000:03:00.0", "0x020000\n", "0x8086\n", "0x1572\n", "1\n");
    put_device("0000:03:00.1", "0x020000\n", "0x8086\n", "0x1572\n", "1\n");
    put_device("0000:04:00.0", "0x020000\n", "0x1af4\n", "0x1041\n", "-1\n");
    put_device("0000:05:00.0", "0x010802\n", "0x144d\n", "0xa808\n", "0\n");
    tree_.folder("/sys/bus/pci/drivers/i40e");
    tree_.folder("/sys/bus/pci/drivers/vfio-pci");
    tree_.folder("/sys/bus/virtio/drivers/virtio_net");
    tree_.folder("/sys/kernel/iommu_groups/17");
    tree_.link("/sys/kernel/iommu_groups/17/devices/0000:03:00.1", "/sys/devices/pci0000:00/0000:03:00.1");
    put_device("0000:02:00.0", "0x060400\n", "0x8086\n", "0x0001\n", "1\n");  // a bridge: never in the way
    put_device("0000:03:00.2", "0x010700\n", "0x1000\n", "0x0072\n", "1\n");
    tree_.folder("/sys/bus/pci/drivers/pcieport");
    tree_.folder("/sys/bus/pci/drivers/mpt3sas");
    tree_.link("/sys/devices/pci0000:00/0000:02:00.0/driver", "/sys/bus/pci/drivers/pcieport");
    tree_.link("/sys/devices/pci0000:00/0000:03:00.2/driver", "/sys/bus/pci/drivers/mpt3sas");
    for (const char* address : {"0000:02:00.0", "0000:03:00.2"})
      tree_.link(std::string("/sys/kernel/iommu_groups/17/devices/") + address,
                 std::string("/sys/devices/pci0000:00/") + address);
    tree_.link("/sys/devices/pci0000:00/0000:03:00.0/driver", "/sys/bus/pci/drivers/i40e");
    tree_.link("/sys/devices/pci0000:00/0000:03:00.1/driver", "/sys/bus/pci/drivers/vfio-pci");
    tree_.link("/sys/devices/pci0000:00/0000:03:00.1/iommu_group", "/sys/kernel/iommu_groups/17");
    tree_.put("/dev/vfio/17", "");
    tree_.put("/dev/vfio/vfio", "");
    tree_.folder("/sys/module/vfio_pci");
    tree_.put("/sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "N\n");

    put_interface("eth0", "/sys/devices/pci0000:00/0000:03:00.0/net/eth0", "0x1003\n", "1500\n");
    tree_.link("/sys/devices/pci0000:00/0000:03:00.0/net/eth0/device", "/sys/devices/pci0000:00/0000:03:00.0");
    put_interface("ens4", "/sys/devices/pci0000:00/0000:04:00.0/virtio2/net/ens4", "0x1002\n", "9000\n");
    tree_.link("/sys/devices/pci0000:00/0000:04:00.0/virtio2/driver", "/sys/bus/virtio/drivers/virtio_net");
    tree_.link("/sys/devices/pci0000:00/0000:04:00.0/virtio2/net/ens4/device",
               "/sys/devices/pci0000:00/0000:04:00.0/virtio2");
    put_interface("lo", "/sys/devices/virtual/net/lo", "0x9\n", "65536\n");
    tree_.put("/sys/class/net/bonding_masters", "");
  }

  void put_interface(const std::string& name, const std::string& dir, const char* flags, const char* mtu) {
    tree_.put(dir + "/flags", flags);
    tree_.put(dir + "/mtu", mtu);
    tree_.link("/sys/class/net/" + name, dir);
  }
};

TEST_F(server, shows_its_process) {
  EXPECT_EQ(host_.euid, 1001u);
  EXPECT_TRUE(host_.has_capability(cap_net_admin));
  EXPECT_TRUE(host_.has_capability(cap_net_raw));
  EXPECT_FALSE(host_.has_capability(cap_ipc_lock));
  EXPECT_EQ(host_.memlock_bytes, 8 * mebibyte);
  EXPECT_EQ(host_.container, "kubepods");
}

TEST_F(server, shows_its_cpus) {
  EXPECT_EQ(host_.cpu_model, "Fast CPU 9000");
  EXPECT_EQ(host_.cpu_flags, (std::vector<std::string>{"fpu", "avx2", "vaes"}));
  EXPECT_EQ(host_.online.size(), 8u);
  EXPECT_EQ(host_.affinity, (cpu_list{0, 1, 2, 3}));
  EXPECT_EQ(host_.isolated, (cpu_list{4, 5, 6, 7}));
  EXPECT_TRUE(host_.nohz_full.empty());
  EXPECT_EQ(host_.governors, (std::vector<std::string>{"powersave", "performance"}));
  EXPECT_EQ(host_.node_of_cpu(3), 0);
  EXPECT_EQ(host_.node_of_cpu(4), 1);
  EXPECT_EQ(host_.node_of_cpu(99), -1);
  EXPECT_EQ(host_.usable_cpus(), (cpu_list{0, 1, 2, 3, 4, 5}));
}

TEST_F(server, shows_hugepages_of_every_node_without_those_reserved) {
  std::uint64_t free = 0;
  std::uint64_t total = 0;
  for (const hugepage_pool& pool : host_.hugepages) {
    if (pool.page_bytes != 2 * mebibyte) continue;
    free += pool.free;
    total += pool.total;
  }
  EXPECT_EQ(total, 1024u);
  EXPECT_EQ(free, 400u - 120u);
  EXPECT_EQ(host_.hugepage_bytes(), 2 * mebibyte);
  // 560 MiB are free, but the control group allows 100 MiB more.
  EXPECT_EQ(host_.free_hugepage_bytes(), 100 * mebibyte);
}

TEST_F(server, shows_hugetlbfs_and_the_files_in_it) {
  ASSERT_EQ(host_.hugetlbfs.size(), 2u);
  EXPECT_EQ(host_.hugetlbfs[0].dir, "/dev/huge pages");
  EXPECT_EQ(host_.hugetlbfs[0].page_bytes, 2 * mebibyte);
  EXPECT_TRUE(host_.hugetlbfs[0].writable);
  EXPECT_EQ(host_.hugetlbfs[0].files, (std::vector<std::string>{"millrace-99map_12", "rtemap_0"}));
  EXPECT_EQ(host_.hugetlbfs[1].page_bytes, 1024 * mebibyte);
  EXPECT_FALSE(host_.hugetlbfs[1].writable);
}

TEST_F(server, shows_the_memory_its_control_group_leaves) { EXPECT_EQ(host_.memory_available_bytes, 1024 * mebibyte); }

TEST_F(server, shows_its_nics_and_who_drives_them) {
  ASSERT_EQ(host_.nics.size(), 3u);
  EXPECT_EQ(host_.pci_addresses.size(), 6u);
  const pci_nic* kernel = host_.find_nic("03:00.0");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->id, "8086:1572");
  EXPECT_EQ(kernel->driver, "i40e");
  EXPECT_EQ(kernel->node, 1);
  EXPECT_EQ(kernel->iommu_group, -1);
  EXPECT_EQ(kernel->interfaces, std::vector<std::string>{"eth0"});
  const pci_nic* ours = host_.find_nic("0000:03:00.1");
  ASSERT_NE(ours, nullptr);
  EXPECT_EQ(ours->driver, "vfio-pci");
  EXPECT_EQ(ours->iommu_group, 17);
  EXPECT_EQ(ours->group_access, usability::usable);
  EXPECT_EQ(ours->group_holders, std::vector<std::string>{"0000:03:00.2 (mpt3sas)"});
  EXPECT_TRUE(kernel->group_holders.empty());
  const pci_nic* virtual_nic = host_.find_nic("0000:04:00.0");
  ASSERT_NE(virtual_nic, nullptr);
  EXPECT_EQ(virtual_nic->node, -1);
  EXPECT_EQ(virtual_nic->interfaces, std::vector<std::string>{"ens4"});
  EXPECT_EQ(host_.find_nic("0000:05:00.0"), nullptr);  // a disk
}

TEST_F(server, shows_its_interfaces) {
  ASSERT_EQ(host_.interfaces.size(), 3u);
  const network_interface* virtual_nic = host_.find_interface("ens4");
  ASSERT_NE(virtual_nic, nullptr);
  EXPECT_EQ(virtual_nic->driver, "virtio_net");
  EXPECT_EQ(virtual_nic->pci_address, "0000:04:00.0");
  EXPECT_FALSE(virtual_nic->up);
  EXPECT_EQ(virtual_nic->mtu, 9000u);
  EXPECT_TRUE(host_.find_interface("eth0")->up);
  EXPECT_EQ(host_.find_interface("lo")->pci_address, "");
  EXPECT_EQ(host_.find_interface("nope"), nullptr);
}

TEST_F(server, shows_its_iommu_and_vfio) {
  EXPECT_EQ(host_.iommu_groups, 1u);
  EXPECT_TRUE(host_.vfio_loaded);
  EXPECT_FALSE(host_.vfio_noiommu);
  EXPECT_EQ(host_.dev_vfio, usability::usable);
  EXPECT_EQ(host_.dev_tun, usability::missing);
  EXPECT_TRUE(host_.uio.empty());
}

TEST(machine, of_an_empty_tree_is_at_rest) {
  const test::file_tree tree;
  const machine host = read_machine(tree.root());
  EXPECT_TRUE(host.hugepages.empty());
  EXPECT_TRUE(host.online.empty());
  EXPECT_TRUE(host.nics.empty());
  EXPECT_FALSE(host.memory_available_bytes);
  EXPECT_FALSE(host.memlock_bytes);
  EXPECT_EQ(host.hugepage_bytes(), 0u);
  EXPECT_EQ(host.free_hugepage_bytes(), 0u);
}

TEST(machine, knows_whether_eal_can_make_its_folder) {
  const test::file_tree tree;
  ::setenv("RUNTIME_DIRECTORY", "/run/unit", 1);
  EXPECT_FALSE(read_machine(tree.root()).runtime_writable);  // EAL makes one folder, not two
  tree.folder("/run/unit");
  const machine host = read_machine(tree.root());
  ::unsetenv("RUNTIME_DIRECTORY");
  EXPECT_TRUE(host.runtime_writable);
  EXPECT_EQ(host.runtime_dir, "/run/unit/dpdk");
}

TEST(machine, counts_hugepages_of_kernels_without_numa) {
  const test::file_tree tree;
  put_pool(tree, "/sys/kernel/mm/hugepages/hugepages-2048kB", "10", "7", "3");
  const machine host = read_machine(tree.root());
  ASSERT_EQ(host.hugepages.size(), 1u);
  EXPECT_EQ(host.hugepages[0].node, -1);
  EXPECT_EQ(host.hugepages[0].free, 4u);
  EXPECT_EQ(host.free_hugepage_bytes(0), 8 * mebibyte);
}

TEST(machine, reads_limits_of_control_groups_of_the_first_version) {
  const test::file_tree tree;
  tree.put("/proc/meminfo", "MemAvailable:    4096000 kB\n");
  tree.put("/proc/self/cgroup", "4:memory:/box:1\n3:cpuset:/\n2:cpu,hugetlb:/box\n0::/\n");
  tree.put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  tree.put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n");
  tree.put("/sys/fs/cgroup/memory/box:1/memory.limit_in_bytes", "104857600\n");
  tree.put("/sys/fs/cgroup/memory/box:1/memory.usage_in_bytes", "157286400\n");
  tree.put("/sys/fs/cgroup/hugetlb/box/hugetlb.2MB.limit_in_bytes", "0\n");
  tree.put("/sys/fs/cgroup/cpuset/cpuset.effective_cpus", "2\n");
  const machine host = read_machine(tree.root());
  EXPECT_EQ(host.memory_available_bytes, 0u);  // more in use than allowed: nothing is left
  EXPECT_EQ(host.hugetlb_left_bytes, 0u);
  EXPECT_EQ(host.control_group, cpu_list{2});
}

TEST(machine, survives_files_of_nonsense) {
  const test::file_tree tree;
  for (const char* name :
       {"/proc/self/status", "/proc/self/limits", "/proc/meminfo", "/proc/mounts", "/proc/self/cgroup", "/proc/cpuinfo",
        "/sys/devices/system/cpu/online", "/sys/devices/system/node/node0/cpulist",
        "/sys/devices/system/node/nodeX/cpulist", "/sys/bus/pci/devices/x/class",
        "/sys/devices/system/node/node0/hugepages/hugepages-kB/nr_hugepages",
        "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages"})
    tree.put(name, std::string(5000, ':') + "\n\0\xff a b hugetlbfs c\nUid:\nCapEff:\nMax locked memory\n0::");
  const machine host = read_machine(tree.root());
  EXPECT_TRUE(host.online.empty());
  EXPECT_EQ(host.free_hugepage_bytes(), 0u);
}

TEST(machine, of_this_computer_has_a_cpu_and_memory) {
  const machine host = read_machine();
  EXPECT_FALSE(host.affinity.empty());
  EXPECT_GT(host.memory_available_bytes.value_or(0), 0u);
}

TEST(size_text, is_short) {
  EXPECT_EQ(size_text(0), "0 bytes");
  EXPECT_EQ(size_text(1023), "1023 bytes");
  EXPECT_EQ(size_text(2048), "2 KiB");
  EXPECT_EQ(size_text(2 * mebibyte), "2 MiB");
  EXPECT_EQ(size_text(1536 * mebibyte), "1.5 GiB");
  EXPECT_EQ(size_text(160 * mebibyte + 1), "160 MiB");
}

}  // namespace
}  // namespace millrace::env
