// test/service/folder.hpp - a folder of files whose times are known, gone with the object.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include "support/file_tree.hpp"

namespace millrace::test {

class folder {
  file_tree tree_;
  std::filesystem::path path_ = std::filesystem::canonical(tree_.root());

 public:
  [[nodiscard]] std::string path(const std::string& below = {}) const {
    return below.empty() ? path_.string() : (path_ / below).string();
  }
  // With the folders it lies in.
  void write(const std::string& below, const std::string& text, std::int64_t modified_s = 1'700'000'000) const {
    tree_.put("/" + below, text);
    const struct timespec times[2] = {{modified_s, 0}, {modified_s, 0}};
    EXPECT_EQ(::utimensat(AT_FDCWD, path(below).c_str(), times, 0), 0);
  }
  // `target` as the link is to have it.
  void link(const std::string& below, const std::string& target) const {
    std::filesystem::create_symlink(target, path_ / below);
  }
};

}  // namespace millrace::test
