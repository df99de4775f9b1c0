// env/eal.hpp - the life of DPDK's environment in this process.
//
// Shape    eal::start() runs rte_eal_init on a finished argument vector; the object's end runs rte_eal_cleanup and
//          removes the run-time directory. EAL starts once a process: a second start() is a failure.
// Owner    whoever holds it; move-only. Errors  failure with what EAL said and what to type.
// Tests    test/env/eal_test.cpp
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace millrace::env {

class eal {
  bool running_ = false;
  std::string runtime_dir_;  // empty: not ours to remove
  std::vector<std::string> messages_;

  eal() = default;

 public:
  eal(eal&& other) noexcept;
  eal& operator=(eal&&) = delete;
  ~eal();

  // `args` without argv[0]. What EAL and its drivers write meanwhile is kept in messages(), or told in the failure.
  [[nodiscard]] static base::result<eal> start(std::span<const std::string> args);

  [[nodiscard]] unsigned main_lcore() const noexcept;
  [[nodiscard]] std::vector<unsigned> worker_lcores() const;  // ascending; empty when the main lcore is alone
  [[nodiscard]] bool hugepages() const noexcept;
  // Lines written during start() that an operator should see; usually none.
  [[nodiscard]] const std::vector<std::string>& messages() const noexcept { return messages_; }
};

}  // namespace millrace::env
