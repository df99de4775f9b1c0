// test/support/json_document.hpp - a JSON file of the corpus as a tree, for tests that read vectors.
#pragma once

#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <filesystem>
#include <string>

#include "support/bytes.hpp"
#include "support/corpus.hpp"

namespace millrace::test {

inline rapidjson::Document json_document(const std::filesystem::path& path) {
  const std::vector<std::uint8_t> text = read_file(path);
  rapidjson::Document out;
  out.Parse(reinterpret_cast<const char*>(text.data()), text.size());
  EXPECT_FALSE(out.HasParseError()) << path;
  return out;
}

inline byte_list hex_member(const rapidjson::Value& object, const char* name) {
  return from_hex(object[name].GetString());
}

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
