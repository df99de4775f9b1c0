// env/eal_complete.hpp - an EAL vector with everything added that the caller left out.
//
// Shape    complete_eal_args() is pure: what was given, what the machine has, what the role needs. Added, each only
//          when the caller chose nothing on that subject:
//            lcores        -l with the CPUs this process may run on
//            bus           --no-pci when a vdev is given and no -a
//            memory        --in-memory when free hugepages cover the need; else --no-huge and -m N.  A caller who chose
//                          hugepages in files (--huge-dir, --legacy-mem) gets --huge-unlink: a killed run leaves none
//            file prefix   millrace-PID, unless processes are to share (--proc-type)
//            log           --log-level=warning
// Errors   choices that exclude each other, as find_conflict() words them.
// Source   design.md, Command line; DPDK 22.11 EAL parameters. Tests  test/env/eal_complete_test.cpp
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "env/eal_args.hpp"
#include "env/machine.hpp"

namespace millrace::env {

// EAL's own: heap headers, memzones, the vdevs' rings and private data.
inline constexpr std::uint64_t eal_overhead_bytes = 32u << 20;
// EAL's highest lcore plus one, as Debian builds it (RTE_MAX_LCORE).
inline constexpr unsigned max_lcores = 128;

struct eal_need {
  std::uint64_t memory_bytes = 0;  // pools and tables of the role, without EAL's overhead
  std::int64_t pid = 0;            // of this process
};

[[nodiscard]] base::result<eal_vector> complete_eal_args(eal_vector given, const machine& host, const eal_need& need);

// What the vector makes EAL map: hugepages in files, hugepages without, or plain pages.
enum class memory_kind : std::uint8_t { undecided, huge_files, in_memory, no_huge };
[[nodiscard]] memory_kind memory_kind_of(const eal_vector& given) noexcept;

// Hugepage memory the need comes to, in bytes: rounded up to whole pages of `page_bytes`.
[[nodiscard]] std::uint64_t hugepage_need_bytes(const eal_vector& given, const eal_need& need,
                                                std::uint64_t page_bytes) noexcept;
// The N of `--no-huge -m N`. Without hugepages a pool's objects do not cross 4 KiB pages: a 2.4 KB mbuf takes one
// whole, so the need counts almost twice. Pages that are not touched cost nothing.
[[nodiscard]] std::uint64_t no_huge_megabytes(const eal_need& need) noexcept;

// CPUs of the vector's lcores, and the lcores; nullopt when -l, -c or --lcores cannot be read.
[[nodiscard]] std::optional<lcore_map> chosen_lcores(const eal_vector& given);

[[nodiscard]] std::string own_file_prefix(std::int64_t pid);

}  // namespace millrace::env
