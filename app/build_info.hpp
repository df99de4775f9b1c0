// app/build_info.hpp - what was built and where it runs, as every result states it.
#pragma once

#include "app/result_json.hpp"

namespace millrace::app {

// `hugepages`: env::eal::hugepages() of the running EAL; false without one. Reads /proc/cpuinfo and asks IPsec-MB and
// DPDK; a fact that cannot be had is an empty string, which the result leaves out.
[[nodiscard]] build_facts build_info(bool hugepages);

}  // namespace millrace::app
