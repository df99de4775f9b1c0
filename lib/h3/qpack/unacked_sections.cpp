#include "h3/qpack/unacked_sections.hpp"

namespace millrace::h3::qpack {

unacked_sections::unacked_sections(storage_cursor& memory, std::uint16_t most, std::size_t slots) noexcept
    : sections_(memory.take<section>(most)), pins_(memory.take<std::uint16_t>(slots)) {
  for (std::uint32_t i = 0; i < sections_.size(); ++i) sections_[i].next_and_1 = i;
  free_and_1_ = static_cast<std::uint32_t>(sections_.size());
}

std::uint64_t unacked_sections::blocked(std::uint64_t known) const noexcept {
  std::uint64_t waiting = 0;
  for (std::uint32_t at = first_and_1_; at != 0; at = sections_[at - 1].next_and_1) {
    if (sections_[at - 1].required > known) ++waiting;
  }
  return waiting;
}

void unacked_sections::add(std::uint64_t stream_id, std::uint64_t required, std::size_t lowest_slot) noexcept {
  MILLRACE_ASSERT(!is_full());
  const std::uint32_t at = free_and_1_;
  section& s = sections_[at - 1];
  free_and_1_ = s.next_and_1;
  s = {stream_id, required, static_cast<std::uint32_t>(lowest_slot), 0};
  (last_and_1_ == 0 ? first_and_1_ : sections_[last_and_1_ - 1].next_and_1) = at;
  last_and_1_ = at;
  ++pins_[lowest_slot];
  ++count_;
}

bool unacked_sections::acknowledge(std::uint64_t stream_id, std::uint64_t& required) noexcept {
  std::uint32_t before = 0;
  for (std::uint32_t at = first_and_1_; at != 0; at = sections_[at - 1].next_and_1) {
    if (sections_[at - 1].stream_id == stream_id) {
      required = sections_[at - 1].required;
      remove_after(before);
      return true;
    }
    before = at;
  }
  return false;
}

void unacked_sections::remove_all(std::uint64_t stream_id) noexcept {
  std::uint32_t before = 0;
  for (std::uint32_t at = first_and_1_; at != 0;) {
    const std::uint32_t next = sections_[at - 1].next_and_1;
    if (sections_[at - 1].stream_id == stream_id) {
      remove_after(before);
    } else {
      before = at;
    }
    at = next;
  }
}

void unacked_sections::remove_after(std::uint32_t before_and_1) noexcept {
  std::uint32_t& link = before_and_1 == 0 ? first_and_1_ : sections_[before_and_1 - 1].next_and_1;
  const std::uint32_t at = link;
  section& s = sections_[at - 1];
  --pins_[s.lowest_slot];
  link = s.next_and_1;
  if (last_and_1_ == at) last_and_1_ = before_and_1;
  s.next_and_1 = free_and_1_;
  free_and_1_ = at;
  --count_;
}

}  // namespace millrace::h3::qpack
