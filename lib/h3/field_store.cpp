#include "h3/field_store.hpp"

#include <algorithm>
#include <functional>

namespace millrace::h3 {

base::result<field_memory> field_memory::make(std::uint32_t messages, std::uint32_t section_bytes) {
  const std::uint32_t largest = std::max(section_bytes, small_bytes.back()) + slack_bytes;
  auto a = mem::slot_pool::make("h3_fields_1k", messages, small_bytes[0]);
  if (!a) return a.error();
  auto b = mem::slot_pool::make("h3_fields_4k", std::max(messages / 8, 16u), small_bytes[1]);
  if (!b) return b.error();
  auto c = mem::slot_pool::make("h3_fields_16k", std::max(messages / 64, 8u), small_bytes[2]);
  if (!c) return c.error();
  auto d = mem::slot_pool::make("h3_fields_most", std::max(messages / 256, 8u), largest);
  if (!d) return d.error();
  return field_memory({std::move(a.value()), std::move(b.value()), std::move(c.value()), std::move(d.value())});
}

std::uint32_t field_memory::in_use() const noexcept {
  std::uint32_t sum = 0;
  for (const mem::slot_pool& p : pools_) sum += p.in_use();
  return sum;
}

std::size_t field_memory::in_use_bytes() const noexcept {
  std::size_t sum = 0;
  for (const mem::slot_pool& p : pools_) sum += std::size_t{p.in_use()} * p.slot_bytes();
  return sum;
}

std::size_t field_memory::memory_bytes() const noexcept {
  std::size_t sum = 0;
  for (const mem::slot_pool& p : pools_) sum += p.memory_bytes();
  return sum;
}

std::size_t field_memory::memory_bytes(std::uint32_t messages, std::uint32_t section_bytes) noexcept {
  constexpr std::size_t a_slot = 128;
  const auto of = [](std::size_t slots, std::size_t bytes) { return slots * (bytes + a_slot); };
  return of(messages, small_bytes[0]) + of(std::max(messages / 8, 16u), small_bytes[1]) +
         of(std::max(messages / 64, 8u), small_bytes[2]) +
         of(std::max(messages / 256, 8u), std::max(section_bytes, small_bytes.back()) + slack_bytes);
}

// The texts move to the end of a larger block, the fields to its front; views into the old one move by as much as the
// ends differ.
bool field_store::grow(std::size_t more) noexcept {
  const std::size_t texts = block_.size - text_;
  const std::size_t needed = texts + count_ * sizeof(http::field) + more;
  const field_memory::block larger = from_->get(needed);
  if (larger.at == nullptr) return false;
  const auto begin = reinterpret_cast<const char*>(block_.at);
  const char* end = begin + block_.size;
  const char* new_end = reinterpret_cast<const char*>(larger.at) + larger.size;
  const auto moved = [&](std::string_view v) noexcept -> std::string_view {
    const std::less<> below;
    if (v.empty()) return {};
    if (below(v.data(), begin) || !below(v.data(), end)) return v;
    return {new_end - (end - v.data()), v.size()};
  };
  if (texts != 0) std::memcpy(larger.at + larger.size - texts, block_.at + text_, texts);
  auto* to = reinterpret_cast<http::field*>(larger.at);
  for (std::uint32_t i = 0; i < count_; ++i)
    ::new (to + i) http::field{moved(array()[i].name), moved(array()[i].value)};
  if (block_.at != nullptr) from_->give(block_);
  block_ = larger;
  text_ = larger.size - static_cast<std::uint32_t>(texts);
  return true;
}

}  // namespace millrace::h3
