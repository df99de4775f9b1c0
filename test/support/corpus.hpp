// test/support/corpus.hpp - where tests find the shared corpus, and how they skip without it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace millrace::test {

// $MILLRACE_CORPUS, else the folder beside the project; empty when neither exists.
inline std::filesystem::path corpus() {
  for (const char* name : {"MILLRACE_CORPUS", "MILLRACE_CORPUS_DEFAULT"}) {
    const char* dir = std::getenv(name);
    if (dir != nullptr && std::filesystem::is_directory(dir)) return dir;
  }
  return {};
}

inline std::vector<std::uint8_t> read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace millrace::test

#define MILLRACE_NEEDS_CORPUS() \
  if (::millrace::test::corpus().empty()) GTEST_SKIP() << "the shared corpus is absent (set MILLRACE_CORPUS)"
