// port/vdev.hpp - virtual devices that come and go while EAL runs.
//
// Shape    attach() plugs one in, as --vdev does at start; the object's end unplugs it. Close the port first.
// Owner    the object; move-only.
// Errors   attach(): a failure with the driver's answer. A comma in a path breaks a vdev's arguments: the caller
// checks. Threads  control code. Tests    test/port/port_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/result.hpp"

namespace millrace::port {

class vdev {
  std::string name_;
  std::uint16_t port_id_ = 0;

  vdev(std::string name, std::uint16_t port_id) noexcept : name_(std::move(name)), port_id_(port_id) {}

 public:
  vdev(vdev&& other) noexcept : name_(std::exchange(other.name_, {})), port_id_(other.port_id_) {}
  vdev& operator=(vdev&&) = delete;
  ~vdev();

  // name "net_pcap3", arguments "rx_pcap=FILE" (may be empty).
  [[nodiscard]] static base::result<vdev> attach(const std::string& name, const std::string& arguments);
  [[nodiscard]] std::uint16_t port_id() const noexcept { return port_id_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
};

}  // namespace millrace::port
