#include <stdlib.h>

#include <algorithm>

#include "env/machine_parts.hpp"
#include "env/text_file.hpp"

namespace millrace::env {
namespace {

// "0000:03:00.0"
bool is_pci_address(std::string_view text) noexcept {
  constexpr std::string_view hex = "0123456789abcdef";
  if (text.size() < 12) return false;  // domains of virtual host bridges have more than four digits
  const std::string_view tail = text.substr(text.size() - 7);
  const std::string_view domain = text.substr(0, text.size() - 8);
  return text[text.size() - 8] == ':' && tail[2] == ':' && tail[5] == '.' &&
         domain.find_first_not_of(hex) == std::string_view::npos &&
         (std::string(tail.substr(0, 2)) + std::string(tail.substr(3, 2)) + tail[6]).find_first_not_of(hex) ==
             std::string::npos;
}

// The device nearest to the interface on the way up: virtio devices hang below their PCI device.
std::string pci_address_above(const std::string& link) {
  char* path = ::realpath(link.c_str(), nullptr);
  if (path == nullptr) return {};
  std::string nearest;
  for (const std::string_view component : split(path, '/'))
    if (is_pci_address(component)) nearest = component;
  ::free(path);
  return nearest;
}

int read_node(const std::string& path) {
  const std::string text = read_line(path);  // "-1" when the firmware names none
  const auto number = parse_number(text);
  return number && *number < 1024 ? static_cast<int>(*number) : -1;
}

// "0x8086" is "8086"
std::string hex_id(const std::string& path) {
  const std::string text = read_line(path);
  return text.starts_with("0x") ? text.substr(2) : text;
}

void read_interfaces(const std::string& root, machine& host) {
  const std::string net = root + "/sys/class/net/";
  for (const std::string& name : list_dir(net)) {
    const std::string dir = net + name;
    if (!is_directory(dir)) continue;  // bonding_masters is a file
    network_interface found;
    found.name = name;
    found.driver = link_name(dir + "/device/driver");
    found.pci_address = pci_address_above(dir + "/device");
    found.node = read_node(dir + "/device/numa_node");
    found.up = (read_number(dir + "/flags").value_or(0) & 1) != 0;  // IFF_UP
    found.mtu = static_cast<unsigned>(read_number(dir + "/mtu").value_or(0));
    host.interfaces.push_back(std::move(found));
  }
}

// What keeps VFIO from giving out the group of `nic`: its other devices, but for bridges and what VFIO has or nobody.
std::vector<std::string> holders_of_group(const std::string& root, const pci_nic& nic) {
  std::vector<std::string> holders;
  const std::string devices = root + "/sys/kernel/iommu_groups/" + std::to_string(nic.iommu_group) + "/devices/";
  for (const std::string& address : list_dir(devices)) {
    const std::string dir = root + "/sys/bus/pci/devices/" + address;
    const std::string driver = link_name(dir + "/driver");
    const bool bridge = read_line(dir + "/class").starts_with("0x06");  // PCI class 06: they stay where they are
    if (address == nic.address || bridge || driver.empty() || driver == "vfio-pci" || driver == "pci-stub") continue;
    holders.push_back(address + " (" + driver + ')');
  }
  return holders;
}

void read_nics(const std::string& root, machine& host) {
  const std::string devices = root + "/sys/bus/pci/devices/";
  for (const std::string& address : list_dir(devices)) {
    const std::string dir = devices + address;
    host.pci_addresses.push_back(address);
    if (!read_line(dir + "/class").starts_with("0x02")) continue;  // PCI class 02: network controller
    pci_nic nic;
    nic.address = address;
    nic.id = hex_id(dir + "/vendor") + ':' + hex_id(dir + "/device");
    nic.driver = link_name(dir + "/driver");
    nic.node = read_node(dir + "/numa_node");
    const auto group = parse_number(link_name(dir + "/iommu_group"));
    if (group && *group < 1'000'000) {
      nic.iommu_group = static_cast<int>(*group);
      nic.group_access = access_of(root + "/dev/vfio/" + std::to_string(*group));
      if (nic.group_access == usability::missing)
        nic.group_access = access_of(root + "/dev/vfio/noiommu-" + std::to_string(*group));
      nic.group_holders = holders_of_group(root, nic);
    }
    for (const network_interface& interface : host.interfaces)
      if (interface.pci_address == address) nic.interfaces.push_back(interface.name);
    host.nics.push_back(std::move(nic));
  }
}

}  // namespace

void read_devices(const std::string& root, machine& host) {
  read_interfaces(root, host);
  read_nics(root, host);
  host.iommu_groups = list_dir(root + "/sys/kernel/iommu_groups").size();
  host.vfio_loaded = is_directory(root + "/sys/module/vfio_pci");
  host.vfio_noiommu = read_line(root + "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode") == "Y";
  for (const char* module : {"uio_pci_generic", "igb_uio"})
    if (is_directory(root + "/sys/module/" + module)) host.uio.emplace_back(module);
  host.dev_vfio = access_of(root + "/dev/vfio/vfio");
  host.dev_tun = access_of(root + "/dev/net/tun");
  host.dev_vhost_net = access_of(root + "/dev/vhost-net");
}

}  // namespace millrace::env
