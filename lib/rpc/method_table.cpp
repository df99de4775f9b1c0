// How it works: a name is folded to lower case eight bytes at a time into a buffer padded with zeros, hashed on the
// way, and looked up in an open table at most half full. Callers choose what is looked up, not what is stored, so the
// hash needs no secret: the longest walk is fixed when the last method was added.
#include "rpc/method_table.hpp"

#include <algorithm>
#include <bit>

#include "base/hash.hpp"

namespace millrace::rpc {
namespace {

constexpr std::uint64_t each = 0x0101'0101'0101'0101;

// ASCII letters in eight bytes below 0x80: an upper-case one gets its 0x20.
std::uint64_t to_lower(std::uint64_t eight) noexcept {
  const std::uint64_t from_a = eight + (0x80 - 'A') * each;       // top bit: 'A' or above
  const std::uint64_t above_z = eight + (0x80 - 'Z' - 1) * each;  // top bit: above 'Z'
  return eight | ((from_a & ~above_z & 0x80 * each) >> 2);
}

struct folded_name {
  alignas(8) char text[wire::max_name_size + 1];  // zeros up to the next multiple of 8
  std::uint64_t hash;
};

// `name` has 1..127 bytes.
void fold(std::string_view name, folded_name& out) noexcept {
  std::uint64_t hash = name.size();
  for (std::size_t at = 0; at < name.size(); at += 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, name.data() + at, std::min<std::size_t>(8, name.size() - at));
    eight = to_lower(eight);
    std::memcpy(out.text + at, &eight, 8);
    hash = base::hash_mix(hash ^ eight, 0x9E37'79B9'7F4A'7C15);
  }
  out.hash = hash;
}

}  // namespace

std::unique_ptr<method_table> method_table::make(std::size_t max_methods) {
  max_methods = std::clamp<std::size_t>(max_methods, 1, 16'384);
  std::unique_ptr<method_table> made(new method_table);
  made->rows_memory_ = mem::region::make_array<method>("rpc methods", max_methods);
  made->slots_memory_ = mem::region::make_array<std::uint16_t>("rpc names", std::bit_ceil(2 * max_methods));
  if (!made->rows_memory_ || !made->slots_memory_) return nullptr;
  made->rows_ = made->rows_memory_.array<method>();
  made->slots_ = made->slots_memory_.array<std::uint16_t>();
  return made;
}

add_errc method_table::add(std::string_view name, method_handler handler, void* self,
                           const method_options& options) noexcept {
  if (!wire::is_callable(name) || name.size() > wire::max_name_size) return add_errc::bad_name;
  if (find_exact(name) != nullptr) return add_errc::duplicate;
  if (size_ == rows_.size()) return add_errc::full;
  method& row = rows_[size_];
  row.handler = handler;
  row.self = self;
  row.max_result = options.max_result;
  row.result_within_arguments = options.result_within_arguments;
  row.needs_login = options.needs_login;
  row.name_size = static_cast<std::uint8_t>(name.size());
  std::copy(name.begin(), name.end(), row.name);
  const std::string_view signature = options.signature.substr(0, sizeof row.signature_text - 1);
  row.signature_size = static_cast<std::uint8_t>(signature.size());
  std::copy(signature.begin(), signature.end(), row.signature_text);
  folded_name folded{};
  fold(name, folded);
  std::memcpy(row.folded, folded.text, sizeof row.folded);
  std::size_t at = folded.hash & (slots_.size() - 1);
  while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = static_cast<std::uint16_t>(++size_);
  if (name == "*") everything_ = &row;
  if (name.ends_with("/*")) has_controllers_ = true;
  return add_errc::ok;
}

const method* method_table::find_exact(std::string_view name) const noexcept {
  if (name.empty() || name.size() > wire::max_name_size) return nullptr;
  folded_name folded;
  fold(name, folded);
  for (std::size_t at = folded.hash & (slots_.size() - 1); slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
    const method& row = rows_[slots_[at] - 1u];
    if (row.name_size == name.size() && std::memcmp(row.folded, folded.text, name.size()) == 0) return &row;
  }
  return nullptr;
}

const method* method_table::find(std::string_view name) const noexcept {
  if (const method* exact = find_exact(name)) return exact;
  const std::size_t slash = has_controllers_ ? name.find('/') : std::string_view::npos;
  if (slash != std::string_view::npos && slash + 2 <= wire::max_name_size) {
    char pattern[wire::max_name_size];
    std::copy_n(name.data(), slash + 1, pattern);
    pattern[slash + 1] = '*';
    if (const method* controller = find_exact({pattern, slash + 2})) return controller;
  }
  return everything_;
}

}  // namespace millrace::rpc
