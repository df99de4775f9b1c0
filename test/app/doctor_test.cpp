#include "app/doctor.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/file_tree.hpp"

namespace millrace::app {
namespace {

constexpr std::uint64_t mebibyte = 1u << 20;

// A server set up as it should be.
env::machine server() {
  env::machine host;
  host.cpu_model = "Fast CPU 9000";
  host.cpu_flags = {"aes", "avx2", "vaes", "avx512f", "constant_tsc", "nonstop_tsc"};
  host.online = {0, 1, 2, 3};
  host.affinity = {0, 1};
  host.isolated = {2, 3};
  host.nohz_full = {2, 3};
  host.nodes = {{0, {0, 1, 2, 3}}};
  host.hugepages = {{2 * mebibyte, 0, 512, 500}, {1024 * mebibyte, 0, 0, 0}};
  host.memory_available_bytes = 4096 * mebibyte;
  host.governors = {"performance"};
  host.capabilities = ~std::uint64_t{0};
  host.iommu_groups = 20;
  host.vfio_loaded = true;
  host.dev_vfio = env::usability::usable;
  host.nics = {{"0000:03:00.0", "8086:1572", "vfio-pci", 0, 17, env::usability::usable, {}}};
  host.runtime_dir = "/var/run/dpdk";
  return host;
}

doctor_facts facts() {
  doctor_facts known;
  known.dpdk = "22.11.11";
  known.ipsec_mb = "1.3.0";
  known.ipsec_mb_arch = "avx512";
  known.clock_source = "tsc";
  return known;
}

// The worst finding of an area.
finding of(const std::vector<finding>& findings, std::string_view area) {
  finding worst;
  for (const finding& f : findings)
    if (f.area == area && (worst.area.empty() || f.state > worst.state)) worst = f;
  EXPECT_EQ(worst.area, area);
  return worst;
}

TEST(doctor, finds_nothing_to_mend_where_all_is_well) {
  const auto findings = examine(server(), facts());
  for (const finding& f : findings) {
    EXPECT_EQ(f.state, health::ok) << f.area << ": " << f.text;
    EXPECT_EQ(f.command, "") << f.area;
    EXPECT_FALSE(f.text.empty()) << f.area;
  }
  EXPECT_TRUE(loopback_works(findings));
  EXPECT_GE(findings.size(), 14u);
}

TEST(doctor, gives_a_command_with_everything_that_can_be_mended) {
  env::machine host = server();
  host.hugepages = {};
  host.iommu_groups = 0;
  host.vfio_loaded = false;
  host.isolated = {};
  host.governors = {"powersave", "schedutil"};
  host.capabilities = 0;
  host.memlock_bytes = 8 * mebibyte;
  host.nics = {{"0000:03:00.0", "8086:1572", "i40e", 0, 17, env::usability::missing, {"eth1"}}};
  const auto findings = examine(host, facts());
  EXPECT_EQ(of(findings, "hugepages").command, "echo 512 > /proc/sys/vm/nr_hugepages");
  EXPECT_NE(of(findings, "iommu").command.find("intel_iommu=on"), std::string::npos);
  EXPECT_EQ(of(findings, "vfio").command, "modprobe vfio-pci");
  EXPECT_EQ(of(findings, "isolation").command, "kernel command line: isolcpus=1-3 nohz_full=1-3 rcu_nocbs=1-3");
  EXPECT_NE(of(findings, "governor").command.find("echo performance"), std::string::npos);
  EXPECT_NE(of(findings, "permissions").command.find("setcap"), std::string::npos);
  EXPECT_EQ(of(findings, "memlock").command, "ulimit -l unlimited");
  EXPECT_EQ(of(findings, "nic").command, "dpdk-devbind.py --bind=vfio-pci 0000:03:00.0");
  for (const finding& f : findings) EXPECT_NE(f.state, health::missing) << f.area;
  EXPECT_TRUE(loopback_works(findings));
}

TEST(doctor, offers_no_command_for_a_nic_that_is_in_use) {
  env::machine host = server();
  host.nics = {{"0000:03:00.0", "8086:1572", "i40e", 0, 17, env::usability::missing, {"eth1"}}};
  host.interfaces = {{"eth1", "i40e", "0000:03:00.0", 0, true, 1500}};
  const auto findings = examine(host, facts());
  EXPECT_EQ(of(findings, "nic").state, health::ok);
  EXPECT_EQ(of(findings, "nic").command, "");
}

TEST(doctor, lets_shared_nics_be) {
  env::machine host = server();
  host.nics = {{"0000:03:00.0", "15b3:1017", "mlx5_core", 0, 17, env::usability::missing, {"eth1"}}};
  EXPECT_EQ(of(examine(host, facts()), "nic").state, health::ok);
}

TEST(doctor, tells_who_holds_the_rest_of_a_vfio_group) {
  env::machine host = server();
  host.nics[0].group_holders = {"0000:03:00.1 (i40e)", "0000:03:00.2 (mpt3sas)"};
  const finding held = of(examine(host, facts()), "nic");
  EXPECT_EQ(held.state, health::warn);
  EXPECT_NE(held.text.find("group 17 the kernel holds 0000:03:00.1 (i40e), 0000:03:00.2 (mpt3sas)"), std::string::npos);
  EXPECT_EQ(held.command, "dpdk-devbind.py --unbind 0000:03:00.1 0000:03:00.2");

  host.nics.push_back({"0000:03:00.1", "8086:1572", "i40e", 0, 17, env::usability::usable, {"eth1"}});
  host.interfaces = {{"eth1", "i40e", "0000:03:00.1", 0, true, 1500}};
  EXPECT_EQ(of(examine(host, facts()), "nic").command, "");  // it is in use
}

TEST(doctor, prefers_vfio_to_a_driver_without_iommu) {
  env::machine host = server();
  host.nics[0].driver = "igb_uio";
  const finding bypassed = of(examine(host, facts()), "nic");
  EXPECT_EQ(bypassed.state, health::warn);
  EXPECT_EQ(bypassed.command, "dpdk-devbind.py --bind=vfio-pci 0000:03:00.0");
  host.iommu_groups = 0;
  EXPECT_EQ(of(examine(host, facts()), "nic").state, health::ok);
}

TEST(doctor, names_the_isolated_cpus_that_still_tick) {
  env::machine host = server();
  host.nohz_full = {3};
  const finding ticking = of(examine(host, facts()), "isolation");
  EXPECT_EQ(ticking.state, health::warn);
  EXPECT_NE(ticking.text.find("interrupts 2"), std::string::npos) << ticking.text;
  EXPECT_EQ(ticking.command, "kernel command line: nohz_full=2,3 rcu_nocbs=2,3");
}

TEST(doctor, wants_lcores_isolation_and_hugepages_on_the_node_of_the_nic) {
  env::machine host = server();
  host.online = {0, 1, 2, 3, 4, 5, 6, 7};
  host.nodes = {{0, {0, 1, 2, 3}}, {1, {4, 5, 6, 7}}};
  host.hugepages = {{2 * mebibyte, 0, 512, 500}, {2 * mebibyte, 1, 64, 0}};
  host.nics[0].node = 1;
  const auto findings = examine(host, facts());
  const finding memory = of(findings, "hugepages");
  EXPECT_NE(memory.text.find("on node 1, the node of 0000:03:00.0"), std::string::npos) << memory.text;
  EXPECT_EQ(memory.command, "echo 320 > /sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages");
  EXPECT_EQ(of(findings, "numa").state, health::warn);
  EXPECT_EQ(of(findings, "numa").command, "millrace ... -l 4-7");
  EXPECT_EQ(of(findings, "isolation").state, health::warn);
  EXPECT_EQ(of(findings, "isolation").command, "kernel command line: isolcpus=5-7 nohz_full=5-7 rcu_nocbs=5-7");

  host.affinity = {4, 5};
  host.isolated = host.nohz_full = {6, 7};
  host.hugepages[1].free = 64;
  for (const finding& f : examine(host, facts())) EXPECT_EQ(f.state, health::ok) << f.area << ": " << f.text;
}

// From the kernel's files to the words: a NIC bound to vfio-pci on a machine where everything else was forgotten.
TEST(doctor, reads_the_recipe_of_a_nic_from_the_kernels_files) {
  const test::file_tree tree;
  tree.put("/proc/self/status", "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\nCpus_allowed_list:\t0-3\n");
  tree.put("/proc/self/limits", "Max locked memory         8388608              8388608              bytes\n");
  tree.put("/proc/meminfo", "MemAvailable:    4096000 kB\n");
  tree.put("/sys/devices/system/cpu/online", "0-3\n");
  tree.put("/sys/devices/system/cpu/isolated", "\n");
  tree.put("/sys/devices/system/node/node0/cpulist", "0-3\n");
  tree.put("/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "0\n");
  tree.put("/sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages", "0\n");
  const std::string nic = "/sys/devices/pci0000:00/0000:03:00.0";
  tree.put(nic + "/class", "0x020000\n");
  tree.put(nic + "/vendor", "0x8086\n");
  tree.put(nic + "/device", "0x1572\n");
  tree.put(nic + "/numa_node", "0\n");
  tree.folder("/sys/bus/pci/drivers/vfio-pci");
  tree.link(nic + "/driver", "/sys/bus/pci/drivers/vfio-pci");
  tree.link("/sys/bus/pci/devices/0000:03:00.0", nic);
  tree.folder("/sys/module/vfio_pci");
  const auto findings = examine(env::read_machine(tree.root()), facts());
  EXPECT_EQ(of(findings, "hugepages").command, "echo 512 > /proc/sys/vm/nr_hugepages");
  EXPECT_NE(of(findings, "iommu").command.find("iommu=pt"), std::string::npos);
  EXPECT_EQ(of(findings, "isolation").command, "kernel command line: isolcpus=1-3 nohz_full=1-3 rcu_nocbs=1-3");
  EXPECT_EQ(of(findings, "memlock").command, "ulimit -l unlimited");
  EXPECT_EQ(of(findings, "nic").state, health::ok);
  EXPECT_NE(of(findings, "nic").text.find("0000:03:00.0 8086:1572 vfio-pci: for DPDK"), std::string::npos);
}

TEST(doctor, asks_nothing_of_vfio_where_there_is_no_nic) {
  env::machine host = server();
  host.nics = {};
  host.iommu_groups = 0;
  host.vfio_loaded = false;
  const auto findings = examine(host, facts());
  EXPECT_EQ(of(findings, "nic").state, health::ok);
  EXPECT_TRUE(std::none_of(findings.begin(), findings.end(), [](const finding& f) { return f.area == "vfio"; }));
}

TEST(doctor, names_the_node_without_free_hugepages) {
  env::machine host = server();
  host.nodes = {{0, {0, 1}}, {1, {2, 3}}};
  host.hugepages = {{2 * mebibyte, 0, 512, 500}, {2 * mebibyte, 1, 0, 0}};
  const finding short_of = of(examine(host, facts()), "hugepages");
  EXPECT_EQ(short_of.state, health::warn);
  EXPECT_EQ(short_of.command, "echo 256 > /sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages");
}

TEST(doctor, tells_what_stops_even_the_loopback_profile) {
  env::machine host = server();
  host.memory_available_bytes = 100 * mebibyte;
  auto findings = examine(host, facts());
  EXPECT_EQ(of(findings, "memory").state, health::missing);
  EXPECT_FALSE(loopback_works(findings));

  host = server();
  host.runtime_writable = false;
  findings = examine(host, facts());
  EXPECT_EQ(of(findings, "runtime-dir").state, health::missing);
  EXPECT_FALSE(loopback_works(findings));

  doctor_facts known = facts();
  known.ipsec_mb_arch = "";
  EXPECT_FALSE(loopback_works(examine(server(), known)));

  host = server();
  host.affinity = {};
  EXPECT_FALSE(loopback_works(examine(host, facts())));
}

TEST(doctor, lists_what_dead_processes_left) {
  env::machine host = server();
  host.hugetlbfs = {{"/dev/hugepages", 2 * mebibyte, true, {"rtemap_0", "rtemap_1"}}};
  doctor_facts known = facts();
  known.leftovers = {{"/var/run/dpdk/rte", false}, {"/var/run/dpdk/millrace-9", true}, {"/var/run/dpdk/x", false}};
  std::vector<std::string> commands;
  for (const finding& f : examine(host, known))
    if (f.area == "leftovers") commands.push_back(f.command);
  EXPECT_EQ(commands, (std::vector<std::string>{"", "rm -r /var/run/dpdk/rte /var/run/dpdk/x",
                                                "fuser /dev/hugepages/* || rm /dev/hugepages/*map_*"}));
}

TEST(doctor, reports_what_preflight_said_of_given_arguments) {
  doctor_facts known = facts();
  known.asked = true;
  EXPECT_EQ(of(examine(server(), known), "arguments").state, health::ok);
  known.arguments.notes = {"a note"};
  EXPECT_EQ(of(examine(server(), known), "arguments").state, health::warn);
  known.arguments.failures = {{"a failure", "a command", false}};
  const auto findings = examine(server(), known);
  EXPECT_EQ(of(findings, "arguments").state, health::missing);
  EXPECT_EQ(of(findings, "arguments").command, "a command");
  EXPECT_TRUE(loopback_works(findings));
}

TEST(doctor, survives_a_machine_that_tells_nothing) {
  const auto findings = examine(env::machine{}, doctor_facts{});
  EXPECT_FALSE(loopback_works(findings));  // not a single CPU
}

}  // namespace
}  // namespace millrace::app
