// net/path_mtu.hpp - destinations whose path carries less than the link.
//
// Shape    a bounded table; what is not in it has the link's MTU. Entries only shrink while they live, and end by time:
//          then the link's MTU is tried again.
// Units    bytes of IP packet; ns.
// Limits   host_limits.path_mtus entries; of a full table the one that ends first of the next few gives way.
// Errors   none. Threads  one lcore.
// Source   RFC 1191 3, 6.3, 7.1, RFC 8201 4. Tests  test/net/tables_test.cpp
#pragma once

#include "base/hash_index.hpp"
#include "mem/region.hpp"
#include "net/host_config.hpp"

namespace millrace::net {

class path_mtus {
 public:
  struct entry {
    base::ip_address dst;
    std::uint16_t mtu = 0;
    bool below_least = false;  // IPv4: less than min_path_mtu_v4 was said: "don't fragment" must not be set
    std::uint32_t hash = 0;
    std::uint64_t ends_ns = 0;
  };

  path_mtus(const host_limits& limits, std::uint64_t seed) noexcept;
  [[nodiscard]] explicit operator bool() const noexcept { return ready_; }

  // nullptr: the link's.
  [[nodiscard]] const entry* find(const base::ip_address& dst, std::uint64_t now) const noexcept {
    return used_ == 0 ? nullptr : find_slowly(dst, now);
  }
  // A router said so, for a packet of `packet_size` bytes. False: it says nothing new, or what cannot be.
  bool on_report(const base::ip_address& dst, std::uint32_t mtu, std::uint32_t packet_size, std::uint64_t now) noexcept;

  [[nodiscard]] std::uint32_t size() const noexcept { return used_; }

 private:
  host_limits limits_;
  std::uint64_t seed_;
  bool ready_ = false;
  mem::region entries_memory_;
  mem::region index_memory_;
  std::span<entry> entries_;
  base::hash_index index_;
  std::uint32_t used_ = 0;
  std::uint32_t hand_ = 0;

  [[nodiscard]] std::uint32_t hash_of(const base::ip_address& dst) const noexcept;
  [[nodiscard]] const entry* find_slowly(const base::ip_address& dst, std::uint64_t now) const noexcept;
  [[nodiscard]] entry& obtain(const base::ip_address& dst) noexcept;
};

}  // namespace millrace::net
