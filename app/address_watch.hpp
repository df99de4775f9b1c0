// app/address_watch.hpp - tells the control thread when a loop's addresses have become its own.
//
// Shape    a udp_service without a port: on its loop's lcore it looks at the hosts' addresses every few milliseconds
//          until none is tentative, and leaves the result where other threads may read it.
// Limits   the loop's interfaces; an interface's addresses, of which there are at most net::max_addresses.
// Threads  written by its lcore, read from anywhere. Tests  test/app/appliance_test.cpp
#pragma once

#include <array>
#include <atomic>

#include "pipeline/service_loop.hpp"

namespace millrace::app {

class address_watch final : public pipeline::udp_service {
  static constexpr std::uint64_t look_every_ns = 10'000'000;

  std::uint64_t due_ns_ = 0;
  std::atomic<bool> settled_{false};
  // A bit an address, in the order of net::host::addresses(): somebody else has it.
  std::array<std::atomic<std::uint32_t>, pipeline::service_loop::max_interfaces> duplicates_{};
  static_assert(net::max_addresses <= 32);

 public:
  void on_datagrams(std::span<const pipeline::udp_arrival>, pipeline::service_turn&) noexcept override {}
  [[nodiscard]] std::uint64_t due_ns() const noexcept override { return due_ns_; }

  void on_time(pipeline::service_turn& turn) noexcept override {
    bool tentative = false;
    for (std::size_t i = 0; i < turn.outputs.size(); ++i) {
      const net::local_addresses& addresses = turn.outputs[i]->host().addresses();
      std::uint32_t duplicates = 0;
      for (std::size_t a = 0; a < addresses.size(); ++a) {
        tentative |= addresses[a].state == net::address_state::tentative;
        duplicates |= (addresses[a].state == net::address_state::duplicate ? 1u : 0u) << a;
      }
      duplicates_[i].store(duplicates, std::memory_order_relaxed);
    }
    if (!tentative) settled_.store(true, std::memory_order_release);
    due_ns_ = tentative ? turn.now_ns + look_every_ns : pipeline::never_ns;
  }

  [[nodiscard]] bool is_settled() const noexcept { return settled_.load(std::memory_order_acquire); }
  // Once settled. `address`: as the interface's configuration numbers them.
  [[nodiscard]] bool is_duplicate(std::size_t interface, std::size_t address) const noexcept {
    return (duplicates_[interface].load(std::memory_order_relaxed) >> address & 1) != 0;
  }
};

}  // namespace millrace::app
