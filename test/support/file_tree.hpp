// test/support/file_tree.hpp - a folder of files for one test, gone with it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace millrace::test {

class file_tree {
  std::filesystem::path root_;

 public:
  file_tree() {
    std::string name = (std::filesystem::temp_directory_path() / "millrace-test-XXXXXX").string();
    const char* made = ::mkdtemp(name.data());
    EXPECT_NE(made, nullptr);
    root_ = name;
  }
  ~file_tree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  file_tree(const file_tree&) = delete;
  file_tree& operator=(const file_tree&) = delete;

  [[nodiscard]] std::string root() const { return root_.string(); }
  // `name` begins with '/'.
  [[nodiscard]] std::string path(std::string_view name) const { return root_.string() + std::string(name); }

  void put(std::string_view name, std::string_view text) const {
    make(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << text;
  }
  void folder(std::string_view name) const { make(path(name)); }
  // A symbolic link; `target` is a name in this tree.
  void link(std::string_view name, std::string_view target) const {
    make(std::filesystem::path(path(name)).parent_path());
    std::filesystem::create_symlink(path(target), path(name));
  }

 private:
  static void make(const std::filesystem::path& dir) { std::filesystem::create_directories(dir); }
};

}  // namespace millrace::test
