#include "net/route_table.hpp"

namespace millrace::net {

bool route_table::add(const host_route& what) noexcept {
  if (size_ == routes_.size() || what.prefix.family == base::ip_family::none) return false;
  route r;
  r.family = what.prefix.family;
  r.length = what.prefix_length;
  r.gateway = what.gateway;
  base::ip_address ones;
  ones.family = r.family;
  ones = wire::last_of_prefix(ones, 0);
  const base::ip_address mask = wire::first_of_prefix(ones, r.length);
  const base::ip_address bits = wire::first_of_prefix(what.prefix, r.length);
  for (std::size_t half = 0; half < 2; ++half) {
    r.mask[half] = base::load_le64(mask.octets.data() + half * 8);
    r.bits[half] = base::load_le64(bits.octets.data() + half * 8);
  }
  // Behind all that are as long: of two equal routes the first given wins.
  std::size_t at = size_;
  for (; at > 0 && routes_[at - 1].length < r.length; --at) routes_[at] = routes_[at - 1];
  routes_[at] = r;
  ++size_;
  return true;
}

}  // namespace millrace::net
