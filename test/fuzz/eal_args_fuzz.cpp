// Any words as an EAL vector: reading its own output changes nothing, completion contradicts nobody, preflight
// survives.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "env/preflight.hpp"

namespace {

using namespace millrace;

void require(bool holds) {
  if (!holds) std::abort();
}

env::machine small_machine() {
  env::machine host;
  host.online = host.affinity = {0, 1};
  host.nodes = {{0, {0, 1}}};
  host.hugepages = {{2u << 20, 0, 64, 64}};
  host.hugetlbfs = {{"/dev/hugepages", 2u << 20, true, {}}};
  host.pci_addresses = {"0000:03:00.0"};
  host.nics = {{"0000:03:00.0", "8086:1572", "vfio-pci", 0, 1, env::usability::usable, {}}};
  host.interfaces = {{"lo", "", "", -1, true, 65536}};
  return host;
}

}  // namespace

// Words are separated by newlines.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const env::machine host = small_machine();
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < size; ++i) {
    if (data[i] == '\n')
      words.emplace_back();
    else if (data[i] != 0)  // an argument cannot hold it
      words.back() += static_cast<char>(data[i]);
  }
  const auto vector = env::eal_vector::parse(words);
  if (!vector) {
    require(vector.error().unusable && !vector.error().what.empty());
    return 0;
  }
  const std::vector<std::string> args = vector.value().args();
  const auto again = env::eal_vector::parse(args);
  require(static_cast<bool>(again) && again.value().args() == args);
  require(args.size() <= 2 * words.size());
  static_cast<void>(env::shell_line(args));

  const env::eal_need need{1u << 20, 77};
  const auto complete = env::complete_eal_args(vector.value(), host, need);
  if (!complete) return 0;
  require(!(complete.value().has("--no-huge") && complete.value().has("--in-memory")));
  require(!env::find_conflict(complete.value()));
  for (const base::failure& failure : env::preflight(complete.value(), host, need).failures)
    require(!failure.what.empty() && failure.what.find('\0') == std::string::npos);
  return 0;
}
