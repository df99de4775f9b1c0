#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "env/preflight.hpp"
#include "env/text_file.hpp"

namespace millrace::env {
namespace {

constexpr std::size_t interface_name_cap = 15;  // IFNAMSIZ - 1

using report_t = preflight_report;

void refuse(report_t& report, std::string what, std::string hint) {
  report.failures.push_back({std::move(what), std::move(hint), true});
}

void lack(report_t& report, std::string what, std::string hint) {
  report.failures.push_back({std::move(what), std::move(hint), false});
}

std::string vdev_word(std::string_view device) { return "--vdev=" + std::string(device_name(device)); }

// An interface that a vdev names must be there.
void check_interface(std::string_view device, std::string_view key, const machine& host, report_t& report) {
  for (const std::string_view name : device_arguments(device, key)) {
    const network_interface* found = host.find_interface(name);
    if (found == nullptr)
      refuse(report,
             vdev_word(device) + "," + std::string(key) + "=" + std::string(name) +
                 ": there is no such interface; there are: " + interface_names(host),
             "ip link add " + std::string(name) + " type veth peer name " + std::string(name) + "-peer");
    else if (!found->up)
      report.notes.push_back("interface " + std::string(name) + " is down and carries nothing; ip link set " +
                             std::string(name) + " up");
  }
}

void check_right(std::string_view device, unsigned capability, const char* name, const machine& host,
                 report_t& report) {
  if (host.has_capability(capability)) return;
  lack(report, vdev_word(device) + " needs " + name + ", which user " + std::to_string(host.euid) + " does not have",
       "run as root, or: setcap cap_net_raw,cap_net_admin+ep " +
           (host.program.empty() ? std::string("$(command -v millrace)") : host.program));
}

void check_af_packet(std::string_view device, const machine& host, report_t& report) {
  if (device_arguments(device, "iface").empty())
    refuse(report, vdev_word(device) + " names no interface; there are: " + interface_names(host),
           vdev_word(device) + ",iface=NAME");
  check_interface(device, "iface", host, report);
  check_right(device, cap_net_raw, "CAP_NET_RAW", host, report);
}

void check_pcap(std::string_view device, const machine& host, report_t& report) {
  for (const std::string_view path : device_arguments(device, "rx_pcap")) {
    const std::string file(path);
    const std::string word = vdev_word(device) + ",rx_pcap=" + file;
    if (!exists(file))
      refuse(report, word + ": no such file", "a comma in a path ends it for the driver: rename the file");
    else if (is_directory(file))
      refuse(report, word + " is a folder", "name a capture file");
    else if (::access(file.c_str(), R_OK) != 0)
      refuse(report, word + " cannot be read by user " + std::to_string(host.euid), "ls -l " + file);
  }
  for (const std::string_view path : device_arguments(device, "tx_pcap")) {
    const std::string file(path);
    const auto slash = file.rfind('/');
    const std::string dir = slash == std::string::npos ? "." : slash == 0 ? "/" : file.substr(0, slash);
    if (::access(exists(file) ? file.c_str() : dir.c_str(), W_OK) != 0)
      refuse(report, vdev_word(device) + ",tx_pcap=" + file + " cannot be written", "ls -ld " + dir);
  }
  for (const char* key : {"iface", "rx_iface", "rx_iface_in", "tx_iface"}) {
    if (device_arguments(device, key).empty()) continue;
    check_interface(device, key, host, report);
    check_right(device, cap_net_raw, "CAP_NET_RAW", host, report);
  }
}

void check_new_interface(std::string_view device, report_t& report) {
  for (const std::string_view name : device_arguments(device, "iface"))
    if (name.empty() || name.size() > interface_name_cap)
      refuse(report,
             vdev_word(device) + ",iface=" + std::string(name) + ": an interface's name has 1 to " +
                 std::to_string(interface_name_cap) + " characters",
             vdev_word(device) + ",iface=millrace0");
}

void check_tap(std::string_view device, const machine& host, report_t& report) {
  check_new_interface(device, report);
  check_interface(device, "remote", host, report);
  if (host.dev_tun == usability::missing)
    lack(report, vdev_word(device) + " needs /dev/net/tun, which is not there",
         "modprobe tun  (container: --device /dev/net/tun)");
  if (host.dev_tun == usability::denied)
    lack(report, vdev_word(device) + " needs /dev/net/tun, which user " + std::to_string(host.euid) + " may not open",
         "chmod 666 /dev/net/tun");
  check_right(device, cap_net_admin, "CAP_NET_ADMIN", host, report);
}

void check_virtio_user(std::string_view device, const machine& host, report_t& report) {
  const auto paths = device_arguments(device, "path");
  if (paths.empty())
    return refuse(report, vdev_word(device) + " names no backend", vdev_word(device) + ",path=/dev/vhost-net");
  const std::string path(paths.front());
  if (path == "/dev/vhost-net") {
    check_new_interface(device, report);
    if (host.dev_vhost_net != usability::usable)
      lack(report,
           vdev_word(device) + " needs /dev/vhost-net, which " +
               (host.dev_vhost_net == usability::missing ? "is not there"
                                                         : "user " + std::to_string(host.euid) + " may not open"),
           host.dev_vhost_net == usability::missing ? "modprobe vhost-net" : "chmod 666 /dev/vhost-net");
    return check_right(device, cap_net_admin, "CAP_NET_ADMIN", host, report);
  }
  const auto server = device_arguments(device, "server");
  if ((server.empty() || server.front() == "0") && !exists(path))
    refuse(report, vdev_word(device) + ",path=" + path + ": no such socket",
           "start the backend first, or add server=1 to wait for it here");
}

struct vdev_row {
  std::string_view driver;  // a prefix of the device's name
  void (*check)(std::string_view device, const machine& host, report_t& report);
};
constexpr std::array vdev_rows = std::to_array<vdev_row>({
    {"net_af_packet", check_af_packet},
    {"eth_af_packet", check_af_packet},
    {"net_af_xdp", check_af_packet},
    {"net_pcap", check_pcap},
    {"eth_pcap", check_pcap},
    {"net_tap", check_tap},
    {"net_virtio_user", check_virtio_user},
    {"virtio_user", check_virtio_user},
});

std::string nic_names(const machine& host) {
  std::string names;
  for (const pci_nic& nic : host.nics) {
    add_item(names, nic.address);
    if (!nic.interfaces.empty()) names += " (" + nic.interfaces.front() + ')';
  }
  return names.empty() ? "none" : names;
}

void check_vfio(const pci_nic& nic, const eal_vector& args, const machine& host, const eal_need& need,
                report_t& report) {
  const std::string word = "-a " + nic.address;
  if (host.dev_vfio == usability::missing)
    lack(report, word + " needs /dev/vfio/vfio, which is not there",
         "modprobe vfio-pci  (container: --device /dev/vfio)");
  if (nic.iommu_group < 0 && !host.vfio_noiommu)
    lack(report, word + ": this machine has no IOMMU in use, and VFIO wants one",
         "echo 1 > /sys/module/vfio/parameters/enable_unsafe_noiommu_mode  (or intel_iommu=on / amd_iommu=on for the "
         "kernel)");
  const std::string group = std::to_string(nic.iommu_group);
  if (nic.iommu_group >= 0 && nic.group_access == usability::denied)
    lack(report, word + ": user " + std::to_string(host.euid) + " may not open /dev/vfio/" + group,
         "chown " + std::to_string(host.euid) + " /dev/vfio/" + group);
  const std::uint64_t needed = hugepage_need_bytes(args, need, host.hugepage_bytes());
  if (host.memlock_bytes && *host.memlock_bytes < needed && !host.has_capability(cap_ipc_lock))
    lack(
        report,
        word + ": VFIO locks " + size_text(needed) + " of memory, `ulimit -l` allows " + size_text(*host.memlock_bytes),
        "ulimit -l unlimited  (systemd: LimitMEMLOCK=infinity)");
}

void check_nic(std::string_view device, const eal_vector& args, const machine& host, const eal_need& need,
               report_t& report) {
  const std::string address = full_pci_address(device_name(device));
  if (address.empty()) return;
  const auto& all = host.pci_addresses;
  if (std::find(all.begin(), all.end(), address) == all.end())
    return refuse(report, "-a " + address + ": there is no such PCI device; NICs are: " + nic_names(host),
                  "dpdk-devbind.py --status-dev net");
  const pci_nic* nic = host.find_nic(address);
  if (nic == nullptr || is_shared_driver(nic->driver)) return;
  if (is_userspace_driver(nic->driver)) {
    if (nic->driver == "vfio-pci") check_vfio(*nic, args, host, need, report);
    return;
  }
  std::string hint =
      std::string(host.vfio_loaded ? "" : "modprobe vfio-pci; ") + "dpdk-devbind.py --bind=vfio-pci " + address;
  std::string bound = nic->driver.empty() ? "is bound to no driver" : "is bound to the kernel's " + nic->driver;
  if (!nic->interfaces.empty()) {
    const network_interface* interface = host.find_interface(nic->interfaces.front());
    bound += " as " + nic->interfaces.front();
    if (interface != nullptr && interface->up) {
      bound += ", which is up and would go away";
      hint = "dpdk-devbind.py --status-dev net  shows the others; this one only if nobody needs " +
             nic->interfaces.front() + " any more: ip link set " + nic->interfaces.front() + " down; " + hint;
    }
  }
  lack(report, "-a " + address + ' ' + bound + "; DPDK needs vfio-pci", hint);
}

}  // namespace

std::string interface_names(const machine& host) {
  std::string names;
  for (const network_interface& interface : host.interfaces) add_item(names, interface.name);
  return names.empty() ? "none" : names;
}

bool is_shared_driver(std::string_view driver) noexcept {
  return driver == "mlx5_core" || driver == "mlx4_core" || driver == "mana";
}

bool is_userspace_driver(std::string_view driver) noexcept {
  return driver == "vfio-pci" || driver == "uio_pci_generic" || driver == "igb_uio";
}

void check_devices(const eal_vector& complete, const machine& host, const eal_need& need, preflight_report& report) {
  for (const std::string_view device : complete.values("--vdev"))
    for (const vdev_row& row : vdev_rows)
      if (device_name(device).starts_with(row.driver)) {
        row.check(device, host, report);
        break;
      }
  for (const std::string_view device : complete.values("-a")) check_nic(device, complete, host, need, report);
}

}  // namespace millrace::env
