// env/dpdk_version.hpp - which DPDK this process runs on.
//
// Shape    the version of the shared library that was loaded ("22.11.7"), which may be newer than the one compiled
//          against. Needs no running EAL.
// Tests    test/app/build_info_test.cpp
#pragma once

#include <string>

namespace millrace::env {

[[nodiscard]] std::string dpdk_version();

}  // namespace millrace::env
