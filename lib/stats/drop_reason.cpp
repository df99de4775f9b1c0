#include "stats/drop_reason.hpp"

#include <array>

namespace millrace::stats {
namespace {

struct entry {
  std::string_view name;
  std::string_view text;
};

constexpr std::array<entry, drop_reason_count> entries = {{
#define MILLRACE_DROP_ENTRY(name, text) {#name, text},
    MILLRACE_DROP_REASONS(MILLRACE_DROP_ENTRY)
#undef MILLRACE_DROP_ENTRY
}};

}  // namespace

std::string_view to_string(drop_reason reason) noexcept {
  const auto i = static_cast<std::size_t>(reason);
  return i < entries.size() ? entries[i].name : "unknown";
}

std::string_view describe(drop_reason reason) noexcept {
  const auto i = static_cast<std::size_t>(reason);
  return i < entries.size() ? entries[i].text : "unknown";
}

}  // namespace millrace::stats
