#include "env/eal_report.hpp"

#include <errno.h>
#include <string.h>

#include <algorithm>
#include <array>

#include "env/text_file.hpp"

namespace millrace::env {
namespace {

constexpr std::size_t lines_shown = 6;

// Said by every start, or followed by a line that says it better.
constexpr std::array noise = std::to_array<std::string_view>({
    "Detected CPU lcores",
    "Detected NUMA nodes",
    "Detected shared linkage",
    "Detected static linkage",
    "Multi-process socket",
    "Selected IOVA mode",
    "VFIO support initialized",
    "No available 1048576 kB hugepages reported",
    "No free 1048576 kB hugepages reported",
    "hugepages of size 1073741824 reserved, but no mounted hugetlbfs found",
    "TELEMETRY: No legacy callbacks",
    "Physical addresses are unavailable, selecting IOVA as VA mode",
    "Static memory layout is selected",
    "Unregistering with invalid input parameter",
    "Error - exiting with code",
    "Invalid 'command line' arguments",
    // net_tap without the kernel's multiq scheduler: rte_flow is off, which nothing here uses.
    "tap_nl_dump_ext_ack",
    "qdisc_create_multiq",
    "failed to create multiq qdisc",
    "Disabling rte flow support",
});

struct cause {
  std::string_view text;
  std::string_view hint;
  bool unusable;
};

constexpr std::array causes = std::to_array<cause>({
    {"Cannot create lock on", "another process has this --file-prefix: end it, or give this one its own", false},
    {"Cannot get hugepage information", "echo 256 > /proc/sys/vm/nr_hugepages  (or run with --no-huge)", false},
    {"Not enough memory available", "echo 512 > /proc/sys/vm/nr_hugepages  (or ask less with -m)", false},
    {"Cannot init memory", "millrace -- doctor  says what memory there is", false},
    {"failed to parse device", "no driver of that name: vdevs are net_ring0, net_tap0, net_af_packet0, net_pcap0 ...",
     true},
    {"Invalid 'command line' arguments", "", true},
    {"VFIO group is not viable", "every device of its IOMMU group must be bound to vfio-pci: dpdk-devbind.py --status",
     false},
    {"Cannot open /dev/vfio", "give this user the group's device node: chown $USER /dev/vfio/*", false},
    {"Permission denied", "millrace -- doctor  says what this user may not do", false},
});

bool is_noise(std::string_view line) noexcept {
  return std::any_of(noise.begin(), noise.end(),
                     [&](std::string_view n) { return line.find(n) != std::string_view::npos; });
}

}  // namespace

std::vector<std::string> meaningful_lines(std::string_view text) {
  std::vector<std::string> lines;
  for (std::string_view line : split(text, '\n')) {
    line = trim(line);
    for (const std::string_view prefix : {"EAL: ", "FATAL: "})
      if (line.starts_with(prefix)) line.remove_prefix(prefix.size());
    if (line.empty() || is_noise(line)) continue;
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.emplace_back(line);
  }
  return lines;
}

base::failure explain_eal_failure(std::string_view text, int error) {
  const std::vector<std::string> lines = meaningful_lines(text);
  base::failure why;
  why.what = "EAL did not start";
  if (error != 0) why.what += std::string(" (") + ::strerror(error) + ")";
  for (std::size_t i = 0; i < std::min(lines.size(), lines_shown); ++i) why.what += (i == 0 ? ": " : "; ") + lines[i];
  why.unusable = error == EINVAL || error == ENODEV;
  for (const cause& known : causes) {
    if (text.find(known.text) == std::string_view::npos) continue;
    why.hint = known.hint;
    why.unusable = known.unusable;
    break;
  }
  return why;
}

}  // namespace millrace::env
