#include <array>

#include "env/eal_args.hpp"

namespace millrace::env {
namespace {

struct conflict_row {
  std::string_view one;
  std::string_view other;
  std::string_view why;
};

// What EAL 22.11 refuses together, some of it only after it has begun to map memory.
constexpr std::array conflicts = std::to_array<conflict_row>({
    {"--no-huge", "--in-memory", "--in-memory keeps hugepages out of the file system, --no-huge has none to keep"},
    {"--no-huge", "--socket-mem", "without hugepages there is one piece of memory, sized with -m"},
    {"--no-huge", "--huge-unlink", "without hugepages there is no file to unlink"},
    {"--no-huge", "--huge-dir", "without hugepages there is no file to place"},
    {"--no-huge", "--huge-worker-stack", "there is no hugepage to place a stack in"},
    {"--no-huge", "--match-allocations", "it frees hugepages as they were allocated, and there are none"},
    {"--in-memory", "--legacy-mem", "legacy memory lives in hugetlbfs files"},
    {"--in-memory", "--huge-dir", "in-memory hugepages have no file"},
    {"--legacy-mem", "--match-allocations", "legacy memory is never given back"},
    {"--legacy-mem", "--socket-limit", "legacy memory never grows"},
    {"--single-file-segments", "--huge-unlink", "an unlinked file cannot grow a segment"},
    {"-a", "-b", "a list of allowed devices already blocks all others"},
    {"--telemetry", "--no-telemetry", "they say the opposite"},
});

base::failure excluded(std::string_view one, std::string_view other, std::string_view why) {
  return {std::string(one) + " and " + std::string(other) + " exclude each other: " + std::string(why),
          "leave one of them out", true};
}

}  // namespace

std::optional<base::failure> find_conflict(const eal_vector& given) {
  const auto unlink = given.value("--huge-unlink");
  const bool unlinks_always = unlink && unlink != "existing" && unlink != "never";
  for (const conflict_row& row : conflicts) {
    if (row.other == "--huge-unlink" && !unlinks_always) continue;  // only `always` changes how files are mapped
    if (given.has(row.one) && given.has(row.other)) return excluded(row.one, row.other, row.why);
  }
  if (given.has("--in-memory")) {
    if (unlink == "never")
      return excluded("--in-memory", "--huge-unlink=never", "in-memory hugepages have no file to keep");
    if (given.value("--proc-type").value_or("primary") != "primary")
      return excluded("--in-memory", "--proc-type=" + std::string(*given.value("--proc-type")),
                      "an in-memory process shares nothing with others");
  }
  if (given.has("--no-pci"))
    for (const std::string_view device : given.values("-a"))
      if (!full_pci_address(device_name(device)).empty())
        return excluded("--no-pci", "-a " + std::string(device), "the first closes the bus the second is on");
  return std::nullopt;
}

}  // namespace millrace::env
