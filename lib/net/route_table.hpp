// net/route_table.hpp - which neighbour a packet goes to: the longest prefix that holds its destination.
//
// Shape    filled at start, then only read. Few routes: they stand in an array, longest first, and the first that
//          matches is the answer.
// Errors   add(): false beyond max_routes. find(): nullptr when no route holds the destination.
// Threads  readers without limit once filled.
// Source   RFC 1122 3.3.1, RFC 1812 5.2.4.3 (longest match). Tests  test/net/tables_test.cpp
#pragma once

#include <array>

#include "net/host_config.hpp"

namespace millrace::net {

class route_table {
 public:
  struct route {
    std::uint64_t mask[2] = {};  // as the CPU loads the octets
    std::uint64_t bits[2] = {};
    base::ip_family family = base::ip_family::none;
    std::uint8_t length = 0;
    base::ip_address gateway;  // family none: on the link
  };

  [[nodiscard]] bool add(const host_route& what) noexcept;
  [[nodiscard]] const route* find(const base::ip_address& dst) const noexcept {
    const std::uint64_t low = base::load_le64(dst.octets.data());
    const std::uint64_t high = base::load_le64(dst.octets.data() + 8);
    for (std::size_t i = 0; i < size_; ++i) {
      const route& r = routes_[i];
      if ((low & r.mask[0]) == r.bits[0] && (high & r.mask[1]) == r.bits[1] && r.family == dst.family) return &r;
    }
    return nullptr;
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::size_t size_ = 0;
  std::array<route, max_routes> routes_;
};

}  // namespace millrace::net
