// Any bytes as a profile: what it says of them lies inside them, and words it read are read again from quotes.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "env/profile.hpp"

namespace {

using namespace millrace;

void require(bool holds) {
  if (!holds) std::abort();
}

std::optional<std::string> lookup(std::string_view name) {
  if (name.size() % 3 == 0) return std::nullopt;
  if (name.size() % 3 == 1) return std::string();
  return "value of " + std::string(name.substr(0, 100));
}

// A failure begins with FILE:LINE:COLUMN; both lie in the text, or just behind it.
void check_place(const std::string& what, std::string_view text) {
  require(what.starts_with("f:"));
  char* end = nullptr;
  const unsigned long line = std::strtoul(what.c_str() + 2, &end, 10);
  require(*end == ':');
  const unsigned long column = std::strtoul(end + 1, &end, 10);
  require(*end == ':');
  require(line >= 1 && column >= 1);
  std::size_t begin = 0;
  for (unsigned long n = 1; n < line; ++n) {
    begin = text.find('\n', begin);
    require(begin != std::string_view::npos);
    ++begin;
  }
  require(begin + column - 1 <= text.size());
}

std::string quoted(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    for (const char c : word) {
      if (c == '\'')
        text += "\\'";
      else
        text += '\'' + std::string(1, c) + '\'';
    }
    if (word.empty()) text += "''";
    text += '\n';
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto read = env::parse_profile(text, "f", lookup);
  if (!read) {
    require(read.error().unusable);
    check_place(read.error().what, text);
    return 0;
  }
  require(read.value().size() <= env::profile_cap_words);
  std::size_t bytes = 0;
  for (const std::string& word : read.value()) {
    require(word.size() <= env::profile_cap_word_bytes);
    bytes += word.size();
  }
  if (bytes > env::profile_cap_bytes / 8) return 0;  // quotes make it longer than a profile may be
  const std::string again = quoted(read.value());
  const auto same = env::parse_profile(again, "f", lookup);
  require(static_cast<bool>(same) && same.value() == read.value());
  return 0;
}
