#include "env/dpdk_version.hpp"

#include <rte_version.h>

#include <string_view>

namespace millrace::env {

std::string dpdk_version() {
  constexpr std::string_view prefix = "DPDK ";
  std::string_view text = rte_version();  // "DPDK 22.11.7"
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  return std::string(text);
}

}  // namespace millrace::env
