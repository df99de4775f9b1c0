// env/preflight.hpp - a finished EAL vector held against the machine, before EAL sees it.
//
// Shape    pure but for files that devices name (a capture, a socket), which are looked at. Every failure says what was
//          asked, what exists, and the command that mends it; every note is true, worth knowing and no obstacle.
// Errors   `unusable` where the argument names what is not there (an lcore, an interface, a file); otherwise the
//          machine lacks something (hugepages, rights), which the run fails for. The most telling failure stands first.
// Threads  control code.
// Source   reference: EAL parameters of DPDK 22.11, the vdev guides. Tests  test/env/preflight_test.cpp
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "env/eal_args.hpp"
#include "env/eal_complete.hpp"
#include "env/machine.hpp"

namespace millrace::env {

struct preflight_report {
  std::vector<base::failure> failures;
  std::vector<std::string> notes;
};

[[nodiscard]] preflight_report preflight(const eal_vector& complete, const machine& host, const eal_need& need);

// The parts of it.
void check_runtime_dir(const machine& host, preflight_report& report);
void check_prefix(const eal_vector& complete, preflight_report& report);
void check_lcores(const eal_vector& complete, const machine& host, preflight_report& report);
void check_memory(const eal_vector& complete, const machine& host, const eal_need& need, preflight_report& report);
void check_devices(const eal_vector& complete, const machine& host, const eal_need& need, preflight_report& report);

// "eth0, lo, veth1"
[[nodiscard]] std::string interface_names(const machine& host);

inline constexpr const char* runtime_dir_command = "export RUNTIME_DIRECTORY=$(mktemp -d)";

// Whether DPDK drives a NIC while the kernel's driver stays bound (mlx5 and its like).
[[nodiscard]] bool is_shared_driver(std::string_view driver) noexcept;
// Whether DPDK can take a NIC bound to it.
[[nodiscard]] bool is_userspace_driver(std::string_view driver) noexcept;

// "echo 256 > ..." for so many more pages of that size; `node` -1 is the kernel's choice.
[[nodiscard]] std::string hugepage_command(const machine& host, std::uint64_t page_bytes, int node,
                                           std::uint64_t more_pages);

}  // namespace millrace::env
