// app/doctor.hpp - what `millrace -- doctor` knows: one line per subject, each with the command that mends it.
//
// Shape    examine() judges plain data (machine, facts) and touches nothing, so that tests build machines of their own.
//          ok: as it should be, or not needed here.  warn: millrace runs, but slower, or not on a NIC.
//          missing: a run that was asked for cannot start; of the loopback profile when `stops_loopback`.
// Source   docs/command-line.md. Tests  test/app/doctor_test.cpp
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/role.hpp"
#include "env/machine.hpp"
#include "env/preflight.hpp"
#include "env/runtime_dir.hpp"

namespace millrace::app {

enum class health : std::uint8_t { ok, warn, missing };
[[nodiscard]] std::string_view to_string(health state) noexcept;

struct finding {
  health state = health::ok;
  std::string_view area;  // of static storage
  std::string text;
  std::string command;  // empty when there is nothing to type
  bool stops_loopback = false;
};

// What examine() needs besides the machine.
struct doctor_facts {
  std::string dpdk;
  std::string ipsec_mb;
  std::string ipsec_mb_arch;  // empty: IPsec-MB does not start on this CPU
  std::string clock_source;   // the kernel's; empty: unknown
  std::vector<env::leftover> leftovers;
  bool asked = false;  // EAL arguments were given: `arguments` is what preflight said to them
  env::preflight_report arguments;
};

[[nodiscard]] std::vector<finding> examine(const env::machine& host, const doctor_facts& facts);

[[nodiscard]] bool loopback_works(const std::vector<finding>& findings) noexcept;

}  // namespace millrace::app
