// Why twice the capacity is enough. All live text, and that of the new entry, is at most the capacity C. Either the new
// entry fits behind the newest; or it begins at the front, and then the newest ends beyond 2C less the new entry's
// size, so that the oldest begins beyond it: everything live lies in the C bytes before. While the live entries wrap,
// the same holds with the gap at the end counted to none of them.
#include "h3/qpack/dynamic_table.hpp"

namespace millrace::h3::qpack {

void dynamic_table::insert(std::string_view name, std::string_view value) noexcept {
  MILLRACE_ASSERT(fits(field_size(name, value)));
  const std::size_t text = name.size() + value.size();
  if (write_at_ + text > texts_.size()) write_at_ = 0;
  char* const to = texts_.data() + write_at_;
  // An evicted entry that is its own successor may lie under `to`: it moves before anything else is written there.
  if (!value.empty() && value.data() == name.data() + name.size()) {
    std::memmove(to, name.data(), text);
  } else {
    if (!name.empty()) std::memmove(to, name.data(), name.size());
    if (!value.empty()) std::memcpy(to + name.size(), value.data(), value.size());
  }
  entries_[slot_of(inserted_)] = {write_at_, static_cast<std::uint32_t>(name.size()),
                                  static_cast<std::uint32_t>(value.size())};
  ++inserted_;
  write_at_ += static_cast<std::uint32_t>(text);
  size_ += static_cast<std::uint32_t>(text + field_overhead);
}

}  // namespace millrace::h3::qpack
