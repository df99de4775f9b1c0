#include "net/path_mtu.hpp"

#include "base/hash.hpp"

namespace millrace::net {
namespace {

constexpr std::uint32_t entries_looked_at = 8;
constexpr std::uint32_t least_v6 = 1280;  // RFC 8200 5

// RFC 1191 7.1: routers that say 0 mean "less than that packet"; these are the MTUs of links that exist.
[[nodiscard]] std::uint32_t plateau_below(std::uint32_t packet_size) noexcept {
  constexpr std::uint32_t plateaus[] = {32000, 17914, 8166, 4352, 2002, 1492, 1006, 508, 296};
  for (const std::uint32_t p : plateaus)
    if (p < packet_size) return p;
  return 68;
}

}  // namespace

path_mtus::path_mtus(const host_limits& limits, std::uint64_t seed) noexcept : limits_(limits), seed_(seed) {
  entries_memory_ = mem::region::make_array<entry>("net path MTUs", limits.path_mtus);
  index_memory_ = mem::region::make_array<base::hash_index::slot>("net path MTU index",
                                                                  base::hash_index::slots_for(limits.path_mtus));
  if (!entries_memory_ || !index_memory_) return;
  entries_ = entries_memory_.array<entry>().first(limits.path_mtus);
  index_ = base::hash_index(
      index_memory_.array<base::hash_index::slot>().first(base::hash_index::slots_for(limits.path_mtus)));
  ready_ = true;
}

std::uint32_t path_mtus::hash_of(const base::ip_address& dst) const noexcept {
  return static_cast<std::uint32_t>(base::hash_bytes(dst.octets, seed_));
}

const path_mtus::entry* path_mtus::find_slowly(const base::ip_address& dst, std::uint64_t now) const noexcept {
  const std::uint32_t i = index_.find(hash_of(dst), [&](std::uint32_t n) { return entries_[n].dst == dst; });
  return i == base::no_record || now >= entries_[i].ends_ns ? nullptr : &entries_[i];
}

path_mtus::entry& path_mtus::obtain(const base::ip_address& dst) noexcept {
  const std::uint32_t hash = hash_of(dst);
  std::uint32_t i = index_.find(hash, [&](std::uint32_t n) { return entries_[n].dst == dst; });
  if (i != base::no_record) return entries_[i];
  if (used_ < entries_.size()) {
    i = used_++;
  } else {
    i = hand_;
    for (std::uint32_t looked = 0; looked < entries_looked_at; ++looked) {
      if (entries_[hand_].ends_ns < entries_[i].ends_ns) i = hand_;
      hand_ = hand_ + 1 == used_ ? 0 : hand_ + 1;
    }
    index_.erase(entries_[i].hash, i);
  }
  entries_[i] = {};
  entries_[i].dst = dst;
  entries_[i].hash = hash;
  index_.insert(hash, i);
  return entries_[i];
}

bool path_mtus::on_report(const base::ip_address& dst, std::uint32_t mtu, std::uint32_t packet_size,
                          std::uint64_t now) noexcept {
  const bool v4 = dst.family == base::ip_family::v4;
  if (v4 && mtu == 0) mtu = plateau_below(packet_size);
  // RFC 8201 4: less than 1280 is discarded. RFC 1191 3, 4: no router has less than 68. A packet that would have
  // fitted did not cause this.
  if (mtu < (v4 ? 68u : least_v6) || mtu >= packet_size) return false;
  const entry* const known = find(dst, now);
  const bool below = v4 && mtu < limits_.min_path_mtu_v4;
  const auto usable = static_cast<std::uint16_t>(below ? limits_.min_path_mtu_v4 : std::min(mtu, 65535u));
  if (known != nullptr && known->mtu <= usable && known->below_least >= below) return false;
  entry& e = obtain(dst);
  e.mtu = usable;
  e.below_least = below;
  e.ends_ns = now + limits_.path_mtu_ns;
  return true;
}

}  // namespace millrace::net
