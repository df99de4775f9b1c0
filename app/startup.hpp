// app/startup.hpp - from what the caller typed to a running EAL: completed arguments, preflight, start.
#pragma once

#include <cstddef>

#include "app/role.hpp"
#include "base/result.hpp"
#include "env/eal.hpp"
#include "env/eal_args.hpp"

namespace millrace::app {

struct eal_wish {
  std::size_t memory_bytes = 0;           // pools and tables the role will make, without EAL's own overhead
  std::vector<std::string> default_args;  // used when the caller gave no EAL args, e.g. the loopback profile's
  std::vector<std::string> role_args;     // always added, e.g. --vdev=net_pcap0,rx_pcap=FILE
  bool verbose = false;                   // print the effective vector
};

// How many lcores EAL will have by these arguments; by this machine's CPUs where they say nothing. At least 1.
unsigned expected_lcores(const env::eal_vector& given);
unsigned expected_lcores(const invocation& call);

// Lets this process open as many files as it may. A failure when that is too few: EAL ends the process when it cannot
// open a pipe, and every port and thread opens some.
base::outcome raise_descriptor_limit();

// Completes the vector as design says (memory, file prefix, --no-pci, lcores), checks it against the machine before
// EAL sees it, and starts EAL. With several failures the others are printed on stderr before the answer.
base::result<env::eal> start_eal(const invocation& call, const eal_wish& wish);

// The words of a profile of ours, for eal_wish::default_args; searched as @NAME is.
base::result<std::vector<std::string>> profile_args(std::string_view name);

// Prints a failure on stderr and answers its exit status. Of unusable arguments (2): "millrace: WHAT" and, indented,
// the hint. Of a failed run (1) one line with both, because the last line on stderr says what failed.
int report(const base::failure& why);

}  // namespace millrace::app
