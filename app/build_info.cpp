#include "app/build_info.hpp"

#include <algorithm>
#include <fstream>

#include "crypto/engine.hpp"
#include "env/dpdk_version.hpp"

namespace millrace::app {
namespace {

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

// "model name : AMD EPYC ..." of the first processor, without the padding some vendors leave.
std::string cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t begin = line.find_first_not_of(" \t", std::min(line.find(':'), line.size() - 1) + 1);
    if (begin == std::string::npos) return {};
    return line.substr(begin, line.find_last_not_of(" \t") + 1 - begin);
  }
  return {};
}

std::string ipsec_mb_architecture() {
  const auto engine = crypto::engine::make();
  return engine ? std::string(engine->architecture()) : std::string();
}

}  // namespace

build_facts build_info(bool hugepages) {
  return {compiler(), cpu_model(), ipsec_mb_architecture(), env::dpdk_version(), hugepages};
}

}  // namespace millrace::app
