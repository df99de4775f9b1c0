#include "app/doctor.hpp"

#include <gtest/gtest.h>

#include <algorithm>

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
