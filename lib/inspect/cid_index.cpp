#include "inspect/cid_index.hpp"

#include <algorithm>

namespace millrace::inspect {

cid_index::cid_index(carver& memory, const limits& l, std::uint64_t seed) noexcept : seed_(seed) {
  const std::uint64_t wanted = std::uint64_t{l.max_flows} * l.cids_per_flow;
  const auto capacity = static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, max_records));
  entries_ = memory.take<entry>(capacity);
  index_ = hash_index(memory, capacity);
  per_connection_ = l.cids_per_connection;
}

bool cid_index::add(std::uint32_t connection, cid_list& list, cid_owner owner, base::byte_view id) noexcept {
  if (id.empty() || id.size() > cid_bytes) return false;
  for (std::uint32_t n = list.first_and_1; n != 0; n = entries_[n - 1].next_and_1)
    if (entries_[n - 1].owner == owner && entries_[n - 1].id.equals(id)) return true;
  if (list.count >= per_connection_) return false;
  // Equal IDs have equal hashes and stand in one run of slots: more than a few would make every step along it slow.
  const std::uint32_t id_hash = hash(id);
  unsigned same = 0;
  (void)index_.find(id_hash, [&](std::uint32_t n) { return entries_[n].id.equals(id) && ++same == max_same_cid; });
  if (same == max_same_cid) return false;
  std::uint32_t i = nil;
  if (free_and_1_ != 0) {
    i = free_and_1_ - 1;
    free_and_1_ = entries_[i].next_and_1;
  } else if (untouched_ < entries_.size()) {
    i = untouched_++;
  } else {
    return false;
  }
  entry& e = entries_[i];
  e.id.assign(id);
  e.owner = owner;
  e.connection = connection;
  e.hash = id_hash;
  e.next_and_1 = list.first_and_1;
  list.first_and_1 = i + 1;
  ++list.count;
  index_.insert(e.hash, i);
  ++in_use_;
  if (of_length_[id.size()]++ == 0) lengths_ |= 1u << id.size();
  return true;
}

bool cid_index::add_issued(std::uint32_t connection, cid_list& list, cid_owner owner, base::byte_view id) noexcept {
  if (add(connection, list, owner, id)) return true;
  if (list.count < per_connection_ || per_connection_ == 0) return false;  // something else is in the way
  std::uint32_t* oldest = nullptr;  // the link to it: the list begins with the newest
  for (std::uint32_t* link = &list.first_and_1; *link != 0; link = &entries_[*link - 1].next_and_1)
    if (entries_[*link - 1].owner == owner) oldest = link;
  if (oldest == nullptr) return false;
  const std::uint32_t number = *oldest - 1;
  *oldest = entries_[number].next_and_1;
  --list.count;
  give(number);
  return add(connection, list, owner, id);
}

void cid_index::give(std::uint32_t number) noexcept {
  entry& e = entries_[number];
  index_.erase(e.hash, number);
  if (--of_length_[e.id.size] == 0) lengths_ &= ~(1u << e.id.size);
  e.next_and_1 = free_and_1_;
  free_and_1_ = number + 1;
  --in_use_;
}

void cid_index::remove_all(cid_list& list) noexcept {
  while (list.first_and_1 != 0) {
    const std::uint32_t i = list.first_and_1 - 1;
    list.first_and_1 = entries_[i].next_and_1;
    give(i);
  }
  list = {};
}

}  // namespace millrace::inspect
