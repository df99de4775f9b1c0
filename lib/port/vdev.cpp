#include "port/vdev.hpp"

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>

namespace millrace::port {

base::result<vdev> vdev::attach(const std::string& name, const std::string& arguments) {
  const std::string asked = name + (arguments.empty() ? "" : "," + arguments);
  if (const int answer = rte_eal_hotplug_add("vdev", name.c_str(), arguments.c_str()); answer != 0)
    return base::failure{"cannot attach " + asked + ": " + rte_strerror(-answer), ""};
  std::uint16_t id = 0;
  if (const int answer = rte_eth_dev_get_port_by_name(name.c_str(), &id); answer != 0) {
    rte_eal_hotplug_remove("vdev", name.c_str());
    return base::failure{asked + " is no network port", ""};
  }
  return vdev{name, id};
}

vdev::~vdev() {
  if (!name_.empty()) rte_eal_hotplug_remove("vdev", name_.c_str());
}

}  // namespace millrace::port
