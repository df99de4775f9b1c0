#include "env/preflight.hpp"

#include <gtest/gtest.h>

#include "support/file_tree.hpp"

namespace millrace::env {
namespace {

using words = std::vector<std::string>;
constexpr std::uint64_t mebibyte = 1u << 20;

// A server with all that is needed: each test takes one thing away.
machine server() {
  machine host;
  host.online = {0, 1, 2, 3};
  host.affinity = {0, 1};
  host.nodes = {{0, {0, 1}}, {1, {2, 3}}};
  host.hugepages = {{2 * mebibyte, 0, 512, 512}, {2 * mebibyte, 1, 512, 512}};
  host.hugetlbfs = {{"/dev/hugepages", 2 * mebibyte, true, {}}};
  host.memory_available_bytes = 4096 * mebibyte;
  host.capabilities = ~std::uint64_t{0};
  host.dev_tun = host.dev_vhost_net = host.dev_vfio = usability::usable;
  host.vfio_loaded = true;
  host.iommu_groups = 3;
  host.pci_addresses = {"0000:03:00.0", "0000:03:00.1", "0000:04:00.0", "0000:05:00.0", "0000:06:00.0"};
  host.nics = {{"0000:03:00.0", "8086:1572", "vfio-pci", 1, 17, usability::usable, {}},
               {"0000:03:00.1", "8086:1572", "i40e", 1, 17, usability::missing, {"eth1"}},
               {"0000:04:00.0", "15b3:1017", "mlx5_core", 0, 18, usability::missing, {"eth2"}},
               {"0000:06:00.0", "8086:10fb", "", 0, 19, usability::missing, {}}};
  host.interfaces = {{"eth1", "i40e", "0000:03:00.1", 1, true, 1500},
                     {"eth2", "mlx5_core", "0000:04:00.0", 0, true, 1500},
                     {"veth0", "", "", -1, false, 1500}};
  return host;
}

preflight_report examined(const words& args, const machine& host, std::uint64_t need_bytes = 64 * mebibyte) {
  const auto vector = eal_vector::parse(args);
  EXPECT_TRUE(vector) << vector.error().what;
  return preflight(vector.value(), host, {need_bytes, 1});
}

// The one failure that is expected.
base::failure failure_of(const words& args, const machine& host, std::uint64_t need_bytes = 64 * mebibyte) {
  const auto report = examined(args, host, need_bytes);
  EXPECT_EQ(report.failures.size(), 1u);
  for (std::size_t i = 1; i < report.failures.size(); ++i) ADD_FAILURE() << report.failures[i].what;
  return report.failures.empty() ? base::failure{} : report.failures.front();
}

void expect_fine(const words& args, const machine& host) {
  const auto report = examined(args, host);
  for (const base::failure& failure : report.failures) ADD_FAILURE() << failure.what;
  for (const std::string& note : report.notes) ADD_FAILURE() << note;
}

TEST(preflight, lets_pass_what_a_machine_has) {
  expect_fine({"-l", "0,1", "--in-memory", "--vdev=net_ring0", "--vdev=net_null1,size=64"}, server());
  expect_fine({"-l", "2,3", "--huge-dir=/dev/hugepages", "-a", "03:00.0"}, server());
  expect_fine({"--lcores=0@1", "--no-huge", "-m", "256", "-a", "0000:04:00.0,mprq_en=0"}, server());
  expect_fine({"--proc-type=secondary", "-l", "0"}, machine{});
}

TEST(preflight, names_lcores_that_do_not_exist) {
  const auto why = failure_of({"-l", "0,7-8"}, server());
  EXPECT_EQ(why.what, "-l 0,7-8: this machine has CPUs 0-3, not 7,8");
  EXPECT_EQ(why.hint, "-l 0-3");
  EXPECT_TRUE(why.unusable);
  EXPECT_TRUE(
      failure_of({"--lcores=0@9"}, server()).what.starts_with("--lcores 0@9: this machine has CPUs 0-3, not 9"));
  EXPECT_TRUE(failure_of({"-c", "0x100"}, server()).what.starts_with("-c 0x100: this machine has CPUs 0-3, not 8"));
}

TEST(preflight, allows_isolated_cpus_that_the_affinity_leaves_out) { expect_fine({"-l", "2,3"}, server()); }

TEST(preflight, names_lcores_that_the_control_group_keeps_away) {
  machine host = server();
  host.control_group = {1, 2};
  const auto why = failure_of({"-l", "0,1"}, host);
  EXPECT_NE(why.what.find("allows CPUs 1,2, not 0"), std::string::npos) << why.what;
  EXPECT_EQ(why.hint, "-l 1,2");
}

TEST(preflight, refuses_words_that_are_no_lcores) {
  EXPECT_EQ(failure_of({"-l", "zero"}, server()).what, "-l zero is no set of lcores");
  EXPECT_EQ(failure_of({"--lcores=(0"}, server()).what, "--lcores (0 is no set of lcores");
  EXPECT_EQ(failure_of({"-c", "0"}, server()).what, "-c 0 is no set of lcores");
}

TEST(preflight, refuses_a_main_lcore_that_is_none_of_them) {
  const auto why = failure_of({"-l", "0,1", "--main-lcore=3"}, server());
  EXPECT_EQ(why.what, "--main-lcore=3 is none of the lcores 0,1");
  EXPECT_EQ(failure_of({"-l", "0,1", "--main-lcore=x"}, server()).hint, "--main-lcore=0");
  expect_fine({"-l", "0,1", "--main-lcore=1"}, server());
}

TEST(preflight, tells_how_to_place_cpus_beyond_eals_numbers) {
  machine host = server();
  host.online.push_back(130);
  EXPECT_EQ(failure_of({"-l", "130"}, host).hint, "--lcores '0@130'");
}

TEST(preflight, notes_lcores_far_from_the_nic) {
  const auto report = examined({"-l", "0,2", "-a", "03:00.0"}, server());
  EXPECT_TRUE(report.failures.empty());
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_NE(report.notes[0].find("NUMA node 1, CPU 0 are not"), std::string::npos) << report.notes[0];
  EXPECT_NE(report.notes[0].find("-l 2,3"), std::string::npos);
}

TEST(preflight, says_how_many_hugepages_to_set_aside) {
  machine host = server();
  host.nodes = {{0, {0, 1, 2, 3}}};
  host.hugepages = {{2 * mebibyte, 0, 20, 10}};
  // 104 MiB needed are 52 pages; 10 are free of 20, so 42 more make 62.
  const auto why = failure_of({"--in-memory"}, host);
  EXPECT_EQ(why.what, "--in-memory needs 104 MiB of hugepages, there are: 10 of 20 pages of 2 MiB free");
  EXPECT_EQ(why.hint, "echo 62 > /proc/sys/vm/nr_hugepages  (or run with --no-huge)");
  EXPECT_FALSE(why.unusable);

  host.hugepages.clear();
  const auto none = failure_of({"--in-memory"}, host);
  EXPECT_NE(none.what.find("none set aside"), std::string::npos);
  EXPECT_EQ(none.hint, "echo 52 > /proc/sys/vm/nr_hugepages  (or run with --no-huge)");
}

TEST(preflight, counts_in_the_page_size_there_is) {
  machine host = server();
  host.nodes = {{0, {0, 1, 2, 3}}};
  host.hugepages = {{1024 * mebibyte, 0, 1, 0}};
  EXPECT_EQ(failure_of({"--in-memory"}, host).hint,
            "echo 2 > /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages  (or run with --no-huge)");
}

TEST(preflight, names_the_node_that_has_no_hugepages) {
  machine host = server();
  host.hugepages[1].free = 0;
  const auto why = failure_of({"-l", "0,2", "--in-memory"}, host);
  EXPECT_NE(why.what.find("an lcore on NUMA node 1"), std::string::npos) << why.what;
  EXPECT_EQ(
      why.hint,
      "echo 538 > /sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages  (or run with --no-huge)");
  const auto socket = failure_of({"-l", "0", "--in-memory", "--socket-mem=64,64"}, host);
  EXPECT_TRUE(socket.what.starts_with("--socket-mem=64,64 needs 64 MiB")) << socket.what;
}

TEST(preflight, tells_a_containers_limit_from_a_shortage) {
  machine host = server();
  host.hugetlb_left_bytes = 50 * mebibyte;
  const auto why = failure_of({"--in-memory"}, host);
  EXPECT_NE(why.what.find("the control group allows 50 MiB more"), std::string::npos);
  EXPECT_NE(why.hint.find("container"), std::string::npos);
}

TEST(preflight, wants_a_writable_hugetlbfs_only_for_files) {
  machine host = server();
  host.hugetlbfs[0].writable = false;
  host.euid = 1000;
  const auto why = failure_of({"--legacy-mem"}, host);
  EXPECT_EQ(why.what, "hugetlbfs /dev/hugepages is not writable by user 1000");
  EXPECT_TRUE(why.hint.starts_with("chown 1000 /dev/hugepages"));
  expect_fine({"--in-memory"}, host);

  const auto elsewhere = failure_of({"--huge-dir=/tmp/x"}, host);
  EXPECT_EQ(elsewhere.what, "--huge-dir=/tmp/x is in no hugetlbfs mount; there are: /dev/hugepages");
  host.hugetlbfs.clear();
  EXPECT_NE(failure_of({"--huge-unlink"}, host).hint.find("mount -t hugetlbfs"), std::string::npos);
}

TEST(preflight, refuses_an_amount_below_the_need) {
  const auto why = failure_of({"--no-huge", "-m", "32"}, server());
  EXPECT_EQ(why.what, "-m 32 is less than the 96 MiB this run needs, and without hugepages memory cannot grow");
  EXPECT_EQ(why.hint, "leave -m out, or -m 160");
  EXPECT_EQ(failure_of({"--no-huge", "-m", "lots"}, server()).what, "-m lots is no number of megabytes");
  EXPECT_EQ(failure_of({"--no-huge", "-m", "0"}, server()).what, "-m 0 is no number of megabytes");
}

TEST(preflight, refuses_what_does_not_fit_into_memory) {
  machine host = server();
  host.memory_available_bytes = 80 * mebibyte;
  const auto why = failure_of({"--no-huge", "-m", "160"}, host);
  EXPECT_EQ(why.what, "this run needs 96 MiB of memory, 80 MiB are available");
  EXPECT_FALSE(why.unusable);
}

TEST(preflight, names_the_interfaces_there_are) {
  const auto why = failure_of({"--vdev=net_af_packet0,iface=veth7"}, server());
  EXPECT_EQ(why.what, "--vdev=net_af_packet0,iface=veth7: there is no such interface; there are: eth1, eth2, veth0");
  EXPECT_TRUE(why.unusable);
  EXPECT_NE(failure_of({"--vdev=net_af_packet0"}, server()).what.find("names no interface"), std::string::npos);
  EXPECT_NE(failure_of({"--vdev=net_pcap0,iface=veth7"}, server()).what.find("no such interface"), std::string::npos);
  EXPECT_NE(failure_of({"--vdev=net_tap0,remote=veth7"}, server()).what.find("no such interface"), std::string::npos);
}

TEST(preflight, notes_an_interface_that_is_down) {
  const auto report = examined({"--vdev=net_af_packet0,iface=veth0"}, server());
  EXPECT_TRUE(report.failures.empty());
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_EQ(report.notes[0], "interface veth0 is down and carries nothing; ip link set veth0 up");
}

TEST(preflight, names_the_right_that_is_missing) {
  machine host = server();
  host.capabilities = 0;
  host.euid = 1000;
  EXPECT_NE(failure_of({"--vdev=net_af_packet0,iface=eth1"}, host).what.find("CAP_NET_RAW"), std::string::npos);
  EXPECT_NE(failure_of({"--vdev=net_tap0"}, host).what.find("CAP_NET_ADMIN"), std::string::npos);
  expect_fine({"--vdev=net_ring0"}, host);
}

TEST(preflight, looks_for_the_devices_behind_vdevs) {
  machine host = server();
  host.dev_tun = usability::missing;
  host.dev_vhost_net = usability::denied;
  EXPECT_TRUE(failure_of({"--vdev=net_tap0"}, host).hint.starts_with("modprobe tun"));
  EXPECT_NE(failure_of({"--vdev=net_virtio_user0,path=/dev/vhost-net"}, host).what.find("may not open"),
            std::string::npos);
  EXPECT_NE(failure_of({"--vdev=net_virtio_user0,path=/nope/sock"}, host).what.find("no such socket"),
            std::string::npos);
  EXPECT_NE(failure_of({"--vdev=net_virtio_user0"}, host).what.find("names no backend"), std::string::npos);
  expect_fine({"--vdev=net_virtio_user0,path=/nope/sock,server=1"}, host);
  EXPECT_NE(
      failure_of({"--vdev=net_virtio_user0,path=/dev/vhost-net,iface=a-name-that-is-long"}, server()).what.find("15"),
      std::string::npos);
}

TEST(preflight, looks_at_captures) {
  const test::file_tree tree;
  tree.put("/in.pcap", "x");
  const std::string in = tree.path("/in.pcap");
  expect_fine({"--vdev=net_pcap0,rx_pcap=" + in + ",tx_pcap=" + tree.path("/out.pcap")}, server());
  const auto absent = failure_of({"--vdev=net_pcap0,rx_pcap=" + in + ",rx_pcap=" + tree.path("/no.pcap")}, server());
  EXPECT_EQ(absent.what, "--vdev=net_pcap0,rx_pcap=" + tree.path("/no.pcap") + ": no such file");
  EXPECT_TRUE(absent.unusable);
  EXPECT_NE(failure_of({"--vdev=net_pcap0,rx_pcap=" + tree.root()}, server()).what.find("is a folder"),
            std::string::npos);
  EXPECT_NE(
      failure_of({"--vdev=net_pcap0,tx_pcap=" + tree.path("/no/out.pcap")}, server()).what.find("cannot be written"),
      std::string::npos);
}

TEST(preflight, says_how_to_bind_a_nic) {
  const auto kernel = failure_of({"-a", "0000:03:00.1", "-l", "2"}, server());
  EXPECT_EQ(
      kernel.what,
      "-a 0000:03:00.1 is bound to the kernel's i40e as eth1, which is up and would go away; DPDK needs vfio-pci");
  EXPECT_EQ(kernel.hint,
            "dpdk-devbind.py --status-dev net  shows the others; this one only if nobody needs eth1 any more: "
            "ip link set eth1 down; dpdk-devbind.py --bind=vfio-pci 0000:03:00.1");
  machine host = server();
  host.vfio_loaded = false;
  EXPECT_EQ(failure_of({"-a", "06:00.0"}, host).hint,
            "modprobe vfio-pci; dpdk-devbind.py --bind=vfio-pci 0000:06:00.0");
  const auto absent = failure_of({"-a", "0000:99:00.0"}, server());
  EXPECT_NE(absent.what.find("no such PCI device; NICs are: 0000:03:00.0, 0000:03:00.1 (eth1)"), std::string::npos);
  EXPECT_TRUE(absent.unusable);
}

TEST(preflight, checks_what_vfio_needs) {
  const words args = {"-a", "03:00.0", "-l", "2", "--in-memory"};
  machine host = server();
  host.dev_vfio = usability::missing;
  EXPECT_TRUE(failure_of(args, host).hint.starts_with("modprobe vfio-pci"));

  host = server();
  host.nics[0].iommu_group = -1;
  EXPECT_NE(failure_of(args, host).hint.find("enable_unsafe_noiommu_mode"), std::string::npos);
  host.vfio_noiommu = true;
  expect_fine(args, host);

  host = server();
  host.euid = 1000;
  host.nics[0].group_access = usability::denied;
  EXPECT_EQ(failure_of(args, host).hint, "chown 1000 /dev/vfio/17");

  host = server();
  host.memlock_bytes = 8 * mebibyte;
  expect_fine(args, host);  // CAP_IPC_LOCK
  host.capabilities = 0;
  EXPECT_NE(failure_of(args, host).what.find("`ulimit -l` allows 8 MiB"), std::string::npos);
}

TEST(preflight, leaves_what_it_does_not_know_to_eal) {
  expect_fine({"-a", "auxiliary:mlx5_core.sf.2", "-a", "0000:05:00.0", "--vdev=net_bonding0,mode=1"}, server());
}

TEST(preflight, refuses_a_prefix_that_leads_elsewhere) {
  for (const char* prefix : {"..", ".", "../../etc", "a/b", "%s"}) {
    const auto why = failure_of({std::string("--file-prefix=") + prefix, "--vdev=net_ring0"}, server());
    EXPECT_EQ(why.what, std::string("--file-prefix=") + prefix + " is no name of a folder");
    EXPECT_TRUE(why.unusable);
  }
  expect_fine({"--file-prefix=rack-7.a_b", "--vdev=net_ring0"}, server());
}

TEST(preflight, refuses_more_memory_than_there_is) {
  machine host = server();
  host.memory_available_bytes = std::uint64_t{8} << 30;
  const auto why = failure_of({"--no-huge", "-m", "99999", "--vdev=net_ring0"}, host);
  EXPECT_NE(why.what.find("-m 99999 is more than the 8 GiB of memory available"), std::string::npos) << why.what;
  EXPECT_TRUE(why.unusable);
}

TEST(preflight, wants_a_folder_for_eals_sockets) {
  machine host = server();
  host.runtime_dir = "/var/run/dpdk";
  host.runtime_writable = false;
  host.euid = 1000;
  const auto why = failure_of({"--vdev=net_ring0"}, host);
  EXPECT_EQ(why.what, "/var/run/dpdk cannot be made or written by user 1000, and EAL keeps its sockets there");
  EXPECT_EQ(why.hint, "export RUNTIME_DIRECTORY=$(mktemp -d)");
}

TEST(preflight, puts_what_was_typed_wrong_before_what_is_missing) {
  machine host = server();
  host.hugepages.clear();
  const auto report = examined({"--in-memory", "--vdev=net_af_packet0,iface=veth7"}, host);
  ASSERT_EQ(report.failures.size(), 2u);
  EXPECT_TRUE(report.failures[0].unusable);
  EXPECT_FALSE(report.failures[1].unusable);
}

}  // namespace
}  // namespace millrace::env
