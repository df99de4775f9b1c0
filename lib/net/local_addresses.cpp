#include "net/local_addresses.hpp"

#include <algorithm>

namespace millrace::net {

using base::ip_address;
using base::ip_family;

bool local_addresses::add(const host_address& what) noexcept {
  if (size_ == max_addresses) return false;
  local_address a;
  a.ip = what.address;
  a.prefix_length = what.prefix_length;
  a.state = address_state::tentative;
  a.due_ns = never;
  if (what.address.family == ip_family::v6) a.group = wire::solicited_node(what.address);
  if (what.address.family == ip_family::v4 && what.prefix_length < 31) {  // RFC 3021 2.2
    const ip_address broadcast = wire::last_of_prefix(what.address, what.prefix_length);
    broadcasts_[broadcast_count_++] = base::load_le32(broadcast.octets.data());
  }
  keys_[size_] = {base::load_le64(a.ip.octets.data()), base::load_le64(a.ip.octets.data() + 8), a.ip.family};
  items_[size_++] = a;
  return true;
}

void local_addresses::start(std::uint8_t dad_transmits, bool announce, std::uint64_t now) noexcept {
  for (std::size_t i = 0; i < size_; ++i) {
    local_address& a = items_[i];
    const bool detect = a.ip.family == ip_family::v6 && dad_transmits != 0;
    a.state = detect ? address_state::tentative : address_state::ours;
    a.probes = detect ? dad_transmits : std::uint8_t{0};
    a.announces = announce ? announces_at_start : std::uint8_t{0};
    a.due_ns = detect || announce ? now : never;
  }
}

bool local_addresses::is_group(const ip_address& v6) const noexcept {
  if (v6.family != ip_family::v6) return false;
  bool any = false;
  for (std::size_t i = 0; i < size_; ++i) {
    if (items_[i].group == v6) return true;
    any |= items_[i].ip.family == ip_family::v6;
  }
  return any && v6 == wire::all_nodes();
}

bool local_addresses::is_group_mac(const wire::mac_address& mac) const noexcept {
  for (std::size_t i = 0; i < size_; ++i)
    if (items_[i].ip.family == ip_family::v6 &&
        (mac == wire::multicast_mac(items_[i].group) || mac == wire::multicast_mac(wire::all_nodes())))
      return true;
  return false;
}

bool local_addresses::is_on_link(const ip_address& ip) const noexcept {
  for (std::size_t i = 0; i < size_; ++i)
    if (wire::is_in_prefix(ip, items_[i].ip, items_[i].prefix_length)) return true;
  return false;
}

// RFC 6724 5 cut down to what one interface needs: usable, then the same scope, then the longest common prefix of ours.
const local_address* local_addresses::source_for(const ip_address& dst) const noexcept {
  const bool local_scope = wire::is_link_local(dst) || (wire::is_multicast(dst) && (dst.octets[1] & 0x0F) == 2);
  const local_address* best = nullptr;
  int best_rank = -1;
  for (std::size_t i = 0; i < size_; ++i) {
    const local_address& a = items_[i];
    if (a.ip.family != dst.family || a.state != address_state::ours) continue;
    const bool same_scope = a.ip.family == ip_family::v4 || wire::is_link_local(a.ip) == local_scope;
    const bool same_prefix = wire::is_in_prefix(dst, a.ip, a.prefix_length);
    const int rank = (same_scope ? 2 : 0) + (same_prefix ? 1 : 0);
    if (rank <= best_rank) continue;
    best = &a;
    best_rank = rank;
  }
  return best;
}

void local_addresses::on_duplicate(std::size_t i) noexcept {
  items_[i].state = address_state::duplicate;
  items_[i].due_ns = never;
}

bool local_addresses::defend(std::size_t i, std::uint64_t now) noexcept {
  local_address& a = items_[i];
  if (a.defended_ns != 0 && now - a.defended_ns < defend_wait_ns) return false;
  a.defended_ns = now == 0 ? 1 : now;
  return true;
}

address_task local_addresses::poll(std::uint64_t now, std::size_t& which) noexcept {
  for (std::size_t i = 0; i < size_; ++i) {
    local_address& a = items_[i];
    if (a.due_ns > now) continue;
    which = i;
    if (a.state == address_state::tentative && a.probes != 0) {
      --a.probes;
      a.due_ns = now + probe_wait_ns;
      return address_task::probe;
    }
    a.state = address_state::ours;  // RFC 4862 5.4: nobody objected
    if (a.announces == 0) {
      a.due_ns = never;
      continue;
    }
    --a.announces;
    a.due_ns = a.announces == 0 ? never : now + announce_wait_ns;
    return address_task::announce;
  }
  return address_task::none;
}

std::uint64_t local_addresses::due_ns() const noexcept {
  std::uint64_t due = never;
  for (std::size_t i = 0; i < size_; ++i) due = std::min(due, items_[i].due_ns);
  return due;
}

}  // namespace millrace::net
