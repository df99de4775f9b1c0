#include "env/eal_complete.hpp"

#include <algorithm>

namespace millrace::env {
namespace {

bool has_any(const eal_vector& given, std::initializer_list<std::string_view> names) noexcept {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) { return given.has(name); });
}

void complete_lcores(eal_vector& args, const machine& host) {
  if (has_any(args, {"-l", "-c", "--lcores"})) return;
  cpu_list cpus;
  for (const unsigned cpu : host.affinity)
    if (cpu < max_lcores && (host.online.empty() || contains(host.online, cpu))) cpus.push_back(cpu);
  // With nothing known (no /proc), EAL's own detection is as good.
  if (!cpus.empty()) args.set("-l", format_cpu_list(cpus));
}

// Words that only make sense with hugepages, yet leave open how these are mapped.
bool wants_hugepages(const eal_vector& given) noexcept {
  return has_any(given, {"--socket-mem", "--socket-limit", "--single-file-segments", "--match-allocations",
                         "--huge-worker-stack"});
}

void complete_memory(eal_vector& args, const machine& host, const eal_need& need) {
  memory_kind kind = memory_kind_of(args);
  if (kind == memory_kind::undecided) {
    const std::uint64_t needed = hugepage_need_bytes(args, need, host.hugepage_bytes());
    const bool enough = host.hugepage_bytes() != 0 && needed <= host.free_hugepage_bytes();
    kind = enough || wants_hugepages(args) ? memory_kind::in_memory : memory_kind::no_huge;
    args.set(kind == memory_kind::in_memory ? "--in-memory" : "--no-huge");
  }
  if (kind == memory_kind::no_huge && !args.has("-m")) args.set("-m", std::to_string(no_huge_megabytes(need)));
  // A secondary process maps what the primary made, so files must stay; growing segments need their file, too.
  if (kind == memory_kind::huge_files && !has_any(args, {"--huge-unlink", "--proc-type", "--single-file-segments"}))
    args.set("--huge-unlink", "always");
}

}  // namespace

base::result<eal_vector> complete_eal_args(eal_vector given, const machine& host, const eal_need& need) {
  if (const auto conflict = find_conflict(given)) return *conflict;
  complete_lcores(given, host);
  if (given.has("--vdev") && !has_any(given, {"-a", "-b", "--no-pci"})) given.set("--no-pci");
  complete_memory(given, host, need);
  if (!has_any(given, {"--file-prefix", "--proc-type"})) given.set("--file-prefix", own_file_prefix(need.pid));
  if (!given.has("--log-level")) given.set("--log-level", "warning");
  return given;
}

memory_kind memory_kind_of(const eal_vector& given) noexcept {
  if (given.has("--no-huge")) return memory_kind::no_huge;
  if (given.has("--in-memory")) return memory_kind::in_memory;
  if (has_any(given, {"--huge-dir", "--huge-unlink", "--legacy-mem", "--proc-type"})) return memory_kind::huge_files;
  return memory_kind::undecided;
}

std::uint64_t hugepage_need_bytes(const eal_vector& given, const eal_need& need, std::uint64_t page_bytes) noexcept {
  const std::uint64_t asked = asked_memory_bytes(given);
  // Objects do not cross pages either, but 2 MiB holds so many that an eighth covers the ends and the pools' headers.
  const std::uint64_t wanted = std::max(asked, need.memory_bytes + need.memory_bytes / 8 + eal_overhead_bytes);
  if (page_bytes == 0) return wanted;
  return (wanted + page_bytes - 1) / page_bytes * page_bytes;
}

std::uint64_t no_huge_megabytes(const eal_need& need) noexcept {
  return (need.memory_bytes * 2 + eal_overhead_bytes + (1u << 20) - 1) >> 20;
}

std::optional<lcore_map> chosen_lcores(const eal_vector& given) {
  if (const auto map = given.value("--lcores")) return parse_lcore_map(*map);
  std::optional<cpu_list> cpus;
  if (const auto list = given.value("-l")) cpus = parse_cpu_list(*list);
  if (const auto mask = given.value("-c")) cpus = parse_cpu_mask(*mask);
  if (!cpus) return std::nullopt;
  return lcore_map{*cpus, *cpus};
}

std::string own_file_prefix(std::int64_t pid) { return "millrace-" + std::to_string(pid); }

}  // namespace millrace::env
