// env/machine_parts.hpp - the passes read_machine() is made of; for the files of this room only.
#pragma once

#include <string>

#include "env/machine.hpp"

namespace millrace::env {

void read_memory(const std::string& root,
                 machine& host);  // hugepages, hugetlbfs, memory, what the control group allows
void read_devices(const std::string& root, machine& host);  // NICs, interfaces, IOMMU, vfio and uio, /dev nodes

// Whether this process may read and write `path`.
[[nodiscard]] usability access_of(const std::string& path);

}  // namespace millrace::env
