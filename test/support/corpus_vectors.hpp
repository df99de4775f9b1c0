// test/support/corpus_vectors.hpp - files of the corpus as tests want them: JSON vectors as trees, folders as lists of
// bytes.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "support/bytes.hpp"
#include "support/corpus.hpp"
#include "support/json_tree.hpp"

namespace millrace::test {

inline json_tree json_document(const std::filesystem::path& path) {
  const std::vector<std::uint8_t> text = read_file(path);
  return json_tree::parse(base::as_text(text));
}

inline byte_list hex_member(const json_tree& object, const char* name) { return from_hex(object[name].text()); }

// Every file below `folder`, by name. Files of hexadecimal text (the corpus' *.hex) are the bytes they mean.
inline std::vector<std::pair<std::string, byte_list>> files_of(const std::filesystem::path& folder) {
  std::vector<std::pair<std::string, byte_list>> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    byte_list content = read_file(entry.path());
    if (entry.path().extension() == ".hex") content = from_hex(std::string(content.begin(), content.end()));
    out.emplace_back(entry.path().filename().string(), std::move(content));
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace millrace::test
